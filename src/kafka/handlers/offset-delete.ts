// OffsetDelete 0-0 (KIP-496): removes committed offsets of a group. A row is GROUP_SUBSCRIBED_TO_TOPIC while members
// read its topic, and UNKNOWN_TOPIC_OR_PARTITION if the partition does not exist. A row without a committed offset
// has no error. The whole answer is NON_EMPTY_GROUP while the group has members that are not consumers,
// GROUP_ID_NOT_FOUND or INVALID_GROUP_ID.
//
// Differences from Apache Kafka: if a topic is named more than once, each of its entries is answered.

import { deleteOffsets } from '../../admin/groups/groups.ts'
import { isRefusal, NONE } from '../../protocol/errors.ts'
import { offsetDelete } from '../../protocol/messages/offset-delete.ts'
import { handler } from '../handler.ts'
import { onGroup, onTopics } from '../needs.ts'

export const offsetDeleteHandler = handler(offsetDelete, rooms => ({
  needs: ({ body }) => [onGroup('DELETE', body.groupId), ...onTopics('READ', 'name', body.topics)],
  async answer({ body }) {
    const topics = body.topics.map(({ name, partitions }) => ({
      topic: name,
      partitions: partitions.map(({ partitionIndex }) => partitionIndex),
    }))
    const deletions = await deleteOffsets(rooms, body.groupId, topics)
    if (isRefusal(deletions)) return { errorCode: deletions.code, throttleTimeMs: 0, topics: [] }
    return {
      errorCode: NONE,
      throttleTimeMs: 0,
      topics: deletions.map(({ topic, partitions }) => ({
        name: topic,
        partitions: partitions.map(({ partition, result }) => ({
          partitionIndex: partition,
          errorCode: result?.code ?? NONE,
        })),
      })),
    }
  },
  refused: (_request, refusal) => ({ errorCode: refusal.code, throttleTimeMs: 0, topics: [] }),
}))
