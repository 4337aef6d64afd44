// The facts about the part of a log that the remote tier has, as the document of its segments keeps them
// (segment-documents.ts). They are a copy that can be rebuilt from the table. This file is pure: it reads no table and
// stores nothing.
//
//   log start        local start                                         end
//   | cold           | local: also archived     | local, not archived    |
//   |<---- ranges of the table ---------------->|
//
// A store that lost the tail of a stream leaves a lost span: offsets that the table has and the stream has not.

import type { EpochStart } from '../store/store.ts'
import { type RollableLog, type SealedSegments, type Segment, segmentOf } from './segments.ts'

/** The offsets [base, next). */
export type Span = readonly [base: number, next: number]

export interface RemoteLog {
  /** The lowest offset that clients may read. It never goes back. */
  readonly logStart: number
  /** The archived offsets: ascending, disjoint, with neighbours joined. */
  readonly ranges: readonly Span[]
  /** The offsets of the table that the stream has lost and that are read from the archive; in the order of ranges. */
  readonly lost: readonly Span[]
  /** The leader epochs that own offsets below the local start, ascending. */
  readonly epochs: readonly EpochStart[]
  /** The version of the table that the ranges are of; 0 if there was no table. */
  readonly version: number
  /** The incarnation of the store (Opened) under which the table was last read; null if it never was. */
  readonly readUnder: string | null
}

/** Returns the offset above all that was ever archived or deleted: no lower offset may be given to a new record. */
export function archivedEndOf({ ranges, logStart }: RemoteLog): number {
  return Math.max(ranges.at(-1)?.[1] ?? 0, logStart)
}

/** Returns the end of the archived offsets that follow `from` without a gap; `from` itself if it is not archived. */
export function archivedFrom({ ranges }: RemoteLog, from: number): number {
  return ranges.find(([base, next]) => base <= from && from < next)?.[1] ?? from
}

/** Returns the span that has the offset; null if none has. */
export function spanWith(spans: readonly Span[], offset: number): Span | null {
  return spans.find(([base, next]) => base <= offset && offset < next) ?? null
}

/** Returns the beginning of the first span that begins above the offset; Infinity if none does. */
export function nextSpan(spans: readonly Span[], offset: number): number {
  return spans.find(([base]) => base > offset)?.[0] ?? Number.POSITIVE_INFINITY
}

/** Returns the spans with one more, sorted and joined. An empty span adds nothing. */
export function withSpan(spans: readonly Span[], [base, next]: Span): readonly Span[] {
  if (base >= next) return spans
  const joined: [number, number][] = []
  for (const [from, to] of [...spans, [base, next] as const].sort((a, b) => a[0] - b[0])) {
    const last = joined.at(-1)
    if (last !== undefined && last[1] >= from) last[1] = Math.max(last[1], to)
    else joined.push([from, to])
  }
  return joined
}

/** Returns two lists of epochs as one, ascending, each epoch once; the first list tells where an epoch begins. */
export function joinedEpochs(older: readonly EpochStart[], newer: readonly EpochStart[]): readonly EpochStart[] {
  const joined = [...older]
  for (const each of newer) if (each.epoch > (joined.at(-1)?.epoch ?? -1)) joined.push(each)
  return joined
}

/** Returns the epochs that own an offset at or above `logStart`. */
export function epochsFrom(epochs: readonly EpochStart[], logStart: number): readonly EpochStart[] {
  const first = epochs.findIndex((_, i) => (epochs[i + 1]?.startOffset ?? Number.POSITIVE_INFINITY) > logStart)
  return first <= 0 ? epochs : epochs.slice(first)
}

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
 * of sealed segments from now on, cut where the ranges begin and end, so that none is archived twice.
 */
export function afterReading(sealed: SealedSegments, log: AdoptingLog, read: Read): SealedSegments | null {
  const { facts, version } = read
  const before = sealed.remote
  const logStart = Math.max(before?.logStart ?? firstStart(log, sealed, facts), facts.logStart)
  const ranges = rangesFrom(facts.ranges, logStart)
  const archivedEnd = ranges.at(-1)?.[1] ?? 0
  const lost = withSpan(before?.lost ?? [], [log.emptyFrom, archivedEnd]).filter(
    ([, next]) => next > Math.max(log.start, logStart),
  )
  const epochs = epochsFrom(before?.epochs ?? read.epochs, logStart)
  const remote: RemoteLog = { logStart, ranges, lost, epochs, version, readUnder: log.incarnation }
  const end = Math.max(sealed.end, archivedEndOf(remote))
  if (before !== null && end === sealed.end && isSame(before, remote)) return null
  const segments = end > sealed.end ? sealedAlso(sealed, log, remote, end, read.nowMs) : sealed.segments
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

/** Returns the segments with those that the table has and the document has lost. */
function sealedAlso(
  { segments, end: from }: SealedSegments,
  log: AdoptingLog,
  { ranges }: RemoteLog,
  end: number,
  nowMs: number,
): readonly Segment[] {
  const local = segments.filter(({ next }) => next > log.start)
  let base = local.length === 0 ? Math.max(from, log.start) : from
  const cuts = [...ranges.flat(), end].filter(cut => cut > base && cut <= end)
  for (const next of new Set(cuts)) {
    local.push(segmentOf(log, base, next, nowMs))
    base = next
  }
  return local
}

/**
 * Returns the document with the epochs that own offsets below `before`; null if it has them already. After a trim to
 * `before` the stream may forget all of them: also the newest one, if nothing is left of it when the next epoch begins.
 */
export function beforeTrim(
  sealed: SealedSegments,
  epochs: readonly EpochStart[],
  before: number,
): SealedSegments | null {
  const { remote } = sealed
  if (remote === null) return null
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

/** Returns the parts of ranges at and above the log start. */
function rangesFrom(ranges: readonly Span[], logStart: number): readonly Span[] {
  return ranges.filter(([, next]) => next > logStart).map(([base, next]): Span => [Math.max(base, logStart), next])
}

/** Returns the document of a topic that no longer uses the remote tier; null if it says so already. */
export function afterLeaving(sealed: SealedSegments): SealedSegments | null {
  return sealed.remote === null ? null : { ...sealed, remote: null, hasLeftRemote: true }
}
