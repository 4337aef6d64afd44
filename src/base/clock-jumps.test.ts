import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedClock } from '../../testing/sim/clock.ts'
import { watchClockJumps } from './clock-jumps.ts'

const HOUR = 60 * 60_000

/** A system clock of whole milliseconds, which a test moves, and a monotonic clock that is finer. */
class MovedClock extends SimulatedClock {
  movedMs = 0

  override now(): number {
    return Math.floor(super.now()) + this.movedMs
  }
}

test('a jump forward is mistrusted until the clock steps back, however often a caller looks', async () => {
  const clock = new MovedClock()
  const jumps: number[] = []
  const look = watchClockJumps(clock, jumpMs => jumps.push(jumpMs))
  assert.equal(look(), 0)
  clock.movedMs = HOUR
  const mistrustedMs = look()
  assert.deepEqual(jumps, [mistrustedMs])
  for (let i = 0; i < 1_000; i++) {
    await clock.advance(0.3)
    look()
  }
  assert.equal(look(), mistrustedMs)
  clock.movedMs = HOUR / 2
  assert.ok(Math.abs(look() - HOUR / 2) <= 2)
  clock.movedMs = 0
  assert.ok(look() <= 2)
  assert.equal(jumps.length, 1)
})
