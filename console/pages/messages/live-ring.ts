// The records that a live tail keeps: the newest ones, newest first, and while the user reads, those that wait. It
// counts the records that the user does not see. Arrival decides the order.

import type { ShownRecord } from '../../../src/api/messages.ts'

/** The most records on the page, and the most that wait. */
export const MOST_KEPT = 500

export interface LiveRing {
  /** The records on the page, newest first. */
  readonly shown: readonly ShownRecord[]
  /** The records that came since the list stands still, newest first. */
  readonly waiting: readonly ShownRecord[]
  /** How many came since then, kept or not. */
  readonly waitingCount: number
  /** How many records the broker skipped, because this page was too slow or away. */
  readonly dropped: number
  /** True if the broker skipped records that it could not count. */
  readonly isUncounted: boolean
}

export const EMPTY_RING: LiveRing = { shown: [], waiting: [], waitingCount: 0, dropped: 0, isUncounted: false }

/** Adds records in the order of their arrival. */
export function arrive(ring: LiveRing, records: readonly ShownRecord[], isStill: boolean): LiveRing {
  if (records.length === 0) return ring
  if (!isStill) return { ...ring, shown: newest(records, ring.shown) }
  return { ...ring, waiting: newest(records, ring.waiting), waitingCount: ring.waitingCount + records.length }
}

/** Shows the records that waited. */
export function release(ring: LiveRing): LiveRing {
  if (ring.waitingCount === 0) return ring
  // The records that waited longest may be gone: then those on the page are older than a gap, and go too.
  const isWhole = ring.waiting.length === ring.waitingCount
  const shown = isWhole ? [...ring.waiting, ...ring.shown].slice(0, MOST_KEPT) : ring.waiting
  return { ...ring, shown, waiting: [], waitingCount: 0 }
}

/** Counts records that the broker skipped; null if it does not know how many. */
export function miss(ring: LiveRing, count: number | null): LiveRing {
  return count === null ? { ...ring, isUncounted: true } : { ...ring, dropped: ring.dropped + count }
}

function newest(arrived: readonly ShownRecord[], kept: readonly ShownRecord[]): readonly ShownRecord[] {
  return [...arrived.slice(-MOST_KEPT).reverse(), ...kept].slice(0, MOST_KEPT)
}
