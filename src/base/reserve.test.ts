import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedClock } from '../../testing/sim/clock.ts'
import { ENDLESS, patience } from './patience.ts'
import { Reserve } from './reserve.ts'

test('who has to wait waits in order, and a small request does not pass a large one', async () => {
  const reserve = new Reserve(new SimulatedClock(), 10)
  assert.equal(reserve.take(4, ENDLESS), true)
  const order: string[] = []
  const large = Promise.resolve(reserve.take(10, ENDLESS)).then(() => order.push('large'))
  const small = Promise.resolve(reserve.take(1, ENDLESS)).then(() => order.push('small'))
  await Promise.resolve()
  assert.deepEqual(order, [])
  reserve.give(4)
  await large
  assert.deepEqual(order, ['large'])
  reserve.give(10)
  await small
  reserve.give(1)
  assert.equal(reserve.free, 10)
})

test('who leaves, by a deadline or a signal, holds nothing and lets those behind it in', async () => {
  const clock = new SimulatedClock()
  const reserve = new Reserve(clock, 10)
  assert.equal(reserve.take(4, ENDLESS), true)
  const gone = new AbortController()
  const late = reserve.take(10, patience(clock, clock.monotonic() + 100))
  const left = reserve.take(10, patience(clock, Number.POSITIVE_INFINITY, gone.signal))
  const behind = reserve.take(6, ENDLESS)
  gone.abort()
  assert.equal(await left, false)
  await clock.advance(100)
  assert.deepEqual([await late, await behind], [false, true])
  assert.equal(reserve.free, 0)
  assert.equal(reserve.take(0, patience(clock, clock.monotonic())), false)
})
