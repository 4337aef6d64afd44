// A live tail: the records of a topic as they come, for somebody who watches. It looks at the ends of the partitions a few times a
// second and reads what is new when it is asked for the next event, so nothing is kept for a reader who is slow: what it is too
// far behind for is passed over and counted. It ends with the signal that it is given.

import type { Clock, Timer } from '../base/clock.ts'
import { patience } from '../base/patience.ts'
import type { Topic } from '../log/catalogue.ts'
import { CORRUPT_MESSAGE, isRefusal, type Refusal, UNKNOWN_TOPIC_ID } from '../protocol/errors.ts'
import { encodeCursor } from './message-cursor.ts'
import { askedPlaces, positionIn, readCursor, resume } from './messages.ts'
import type { Message } from './messages-contract.ts'
import { type Bounds, boundsOf, findTopic, type Place, type ReachRooms } from './reach.ts'
import { ReadBudget } from './read-budget.ts'
import { type Found, readForwards } from './record-reader.ts'
import { listed, type Shown } from './shown-message.ts'
import { filterOf } from './text-filter.ts'

export interface TailRequest extends Shown {
  /** Null: all. */
  readonly partition: number | null
  /** Goes on where an event or a page ended; null: at the end. */
  readonly cursor: string | null
  readonly contains: string | null
}

/** `cursor` is where somebody goes on who has seen this event. */
export type TailEvent =
  /** The first. */
  | { readonly kind: 'begun'; readonly cursor: string }
  | { readonly kind: 'messages'; readonly cursor: string; readonly messages: readonly Message[] }
  /** So many records were passed over; null where offsets follow the clock and do not tell. */
  | { readonly kind: 'dropped'; readonly cursor: string; readonly count: number | null }
  /** Nothing for a while. */
  | { readonly kind: 'heartbeat' }
  /** The topic is gone. */
  | { readonly kind: 'ended'; readonly refusal: Refusal }

export const HEARTBEAT_MS = 15_000
const LOOK_MS = 200
/** Records in one event. */
const EVENT_RECORDS = 200
/** A reader who is further behind than this is too slow; it then goes on near the end. */
export const MOST_BEHIND = 2_000
const KEPT_BEHIND = 200
/** Partitions together, in one look. */
const LOOK_BYTES = 4 * 1024 * 1024
const LOOK_UNPACKED_BYTES = 64 * 1024 * 1024
const LOOK_KEPT_BYTES = 8 * 1024 * 1024
const CHUNK_BYTES = 256 * 1024

/** Events without an end, or why there is nothing to watch. Throws what the store throws. */
export async function tailMessages(
  rooms: ReachRooms,
  topicName: string,
  request: TailRequest,
  ended: AbortSignal,
): Promise<AsyncGenerator<TailEvent, void> | Refusal> {
  const topic = await findTopic(rooms, topicName)
  if (isRefusal(topic)) return topic
  const places = askedPlaces(topic, request.partition)
  if (isRefusal(places)) return places
  const bounds = await knownBounds(rooms, places)
  const positions = new Map<number, number>()
  if (request.cursor !== null) {
    const cursor = readCursor(request.cursor, topic, { partition: request.partition, order: 'oldest' })
    if (isRefusal(cursor)) return cursor
    const reached = places.filter(({ partition }) => bounds.has(partition))
    const begins = resume(cursor, reached, bounds)
    if (isRefusal(begins)) return begins
    for (const { partition } of places) {
      // Who cannot be asked at this moment goes on there too, once it can.
      const begin = bounds.has(partition) ? begins.get(partition) : positionIn(cursor, partition)
      if (typeof begin === 'number') positions.set(partition, begin)
    }
  }
  for (const [partition, { end }] of bounds) if (!positions.has(partition)) positions.set(partition, end)
  return follow(rooms, topic, request, positions, ended)
}

async function* follow(
  rooms: ReachRooms,
  topic: Topic,
  request: TailRequest,
  positions: Map<number, number>,
  ended: AbortSignal,
): AsyncGenerator<TailEvent, void> {
  const { clock, catalogue } = rooms
  let quietSinceMs = clock.monotonic()
  /** Partitions that were there when the tail began. */
  const known = topic.partitions
  const cursor = () =>
    encodeCursor({
      topicId: topic.id,
      order: 'oldest',
      partition: request.partition,
      positions:
        request.partition === null
          ? Array.from({ length: topic.partitions }, (_, i) => positions.get(i) ?? null)
          : [positions.get(request.partition) ?? null],
    })

  yield { kind: 'begun', cursor: cursor() }
  while (!ended.aborted) {
    const current = catalogue.current().topicsById.get(topic.id)
    if (current === undefined) {
      yield { kind: 'ended', refusal: UNKNOWN_TOPIC_ID }
      return
    }
    topic = current
    const looked = await look(rooms, topic, request, positions, known, ended)
    if (looked.dropped > 0) yield { kind: 'dropped', cursor: cursor(), count: looked.dropped }
    for (const records of looked.events) {
      for (const { partition, lastOffset } of records) positions.set(partition, lastOffset + 1)
      yield { kind: 'messages', cursor: cursor(), messages: records.map(({ content }) => content) }
    }
    for (const [partition, position] of looked.positions) positions.set(partition, position)
    if (looked.droppedAfter !== 0) yield { kind: 'dropped', cursor: cursor(), count: looked.droppedAfter }
    if (looked.dropped > 0 || looked.droppedAfter !== 0 || looked.events.length > 0) quietSinceMs = clock.monotonic()
    else if (clock.monotonic() - quietSinceMs >= HEARTBEAT_MS) {
      quietSinceMs = clock.monotonic()
      yield { kind: 'heartbeat' }
    }
    await pause(clock, LOOK_MS, ended)
  }
}

interface Look {
  /** Before what is in the events. */
  readonly dropped: number
  /** After it. */
  readonly droppedAfter: number | null
  /** In the order of their timestamps, as many as an event holds. */
  readonly events: readonly (readonly Found<Message>[])[]
  /** Where each partition that was read stands afterwards. */
  readonly positions: ReadonlyMap<number, number>
}

async function look(
  rooms: ReachRooms,
  topic: Topic,
  request: TailRequest,
  positions: Map<number, number>,
  known: number,
  ended: AbortSignal,
): Promise<Look> {
  const { partition: only, contains } = request
  const places = askedPlaces(topic, only)
  const bounds = isRefusal(places) ? new Map<number, Bounds>() : await knownBounds(rooms, places)
  let behind = 0
  for (const [partition, { start, end }] of bounds) {
    // A partition that came since the tail began is new as a whole; one that could not be asked until now is watched from here on.
    const first = partition < known ? end : start
    // What was deleted meanwhile was nobody's to see.
    const position = Math.max(positions.get(partition) ?? first, start)
    positions.set(partition, Math.min(position, end))
    behind += end - Math.min(position, end)
  }
  let dropped = 0
  let droppedAfter: number | null = 0
  const isCounted = topic.resolved.offsetSequenceBits === 0
  if (isCounted && behind > MOST_BEHIND) {
    const kept = Math.ceil(KEPT_BEHIND / bounds.size)
    for (const [partition, { end }] of bounds) {
      const position = positions.get(partition)!
      const next = Math.max(position, end - kept)
      dropped += next - position
      positions.set(partition, next)
    }
  }
  const waiting = patience(rooms.clock, Number.POSITIVE_INFINITY, ended)
  const budget = new ReadBudget(rooms.logs.unpacking.looker(waiting), {
    bytes: LOOK_BYTES,
    unpackedBytes: LOOK_UNPACKED_BYTES,
    records: MOST_BEHIND,
    keptBytes: LOOK_KEPT_BYTES,
  })
  const portion = { records: MOST_BEHIND, bytes: LOOK_KEPT_BYTES }
  const filter = filterOf(contains)
  const found: { readonly record: Found<Message>; readonly rank: number }[] = []
  const after = new Map<number, number>()
  for (const [partition, { start, end }] of bounds) {
    const from = positions.get(partition)!
    if (from >= end) continue
    const reader = readForwards(
      rooms,
      { topic, partition },
      { start, from, end },
      { chunkBytes: CHUNK_BYTES, budget, filter, keeping: listed(request), portion },
    )
    // Within a partition the offsets decide, whatever its timestamps say.
    let rank = Number.NEGATIVE_INFINITY
    for (await reader.load(); reader.head !== null; await reader.load()) {
      rank = Math.max(rank, reader.head.timestamp)
      found.push({ record: reader.head, rank })
      reader.take()
    }
    // Nobody gets past a batch that is damaged. Where nobody can count, who has not got through in one look is too slow.
    const isPassedOver =
      reader.refusal === null ? !isCounted && !reader.isDone : reader.refusal.code === CORRUPT_MESSAGE.code
    if (isPassedOver) droppedAfter = isCounted && droppedAfter !== null ? droppedAfter + end - reader.position : null
    after.set(partition, isPassedOver ? end : reader.position)
  }
  found.sort((one, other) => one.rank - other.rank)
  const events: Found<Message>[][] = []
  for (let at = 0; at < found.length; at += EVENT_RECORDS) {
    events.push(found.slice(at, at + EVENT_RECORDS).map(({ record }) => record))
  }
  return { dropped, droppedAfter, events, positions: after }
}

/** Of the partitions that can be reached at this moment; the others are looked at again with the next look. */
async function knownBounds(rooms: ReachRooms, places: readonly Place[]): Promise<Map<number, Bounds>> {
  const known = new Map<number, Bounds>()
  const found = await boundsOf(rooms, places)
  for (const [i, { partition }] of places.entries()) {
    const one = found[i]!
    if (!isRefusal(one)) known.set(partition, one)
  }
  return known
}

/** Ends early with the signal. */
function pause(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    let timer: Timer | null = null
    const end = () => {
      timer?.cancel()
      signal.removeEventListener('abort', end)
      resolve()
    }
    timer = clock.timer(delayMs, end)
    signal.addEventListener('abort', end)
    if (signal.aborted) end()
  })
}
