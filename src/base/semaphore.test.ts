import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedClock } from '../../testing/sim/clock.ts'
import { ENDLESS, patience } from './patience.ts'
import { Semaphore } from './semaphore.ts'

test('requests that have to wait are served in order, and a small one does not pass a large one', async () => {
  const semaphore = new Semaphore(new SimulatedClock(), 10)
  assert.equal(semaphore.take(4, ENDLESS), true)
  const order: string[] = []
  const large = Promise.resolve(semaphore.take(10, ENDLESS)).then(() => order.push('large'))
  const small = Promise.resolve(semaphore.take(1, ENDLESS)).then(() => order.push('small'))
  await Promise.resolve()
  assert.deepEqual(order, [])
  semaphore.give(4)
  await large
  assert.deepEqual(order, ['large'])
  semaphore.give(10)
  await small
  semaphore.give(1)
  assert.equal(semaphore.free, 10)
})

test('a request that ends by a deadline or a signal takes nothing and lets the requests behind it in', async () => {
  const clock = new SimulatedClock()
  const semaphore = new Semaphore(clock, 10)
  assert.equal(semaphore.take(4, ENDLESS), true)
  const gone = new AbortController()
  const late = semaphore.take(10, patience(clock, clock.monotonic() + 100))
  const left = semaphore.take(10, patience(clock, Number.POSITIVE_INFINITY, gone.signal))
  const behind = semaphore.take(6, ENDLESS)
  gone.abort()
  assert.equal(await left, false)
  await clock.advance(100)
  assert.deepEqual([await late, await behind], [false, true])
  assert.equal(semaphore.free, 0)
  assert.equal(semaphore.take(0, patience(clock, clock.monotonic())), false)
})
