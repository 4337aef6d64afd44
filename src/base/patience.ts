// A Patience is the time for which a caller waits for long work. The work checks it between its steps and stops when it
// is over, because the caller would not read a later answer.

import type { Clock } from './clock.ts'

export interface Patience {
  /** True when the wait is over. */
  readonly isOver: boolean
  /** The latest end of the wait, on Clock.monotonic(). */
  readonly untilMs: number
  /** Aborts to end the wait earlier; null if nothing can do that. */
  readonly ended: AbortSignal | null
}

/** Returns a wait that ends at `untilMs` on Clock.monotonic(), or earlier when the signal aborts. */
export function patience(clock: Clock, untilMs: number, ended: AbortSignal | null = null): Patience {
  return {
    untilMs,
    ended,
    get isOver() {
      return ended?.aborted === true || clock.monotonic() >= untilMs
    },
  }
}

/** A wait without an end: for work that must be done, however long it takes. */
export const ENDLESS: Patience = Object.freeze({ isOver: false, untilMs: Number.POSITIVE_INFINITY, ended: null })
