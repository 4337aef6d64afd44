// DescribeSegments 0: an API that Kafka does not have. Brokers use it to ask the leader of a partition for a page of
// its segments. ApiVersions does not name it.

import { segmentsHere } from '../../admin/segments.ts'
import { SEGMENT_TIERS } from '../../api/words.ts'
import { isRefusal, NONE } from '../../protocol/errors.ts'
import { describeSegments } from '../../protocol/messages/describe-segments.ts'
import { handler } from '../handler.ts'
import { onCluster } from '../needs.ts'

export const describeSegmentsHandler = handler(describeSegments, ({ logs }) => ({
  needs: () => [onCluster('CLUSTER_ACTION')],
  answer({ body: { topicId, partition, skip, limit } }) {
    const found = segmentsHere(logs.partition(topicId, partition), { skip, limit })
    if (isRefusal(found)) return { throttleTimeMs: 0, errorCode: found.code, errorMessage: found.message }
    const orNaN = (value: number | null) => value ?? Number.NaN
    const { remote, ...known } = found
    const segments = found.segments.map(({ base, next, isActive, epochs, tier, ...numbers }) => ({
      ...{ base, next, isActive, epochs, tier: SEGMENT_TIERS.indexOf(tier) },
      ...{ sealedAtMs: orNaN(numbers.sealedAtMs), cleanedAtMs: orNaN(numbers.cleanedAtMs) },
      ...{ bytes: orNaN(numbers.bytes), plainBytes: orNaN(numbers.plainBytes) },
      ...{ batches: orNaN(numbers.batches), records: orNaN(numbers.records) },
      ...{ minTimestamp: orNaN(numbers.minTimestamp), maxTimestamp: orNaN(numbers.maxTimestamp) },
      ...{ firstAppendMs: orNaN(numbers.firstAppendMs), lastAppendMs: orNaN(numbers.lastAppendMs) },
    }))
    const tiered = { remoteVersion: remote?.version ?? -1, ranges: remote?.ranges ?? [] }
    return { throttleTimeMs: 0, errorCode: NONE, ...known, ...tiered, segments }
  },
  refused: (_, { code, message }) => ({ throttleTimeMs: 0, errorCode: code, errorMessage: message }),
}))
