// DescribeDeliveries 0: an API that Kafka does not have. Brokers use it to ask each other what was delivered to
// groups (docs/decisions/0031): which members own partitions in the groups that this broker coordinates, and how far
// clients have read the partitions that it leads. ApiVersions does not name it. If this broker knows nothing about a
// group or a partition, the answer says so.
//
// A group that is named more than once is answered once, because its answer may be much longer than its name.

import { deliveryHere, ownedHere } from '../../admin/groups/delivered.ts'
import { describeDeliveries } from '../../protocol/messages/describe-deliveries.ts'
import { handler } from '../handler.ts'
import { onCluster } from '../needs.ts'

export const describeDeliveriesHandler = handler(describeDeliveries, rooms => ({
  needs: () => [onCluster('CLUSTER_ACTION')],
  answer({ body }) {
    const groups = Array.from(new Set(body.groups), groupId => {
      const byMember = Map.groupBy(ownedHere(rooms, groupId), ({ memberId }) => memberId)
      const members = Array.from(byMember.values(), shares => {
        const { memberId, clientId, clientHost } = shares[0]!
        const topics = Array.from(
          Map.groupBy(shares, ({ topicId }) => topicId),
          ([topicId, some]) => ({
            topicId,
            partitions: some.map(({ partition, ownedMs }) => ({ partition, ownedMs })),
          }),
        )
        return { memberId, clientId, clientHost, topics }
      })
      return { groupId, members }
    })
    const readers = body.readers.map(({ clientId, clientHost, topics }) => ({
      topics: topics.map(({ topicId, partitions }) => ({
        topicId,
        partitions: partitions.map(partition => {
          const { owners, position } = deliveryHere(rooms, { clientId, clientHost, topicId, partition })
          return { partition, owners, nextOffset: position?.nextOffset ?? -1, agoMs: position?.agoMs ?? -1 }
        }),
      })),
    }))
    return { throttleTimeMs: 0, groups, readers }
  },
  refused: () => ({ throttleTimeMs: 0, groups: [], readers: [] }),
}))
