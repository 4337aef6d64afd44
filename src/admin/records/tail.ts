// A live tail yields the records of a topic as they arrive, for a person who watches. It checks the ends of the
// partitions a few times a second, and reads new records when the caller asks for the next event. So it keeps nothing
// for a slow reader: records that are too far back are skipped and counted. It ends when its signal is aborted.

import type { ShownRecord } from '../../api/messages.ts'
import { pause, takingTurns } from '../../base/clock.ts'
import { patience } from '../../base/patience.ts'
import type { Topic } from '../../log/catalogue.ts'
import { CORRUPT_MESSAGE, isRefusal, type Refusal, UNKNOWN_TOPIC_ID } from '../../protocol/errors.ts'
import { type Bounds, boundsOf, findTopic, type Place, type ReachRooms } from '../reach.ts'
import { askedPlaces, positionIn, readCursor, resume } from './browse.ts'
import { encodeCursor } from './page-cursor.ts'
import { ReadBudget } from './read-budget.ts'
import { type Found, readForwards } from './record-reader.ts'
import type { SchemaRooms } from './schema-value.ts'
import { type KeptRecord, listed, present, type Shown } from './shown-record.ts'
import { filterOf } from './text-filter.ts'

export interface TailRequest extends Shown {
  /** Null: all partitions. */
  readonly partition: number | null
  /**
   * The cursor of an event or a page after which the tail continues; null: it begins at the end of each partition.
   */
  readonly cursor: string | null
  readonly contains: string | null
}

/** `cursor` is where a reader continues after this event. */
export type TailEvent =
  /** The first event. */
  | { readonly kind: 'begun'; readonly cursor: string }
  | { readonly kind: 'records'; readonly cursor: string; readonly records: readonly ShownRecord[] }
  /** `count` records were skipped; null if offsets follow the clock, because then the number is unknown. */
  | { readonly kind: 'dropped'; readonly cursor: string; readonly count: number | null }
  /** No record arrived for a while. */
  | { readonly kind: 'heartbeat' }
  /** The topic is gone. */
  | { readonly kind: 'ended'; readonly refusal: Refusal }

export const HEARTBEAT_MS = 15_000
const LOOK_MS = 200
/** The most records in one event. */
const EVENT_RECORDS = 200
/** A reader that is more records behind than this is too slow. It then continues near the end. */
export const MOST_BEHIND = 2_000
const KEPT_BEHIND = 200
/** The most bytes that one look reads from all partitions together. */
const LOOK_BYTES = 4 * 1024 * 1024
const LOOK_UNPACKED_BYTES = 64 * 1024 * 1024
const LOOK_KEPT_BYTES = 8 * 1024 * 1024
const CHUNK_BYTES = 256 * 1024
/** How long records are decoded before other work gets a turn. */
const TURN_MS = 2

/**
 * Resolves to an endless iteration of events, or to a refusal if the topic cannot be watched. Throws what the store
 * throws.
 */
export async function tailRecords(
  rooms: ReachRooms & SchemaRooms,
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
      // A partition that cannot be read at this moment continues at the cursor too, once it can be read.
      const begin = bounds.has(partition) ? begins.get(partition) : positionIn(cursor, partition)
      if (typeof begin === 'number') positions.set(partition, begin)
    }
  }
  for (const [partition, { end }] of bounds) if (!positions.has(partition)) positions.set(partition, end)
  return follow(rooms, topic, request, positions, ended)
}

async function* follow(
  rooms: ReachRooms & SchemaRooms,
  topic: Topic,
  request: TailRequest,
  positions: Map<number, number>,
  ended: AbortSignal,
): AsyncGenerator<TailEvent, void> {
  const { clock, catalogue } = rooms
  const turn = takingTurns(clock, TURN_MS)
  let quietSinceMs = clock.monotonic()
  /** The number of partitions when the tail began. */
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
      const shown: ShownRecord[] = []
      for (const { content } of records) {
        const others = turn()
        if (others !== undefined) await others
        if (ended.aborted) return
        shown.push(await present(rooms, topic, content))
      }
      for (const { partition, lastOffset } of records) positions.set(partition, lastOffset + 1)
      yield { kind: 'records', cursor: cursor(), records: shown }
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
  /** Records that were skipped before those in the events. */
  readonly dropped: number
  /** Records that were skipped after those in the events; null if the number is unknown. */
  readonly droppedAfter: number | null
  /** The records in the order of their timestamps, at most EVENT_RECORDS in each event. */
  readonly events: readonly (readonly Found<KeptRecord>[])[]
  /** The position of each partition that was read, after the read. */
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
    // A partition that was added after the tail began is read from its beginning. A partition that could not be reached
    // until now is watched from its current end.
    const first = partition < known ? end : start
    // Records that were deleted meanwhile are not counted: no reader could see them.
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
  const found: { readonly record: Found<KeptRecord>; readonly rank: number }[] = []
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
    // Within a partition the order of the offsets counts, not the order of the timestamps.
    let rank = Number.NEGATIVE_INFINITY
    for (await reader.load(); reader.head !== null; await reader.load()) {
      rank = Math.max(rank, reader.head.timestamp)
      found.push({ record: reader.head, rank })
      reader.take()
    }
    // No reader gets past a damaged batch. If records cannot be counted, a reader that does not reach the end in one
    // look is too slow.
    const isPassedOver =
      reader.refusal === null ? !isCounted && !reader.isDone : reader.refusal.code === CORRUPT_MESSAGE.code
    if (isPassedOver) droppedAfter = isCounted && droppedAfter !== null ? droppedAfter + end - reader.position : null
    after.set(partition, isPassedOver ? end : reader.position)
  }
  found.sort((one, other) => one.rank - other.rank)
  const events: Found<KeptRecord>[][] = []
  for (let at = 0; at < found.length; at += EVENT_RECORDS) {
    events.push(found.slice(at, at + EVENT_RECORDS).map(({ record }) => record))
  }
  return { dropped, droppedAfter, events, positions: after }
}

/**
 * Resolves to the bounds of the partitions that can be reached at this moment. The next look tries the others again.
 */
async function knownBounds(rooms: ReachRooms, places: readonly Place[]): Promise<Map<number, Bounds>> {
  const known = new Map<number, Bounds>()
  const found = await boundsOf(rooms, places)
  for (const [i, { partition }] of places.entries()) {
    const one = found[i]!
    if (!isRefusal(one)) known.set(partition, one)
  }
  return known
}
