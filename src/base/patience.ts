// How long a caller waits for the outcome of long work. The work looks at it between its steps and ends when it is over: a later
// answer has no reader.

import type { Clock } from './clock.ts'

export interface Patience {
  /** The wait has ended. */
  readonly isOver: boolean
  /** When it ends at the latest, on Clock.monotonic(). */
  readonly untilMs: number
  /** Ends it before. */
  readonly ended: AbortSignal | null
}

/** Ends at `untilMs` on Clock.monotonic(), and before that with the signal. */
export function patience(clock: Clock, untilMs: number, ended: AbortSignal | null = null): Patience {
  return {
    untilMs,
    ended,
    get isOver() {
      return ended?.aborted === true || clock.monotonic() >= untilMs
    },
  }
}

/** For work that has to be done, however long it takes. */
export const ENDLESS: Patience = Object.freeze({ isOver: false, untilMs: Number.POSITIVE_INFINITY, ended: null })
