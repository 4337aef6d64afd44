// The system clock, set wrong by a test. Durations and timers stay right.

import { type Clock, systemClock } from '../src/base/clock.ts'

export class ShiftedClock implements Clock {
  shiftMs = 0
  now = () => systemClock.now() + this.shiftMs
  monotonic = () => systemClock.monotonic()
  timer = (delayMs: number, fn: () => void) => systemClock.timer(delayMs, fn)
  soon = (fn: () => void) => systemClock.soon(fn)
}
