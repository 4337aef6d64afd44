// DescribeUserScramCredentials 0 (KIP-554): lists the users with a SCRAM credential, and its number of iterations.
// Kafka's kafka-configs.sh sends this request whenever it describes users and their quotas. A PLAIN credential
// does not count.
//
// A request without users gets all of them. A user without a credential gets RESOURCE_NOT_FOUND, and a user that is
// named twice gets DUPLICATE_RESOURCE, as in Kafka. If another program stored a credential in a form that this broker
// cannot read, its user gets UNACCEPTABLE_CREDENTIAL when it is named. The list of all users leaves it out, because
// Kafka's admin client gives up the whole list for one row with an error.

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

/** Kafka's number of the mechanism. */
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
