// DescribeUserScramCredentials 0: who has a SCRAM credential, and of how many iterations (KIP-554). Kafka's kafka-configs.sh asks
// this whenever it describes users and their quotas. Credentials are stored over HTTP; a PLAIN one is none of these.
//
// Where nobody is named all are told. A user without one is answered RESOURCE_NOT_FOUND, and DUPLICATE_RESOURCE when named twice, as
// in Kafka. What another program stored in a form that is not read here is answered UNACCEPTABLE_CREDENTIAL when its user is named,
// and left out of the list of all: Kafka's admin client gives up the whole list for one row with an error.

import { type CredentialView, describeCredential, listCredentials } from '../../admin/credentials.ts'
import { cut } from '../../base/cut.ts'
import {
  because,
  DUPLICATE_RESOURCE,
  NONE,
  RESOURCE_NOT_FOUND,
  type Refusal,
  UNACCEPTABLE_CREDENTIAL,
} from '../../protocol/errors.ts'
import { describeUserScramCredentials } from '../../protocol/messages/describe-user-scram-credentials.ts'
import { UnreadableDocument } from '../../store/store.ts'
import { handler } from './handler.ts'

/** As Kafka counts mechanisms. */
const SCRAM_SHA_256 = 1

export const describeUserScramCredentialsHandler = handler(describeUserScramCredentials, rooms => {
  async function describe(user: string) {
    try {
      const found = await describeCredential(rooms, user)
      if (found !== null && isScram(found)) return rowOf(user, found)
      return refusedRow(
        user,
        RESOURCE_NOT_FOUND,
        `Attempt to describe a user credential that does not exist: ${cut(user)}`,
      )
    } catch (error) {
      if (!(error instanceof UnreadableDocument)) throw error
      return refusedRow(user, UNACCEPTABLE_CREDENTIAL, error.message)
    }
  }

  return {
    async answer({ body }) {
      const counts = new Map<string, number>()
      for (const { name } of body.users ?? []) counts.set(name, (counts.get(name) ?? 0) + 1)
      const results =
        counts.size === 0
          ? (await listCredentials(rooms)).credentials.filter(isScram).map(found => rowOf(found.username, found))
          : await Promise.all([...counts].map(([user, count]) => (count > 1 ? namedTwice(user) : describe(user))))
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

function namedTwice(user: string) {
  const message = `Cannot describe SCRAM credentials for the same user twice in a single request: ${cut(user)}`
  return refusedRow(user, DUPLICATE_RESOURCE, message)
}

function refusedRow(user: string, refusal: Refusal, why: string) {
  const { code, message } = because(refusal, why)
  return { user, errorCode: code, errorMessage: message, credentialInfos: [] }
}
