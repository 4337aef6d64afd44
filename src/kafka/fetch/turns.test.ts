import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedClock } from '../../../testing/sim/clock.ts'
import { createTurns } from './turns.ts'

const MB = 2 ** 20

test('a turn that has answered enough leaves the others to later ones, one each, in order', async () => {
  const clock = new SimulatedClock()
  const turns = createTurns(clock)
  assert.equal(turns.wait(), null)
  turns.count(MB)
  const order: number[] = []
  const waits = [1, 2, 3].map(async number => {
    const turn = turns.wait()
    assert.notEqual(turn, null)
    await turn
    order.push(number)
    turns.count(MB)
  })
  assert.deepEqual(order, [])
  await clock.settle()
  await Promise.all(waits)
  assert.deepEqual(order, [1, 2, 3])
  await clock.settle()
  assert.equal(turns.wait(), null)
})

test('small answers do not fill a turn, and the next one begins at nothing', async () => {
  const clock = new SimulatedClock()
  const turns = createTurns(clock)
  for (let i = 0; i < 100; i++) {
    assert.equal(turns.wait(), null)
    turns.count(10_000)
  }
  turns.count(MB)
  assert.notEqual(turns.wait(), null)
  await clock.settle()
  assert.equal(turns.wait(), null)
})
