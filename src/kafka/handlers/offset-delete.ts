// OffsetDelete 0-0: removes positions of a group (KIP-496). A row is GROUP_SUBSCRIBED_TO_TOPIC while members read its
// topic, UNKNOWN_TOPIC_OR_PARTITION if the partition does not exist, and without error if it had no position. The whole
// answer is NON_EMPTY_GROUP while members of the group are no consumers, GROUP_ID_NOT_FOUND or INVALID_GROUP_ID.
//
// Differences from Apache Kafka: rows of a topic that is named more than once are answered under each naming.

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
