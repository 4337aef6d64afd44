// The facts about the part of a log that the remote tier has, as the document of its segments keeps them
// (segment-documents.ts). They are a copy that can be rebuilt from the table. remote-document.ts says how they change.
// This file is pure.
//
//   log start        local start                                         end
//   | cold           | local: also archived     | local, not archived    |
//   |<---- ranges of the table ---------------->|
//
// A store that lost the tail of a stream leaves a lost span: offsets that the table has and the stream has not.

import type { EpochStart } from '../store/store.ts'

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
