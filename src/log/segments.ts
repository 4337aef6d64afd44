// The segments of a log: how chunks of the time index (time-index.ts) become segments, and when. Segments follow each
// other without a gap. Behind the last sealed segment comes the active segment, up to the end of the log. It has no
// record anywhere. This file is pure: it stores nothing (segment-documents.ts does) and drops nothing (droppable.ts
// decides).
//
//   log start                                                        high watermark    end
//   | sealed segment | sealed segment | active segment: sealed chunks, open chunk |
//
// Retention may drop the newest batch of a log with its segment: readers then begin at the log start, which is the end.
// Cleaning must keep the newest batch, emptied if need be, so that a reader below the high watermark always finds a
// next place. The cleaner follows that rule, and `batches` of Rewrite in store/store.ts states it.

import { firstIndex } from '../base/bisect.ts'
import type { TopicConfigs } from '../settings/topic-configs.ts'
import type { EpochStart } from '../store/store.ts'
import type { RemoteLog } from './remote-log.ts'
import { type Chunk, type Counts, earlierOf } from './time-index.ts'

/** A sealed part [base, next) of a log. Its numbers are those at the time of sealing. Null: unknown. */
export interface Segment extends Counts {
  readonly base: number
  readonly next: number
  /** By the clock of the leader that sealed it. */
  readonly sealedAtMs: number
  /** Stored bytes of its batches. */
  readonly bytes: number
  /** The largest record timestamp; -1 when no record has one. */
  readonly maxTimestamp: number
  /** The times of its first and last append, by the clocks of the leaders. */
  readonly firstAppendMs: number | null
  readonly lastAppendMs: number | null
  /** The leader epochs that own its offsets. The first one may begin below `base`. */
  readonly epochs: readonly EpochStart[]
  /** The time of the end of the last pass of the cleaner over it; null if it was never cleaned. */
  readonly cleanedAtMs: number | null
}

/** The sealed segments of a partition, as their document has them (segment-documents.ts). */
export interface SealedSegments {
  /** Oldest first; each begins where the one before ended. Those below the log start may be missing. */
  readonly segments: readonly Segment[]
  /** The end of the last segment that was ever sealed; 0 if none was. */
  readonly end: number
  /** The leader epoch of the last writer. */
  readonly epoch: number
  /** False if the document cannot be read. Then there are no segments, and none is sealed. */
  readonly isReadable: boolean
  /** The part of the log that the remote tier has. Null: the topic does not use it, or its table was never read. */
  readonly remote: RemoteLog | null
  /** True if the topic has stopped to use the remote tier: what a table still has is no part of the log any more. */
  readonly hasLeftRemote: boolean
}

export const NO_SEGMENTS: SealedSegments = Object.freeze({
  segments: Object.freeze([]),
  end: 0,
  epoch: 0,
  isReadable: true,
  remote: null,
  hasLeftRemote: false,
})

/** The log of a partition as its leader knows it. */
export interface RollableLog {
  /** The end of the last sealed segment, or the log start if that is higher. */
  readonly activeFrom: number
  readonly highWatermark: number
  readonly chunks: readonly Chunk[]
  readonly epochs: readonly EpochStart[]
}

/** `maxCompactionLagMs` is absent if the version does not compact. */
export type RollConfigs = Pick<TopicConfigs, 'cleanupPolicy' | 'retentionMs' | 'segmentBytes' | 'segmentMs'> & {
  readonly maxCompactionLagMs?: number
}

/**
 * Returns where the active segment must be cut at this time: the ends of new segments, ascending; empty if it stays
 * active. Each is the end of a chunk and not above the high watermark. A segment ends with the chunk with which it
 * reaches segment.bytes. The whole active segment is sealed when its first append is segment.ms ago (for a compacted
 * topic also max.compaction.lag.ms, KIP-354), or when its newest record has passed retention.ms, as Kafka does. A chunk
 * that is not learned yet ends the search.
 */
export function segmentEnds(log: RollableLog, configs: RollConfigs, nowMs: number): readonly number[] {
  const { cleanupPolicy, retentionMs, segmentBytes, segmentMs, maxCompactionLagMs = Number.POSITIVE_INFINITY } = configs
  const mostMs = cleanupPolicy.includes('compact') ? Math.min(segmentMs, maxCompactionLagMs) : segmentMs
  const expiredMs =
    cleanupPolicy.includes('delete') && retentionMs >= 0 ? nowMs - retentionMs : Number.NEGATIVE_INFINITY
  const ends: number[] = []
  let bytes = 0
  let firstMs: number | null = null
  let newestMs = -1
  /** The end of the last chunk with batches that the next segment can have. */
  let last = -1
  for (const chunk of chunksFrom(log, log.activeFrom)) {
    if (!chunk.isKnown || chunk.next > log.highWatermark) {
      // The records that this chunk may have are newer than those before it.
      newestMs = Number.POSITIVE_INFINITY
      break
    }
    if (chunk.bytes === 0) continue
    bytes += chunk.bytes
    firstMs ??= startedAtMs(chunk)
    newestMs = Math.max(newestMs, chunk.newestMs)
    last = chunk.next
    if (bytes < segmentBytes) continue
    ends.push(chunk.next)
    bytes = 0
    firstMs = null
    newestMs = -1
  }
  if (bytes === 0) return ends
  // A first append that is far in the future was stamped by a clock that was wrong.
  if (Math.abs(nowMs - firstMs!) >= mostMs || newestMs < expiredMs) ends.push(last)
  return ends
}

/**
 * Returns the time of the first append of a chunk with batches. If it is not known, the time that retention uses stands
 * in, as Kafka uses the records' own timestamps after a restart.
 */
function startedAtMs({ firstAppendMs, newestMs }: Chunk): number {
  return firstAppendMs ?? newestMs
}

/** Returns the segment from `base` to `next`. Counts that one of its chunks does not know are null. */
export function segmentOf(log: RollableLog, base: number, next: number, sealedAtMs: number): Segment {
  const { epochs } = log
  const own = epochs.filter((epoch, i) => epoch.startOffset < next && (epochs[i + 1]?.startOffset ?? next) > base)
  let sum: Part | null = null
  for (const chunk of chunksFrom(log, base)) {
    if (chunk.from >= next) break
    if (chunk.isKnown && chunk.bytes === 0) continue
    // A piece of the cleaner may reach over the beginning of a segment. So may a chunk that this leader has learned
    // while it did not know the segment. Its bytes count for both segments.
    const isCut = chunk.from < base || chunk.next > next
    const counts = isCut ? { ...chunk, plainBytes: null, batches: null, records: null } : chunk
    sum = sum === null ? counts : joined(sum, counts)
  }
  const { bytes, plainBytes, batches, records, minTimestamp, maxTimestamp, firstAppendMs, lastAppendMs } =
    sum ?? NOTHING
  const times = { minTimestamp, maxTimestamp, firstAppendMs, lastAppendMs }
  return { base, next, sealedAtMs, bytes, plainBytes, batches, records, ...times, epochs: own, cleanedAtMs: null }
}

/**
 * Returns the segments of a log that was cleaned up to `cleanedTo`; null if it has cleaned no whole segment. The
 * cleaned ones are cut anew at the ends of chunks and joined up to segment.bytes, as Kafka's cleaner does, so that a
 * log that is compacted for years does not get ever more segments.
 */
export function withCleaned(
  log: RollableLog,
  segments: readonly Segment[],
  { cleanedTo, segmentBytes, nowMs }: { cleanedTo: number; segmentBytes: number; nowMs: number },
): readonly Segment[] | null {
  const count = segments.filter(({ next }) => next <= cleanedTo).length
  if (count === 0) return null
  const cleaned = segments.slice(0, count)
  const end = cleaned.at(-1)!.next
  const epochs = epochsOf(cleaned)
  const joined: Segment[] = []
  let base = cleaned[0]!.base
  const cut = (next: number) => {
    const { sealedAtMs } = cleaned[firstIndex(cleaned, segment => segment.base >= next) - 1]!
    joined.push({ ...segmentOf({ ...log, epochs }, base, next, sealedAtMs), cleanedAtMs: nowMs })
    base = next
  }
  let bytes = 0
  let last = base
  for (const chunk of log.chunks) {
    if (chunk.next > end) break
    if (chunk.next <= base || chunk.bytes === 0) continue
    if (bytes > 0 && bytes + chunk.bytes > segmentBytes) {
      cut(last)
      bytes = 0
    }
    bytes += chunk.bytes
    last = chunk.next
  }
  cut(end)
  return [...joined, ...segments.slice(count)]
}

/** Returns the leader epochs of segments that follow each other, each once. */
function epochsOf(segments: readonly Segment[]): readonly EpochStart[] {
  const epochs: EpochStart[] = []
  for (const each of segments.flatMap(segment => segment.epochs)) {
    if (each.epoch > (epochs.at(-1)?.epoch ?? -1)) epochs.push(each)
  }
  return epochs
}

type Part = Omit<Segment, 'base' | 'next' | 'sealedAtMs' | 'epochs' | 'cleanedAtMs'>

const NOTHING: Part = Object.freeze({
  bytes: 0,
  plainBytes: 0,
  batches: 0,
  records: 0,
  minTimestamp: -1,
  maxTimestamp: -1,
  firstAppendMs: null,
  lastAppendMs: null,
})

function joined(one: Part, other: Part): Part {
  return {
    bytes: one.bytes + other.bytes,
    plainBytes: both(one.plainBytes, other.plainBytes, add),
    batches: both(one.batches, other.batches, add),
    records: both(one.records, other.records, add),
    minTimestamp: both(one.minTimestamp, other.minTimestamp, earlierOf),
    maxTimestamp: Math.max(one.maxTimestamp, other.maxTimestamp),
    firstAppendMs: both(one.firstAppendMs, other.firstAppendMs, Math.min),
    lastAppendMs: both(one.lastAppendMs, other.lastAppendMs, Math.max),
  }
}

const add = (one: number, other: number) => one + other

function both(one: number | null, other: number | null, join: (one: number, other: number) => number): number | null {
  return one === null || other === null ? null : join(one, other)
}

/** Yields the chunks that end above an offset. A log has a chunk for each MiB, and may have many segments. */
function* chunksFrom({ chunks }: Pick<RollableLog, 'chunks'>, offset: number): Generator<Chunk> {
  for (let i = firstIndex(chunks, ({ next }) => next > offset); i < chunks.length; i++) yield chunks[i]!
}
