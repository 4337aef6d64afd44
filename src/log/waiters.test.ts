import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedClock } from '../../testing/sim/clock.ts'
import { systemClock } from '../base/clock.ts'
import { createWaiters, Waits, Watch } from './waiters.ts'

class Named extends Watch {
  readonly name: string
  readonly waits = new Waits()

  constructor(name: string) {
    super()
    this.name = name
  }
}

function world() {
  const clock = new SimulatedClock()
  const waiters = createWaiters(clock)
  const [a, b, c] = [new Named('a'), new Named('b'), new Named('c')]
  const listOf = (...watches: readonly Named[]) => {
    const list = waiters.watchlist<Named>()
    for (const watch of watches) {
      list.mark(watch)
      list.rest(watch, watch.waits)
    }
    return { ...list, names: () => list.ready().map(({ name }) => name) }
  }
  return { clock, waiters, a, b, c, listOf }
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

test('an append ends the wait of a reader that watches its partition, and marks the watch as ready', async () => {
  const { clock, a, b, listOf } = world()
  const list = listOf(a, b)
  const waiting = list.wait(PATIENT)
  assert(await isPending(clock, waiting))
  b.waits.appended(10)
  await waiting
  assert.deepEqual(list.names(), ['b'])
})

test('a partition notifies all of its watches, however many leave meanwhile', () => {
  const { waiters } = world()
  const waits = new Waits()
  const watches = ['a', 'b', 'c', 'd'].map(name => new Named(name))
  const lists = watches.map(watch => {
    const list = waiters.watchlist<Named>()
    list.mark(watch)
    list.rest(watch, waits)
    return list
  })
  watches[1]!.leave()
  assert.equal(waits.size, 3)
  waits.appended(1)
  assert.deepEqual(
    lists.map(list => list.ready().length),
    [1, 0, 1, 1],
  )
  assert.equal(waits.size, 0)
})

test('while no reader waits a watch is notified once, and again after it has rested', () => {
  const { a, listOf } = world()
  const list = listOf(a)
  assert.deepEqual([a.waits.size, list.names()], [1, []])
  a.waits.appended(1)
  assert.deepEqual([a.waits.size, list.names()], [0, ['a']])
  list.rest(a, a.waits)
  assert.deepEqual([a.waits.size, list.names()], [1, []])
  a.waits.changed()
  assert.deepEqual(list.names(), ['a'])
})

test('a wait lasts until enough bytes have arrived, and bytes of marked watches count too', async () => {
  const { clock, a, b, listOf } = world()
  const list = listOf(a, b)
  list.mark(a)
  const waiting = list.wait({ ...PATIENT, minBytes: 100, alreadyBytes: 30 })
  b.waits.appended(40)
  a.waits.appended(20)
  b.waits.changed()
  assert(await isPending(clock, waiting))
  a.waits.appended(10)
  await waiting
  assert.deepEqual(list.names(), ['a', 'b'])
})

test('a wait ends when its time is up, and the watches that became ready are marked', async () => {
  const { clock, a, b, listOf } = world()
  const list = listOf(a, b)
  const waiting = list.wait({ ...PATIENT, minBytes: 100 })
  a.waits.appended(1)
  await clock.advance(499)
  assert(await isPending(clock, waiting))
  await clock.advance(1)
  await waiting
  assert.deepEqual(list.names(), ['a'])
})

test('a wait ends at once if there are enough bytes or there is no time', async () => {
  const { a, listOf } = world()
  const list = listOf(a)
  await list.wait({ ...PATIENT, alreadyBytes: 1 })
  await list.wait({ ...PATIENT, maxWaitMs: 0 })
})

test('a removal wakes each waiting reader, however few bytes have arrived', async () => {
  const { a, listOf } = world()
  const list = listOf(a)
  const waiting = list.wait({ ...PATIENT, minBytes: 100 })
  a.waits.wake()
  await waiting
  assert.deepEqual(list.names(), ['a'])
})

test('a deferred watch goes behind all ready ones, and a dropped watch is gone', () => {
  const { a, b, c, listOf } = world()
  const list = listOf(a, b, c)
  for (const watch of [a, b, c]) list.mark(watch)
  list.defer(a)
  assert.deepEqual(list.names(), ['b', 'c', 'a'])
  list.drop(b)
  b.waits.appended(1)
  assert.deepEqual([list.names(), b.waits.size], [['c', 'a'], 0])
})

test('an abort, an interruption and a release end waits, and after a release no wait begins', async () => {
  const { waiters, a, listOf } = world()
  const list = listOf(a)
  const abort = new AbortController()
  const first = list.wait({ ...PATIENT, signal: abort.signal })
  abort.abort()
  await first
  const second = list.wait(PATIENT)
  list.interrupt()
  await second
  const third = list.wait(PATIENT)
  waiters.release()
  await third
  await list.wait(PATIENT)
  assert.deepEqual(list.names(), [])
})

test('only a few of many overdue waits end in each turn of the event loop, and an append ends the others at once', async () => {
  const waiters = createWaiters(systemClock)
  const waits = new Waits()
  let ended = 0
  const watches = Array.from({ length: 500 }, (_, at) => new Named(String(at)))
  const lists = watches.map(() => waiters.watchlist<Named>())
  const wait = (maxWaitMs: number) =>
    lists.map((list, at) => {
      list.rest(watches[at]!, waits)
      return list.wait({ ...PATIENT, maxWaitMs }).then(() => void ended++)
    })
  const waiting = wait(1)
  const perTurn: number[] = []
  while (ended < 250) {
    const before = ended
    await new Promise(resolve => setImmediate(resolve))
    perTurn.push(ended - before)
  }
  // The waits that are due in this turn, and those that were due before it.
  assert.ok(Math.max(...perTurn) <= 2 * 16, String(perTurn))
  waits.appended(1)
  await Promise.all(waiting)
  // The earlier overdue waits do not end the wait of a reader that waits again.
  const further = wait(60_000)
  for (let turn = 0; turn < 50; turn++) await new Promise(resolve => setImmediate(resolve))
  assert.equal(ended, 500)
  waits.appended(1)
  await Promise.all(further)
})
