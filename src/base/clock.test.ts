import assert from 'node:assert/strict'
import { test } from 'node:test'
import { heldLoop } from '../../testing/sim/held-loop.ts'
import { afterOthers, type Clock, systemClock, takingTurns } from './clock.ts'

/** An event loop. `turnMs` returns how long each turn takes, in milliseconds. */
function loopOf(turnMs: (turn: number) => number): Clock & { readonly turns: number } {
  let nowMs = 0
  let turns = 0
  return {
    ...systemClock,
    get turns() {
      return turns
    },
    monotonic: () => nowMs,
    soon(fn) {
      nowMs += turnMs(turns++)
      fn()
    },
  }
}

test('work that lets others go first continues after the first turn in which they had nothing to do', async () => {
  const clock = loopOf(turn => (turn < 3 ? 0.4 : 0.01))
  await afterOthers(clock)
  assert.equal(clock.turns, 4)
})

test('work that lets others go first continues after 5 ms, or after one turn that is longer', async () => {
  const busy = loopOf(() => 1)
  await afterOthers(busy)
  assert.equal(busy.turns, 5)
  const held = loopOf(() => 100)
  await afterOthers(held)
  assert.equal(held.turns, 1)
})

test('long work waits for others when its turn is over, and no sooner', async () => {
  let nowMs = 0
  const clock = { ...loopOf(() => 0), monotonic: () => nowMs }
  const turn = takingTurns(clock, 2)
  nowMs = 1.9
  assert.equal(turn(), undefined)
  nowMs = 2
  await turn()
  assert.equal(turn(), undefined)
  nowMs = 4
  assert.ok(turn() instanceof Promise)
})

test('long work pauses between its turns once the event loop was busy, and keeps the process alive', async () => {
  const pauses: { delayMs: number; keepsAlive: boolean | undefined }[] = []
  const timer = (delayMs: number, fn: () => void, keepsAlive?: boolean) => {
    pauses.push({ delayMs, keepsAlive })
    fn()
    return { cancel() {} }
  }
  const loop = loopOf(turn => (turn === 1 ? 0.4 : 0.01))
  const turn = takingTurns({ ...loop, monotonic: loop.monotonic, timer }, 0)
  await turn()
  assert.deepEqual(pauses, [])
  await turn()
  await turn()
  const one = { delayMs: 1, keepsAlive: true }
  assert.deepEqual(pauses, [one, one])
})

test('parts of long work that run side by side share one turn', async () => {
  const { clock, heldMs, hold } = heldLoop()
  const turn = takingTurns(clock, 2)
  const part = async () => {
    for (let step = 0; step < 20; step++) {
      await turn()
      hold(1)
    }
  }
  await Promise.all([part(), part(), part(), part()])
  assert.ok(Math.max(...heldMs.values()) <= 5, `${[...heldMs.values()]}`)
})
