// Jumps of the system clock, for whoever decides by it what is old enough to be dropped. A clock that somebody sets wrong
// must not take everything with it before it is set right.

import type { Clock } from './clock.ts'

/** How far the system clock may run ahead of the monotonic one between two looks before it is mistrusted. */
const JUMP_MS = 10 * 60_000
/** For how long after a jump nothing grows old by it. */
const CAREFUL_MS = 24 * 60 * 60_000

/**
 * A look at the clock, to be taken whenever something is about to be dropped: by how many milliseconds `clock.now()` is
 * ahead of what is believed. A jump forward is believed after a day without another; `onJump` is told of each.
 */
export function watchClockJumps(clock: Clock, onJump: (jumpMs: number) => void): () => number {
  let lead = clock.now() - clock.monotonic()
  let mistrustedMs = 0
  let carefulUntilMs = Number.NEGATIVE_INFINITY
  return () => {
    const leadNow = clock.now() - clock.monotonic()
    const jumpMs = Math.round(leadNow - lead)
    lead = leadNow
    if (clock.monotonic() >= carefulUntilMs) mistrustedMs = 0
    if (jumpMs > JUMP_MS) {
      mistrustedMs += jumpMs
      carefulUntilMs = clock.monotonic() + CAREFUL_MS
      onJump(jumpMs)
    } else if (jumpMs < 0) mistrustedMs = Math.max(0, mistrustedMs + jumpMs)
    return mistrustedMs
  }
}
