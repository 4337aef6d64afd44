import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedClock } from '../../../testing/sim/clock.ts'
import { createTurns } from './turns.ts'

const MB = 2 ** 20

const turn = () => new Promise(resolve => setImmediate(resolve))

test('if a turn has answered enough bytes, later turns answer the other fetches, one each, in order', async () => {
  const clock = new SimulatedClock()
  const turns = createTurns(clock)
  assert.equal(turns.wait(), null)
  turns.count(MB)
  const order: number[] = []
  const waits = [1, 2, 3].map(async number => {
    const comes = turns.wait()
    assert.notEqual(comes, null)
    await comes
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

test('small answers do not fill a turn, and the next turn begins at zero', async () => {
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

test('fetches that have nothing to answer share a turn with the next one, up to a limit', async () => {
  const clock = new SimulatedClock()
  const turns = createTurns(clock)
  turns.count(MB)
  const order: number[] = []
  const enter = async (number: number, bytes: number) => {
    await turns.wait()
    order.push(number)
    if (bytes === 0) turns.pass()
    else turns.count(bytes)
  }
  const waits = [enter(0, 0), enter(1, 0), enter(2, MB), enter(3, MB)]
  await turn()
  assert.deepEqual(order, [0, 1, 2])
  for (let number = 4; number < 24; number++) waits.push(enter(number, 0))
  await turn()
  assert.deepEqual(order, [0, 1, 2, 3])
  await turn()
  assert.equal(order.length, 4 + 16)
  await clock.settle()
  await Promise.all(waits)
  assert.equal(order.length, 24)
})
