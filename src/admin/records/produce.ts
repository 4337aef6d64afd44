// Produces records for an operator, one batch for each partition, with the same checks and the same acknowledgement
// as a producer with acks=all. A record with a key goes to the partition that Kafka's own clients choose. Nothing
// recognises a repeated request: a caller that sends it twice writes the records twice. Keys and values that name a
// schema are made from JSON (made-parts.ts).

import type { Produced, ProducedMessages, RecordToProduce } from '../../api/messages.ts'
import { murmur2 } from '../../base/murmur2.ts'
import type { Random } from '../../base/random.ts'
import { because, INVALID_TIMESTAMP, isRefusal, type Refusal } from '../../protocol/errors.ts'
import { encodeBatch, type NewRecord } from '../../protocol/records.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import { type Declined, isDeclined } from '../declined.ts'
import { appendTo, checkPartition, findTopic, type ReachRooms } from '../reach.ts'
import { bytesOf, type MadeParts, makeParts } from './made-parts.ts'
import type { SchemaRooms } from './schema-value.ts'

export interface WriteRooms extends ReachRooms, SchemaRooms {
  readonly random: Random
  readonly metrics: Metrics
}

/**
 * Resolves to one answer for each record, in order, or to a refusal if no record was written. The records of one
 * partition are written together or not at all. If a key or value cannot be made with its schema, no record is written.
 * Throws what the store throws.
 */
export async function produceRecords(
  rooms: WriteRooms,
  topicName: string,
  given: readonly RecordToProduce[],
): Promise<ProducedMessages | Refusal | Declined> {
  const topic = await findTopic(rooms, topicName)
  if (isRefusal(topic)) return topic
  const made = await makeParts(rooms, given)
  if (isDeclined(made)) return made
  const nowMs = rooms.clock.now()
  const anyPartition = rooms.random.below(topic.partitions)
  const byPartition = new Map<number, { readonly at: number; readonly record: NewRecord }[]>()
  for (const [at, each] of given.entries()) {
    const record = recordOf(each, made[at]!, nowMs)
    const partition = each.partition ?? partitionOf(record, topic.partitions) ?? anyPartition
    const refusal = checkPartition(topic, partition)
    if (refusal !== null) return refusal
    const rows = byPartition.get(partition) ?? []
    rows.push({ at, record })
    byPartition.set(partition, rows)
  }
  for (const [partition, rows] of byPartition) {
    const refusal = checkTimes(partition, rows)
    if (refusal !== null) return refusal
  }
  const places = Array.from(byPartition, ([partition, rows]) => ({
    topic,
    partition,
    batch: encodeBatch(rows.map(({ record }) => record)),
  }))
  const appended = await appendTo(rooms, places)
  const produced = new Array<Produced>(given.length)
  for (const [i, [partition, rows]] of [...byPartition].entries()) {
    const result = appended[i]!
    for (const [n, { at, record }] of rows.entries()) {
      if (isRefusal(result)) {
        // A record that the refusal names gets its own reason.
        const named = result.recordErrors?.find(({ batchIndex }) => batchIndex === n)
        const error = { code: result.name, detail: named?.batchIndexErrorMessage || result.message }
        produced[at] = { partition, offset: null, timestamp: null, error }
      } else {
        const timestamp = result.logAppendTimeMs >= 0 ? result.logAppendTimeMs : record.timestamp!
        produced[at] = { partition, offset: result.baseOffset + n, timestamp, error: null }
      }
    }
  }
  return appended.every(isRefusal) ? appended[0]! : { messages: produced }
}

function recordOf(
  { headers = [], timestamp }: RecordToProduce,
  { key, value, headersLeftOut }: MadeParts,
  nowMs: number,
): NewRecord {
  const kept = headers.filter(header => !headersLeftOut.includes(header.key))
  return {
    key,
    value,
    headers: kept.map(header => ({ key: header.key, value: bytesOf(header.value) })),
    timestamp: timestamp ?? nowMs,
  }
}

/**
 * Refuses times that are 2^53 ms apart or more. A batch stores each time as the distance from the first one, and such
 * a distance would lose precision.
 */
function checkTimes(partition: number, rows: readonly { readonly record: NewRecord }[]): Refusal | null {
  const first = rows[0]!.record.timestamp!
  if (rows.every(({ record }) => Number.isSafeInteger(record.timestamp! - first))) return null
  return because(INVALID_TIMESTAMP, `The times of the records for partition ${partition} are 2^53 ms apart or more.`)
}

/**
 * Returns the partition of a record with a key; null without a key. As in Kafka's partitioner, the sign of the hash
 * is removed.
 */
function partitionOf({ key }: NewRecord, partitions: number): number | null {
  if (key === null || key === undefined) return null
  return (murmur2(Buffer.from(key)) & 0x7fffffff) % partitions
}
