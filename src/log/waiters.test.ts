import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedClock } from '../../testing/sim/clock.ts'
import { createWaiters, type Waitable, Waits } from './waiters.ts'

interface Side extends Waitable {
  readonly name: string
  highWatermark: number
  refusal: unknown
}

function world() {
  const clock = new SimulatedClock()
  const waiters = createWaiters(clock)
  const side = (name: string): Side => ({ name, waits: new Waits(), highWatermark: 0, refusal: null })
  const [a, b] = [side('a'), side('b')]
  const names = async (waiting: Promise<readonly Side[]>) => (await waiting).map(({ name }) => name)
  return { clock, waiters, a, b, names }
}

async function isPending(clock: SimulatedClock, promise: Promise<unknown>): Promise<boolean> {
  let pending = true
  void promise.then(() => {
    pending = false
  })
  await clock.settle()
  return pending
}

const PATIENT = { minBytes: 1, alreadyBytes: 0, maxWaitMs: 500 }

test('a partition that ended before the wait began ends it at once', async () => {
  const { waiters, a, b, names } = world()
  b.refusal = 'removed'
  b.waits.wake()
  assert.deepEqual(await names(waiters.waitFor([a, b], { ...PATIENT, seen: [0, 0] })), ['b'])
  assert.deepEqual([a.waits.size, b.waits.size], [0, 0])
})

test('an append wakes whoever waits for its partition, and names it', async () => {
  const { waiters, a, b, names } = world()
  const both = waiters.waitFor([a, b], PATIENT)
  const other = waiters.waitFor([a], PATIENT)
  b.waits.appended(10)
  assert.deepEqual(await names(both), ['b'])
  assert.deepEqual([a.waits.size, b.waits.size], [1, 0])
  a.waits.appended(10)
  assert.deepEqual(await names(other), ['a'])
})

test('a wait goes on until enough bytes have come together', async () => {
  const { clock, waiters, a, b, names } = world()
  const waiting = waiters.waitFor([a, b], { ...PATIENT, minBytes: 100, alreadyBytes: 30 })
  b.waits.appended(40)
  b.waits.appended(20)
  assert(await isPending(clock, waiting))
  a.waits.appended(10)
  assert.deepEqual(await names(waiting), ['b', 'a'])
})

test('a wait ends when its time is up, with what became ready', async () => {
  const { clock, waiters, a, b, names } = world()
  const waiting = waiters.waitFor([a, b], { ...PATIENT, minBytes: 100 })
  a.waits.appended(1)
  await clock.advance(499)
  assert(await isPending(clock, waiting))
  await clock.advance(1)
  assert.deepEqual(await names(waiting), ['a'])
  assert.deepEqual([a.waits.size, b.waits.size], [0, 0])
})

test('a wait does not begin when there is enough, when there is no time, or when the log has moved on', async () => {
  const { waiters, a, b, names } = world()
  assert.deepEqual(await names(waiters.waitFor([a], { ...PATIENT, minBytes: 0 })), [])
  assert.deepEqual(await names(waiters.waitFor([a], { ...PATIENT, maxWaitMs: 0 })), [])
  b.highWatermark = 5
  assert.deepEqual(await names(waiters.waitFor([a, b], { ...PATIENT, minBytes: 100, seen: [0, 4] })), ['b'])
})

test('a removal wakes whoever waits, whatever the bytes', async () => {
  const { waiters, a, b, names } = world()
  const waiting = waiters.waitFor([a, b], { ...PATIENT, minBytes: 100 })
  a.waits.wake()
  assert.deepEqual(await names(waiting), ['a'])
})

test('an abort and a release end waits, and after a release none begins', async () => {
  const { waiters, a, names } = world()
  const abort = new AbortController()
  const first = waiters.waitFor([a], { ...PATIENT, signal: abort.signal })
  abort.abort()
  assert.deepEqual(await names(first), [])
  const second = waiters.waitFor([a], PATIENT)
  waiters.release()
  assert.deepEqual(await names(second), [])
  assert.deepEqual(await names(waiters.waitFor([a], PATIENT)), [])
  assert.equal(a.waits.size, 0)
})
