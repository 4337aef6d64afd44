// Detects jumps of the system clock, for code that drops data by its age. If the clock is set wrong, such code must not
// drop everything before an operator has corrected the clock.

import type { Clock } from './clock.ts'

/** The most that the system clock may move ahead of the monotonic clock between two checks. A larger step is a jump. */
const JUMP_MS = 10 * 60_000
/**
 * The least step back that corrects a jump. Smaller ones are the rounding of the system clock, and many looks would add
 * them up.
 */
const STEP_BACK_MS = 1_000
/** For this long after a jump, data does not age by the jump. */
const CAREFUL_MS = 24 * 60 * 60_000

/**
 * Returns a function that the caller calls before it drops data. It returns by how many milliseconds `clock.now()` is
 * ahead of the trusted time. It calls `onJump` for each jump forward. A jump is trusted after a day without another
 * jump.
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
    } else if (jumpMs <= -STEP_BACK_MS) mistrustedMs = Math.max(0, mistrustedMs + jumpMs)
    return mistrustedMs
  }
}
