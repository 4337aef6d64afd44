// RunStorageRound 0-1: an API that Kafka does not have. The broker that holds the lease of the storage worker asks this
// broker to roll, drop and clean the partitions that it leads. Without ACLs too, no client may ask. ApiVersions does
// not name it.

import { CLUSTER_AUTHORIZATION_FAILED, isRefusal, NONE } from '../../protocol/errors.ts'
import { runStorageRound } from '../../protocol/messages/run-storage-round.ts'
import { handler } from '../handler.ts'
import { onCluster } from '../needs.ts'

export const runStorageRoundHandler = handler(runStorageRound, rooms => ({
  needs: () => [onCluster('CLUSTER_ACTION')],
  async answer({ body, connection }) {
    const answer = connection.isClient ? CLUSTER_AUTHORIZATION_FAILED : await rooms.storageWorker.answer(body)
    if (isRefusal(answer)) return { throttleTimeMs: 0, errorCode: answer.code, errorMessage: answer.message }
    const done = answer === null ? {} : { report: answer.report, news: answer.news }
    return { throttleTimeMs: 0, errorCode: NONE, isRunning: answer === null, ...done }
  },
  refused: (_, { code, message }) => ({ throttleTimeMs: 0, errorCode: code, errorMessage: message }),
}))
