// Decides which partitions the cleaner cleans, in which order, and up to which offset, as Kafka's LogCleanerManager
// does: a partition is due when the dirty share of its cleanable log exceeds min.cleanable.dirty.ratio, or when a
// dirty record is older than max.compaction.lag.ms; the dirtiest one comes first. The ages come from the chunks of the
// time index, so they are exact to one chunk. This file reads no clock and no batches.

/** The parts of a chunk of the time index that this file uses. */
export interface DirtyChunk {
  readonly from: number
  readonly next: number
  readonly bytes: number
  /** The time of the newest batch, by timestamp or append time, whichever is older. */
  readonly newestMs: number
  readonly isKnown: boolean
  /** The smallest timestamp; -1 if no record has one, null if it is unknown. */
  readonly minTimestamp?: number | null
}

export interface Dirtiness {
  /** The offset up to which the log may be cleaned. */
  readonly upTo: number
  /** Dirty bytes by all bytes below upTo, from 0 to 1. */
  readonly ratio: number
  readonly dirtyBytes: number
  /** The age of the oldest dirty record, 0 if no record is dirty. */
  readonly oldestMs: number
  readonly isDue: boolean
}

export interface Lags {
  readonly minCleanableDirtyRatio: number
  readonly minCompactionLagMs: number
  readonly maxCompactionLagMs: number
}

/**
 * Returns how dirty a log is. `sealedTo` is the end of the part that no append changes; `isInterrupted` says that a
 * pass has to be finished, which is always due.
 */
export function dirtinessOf(
  chunks: readonly DirtyChunk[],
  { cleanedTo, sealedTo, isInterrupted }: { cleanedTo: number; sealedTo: number; isInterrupted: boolean },
  { minCleanableDirtyRatio, minCompactionLagMs, maxCompactionLagMs }: Lags,
  nowMs: number,
): Dirtiness {
  let upTo = sealedTo
  let bytes = 0
  let dirtyBytes = 0
  let oldestAtMs = nowMs
  for (const chunk of chunks) {
    if (chunk.from >= sealedTo) break
    const isDirty = chunk.next > cleanedTo && chunk.bytes > 0
    // An unknown age may be too young.
    if (isDirty && minCompactionLagMs > 0 && (!chunk.isKnown || chunk.newestMs > nowMs - minCompactionLagMs)) {
      upTo = Math.max(chunk.from, cleanedTo)
      break
    }
    bytes += chunk.bytes
    if (!isDirty) continue
    dirtyBytes += chunk.bytes
    oldestAtMs = Math.min(oldestAtMs, oldestOf(chunk, nowMs))
  }
  const ratio = bytes === 0 ? 0 : dirtyBytes / bytes
  const oldestMs = nowMs - oldestAtMs
  const isLate = dirtyBytes > 0 && oldestMs > maxCompactionLagMs
  return { upTo, ratio, dirtyBytes, oldestMs, isDue: isInterrupted || isLate || ratio > minCleanableDirtyRatio }
}

function oldestOf({ minTimestamp, newestMs, isKnown }: DirtyChunk, nowMs: number): number {
  if (!isKnown) return nowMs
  return typeof minTimestamp === 'number' && minTimestamp >= 0 ? minTimestamp : newestMs
}
