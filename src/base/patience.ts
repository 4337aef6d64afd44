// How long a caller waits for the outcome of long work. The work checks it between its steps and ends when the wait is
// over, because no caller would read a later answer.

import type { Clock } from './clock.ts'

export interface Patience {
  /** The wait has ended. */
  readonly isOver: boolean
  /** The latest end, on Clock.monotonic(). */
  readonly untilMs: number
  /** Ends it earlier. */
  readonly ended: AbortSignal | null
}

/** Ends at `untilMs` on Clock.monotonic(), or earlier with the signal. */
export function patience(clock: Clock, untilMs: number, ended: AbortSignal | null = null): Patience {
  return {
    untilMs,
    ended,
    get isOver() {
      return ended?.aborted === true || clock.monotonic() >= untilMs
    },
  }
}

/** Never ends: for work that must be done, however long it takes. */
export const ENDLESS: Patience = Object.freeze({ isOver: false, untilMs: Number.POSITIVE_INFINITY, ended: null })
