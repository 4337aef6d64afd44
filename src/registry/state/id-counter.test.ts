import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMemoryStore } from '../../../testing/sim/memory-store.ts'
import { systemClock } from '../../base/clock.ts'
import { seededRandom } from '../../base/random.ts'
import type { Store } from '../../store/store.ts'
import { IdCounter } from './id-counter.ts'

/** A store whose incarnation the test changes, and counters of several brokers on it. */
function world() {
  const store = createMemoryStore(systemClock)
  let life = 1
  const reborn: Store = {
    ...store,
    async commit(commit) {
      const outcome = await store.commit(commit)
      return outcome.kind === 'committed' ? { ...outcome, incarnation: `life ${life}` } : outcome
    },
  }
  const open = () => new IdCounter({ store: reborn, clock: systemClock, random: seededRandom(1), isShared: true })
  /** Sets the counter back, as a fail-over does. */
  const goBack = async (last: number) => {
    const { version } = (await store.load('schemas', 'counter'))!
    const value = Buffer.from(JSON.stringify({ format: 1, last, incarnation: `life ${life}` }))
    await store.commit({ kind: 'schemas', name: 'counter', expect: version, changes: [{ key: 'counter', value }] })
    life++
  }
  return { store, open, goBack }
}

test('ids begin at 1, and brokers that take them at once never get the same', async () => {
  const { open } = world()
  const counters = [open(), open(), open()]
  assert.equal(await counters[0]!.take(), 1)
  const ids = await Promise.all(Array.from({ length: 30 }, (_, i) => counters[i % 3]!.take()))
  assert.equal(new Set([1, ...ids]).size, 31)
  assert.equal(Math.max(...ids), await counters[0]!.last())
})

test('after the store went back in time, ids begin far above those that it may have lost', async () => {
  const { open, goBack } = world()
  const [one, other] = [open(), open()]
  for (let i = 0; i < 20; i++) await one.take()
  await goBack(15)
  // This broker knows none of the lost ids.
  assert.equal(await other.take(), 10_016)
  assert.equal(await one.take(), 10_017)
  assert.equal(await other.take(), 10_018)
})

test('a broker that ends between the two steps of a leap leaves it to the next one', async () => {
  const { open, goBack, store } = world()
  await open().take()
  await goBack(1)
  const release = store.faults.hold('commit')
  const ending = open().take()
  release()
  await ending
  await goBack(1)
  assert.equal(await open().take(), 10_002)
})

test('a broker that has seen higher ids raises the counter to them', async () => {
  const { open, goBack } = world()
  const [one, other] = [open(), open()]
  for (let i = 0; i < 5; i++) await one.take()
  await goBack(2)
  await one.raiseToKnown()
  assert.equal(await other.take(), 10_006)
  one.note(20_000)
  assert.equal(await one.take(), 20_001)
  await one.raiseToKnown()
  assert.equal(await one.last(), 20_001)
})

test('an import raises the counter, and never lowers it', async () => {
  const { open } = world()
  const counter = open()
  await counter.raiseTo(100)
  await counter.raiseTo(50)
  assert.equal(await open().take(), 101)
})

test('an id whose outcome is unknown is given out by no broker', async () => {
  const { open, store } = world()
  const counter = open()
  assert.equal(await counter.take(), 1)
  store.faults.failNext('commit', 'unknown-done')
  assert.equal(await counter.take(), 3)
  store.faults.failNext('commit', 'unknown-lost')
  assert.equal(await counter.take(), 4)
})

test('there is no id above those of an int32', async () => {
  const { open } = world()
  const counter = open()
  await counter.raiseTo(2 ** 31 - 3)
  assert.equal(await counter.take(), 2 ** 31 - 2)
  await assert.rejects(counter.take(), /all schema ids up to 2147483646 are used/)
})
