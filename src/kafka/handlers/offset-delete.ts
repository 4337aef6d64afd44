// OffsetDelete 0-0 (KIP-496): removes committed offsets of a group. A row is GROUP_SUBSCRIBED_TO_TOPIC while members
// read its topic, and UNKNOWN_TOPIC_OR_PARTITION if the partition does not exist. A row without a committed offset
// has no error. The whole answer is NON_EMPTY_GROUP while the group has members that are not consumers,
// GROUP_ID_NOT_FOUND or INVALID_GROUP_ID.
//
// Differences from Apache Kafka: if a topic is named more than once, each of its entries is answered.

import { deleteOffsets } from '../../admin/groups/groups.ts'
import { isRefusal, NONE, type Refusal } from '../../protocol/errors.ts'
import { offsetDelete } from '../../protocol/messages/offset-delete.ts'
import { handler } from '../handler.ts'
import { onGroup, onTopics } from '../needs.ts'

export const offsetDeleteHandler = handler(offsetDelete, rooms => ({
  needs: ({ body }) => [onGroup('DELETE', body.groupId), ...onTopics('READ', 'name', body.topics)],
  audit: ({ body }) => ({
    verb: 'delete offsets',
    what: { group: body.groupId, topics: body.topics.map(({ name }) => name) },
  }),
  async answer({ body, permissions }) {
    const asked = body.topics.map(({ name, partitions }) => ({
      topic: name,
      partitions: partitions.map(({ partitionIndex }) => partitionIndex),
      denied: permissions.topic('name', name),
    }))
    const allowed = asked.filter(({ denied }) => denied === null)
    const isDenied = asked.length > 0 && allowed.length === 0
    const deletions = isDenied ? [] : await deleteOffsets(rooms, body.groupId, allowed)
    if (isRefusal(deletions)) return { errorCode: deletions.code, throttleTimeMs: 0, topics: [] }
    let next = 0
    const topics = asked.map(({ topic, partitions, denied }) => {
      const rows = denied === null ? deletions[next++]!.partitions : partitions.map(refusedWith(denied))
      return {
        name: topic,
        partitions: rows.map(({ partition, result }) => ({
          partitionIndex: partition,
          errorCode: result?.code ?? NONE,
        })),
      }
    })
    return { errorCode: NONE, throttleTimeMs: 0, topics }
  },
  refused: (_request, refusal) => ({ errorCode: refusal.code, throttleTimeMs: 0, topics: [] }),
}))

function refusedWith(result: Refusal) {
  return (partition: number) => ({ partition, result })
}
