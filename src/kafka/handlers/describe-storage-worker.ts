// DescribeStorageWorker 0-1: an API that Kafka does not have. Another broker asks this one, which holds the lease of
// the storage worker, for one of its rounds, and may start one. Without ACLs too, no client may start one. ApiVersions
// does not name it.

import { CLUSTER_AUTHORIZATION_FAILED, isRefusal, NONE } from '../../protocol/errors.ts'
import { describeStorageWorker } from '../../protocol/messages/describe-storage-worker.ts'
import { handler } from '../handler.ts'
import { onCluster } from '../needs.ts'

export const describeStorageWorkerHandler = handler(describeStorageWorker, rooms => ({
  needs: () => [onCluster('CLUSTER_ACTION')],
  answer({ body: { start, number }, connection }) {
    const { storageWorker, catalogue } = rooms
    // A store that only this broker can use has no other broker that could ask.
    const mayStart = !connection.isClient && catalogue.isShared
    const refusal = start && !mayStart ? CLUSTER_AUTHORIZATION_FAILED : null
    const found = refusal ?? (start ? storageWorker.start() : storageWorker.round(number))
    if (isRefusal(found)) return { throttleTimeMs: 0, errorCode: found.code, errorMessage: found.message }
    const round = found === null ? null : { ...found, tookMs: found.tookMs ?? -1 }
    return { throttleTimeMs: 0, errorCode: NONE, round }
  },
  refused: (_, { code, message }) => ({ throttleTimeMs: 0, errorCode: code, errorMessage: message }),
}))
