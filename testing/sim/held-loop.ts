// A clock that stands still while the event loop turns, and the time for which work has held each of its turns.

import { type Clock, systemClock } from '../../src/base/clock.ts'

export interface HeldLoop {
  readonly clock: Clock
  /** The time in ms for which work has held each turn. */
  readonly heldMs: ReadonlyMap<number, number>
  /** Work takes this time of the turn. */
  hold(ms: number): void
}

export function heldLoop(): HeldLoop {
  let nowMs = 0
  let turn = 0
  const heldMs = new Map<number, number>()
  const clock: Clock = {
    ...systemClock,
    monotonic: () => nowMs,
    soon: fn =>
      void setImmediate(() => {
        turn++
        fn()
      }),
    timer(_, fn) {
      const timer = setTimeout(fn, 0)
      return { cancel: () => clearTimeout(timer) }
    },
  }
  return {
    clock,
    heldMs,
    hold(ms) {
      nowMs += ms
      heldMs.set(turn, (heldMs.get(turn) ?? 0) + ms)
    },
  }
}
