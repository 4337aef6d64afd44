// Browses the records of a topic: a page of them from one partition or from all, forwards or backwards from a place, in the order
// of their timestamps (within a partition in that of their offsets); and one record by its offset. What a page costs is bounded,
// whatever is asked: a page that has read enough ends before it is full and says so. It is no consumer: no group, no fetch that
// counts for one, nothing delivered.

import { type Clock, type Turns, takingTurns } from '../base/clock.ts'
import type { Topic } from '../log/catalogue.ts'
import { because, INVALID_REQUEST, isRefusal, OFFSET_OUT_OF_RANGE, type Refusal } from '../protocol/errors.ts'
import { type Cursor, decodeCursor, encodeCursor, type Order, type Position, UNSOUGHT } from './message-cursor.ts'
import type { Message, MessagePage } from './messages-contract.ts'
import {
  type Bounds,
  boundsOf,
  checkPartition,
  findTopic,
  offsetsForTime,
  type Place,
  type ReachRooms,
} from './reach.ts'
import {
  type Filter,
  type FoundRecord,
  ReadBudget,
  type RecordReader,
  readBackwards,
  readForwards,
} from './record-reader.ts'
import { type Decoding, showHeader, showUnreadable, showValue } from './shown-value.ts'

/** Where a page begins that no cursor names. */
export type Seek =
  | { readonly edge: 'earliest' | 'latest' }
  /** In every partition that is asked for. */
  | { readonly offset: number }
  /** Ms since 1970. */
  | { readonly timestamp: number }

export interface Shown {
  readonly keyDecode: Decoding
  readonly decode: Decoding
  /** Of each key, value and header. */
  readonly previewBytes: number
}

/** Which records, and in which order. */
export interface Selection {
  /** Null: all. */
  readonly partition: number | null
  readonly order: Order
  readonly seek: Seek
  /** Goes on where another page ended, wherever `seek` says. */
  readonly cursor: string | null
  readonly limit: number
  /** Only records whose key or value has this text. */
  readonly contains: string | null
}

export interface BrowseRequest extends Selection, Shown {}

/** One page reads so many bytes of logs, and then ends. A single batch may be larger. */
export const PAGE_READ_BYTES = 32 * 1024 * 1024
const PAGE_RECORDS = 200_000
/** One page shows so many bytes of records, and then ends. */
const PAGE_SHOWN_BYTES = 8 * 1024 * 1024
/** Of all partitions together. */
const FIRST_READ_BYTES = 1024 * 1024
const LEAST_CHUNK_BYTES = 16 * 1024
const LARGEST_CHUNK_BYTES = 256 * 1024
/** Partitions whose batches are unpacked at the same time. */
const LOADED_AT_ONCE = 8
const LISTED_HEADERS = 32
/** The work between two turns of others. */
const TURN_MS = 0.5
/** Records of each partition that a reader backwards looks for at once, and that a search begins with. */
const SEARCHED_AT_ONCE = 1000

/** One page. Throws what the store throws. */
export async function browseMessages(
  rooms: ReachRooms,
  topicName: string,
  request: BrowseRequest,
): Promise<MessagePage | Refusal> {
  const question = await openQuestion(rooms, topicName, request)
  if (isRefusal(question)) return question
  const { topic, places, bounds, begins, refusals, unread } = question
  const budget = pageBudget(rooms.clock)
  const readers = readersFrom(rooms, question, begins, request, budget)
  const messages = await pageOf(byTime(readers, request.order), request, new Display(rooms.clock, request))
  const unavailable = new Map(refusals)
  for (const { partition, refusal } of readers) if (refusal !== null) unavailable.set(partition, refusal)
  // Who cannot be read at this moment is asked again by the next page.
  const positions = new Map([...unread, ...readers.map(({ partition, position }) => [partition, position] as const)])
  const cursorAt = (order: Order, at: (partition: number) => Position) =>
    encodeCursor({
      topicId: topic.id,
      order,
      partition: request.partition,
      positions: places.map(({ partition }) => at(partition)),
    })
  const isWhole = readers.every(reader => reader.isDone)
  // A program that takes page after page gets to an end although one of them stays away.
  const isLast = isWhole && (unavailable.size === 0 || messages.length === 0)
  return {
    messages,
    nextCursor: isLast ? null : cursorAt(request.order, partition => positions.get(partition) ?? null),
    tailCursor: cursorAt('oldest', partition => bounds.get(partition)?.end ?? null),
    ends: Array.from(bounds, ([partition, { start, end }]) => ({ partition, start, end })),
    scanned: budget.records,
    bytes: budget.bytes,
    isPartial: messages.length < request.limit && !isWhole,
    unavailable: Array.from(unavailable, ([partition, { name, message }]) => ({
      partition,
      code: name,
      detail: message,
    })),
  }
}

/** What is to be read, as it is at this moment. */
export interface Question {
  readonly topic: Topic
  /** All that were asked for. */
  readonly places: readonly Place[]
  /** Of those that can be reached. */
  readonly bounds: ReadonlyMap<number, Bounds>
  /** Where to begin in each partition that has something to be read. */
  readonly begins: ReadonlyMap<number, number>
  /** Why the other partitions cannot be read. */
  readonly refusals: ReadonlyMap<number, Refusal>
  /** Where to begin in those once they can. */
  readonly unread: ReadonlyMap<number, Position>
}

/** Throws what the store throws. */
export async function openQuestion(
  rooms: ReachRooms,
  topicName: string,
  request: Selection,
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
  for (const [partition, begin] of [...resumed, ...(await seek(rooms, unsought, bounds, request))]) {
    if (isRefusal(begin)) refusals.set(partition, begin)
    else if (begin !== null) begins.set(partition, begin)
  }
  const unread = new Map<number, Position>(Array.from(refusals.keys(), partition => [partition, positionOf(partition)]))
  return { topic, places, bounds, begins, refusals, unread }
}

/** A reader for each of these partitions, from there on. */
export function readersFrom(
  rooms: ReachRooms,
  { topic, bounds }: Question,
  begins: ReadonlyMap<number, number>,
  { order, limit, contains }: Selection,
  budget: ReadBudget,
): readonly RecordReader[] {
  const chunkBytes = clamp(Math.ceil(FIRST_READ_BYTES / begins.size), LEAST_CHUNK_BYTES, LARGEST_CHUNK_BYTES)
  const likely = contains === null ? Math.min(limit, Math.ceil((2 * limit) / begins.size)) : SEARCHED_AT_ONCE
  const options = { chunkBytes, budget, filter: filterOf(contains), wanted: Math.min(likely, SEARCHED_AT_ONCE) }
  return Array.from(begins, ([partition, begin]) => {
    const place = { topic, partition }
    const { start, end } = bounds.get(partition)!
    return order === 'newest'
      ? readBackwards(rooms, place, { start, before: Math.min(begin, end) }, options)
      : readForwards(rooms, place, { start, from: begin, end }, options)
  })
}

/** What one page may read. */
export function pageBudget(clock: Clock): ReadBudget {
  return new ReadBudget(clock, { maxBytes: PAGE_READ_BYTES, maxRecords: PAGE_RECORDS })
}

/** One record as a whole, as it was found. OFFSET_OUT_OF_RANGE where there is none at this offset. */
export async function findRecord(
  rooms: ReachRooms,
  topicName: string,
  partition: number,
  offset: number,
): Promise<FoundRecord | Refusal> {
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
  const budget = new ReadBudget(rooms.clock, { maxBytes: PAGE_READ_BYTES, maxRecords: Number.POSITIVE_INFINITY })
  const options = { chunkBytes: 1, budget, filter: null }
  const reader = readForwards(rooms, place, { start, from: offset, end: offset + 1 }, options)
  await reader.load()
  return reader.refusal ?? reader.head ?? none
}

export function showMessage(record: FoundRecord, { keyDecode, decode, previewBytes }: Shown, headers: number): Message {
  const { partition, offset, timestamp, timestampType, key, value, unreadable } = record
  return {
    partition,
    offset,
    timestamp: timestamp === -1 ? null : timestamp,
    timestampType,
    key: unreadable === null ? showValue(key, keyDecode, previewBytes) : null,
    value:
      unreadable === null
        ? showValue(value, decode, previewBytes)
        : showUnreadable(value ?? Buffer.alloc(0), unreadable, previewBytes),
    headers: record.headers
      .slice(0, headers)
      .map(header => ({ key: header.key, value: showHeader(header.value, decode, previewBytes) })),
    headerCount: record.headers.length,
  }
}

/** Shows records in lists, and lets others have their turn in between: a large value takes milliseconds to decode. */
export class Display {
  readonly #shown: Shown
  readonly #turn: Turns

  constructor(clock: Clock, shown: Shown) {
    this.#shown = shown
    this.#turn = takingTurns(clock, TURN_MS)
  }

  async show(record: FoundRecord): Promise<Message> {
    const turn = this.#turn()
    if (turn !== undefined) await turn
    return showMessage(record, this.#shown, LISTED_HEADERS)
  }
}

/** Null lets everything through. */
export function filterOf(contains: string | null): Filter | null {
  if (contains === null || contains === '') return null
  const wanted = Buffer.from(contains)
  return ({ key, value }) => (key?.includes(wanted) ?? false) || (value?.includes(wanted) ?? false)
}

/** One partition, or all of them (null). */
export function askedPlaces(topic: Topic, partition: number | null): readonly Place[] | Refusal {
  if (partition === null) return Array.from({ length: topic.partitions }, (_, i) => ({ topic, partition: i }))
  return checkPartition(topic, partition) ?? [{ topic, partition }]
}

/** A cursor that belongs to this question, else a refusal. */
export function readCursor(
  text: string,
  topic: Topic,
  { partition, order }: Pick<BrowseRequest, 'partition' | 'order'>,
): Cursor | Refusal {
  const cursor = decodeCursor(text)
  if (cursor === null) return because(INVALID_REQUEST, 'It is no cursor that this API has given.')
  if (cursor.topicId !== topic.id) return because(INVALID_REQUEST, 'It is of another topic.')
  if (cursor.order !== order) return because(INVALID_REQUEST, `It is of the order ${cursor.order}.`)
  if (cursor.partition !== partition || cursor.positions.length > topic.partitions) {
    return because(INVALID_REQUEST, 'It is of other partitions.')
  }
  return cursor
}

/** Partitions that came since then are new as a whole: first to whoever goes forwards, and above whoever goes backwards. */
export function positionIn({ positions, partition: only, order }: Cursor, partition: number): Position {
  const known = only === null ? positions[partition] : positions[0]
  if (known === undefined) return order === 'newest' ? null : 0
  return known
}

/**
 * Where to go on in each partition that was sought before; null for those that are not part of it, and a refusal where it fits
 * none.
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
      return because(INVALID_REQUEST, `It is at offset ${position} of partition ${partition}, which ends at ${end}.`)
    begins.set(partition, position)
  }
  return begins
}

async function seek(
  rooms: ReachRooms,
  places: readonly Place[],
  bounds: ReadonlyMap<number, Bounds>,
  { seek: to, order }: Selection,
): Promise<ReadonlyMap<number, number | Refusal>> {
  const each = (at: (bounds: Bounds, i: number) => number | Refusal) =>
    new Map(places.map(({ partition }, i) => [partition, at(bounds.get(partition)!, i)]))
  if ('edge' in to) return each(({ start, end }) => (to.edge === 'earliest' ? start : end))
  // Backwards the record at the place is the first.
  const isBackwards = order === 'newest'
  if ('offset' in to) return each(() => (isBackwards ? to.offset + 1 : to.offset))
  const found = await offsetsForTime(rooms, places, isBackwards ? to.timestamp + 1 : to.timestamp)
  return each(({ end }, i) => found[i] ?? end)
}

/** Takes the record that is next by its time from whichever reader has it, until there is none or their budget is spent. */
export async function* byTime(readers: readonly RecordReader[], order: Order): AsyncGenerator<FoundRecord, void> {
  for (let i = 0; i < readers.length; i += LOADED_AT_ONCE) {
    await Promise.all(readers.slice(i, i + LOADED_AT_ONCE).map(reader => reader.load()))
  }
  const isSpent = () => readers.some(reader => reader.head === null && !reader.isDone)
  // Which record is next is not known any more. Who has none yet takes what there is, so that the next time goes on.
  const takesAny = isSpent()
  while (takesAny || !isSpent()) {
    const next = nextOf(readers, order)
    if (next === null) return
    const record = next.head!
    next.take()
    await next.load()
    yield record
  }
}

/** Takes records until the page is full. */
async function pageOf(records: AsyncIterable<FoundRecord>, { limit }: Selection, display: Display): Promise<Message[]> {
  const messages: Message[] = []
  let shownBytes = 0
  for await (const record of records) {
    const message = await display.show(record)
    messages.push(message)
    shownBytes += bytesOf(message)
    if (messages.length >= limit || shownBytes >= PAGE_SHOWN_BYTES) break
  }
  return messages
}

function nextOf(readers: readonly RecordReader[], order: Order): RecordReader | null {
  let best: RecordReader | null = null
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

function bytesOf({ key, value, headers }: Message): number {
  const sizes = [key, value, ...headers.map(header => header.value)].map(
    shown => (shown?.text ?? shown?.base64 ?? '').length,
  )
  return sizes.reduce((sum, size) => sum + size, 0)
}

function clamp(value: number, min: number, max: number): number {
  return Math.min(Math.max(value, min), max)
}
