// How the document of a log's segments (segment-documents.ts) changes with the remote tier: after its table was read,
// before a trim, and when the log start moves. All functions are pure.

import type { EpochStart } from '../store/store.ts'
import { archivedEndOf, epochsFrom, joinedEpochs, type RemoteLog, type Span, withSpan } from './remote-log.ts'
import { type RollableLog, type SealedSegments, type Segment, segmentOf } from './segments.ts'

/** The facts of a table about one partition (TableFacts in archive.ts). */
export interface PartitionFacts {
  readonly ranges: readonly Span[]
  readonly logStart: number
}

/** The log as its leader knows it when it takes over what the table says. */
export interface AdoptingLog extends RollableLog {
  readonly start: number
  readonly end: number
  readonly emptyFrom: number
  readonly incarnation: string
}

export interface Read {
  readonly facts: PartitionFacts
  readonly version: number
  /** The epochs that the table knows; used if the document has none of its own. */
  readonly epochs: readonly EpochStart[]
  readonly nowMs: number
}

/**
 * Returns the document of a log after the table was read; null if nothing changes. Offsets that the table has are part
 * of sealed segments from now on, so that none is archived twice.
 */
export function afterReading(sealed: SealedSegments, log: AdoptingLog, read: Read): SealedSegments | null {
  const { facts, version } = read
  const before = sealed.remote
  const logStart = Math.max(before?.logStart ?? firstStart(log, sealed, facts), facts.logStart)
  const ranges = rangesFrom(facts.ranges, logStart)
  const archivedEnd = ranges.at(-1)?.[1] ?? 0
  // Spans below the local start count too: a store that forgets the trim brings back what lay around them.
  const lost = withSpan(before?.lost ?? [], [log.emptyFrom, archivedEnd]).filter(([, next]) => next > logStart)
  const epochs = epochsFrom(before?.epochs ?? read.epochs, logStart)
  const remote: RemoteLog = { logStart, ranges, lost, epochs, version, readUnder: log.incarnation }
  const end = Math.max(sealed.end, archivedEndOf(remote))
  const all = end > sealed.end ? sealedAlso(sealed, log, end, read.nowMs) : sealed.segments
  const segments = cutByRanges(all, log, remote)
  if (before !== null && segments === sealed.segments && end === sealed.end && isSame(before, remote)) return null
  return { ...sealed, segments, end, remote, hasLeftRemote: false }
}

/** Returns where the log begins for clients if the document does not say it. Then it was lost, or the topic is new. */
function firstStart({ start }: AdoptingLog, { hasLeftRemote }: SealedSegments, { ranges }: PartitionFacts): number {
  return hasLeftRemote ? start : Math.min(start, ranges[0]?.[0] ?? start)
}

/** The version alone does not count: it changes with every commit for any partition of the topic. */
function isSame(one: RemoteLog, other: RemoteLog): boolean {
  return (
    one.logStart === other.logStart &&
    one.readUnder === other.readUnder &&
    areSame(one.ranges, other.ranges) &&
    areSame(one.lost, other.lost)
  )
}

function areSame(one: readonly Span[], other: readonly Span[]): boolean {
  return one.length === other.length && one.every(([base, next], i) => base === other[i]![0] && next === other[i]![1])
}

/** Returns the segments with one more up to `end`, for what the table has and the document has lost. */
function sealedAlso(
  { segments, end: from }: SealedSegments,
  log: AdoptingLog,
  end: number,
  nowMs: number,
): readonly Segment[] {
  const local = segments.filter(({ next }) => next > log.start)
  const base = local.length === 0 ? Math.max(from, log.start) : from
  return base < end ? [...local, segmentOf(log, base, end, nowMs)] : local
}

/**
 * Returns segments that the table has wholly or not at all. A document that has gone back in time may be about to name
 * others than those that were archived, and the table takes no segment that it has in part.
 */
function cutByRanges(
  segments: readonly Segment[],
  log: AdoptingLog,
  { ranges, logStart }: RemoteLog,
): readonly Segment[] {
  const cuts = ranges.flat().filter(cut => cut > logStart)
  if (!segments.some(({ base, next }) => cuts.some(cut => base < cut && cut < next))) return segments
  return segments.flatMap(segment => {
    const ends = cuts.filter(cut => segment.base < cut && cut < segment.next)
    if (ends.length === 0) return [segment]
    const bases = [segment.base, ...ends]
    return bases.map((base, i) => segmentOf(log, base, ends[i] ?? segment.next, segment.sealedAtMs))
  })
}

/**
 * Returns the document with the epochs of a stream that is about to be trimmed to `before`, because the stream may
 * forget them; null if it has them already.
 */
export function beforeTrim(
  sealed: SealedSegments,
  epochs: readonly EpochStart[],
  before: number,
): SealedSegments | null {
  const { remote } = sealed
  if (remote === null) return null
  // An epoch that also has offsets above is forgotten later, without a trim, if they are lost or were never written.
  const below = epochs.filter(({ startOffset }) => startOffset < before)
  const joined = joinedEpochs(remote.epochs, below)
  if (joined.length === remote.epochs.length) return null
  return { ...sealed, remote: { ...remote, epochs: epochsFrom(joined, remote.logStart) } }
}

/** Returns the document after the log start was raised; null if it is there already. */
export function withLogStart(sealed: SealedSegments, logStart: number): SealedSegments | null {
  const { remote } = sealed
  if (remote === null || remote.logStart >= logStart) return null
  const ranges = rangesFrom(remote.ranges, logStart)
  const lost = remote.lost.filter(([, next]) => next > logStart)
  return { ...sealed, remote: { ...remote, logStart, ranges, lost, epochs: epochsFrom(remote.epochs, logStart) } }
}

/**
 * Returns a document that may have gone back in time with what its leader knows and no table tells: the log start, the
 * offsets that the stream has lost, and the epochs below the local start. Returns the same document if it has them.
 */
export function withKnown(stored: SealedSegments, known: RemoteLog | null): SealedSegments {
  if (known === null || stored.remote === null) return stored
  const { remote } = stored
  const lost = known.lost.reduce(withSpan, remote.lost)
  const epochs = joinedEpochs(known.epochs, remote.epochs)
  const hasAll = areSame(lost, remote.lost) && epochs.length === remote.epochs.length
  const whole = hasAll ? stored : { ...stored, remote: { ...remote, lost, epochs } }
  return withLogStart(whole, known.logStart) ?? whole
}

/** Returns the parts of ranges at and above the log start. */
function rangesFrom(ranges: readonly Span[], logStart: number): readonly Span[] {
  return ranges.filter(([, next]) => next > logStart).map(([base, next]): Span => [Math.max(base, logStart), next])
}

/** Returns the document of a topic that no longer uses the remote tier; null if it says so already. */
export function afterLeaving(sealed: SealedSegments): SealedSegments | null {
  return sealed.remote === null ? null : { ...sealed, remote: null, hasLeftRemote: true }
}
