// Records as the admin API shows them: a page, one record, and the bytes of one part. Each waits for its turn
// (readers.ts), checks the selection, and declines where Kafka's words do not fit.

import type { MessagePageQuery, MessageSelection, ShownRecord } from '../../api/messages.ts'
import type { Decoding } from '../../api/words.ts'
import { INVALID_REQUEST, isRefusal, OFFSET_OUT_OF_RANGE, type Refusal } from '../../protocol/errors.ts'
import { type Declined, declined, isDeclined } from '../declined.ts'
import type { ReachRooms } from '../reach.ts'
import { browseRecords, type DivisiblePage, findRecord, type Selection } from './browse.ts'
import type { RecordReaders } from './readers.ts'
import type { Keeping } from './record-reader.ts'
import type { SchemaRooms } from './schema-value.ts'
import { present, whole } from './shown-record.ts'

export interface MessageRooms extends ReachRooms, SchemaRooms {
  readonly recordReaders: Pick<RecordReaders, 'page'>
}

/** The place of one record. */
export interface RecordPlace {
  readonly topic: string
  readonly partition: number
  readonly offset: number
}

const BUSY = declined('BUSY', 'The broker is at its limit of pages of records at one time, and its queue is full.')

/**
 * Resolves to one page of the records of a topic. The work ends if `ended` is aborted. Throws what the store throws.
 */
export async function browseMessages(
  rooms: MessageRooms,
  topic: string,
  query: MessagePageQuery,
  ended: AbortSignal,
): Promise<DivisiblePage | Refusal | Declined> {
  const selection = selectionOf(query)
  if (isDeclined(selection)) return selection
  const browsed = { ...query, ...selection }
  const found = await rooms.recordReaders.page(() => browseRecords(rooms, topic, browsed, ended))
  if (found === null) return BUSY
  return isRefusal(found) ? blamingCursor(found) : found
}

/** Resolves to one record as a whole, decoded as asked. NOT_FOUND if no record has the offset. */
export async function showMessage(
  rooms: MessageRooms,
  { topic, ...at }: RecordPlace,
  decodings: { readonly keyDecode: Decoding; readonly decode: Decoding },
  ended: AbortSignal,
): Promise<ShownRecord | Refusal | Declined> {
  const keeping = whole(() => decodings)
  const message = await rooms.recordReaders.page(async () => {
    const record = await findRecord(rooms, topic, at, keeping, ended)
    return isRefusal(record) ? record : await present(rooms, record.topic, record.content)
  })
  if (message === null) return BUSY
  return isRefusal(message) ? missing(message) : message
}

/** Resolves to the bytes of the key or the value of one record, unchanged. NOT_FOUND if the part is null. */
export async function readPart(
  rooms: MessageRooms,
  { topic, ...at }: RecordPlace,
  part: 'key' | 'value',
  ended: AbortSignal,
): Promise<Buffer | Refusal | Declined> {
  const keeping = bytesOfPart(part)
  const record = await rooms.recordReaders.page(() => findRecord(rooms, topic, at, keeping, ended))
  if (record === null) return BUSY
  if (isRefusal(record)) return missing(record)
  return record.content ?? declined('NOT_FOUND', `The ${part} of this record is null.`)
}

/** Keeps the bytes of one part, unchanged; null if the part is null. */
function bytesOfPart(part: 'key' | 'value'): Keeping<Buffer | null> {
  return {
    headers: { count: 0, bytes: 0 },
    keep(record) {
      const bytes = record[part]
      return bytes === null ? null : Buffer.from(bytes)
    },
    bytesOf: bytes => bytes?.length ?? 0,
  }
}

/** Returns the selection of records for a query. */
export function selectionOf(query: MessageSelection): Selection | Declined {
  const { from, offset, timestamp, partition, cursor, contains, order, limit } = query
  const places = [from, offset, timestamp].filter(each => each !== undefined)
  if (places.length > 1) {
    const fields = { from: 'at most one of from, offset and timestamp may be given' }
    return declined('INVALID_REQUEST', 'At most one of from, offset and timestamp may be given.', fields)
  }
  return {
    order,
    limit,
    seek:
      offset !== undefined
        ? { offset }
        : timestamp !== undefined
          ? { timestamp }
          : { edge: from ?? (order === 'oldest' ? 'earliest' : 'latest') },
    partition: partition ?? null,
    cursor: cursor ?? null,
    contains: contains ?? null,
  }
}

/** Returns the answer to a refused selection. Only a cursor that does not fit makes the request invalid. */
export function blamingCursor(refusal: Refusal): Declined | Refusal {
  if (refusal.code !== INVALID_REQUEST.code) return refusal
  return declined('INVALID_REQUEST', `cursor: ${refusal.message}`, { cursor: refusal.message })
}

/** Returns the answer to a refused request for one record. An offset without a record is not found. */
function missing(refusal: Refusal): Declined | Refusal {
  return refusal.code === OFFSET_OUT_OF_RANGE.code ? declined('NOT_FOUND', refusal.message) : refusal
}
