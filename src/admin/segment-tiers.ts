// Tells in which tier each segment of a partition is. Pure: segments.ts asks the leader. The document of the sealed
// segments loses those that the local tier has dropped, so the rows below the local start are ranges of the table.

import type { SegmentTier } from '../api/words.ts'
import type { ListedSegment } from '../log/partition.ts'
import type { RemoteLog } from '../log/remote-log.ts'

export interface TieredSegment extends ListedSegment {
  readonly tier: SegmentTier
}

/** The part of a partition that the remote tier has. */
export type ArchivedPart = Pick<RemoteLog, 'epochs' | 'logStart' | 'lost' | 'ranges'>

const UNKNOWN = Object.freeze({
  ...{ isActive: false, sealedAtMs: null, bytes: null, plainBytes: null, batches: null, records: null },
  ...{ minTimestamp: null, maxTimestamp: null, firstAppendMs: null, lastAppendMs: null, cleanedAtMs: null },
})

/**
 * Returns the rows of a partition, the oldest first: the ranges that only the remote tier has, and the segments from
 * the local start on. `archived` is null if the topic does not use the remote tier.
 */
export function withTiers(
  segments: readonly ListedSegment[],
  archived: ArchivedPart | null,
  localStart: number,
): readonly TieredSegment[] {
  if (archived === null) return segments.map(segment => ({ ...segment, tier: 'local' }))
  const cold = archived.ranges.flatMap(([from, to]) => {
    const [base, next] = [Math.max(from, archived.logStart), Math.min(to, localStart)]
    return base < next ? [coldRow(base, next, archived)] : []
  })
  return [...cold, ...segments.map(segment => ({ ...segment, tier: tierOf(segment, archived) }))]
}

function coldRow(base: number, next: number, { epochs }: ArchivedPart): TieredSegment {
  const own = epochs.filter(({ startOffset }, at) => {
    return startOffset < next && (epochs[at + 1]?.startOffset ?? Number.POSITIVE_INFINITY) > base
  })
  return { base, next, tier: 'remote', ...UNKNOWN, epochs: own }
}

/** A part of a segment in the remote tier is not enough: its data would be lost without the local tier. */
function tierOf({ base, next, isActive }: ListedSegment, { ranges, lost }: ArchivedPart): SegmentTier {
  if (isActive || base >= next) return 'local'
  const isIn = (spans: ArchivedPart['ranges']) => spans.some(([from, to]) => from <= base && next <= to)
  // The store has lost the batches of such a segment, and readers get them from the table.
  if (isIn(lost)) return 'remote'
  return isIn(ranges) ? 'both' : 'local'
}
