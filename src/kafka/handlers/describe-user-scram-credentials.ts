// DescribeUserScramCredentials 0: there are none, because clients cannot authenticate with SCRAM. Kafka's kafka-configs.sh asks
// this whenever it describes users and their quotas.
//
// A user that is named is answered RESOURCE_NOT_FOUND, and DUPLICATE_RESOURCE when named twice, as in Kafka.

import { cut } from '../../base/cut.ts'
import { because, DUPLICATE_RESOURCE, NONE, RESOURCE_NOT_FOUND } from '../../protocol/errors.ts'
import { describeUserScramCredentials } from '../../protocol/messages/describe-user-scram-credentials.ts'
import { handler } from './handler.ts'

export const describeUserScramCredentialsHandler = handler(describeUserScramCredentials, () => ({
  answer({ body }) {
    const counts = new Map<string, number>()
    for (const { name } of body.users ?? []) counts.set(name, (counts.get(name) ?? 0) + 1)
    const results = [...counts].map(([user, count]) => {
      const { code, message } =
        count > 1
          ? because(
              DUPLICATE_RESOURCE,
              `Cannot describe SCRAM credentials for the same user twice in a single request: ${cut(user)}`,
            )
          : because(RESOURCE_NOT_FOUND, `Attempt to describe a user credential that does not exist: ${cut(user)}`)
      return { user, errorCode: code, errorMessage: message, credentialInfos: [] }
    })
    return { errorCode: NONE, errorMessage: null, results }
  },
  refused: (_, refusal) => ({
    errorCode: refusal.code,
    errorMessage: refusal.message,
    results: [],
  }),
}))
