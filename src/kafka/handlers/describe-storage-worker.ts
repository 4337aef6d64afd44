// DescribeStorageWorker 0: an API that Kafka does not have. Another broker asks this one, which holds the lease of the
// storage worker, for its newest round, and may start one. ApiVersions does not name it.

import { isRefusal, NONE } from '../../protocol/errors.ts'
import { describeStorageWorker } from '../../protocol/messages/describe-storage-worker.ts'
import { handler } from '../handler.ts'
import { onCluster } from '../needs.ts'

export const describeStorageWorkerHandler = handler(describeStorageWorker, rooms => ({
  needs: () => [onCluster('CLUSTER_ACTION')],
  answer({ body }) {
    const { storageWorker } = rooms
    const found = body.start ? storageWorker.start() : storageWorker.round()
    if (isRefusal(found)) return { throttleTimeMs: 0, errorCode: found.code, errorMessage: found.message }
    const round = found === null ? null : { ...found, tookMs: found.tookMs ?? -1 }
    return { throttleTimeMs: 0, errorCode: NONE, round }
  },
  refused: (_, { code, message }) => ({ throttleTimeMs: 0, errorCode: code, errorMessage: message }),
}))
