// Browses the records of a topic. A page shows records from one partition or from all, forwards or backwards from a
// position, in the order of their timestamps (within a partition in the order of their offsets). `findRecord` finds
// one record by its offset. The cost of a page is bounded: a page that has read enough ends before it is full and
// says so. To browse is not to consume: no group is joined, no read counts as a fetch, and no record counts as
// delivered.

import type { MessagePage, ShownRecord } from '../../api/messages.ts'
import type { Clock } from '../../base/clock.ts'
import { type Patience, patience } from '../../base/patience.ts'
import type { Topic } from '../../log/catalogue.ts'
import type { Looker } from '../../log/unpacking.ts'
import {
  because,
  INVALID_REQUEST,
  isRefusal,
  OFFSET_OUT_OF_RANGE,
  REQUEST_TIMED_OUT,
  type Refusal,
} from '../../protocol/errors.ts'
import {
  type Bounds,
  boundsOf,
  checkPartition,
  findTopic,
  offsetsForTime,
  type Place,
  type ReachRooms,
} from '../reach.ts'
import { type Cursor, decodeCursor, encodeCursor, type Order, type Position, UNSOUGHT } from './page-cursor.ts'
import { ReadBudget } from './read-budget.ts'
import { type Keeping, type RecordReader, readBackwards, readForwards } from './record-reader.ts'
import type { SchemaRooms } from './schema-value.ts'
import { type KeptRecord, listed, present, type Shown } from './shown-record.ts'
import { filterOf } from './text-filter.ts'

/** Where a page without a cursor begins. */
export type Seek =
  | { readonly edge: 'earliest' | 'latest' }
  /** The same offset in every partition of the request. */
  | { readonly offset: number }
  /** Milliseconds since 1970. */
  | { readonly timestamp: number }

/** Says which records a request wants, and in which order. */
export interface Selection {
  /** Null: all partitions. */
  readonly partition: number | null
  readonly order: Order
  readonly seek: Seek
  /** Continues where another page ended; `seek` is ignored then. */
  readonly cursor: string | null
  readonly limit: number
  /** Only records whose key or value contains this text; null: all records. */
  readonly contains: string | null
}

export interface BrowseRequest extends Selection, Shown {}

/** The most bytes of logs that one page reads. A single batch may be larger. */
export const PAGE_READ_BYTES = 32 * 1024 * 1024
const PAGE_RECORDS = 200_000
/** A page ends once it has unpacked this many bytes. */
const PAGE_UNPACKED_BYTES = 256 * 1024 * 1024
/** A page ends once its readers have kept this many bytes of records, whether the page shows them or not. */
const PAGE_KEPT_BYTES = 32 * 1024 * 1024
/** A page ends once it shows this many bytes of records. */
const PAGE_SHOWN_BYTES = 8 * 1024 * 1024
/** A page that is not full after this time ends early. */
const PAGE_MS = 10_000
/** The bytes of one read from each partition, added up. */
const FIRST_READ_BYTES = 1024 * 1024
const LEAST_CHUNK_BYTES = 16 * 1024
const LARGEST_CHUNK_BYTES = 256 * 1024
/** The number of partitions whose batches are unpacked at the same time. */
const LOADED_AT_ONCE = 8
/**
 * The most records that a backward reader looks for at once in a partition. A search for a text looks for this
 * number.
 */
const SEARCHED_AT_ONCE = 1000
/**
 * All readers of one page together keep at most this many records and bytes that have not been taken. Each reader may
 * keep one record in any case.
 */
const PORTION_RECORDS = 10_000
const PORTION_BYTES = 4 * 1024 * 1024

/** A page that a caller may cut: it can go on behind any of its records. */
export interface DivisiblePage {
  readonly page: MessagePage
  /** Returns the cursor of the page that begins behind the first `kept` records; null behind the last page. */
  cursorAfter(kept: number): string | null
}

/**
 * Resolves to one page. The work ends if `ended` is aborted, because the caller no longer waits for the page. Throws
 * what the store throws.
 */
export async function browseRecords(
  rooms: ReachRooms & SchemaRooms,
  topicName: string,
  request: BrowseRequest,
  ended: AbortSignal | null = null,
): Promise<DivisiblePage | Refusal> {
  const waiting = pagePatience(rooms.clock, ended)
  const question = await openQuestion(rooms, topicName, request, waiting)
  if (isRefusal(question)) return question
  const { topic, places, bounds, begins, refusals, unread } = question
  const budget = pageBudget(rooms, waiting)
  const readers = readersFrom(rooms, question, begins, request, { budget, keeping: listed(request) })
  const readerOf = new Map(readers.map(reader => [reader.partition, reader]))
  /** For each record of the page, where its partition goes on behind it. */
  const behind: Position[] = []
  const found = await pageOf(byTime(readers, request.order), request, budget.looker, async kept => {
    behind.push(readerOf.get(kept.shown.partition)!.position)
    return await present(rooms, topic, kept)
  })
  const unavailable = new Map(refusals)
  for (const { partition, refusal } of readers) if (refusal !== null) unavailable.set(partition, refusal)
  // The next page tries partitions again that cannot be read at this moment.
  const positions = new Map([...unread, ...readers.map(({ partition, position }) => [partition, position] as const)])
  const cursorAt = (order: Order, at: (partition: number) => Position) =>
    encodeCursor({
      topicId: topic.id,
      order,
      partition: request.partition,
      positions: places.map(({ partition }) => at(partition)),
    })
  const isWhole = readers.every(reader => reader.isDone)
  // So a program that reads page after page comes to an end even if one partition stays unavailable.
  const isLast = isWhole && (unavailable.size === 0 || found.length === 0)
  const nextCursor = isLast ? null : cursorAt(request.order, partition => positions.get(partition) ?? null)
  return {
    page: {
      messages: found,
      nextCursor,
      tailCursor: cursorAt('oldest', partition => bounds.get(partition)?.end ?? null),
      ends: Array.from(bounds, ([partition, { start, end }]) => ({ partition, start, end })),
      scanned: budget.records,
      bytes: budget.bytes,
      isPartial: found.length < request.limit && !isWhole,
      unavailable: Array.from(unavailable, ([partition, { name, message }]) => ({
        partition,
        code: name,
        detail: message,
      })),
    },
    cursorAfter(kept) {
      if (kept >= found.length) return nextCursor
      const at = new Map<number, Position>(unread)
      // A request may begin beyond the end, where a cursor must not.
      for (const [partition, begin] of begins) at.set(partition, Math.min(begin, bounds.get(partition)!.end))
      for (const [i, { partition }] of found.slice(0, kept).entries()) at.set(partition, behind[i]!)
      return cursorAt(request.order, partition => at.get(partition) ?? null)
    },
  }
}

/** A request for records, with the current state of its partitions. */
export interface Question {
  readonly topic: Topic
  /** All partitions of the request. */
  readonly places: readonly Place[]
  /** The bounds of the partitions that can be reached. */
  readonly bounds: ReadonlyMap<number, Bounds>
  /** Where to begin in each partition that has records to read. */
  readonly begins: ReadonlyMap<number, number>
  /** Why the other partitions cannot be read. */
  readonly refusals: ReadonlyMap<number, Refusal>
  /** Where the partitions of `refusals` begin once they can be read. */
  readonly unread: ReadonlyMap<number, Position>
}

/** Finds the partitions of a request and where to begin in each of them. Throws what the store throws. */
export async function openQuestion(
  rooms: ReachRooms,
  topicName: string,
  request: Selection,
  waiting: Patience,
): Promise<Question | Refusal> {
  const topic = await findTopic(rooms, topicName)
  if (isRefusal(topic)) return topic
  const places = askedPlaces(topic, request.partition)
  if (isRefusal(places)) return places
  const cursor = request.cursor === null ? null : readCursor(request.cursor, topic, request)
  if (isRefusal(cursor)) return cursor
  const found = await boundsOf(rooms, places)
  const bounds = new Map<number, Bounds>()
  const refusals = new Map<number, Refusal>()
  for (const [i, { partition }] of places.entries()) {
    const one = found[i]!
    if (isRefusal(one)) refusals.set(partition, one)
    else bounds.set(partition, one)
  }
  const reached = places.filter(({ partition }) => bounds.has(partition))
  const positionOf = (partition: number): Position => (cursor === null ? UNSOUGHT : positionIn(cursor, partition))
  const resumed = cursor === null ? new Map<number, number | null>() : resume(cursor, reached, bounds)
  if (isRefusal(resumed)) return resumed
  const unsought = reached.filter(({ partition }) => positionOf(partition) === UNSOUGHT)
  const begins = new Map<number, number>()
  for (const [partition, begin] of [...resumed, ...(await seek(rooms, unsought, bounds, request, waiting))]) {
    if (isRefusal(begin)) refusals.set(partition, begin)
    else if (begin !== null) begins.set(partition, begin)
  }
  const unread = new Map<number, Position>(Array.from(refusals.keys(), partition => [partition, positionOf(partition)]))
  return { topic, places, bounds, begins, refusals, unread }
}

/** Returns a reader for each partition of `begins`, starting at its offset. */
export function readersFrom<K>(
  rooms: ReachRooms,
  { topic, bounds }: Question,
  begins: ReadonlyMap<number, number>,
  { order, limit, contains }: Selection,
  { budget, keeping }: { readonly budget: ReadBudget; readonly keeping: Keeping<K> },
): readonly RecordReader<K>[] {
  const readers = begins.size
  const share = (whole: number) => Math.max(1, Math.ceil(whole / readers))
  const chunkBytes = clamp(Math.ceil(FIRST_READ_BYTES / readers), LEAST_CHUNK_BYTES, LARGEST_CHUNK_BYTES)
  const likely = contains === null ? Math.min(limit, Math.ceil((2 * limit) / readers)) : SEARCHED_AT_ONCE
  const portion = { records: Math.min(likely, share(PORTION_RECORDS)), bytes: share(PORTION_BYTES) }
  const options = { chunkBytes, budget, keeping, portion, filter: filterOf(contains) }
  return Array.from(begins, ([partition, begin]) => {
    const place = { topic, partition }
    const { start, end } = bounds.get(partition)!
    return order === 'newest'
      ? readBackwards(
          rooms,
          place,
          { start, before: Math.min(begin, end) },
          { ...options, wanted: Math.min(likely, SEARCHED_AT_ONCE) },
        )
      : readForwards(rooms, place, { start, from: begin, end }, options)
  })
}

/** Returns the budget of one page. */
export function pageBudget({ logs }: ReachRooms, waiting: Patience): ReadBudget {
  return new ReadBudget(logs.unpacking.looker(waiting), {
    bytes: PAGE_READ_BYTES,
    unpackedBytes: PAGE_UNPACKED_BYTES,
    records: PAGE_RECORDS,
    keptBytes: PAGE_KEPT_BYTES,
  })
}

function pagePatience(clock: Clock, ended: AbortSignal | null): Patience {
  return patience(clock, clock.monotonic() + PAGE_MS, ended)
}

/**
 * Resolves to one record, in the form that `keeping` gives it. OFFSET_OUT_OF_RANGE if no record has this offset,
 * REQUEST_TIMED_OUT if other requests were unpacking batches for too long.
 */
export async function findRecord<K>(
  rooms: ReachRooms,
  topicName: string,
  { partition, offset }: { readonly partition: number; readonly offset: number },
  keeping: Keeping<K>,
  ended: AbortSignal | null = null,
): Promise<{ readonly content: K; readonly topic: Topic } | Refusal> {
  const topic = await findTopic(rooms, topicName)
  if (isRefusal(topic)) return topic
  const place = { topic, partition }
  const refusal = checkPartition(topic, partition)
  if (refusal !== null) return refusal
  const [bounds] = await boundsOf(rooms, [place])
  if (isRefusal(bounds)) return bounds
  const { start, end } = bounds!
  const held = start === end ? 'none at all' : `${start} to ${end - 1}`
  const none = because(
    OFFSET_OUT_OF_RANGE,
    `Partition ${partition} of '${topicName}' has no record at offset ${offset}; it holds ${held}.`,
  )
  if (offset < start || offset >= end) return none
  const budget = pageBudget(rooms, pagePatience(rooms.clock, ended))
  const options = { chunkBytes: 1, budget, filter: null, keeping, portion: { records: 1, bytes: 1 } }
  const reader = readForwards(rooms, place, { start, from: offset, end: offset + 1 }, options)
  await reader.load()
  if (reader.head !== null) return { content: reader.head.content, topic }
  return reader.refusal ?? (reader.isDone ? none : LATE)
}

const LATE = because(REQUEST_TIMED_OUT, 'The request waited too long for other requests that unpack batches.')

/** Returns one partition of the topic, or all of them (null). */
export function askedPlaces(topic: Topic, partition: number | null): readonly Place[] | Refusal {
  if (partition === null) return Array.from({ length: topic.partitions }, (_, i) => ({ topic, partition: i }))
  return checkPartition(topic, partition) ?? [{ topic, partition }]
}

/** Returns the cursor, or a refusal if it does not belong to this request. */
export function readCursor(
  text: string,
  topic: Topic,
  { partition, order }: Pick<BrowseRequest, 'partition' | 'order'>,
): Cursor | Refusal {
  const cursor = decodeCursor(text)
  if (cursor === null) return because(INVALID_REQUEST, 'This API did not issue the cursor.')
  if (cursor.topicId !== topic.id) return because(INVALID_REQUEST, 'The cursor belongs to another topic.')
  if (cursor.order !== order) return because(INVALID_REQUEST, `The cursor belongs to the order ${cursor.order}.`)
  if (cursor.partition !== partition || cursor.positions.length > topic.partitions) {
    return because(INVALID_REQUEST, 'The cursor belongs to other partitions.')
  }
  return cursor
}

/**
 * Returns the position of a partition in the cursor. The cursor has no position for a partition that was added after
 * the last page. A forward reader starts such a partition at its beginning. A backward reader leaves it out, because
 * all of its records are newer than the cursor.
 */
export function positionIn({ positions, partition: only, order }: Cursor, partition: number): Position {
  const known = only === null ? positions[partition] : positions[0]
  if (known === undefined) return order === 'newest' ? null : 0
  return known
}

/**
 * Returns where to continue in each partition of the cursor; null for partitions outside the request. Returns a
 * refusal if the cursor is beyond the end of a partition.
 */
export function resume(
  cursor: Cursor,
  places: readonly Place[],
  bounds: ReadonlyMap<number, Bounds>,
): ReadonlyMap<number, number | null> | Refusal {
  const begins = new Map<number, number | null>()
  for (const { partition } of places) {
    const position = positionIn(cursor, partition)
    if (position === UNSOUGHT) continue
    const { end } = bounds.get(partition)!
    if (position !== null && position > end)
      return because(
        INVALID_REQUEST,
        `The cursor is at offset ${position} of partition ${partition}, which ends at ${end}.`,
      )
    begins.set(partition, position)
  }
  return begins
}

async function seek(
  rooms: ReachRooms,
  places: readonly Place[],
  bounds: ReadonlyMap<number, Bounds>,
  { seek: to, order }: Selection,
  waiting: Patience,
): Promise<ReadonlyMap<number, number | Refusal>> {
  const each = (at: (bounds: Bounds, i: number) => number | Refusal) =>
    new Map(places.map(({ partition }, i) => [partition, at(bounds.get(partition)!, i)]))
  if ('edge' in to) return each(({ start, end }) => (to.edge === 'earliest' ? start : end))
  // If the order is backwards, the record at the requested position is the first.
  const isBackwards = order === 'newest'
  if ('offset' in to) return each(() => (isBackwards ? to.offset + 1 : to.offset))
  const found = await offsetsForTime(rooms, places, isBackwards ? to.timestamp + 1 : to.timestamp, waiting)
  return each(({ end }, i) => found[i] ?? end)
}

/**
 * Yields the records of all readers in the order of their timestamps, until no reader has a record or their budget is
 * spent.
 */
export async function* byTime<K>(readers: readonly RecordReader<K>[], order: Order): AsyncGenerator<K, void> {
  for (let i = 0; i < readers.length; i += LOADED_AT_ONCE) {
    await Promise.all(readers.slice(i, i + LOADED_AT_ONCE).map(reader => reader.load()))
  }
  const isSpent = () => readers.some(reader => reader.head === null && !reader.isDone)
  // If the budget is spent, the next record by time is unknown. A page that is still empty takes any record, so that
  // the next page makes progress.
  const takesAny = isSpent()
  while (takesAny || !isSpent()) {
    const next = nextOf(readers, order)
    if (next === null) return
    const record = next.head!
    next.take()
    await next.load()
    yield record.content
  }
}

/** Takes records until the page is full. */
async function pageOf(
  records: AsyncIterable<KeptRecord>,
  { limit }: Selection,
  { patience, turn }: Looker,
  show: (kept: KeptRecord) => Promise<ShownRecord>,
): Promise<ShownRecord[]> {
  const page: ShownRecord[] = []
  let shownBytes = 0
  for await (const kept of records) {
    const others = turn()
    if (others !== undefined) await others
    const record = await show(kept)
    page.push(record)
    shownBytes += writtenBytes(record)
    if (page.length >= limit || shownBytes >= PAGE_SHOWN_BYTES) break
    // To decode with schemas takes time too.
    if (kept.undecoded.length > 0 && patience.isOver) break
  }
  return page
}

function nextOf<K>(readers: readonly RecordReader<K>[], order: Order): RecordReader<K> | null {
  let best: RecordReader<K> | null = null
  for (const reader of readers) {
    if (reader.head === null) continue
    if (best === null) best = reader
    else if (
      order === 'oldest' ? reader.head.timestamp < best.head!.timestamp : reader.head.timestamp > best.head!.timestamp
    )
      best = reader
  }
  return best
}

/** Returns the approximate length of the record as JSON. */
function writtenBytes({ key, value, headers }: ShownRecord): number {
  let bytes = 0
  for (const shown of [key, value, ...headers.map(header => header.value)]) {
    const text = shown?.text ?? shown?.base64 ?? ''
    bytes += text.length
    for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) < 0x20) bytes += ESCAPE_BYTES
  }
  return bytes
}

/** The extra bytes of a control character in JSON: it takes six bytes instead of one. */
const ESCAPE_BYTES = 5

function clamp(value: number, min: number, max: number): number {
  return Math.min(Math.max(value, min), max)
}
