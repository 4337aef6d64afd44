// DeleteRecords 0-2: moves the log start of partitions up to an offset; -1 means the high watermark. The rules are in
// admin/records/deletion.ts.
//
// The low watermark in the answer is the new log start, which is durable by then. After that, a read below it gets
// OFFSET_OUT_OF_RANGE, even if the reader was already waiting. An offset above the high watermark gets
// OFFSET_OUT_OF_RANGE. An offset below the log start changes nothing. A batch that contains the new log start stays
// whole, and readers skip its first records.

import type { DeleteRecordsRequest } from '../../admin/contract.ts'
import { deleteRecords as remove } from '../../admin/records/deletion.ts'
import { isRefusal, NONE, type Refusal } from '../../protocol/errors.ts'
import { deleteRecords } from '../../protocol/messages/delete-records.ts'
import type { RequestOf, ResponseInput } from '../../protocol/schema.ts'
import { handler } from '../handler.ts'
import { onTopics, orElse } from '../needs.ts'

type Body = RequestOf<typeof deleteRecords>
type Answer = ResponseInput<typeof deleteRecords>

export const deleteRecordsHandler = handler(deleteRecords, rooms => ({
  // Kafka Streams deletes the records of its repartition topics, so WRITE is enough.
  needs: ({ body }) => orElse(onTopics('DELETE', 'name', body.topics), resource => ({ operation: 'WRITE', resource })),
  audit: ({ body }) => ({ verb: 'delete records', what: body.topics.map(({ name }) => name) }),
  async answer({ body, permissions }) {
    const allowed = body.topics.filter(({ name }) => permissions.topic('name', name) === null)
    const requests = allowed.flatMap(({ name, partitions }) =>
      partitions.map(
        ({ partitionIndex, offset }): DeleteRecordsRequest => ({ topic: name, partition: partitionIndex, offset }),
      ),
    )
    const results = await remove(rooms, requests, body.timeoutMs)
    let next = 0
    return answerOf(body, name => permissions.topic('name', name) ?? results[next++]!)
  },
  refused: ({ body }, refusal) => answerOf(body, () => refusal),
}))

/** `nextResult` is called once for each partition, in order, with the name of its topic. */
function answerOf({ topics }: Body, nextResult: (name: string) => number | Refusal): Answer {
  return {
    topics: topics.map(({ name, partitions }) => ({
      name,
      partitions: partitions.map(({ partitionIndex }) => {
        const result = nextResult(name)
        return isRefusal(result)
          ? { partitionIndex, lowWatermark: -1, errorCode: result.code }
          : { partitionIndex, lowWatermark: result, errorCode: NONE }
      }),
    })),
  }
}
