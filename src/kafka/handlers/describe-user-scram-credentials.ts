// DescribeUserScramCredentials 0: who has a SCRAM credential, and of how many iterations (KIP-554). Kafka's
// kafka-configs.sh asks this whenever it describes users and their quotas. Credentials are stored over HTTP; a PLAIN
// credential does not count.
//
// A request that names no user is answered with all of them. A user without a credential is answered
// RESOURCE_NOT_FOUND, and DUPLICATE_RESOURCE when named twice, as in Kafka. A credential that another program stored in
// a form that is not read here is answered UNACCEPTABLE_CREDENTIAL when its user is named. The list of all leaves it
// out: Kafka's admin client gives up the whole list for one row with an error.

import { type CredentialView, describeCredential, listCredentials } from '../../admin/credentials.ts'
import { aFewAtATime } from '../../base/a-few.ts'
import { cut } from '../../base/cut.ts'
import {
  DUPLICATE_RESOURCE,
  NONE,
  RESOURCE_NOT_FOUND,
  type Refusal,
  UNACCEPTABLE_CREDENTIAL,
} from '../../protocol/errors.ts'
import { describeUserScramCredentials } from '../../protocol/messages/describe-user-scram-credentials.ts'
import { UnreadableDocument } from '../../store/store.ts'
import { handler } from '../handler.ts'
import { onCluster } from '../needs.ts'

/** As Kafka counts mechanisms. */
const SCRAM_SHA_256 = 1

export const describeUserScramCredentialsHandler = handler(describeUserScramCredentials, rooms => {
  async function describe(user: string, count: number) {
    if (count > 1) {
      const message = 'Cannot describe SCRAM credentials for the same user twice in a single request'
      return refusedRow(user, DUPLICATE_RESOURCE, `${message}: ${cut(user)}`)
    }
    try {
      const found = await describeCredential(rooms, user)
      if (found !== null && isScram(found)) return rowOf(user, found)
      const message = 'Attempt to describe a user credential that does not exist'
      return refusedRow(user, RESOURCE_NOT_FOUND, `${message}: ${cut(user)}`)
    } catch (error) {
      if (!(error instanceof UnreadableDocument)) throw error
      return refusedRow(user, UNACCEPTABLE_CREDENTIAL, error.message)
    }
  }

  return {
    needs: () => [onCluster('DESCRIBE')],
    async answer({ body }) {
      const counts = new Map<string, number>()
      for (const { name } of body.users ?? []) counts.set(name, (counts.get(name) ?? 0) + 1)
      const results =
        counts.size === 0
          ? (await listCredentials(rooms)).credentials.filter(isScram).map(found => rowOf(found.username, found))
          : await aFewAtATime(rooms.clock, [...counts], ([user, count]) => describe(user, count))
      return { errorCode: NONE, errorMessage: null, results }
    },
    refused: (_, refusal) => ({
      errorCode: refusal.code,
      errorMessage: refusal.message,
      results: [],
    }),
  }
})

function isScram({ mechanism }: CredentialView): boolean {
  return mechanism === 'SCRAM-SHA-256'
}

function rowOf(user: string, { iterations }: CredentialView) {
  const credentialInfos = [{ mechanism: SCRAM_SHA_256, iterations }]
  return { user, errorCode: NONE, errorMessage: null, credentialInfos }
}

function refusedRow(user: string, { code }: Refusal, message: string) {
  return { user, errorCode: code, errorMessage: message, credentialInfos: [] }
}
