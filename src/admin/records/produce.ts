// Produces records for an operator, one batch for each partition, with the same checks and the same acknowledgement
// as a producer with acks=all. A record with a key goes to the partition that Kafka's own clients choose. Nothing
// recognises a repeated request: a caller that sends it twice writes the records twice. Keys and values that name a
// schema are made from JSON (made-parts.ts).

import { createHash } from 'node:crypto'
import type { Produced, ProducedMessages, RecordToProduce } from '../../api/messages.ts'
import { murmur2 } from '../../base/murmur2.ts'
import type { Random } from '../../base/random.ts'
import type { Topic } from '../../log/catalogue.ts'
import { because, INVALID_TIMESTAMP, isRefusal, MESSAGE_TOO_LARGE, type Refusal } from '../../protocol/errors.ts'
import { encodeBatch, type NewRecord } from '../../protocol/records.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import { type Declined, declined, isDeclined } from '../declined.ts'
import { checkExpected, type ExpectedTopic, outdatedOr } from '../expected-topic.ts'
import { appendTo, type Bounds, boundsOf, checkPartition, findTopic, type ReachRooms } from '../reach.ts'
import { bytesOf, type MadeParts, makeParts } from './made-parts.ts'
import type { SchemaRooms } from './schema-value.ts'

export interface WriteRooms extends ReachRooms, SchemaRooms {
  readonly random: Random
  readonly metrics: Metrics
}

/** The places of records as a preview has shown them, so that exactly these are written. */
export interface ExpectedRecords {
  readonly topic: ExpectedTopic
  /** The partition of each record. */
  readonly partitions: readonly number[]
  /** Of the keys and values as bytes: the newest version of a subject may be another one by now. */
  readonly digest: string
}

/** A record that would be written: its place, its sizes in bytes, and its schemas. */
export interface PlannedRecord {
  readonly partition: number
  /** Null without a key. */
  readonly keyBytes: number | null
  /** Null for a tombstone. */
  readonly valueBytes: number | null
  readonly headers: number
  readonly keySchemaId: number | null
  readonly valueSchemaId: number | null
}

export interface RecordsPreview {
  readonly expected: ExpectedRecords
  readonly topic: Topic
  readonly records: readonly PlannedRecord[]
  /** The sizes of the batches in bytes, and the offset behind the last record of each partition now. */
  readonly batches: readonly { readonly partition: number; readonly bytes: number; readonly end: number }[]
}

/**
 * Resolves to what a production of these records would write, and writes nothing. The leader judges the records only
 * when they are written. Throws what the store throws.
 */
export async function previewRecords(
  rooms: WriteRooms,
  topicName: string,
  given: readonly RecordToProduce[],
): Promise<RecordsPreview | Refusal | Declined> {
  const planned = await planRecords(rooms, topicName, given)
  if ('kind' in planned) return planned
  const { topic, made, places, partitions } = planned
  const bounds = await boundsOf(rooms, places)
  const away = bounds.find(isRefusal)
  if (away !== undefined) return away
  const most = topic.resolved.maxMessageBytes
  const large = places.find(({ batch }) => batch.length > most)
  if (large !== undefined)
    return because(
      MESSAGE_TOO_LARGE,
      `The batch for partition ${large.partition} has ${large.batch.length} bytes; max.message.bytes of '${topic.name}' is ${most}.`,
    )
  return {
    expected: { topic: { id: topic.id, partitions: topic.partitions }, partitions, digest: digestOf(made) },
    topic,
    records: made.map(({ key, value, schemaIds, headersLeftOut }, i) => ({
      partition: partitions[i]!,
      keyBytes: key?.length ?? null,
      valueBytes: value?.length ?? null,
      headers: keptHeaders(given[i]!, headersLeftOut).length,
      keySchemaId: schemaIds.key,
      valueSchemaId: schemaIds.value,
    })),
    batches: places.map(({ partition, batch }, i) => ({
      ...{ partition, bytes: batch.length, end: (bounds[i] as Bounds).end },
    })),
  }
}

/**
 * Resolves to one answer for each record, in order, or to a refusal if no record was written. The records of one
 * partition are written together or not at all. If a key or value cannot be made with its schema, no record is written.
 * With `expected` they are written only as they were shown. Throws what the store throws.
 */
export async function produceRecords(
  rooms: WriteRooms,
  topicName: string,
  given: readonly RecordToProduce[],
  expected?: ExpectedRecords,
): Promise<ProducedMessages | Refusal | Declined> {
  const planned = await planRecords(rooms, topicName, given, expected)
  if ('kind' in planned) return planned
  const { byPartition, places } = planned
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

interface PlannedRecords {
  readonly topic: Topic
  readonly made: readonly MadeParts[]
  readonly byPartition: ReadonlyMap<number, readonly { readonly at: number; readonly record: NewRecord }[]>
  /** In the order of byPartition. */
  readonly places: readonly { readonly topic: Topic; readonly partition: number; readonly batch: Buffer }[]
  readonly partitions: readonly number[]
}

/** Makes the batches; with `expected` it declines if they are no longer those that were shown. */
async function planRecords(
  rooms: WriteRooms,
  topicName: string,
  given: readonly RecordToProduce[],
  expected?: ExpectedRecords,
): Promise<PlannedRecords | Refusal | Declined> {
  const topic = await findTopic(rooms, topicName)
  if (isRefusal(topic)) return topic
  const changed = checkExpected(topic, expected?.topic)
  if (changed !== null) return outdatedOr(changed, expected?.topic)
  const made = await makeParts(rooms, given)
  if (isDeclined(made)) return made
  if (expected !== undefined && digestOf(made) !== expected.digest) return declined('PREVIEW_OUTDATED')
  const nowMs = rooms.clock.now()
  const anyPartition = rooms.random.below(topic.partitions)
  const byPartition = new Map<number, { readonly at: number; readonly record: NewRecord }[]>()
  for (const [at, each] of given.entries()) {
    const record = recordOf(each, made[at]!, nowMs)
    const partition =
      expected?.partitions[at] ?? each.partition ?? partitionOf(record, topic.partitions) ?? anyPartition
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
  const partitions = new Array<number>(given.length)
  for (const [partition, rows] of byPartition) for (const { at } of rows) partitions[at] = partition
  return { topic, made, byPartition, places, partitions }
}

/** Returns the SHA-256 of the keys and values, each behind its length. */
function digestOf(made: readonly MadeParts[]): string {
  const hash = createHash('sha256')
  for (const { key, value } of made) {
    hash.update(`${key?.length ?? -1}:${value?.length ?? -1};`)
    for (const bytes of [key, value]) if (bytes !== null) hash.update(bytes)
  }
  return hash.digest('base64url')
}

function keptHeaders({ headers = [] }: RecordToProduce, headersLeftOut: MadeParts['headersLeftOut']) {
  return headers.filter(header => !headersLeftOut.includes(header.key))
}

function recordOf(given: RecordToProduce, { key, value, headersLeftOut }: MadeParts, nowMs: number): NewRecord {
  return {
    key,
    value,
    headers: keptHeaders(given, headersLeftOut).map(header => ({ key: header.key, value: bytesOf(header.value) })),
    timestamp: given.timestamp ?? nowMs,
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
