import assert from 'node:assert/strict'
import { test } from 'node:test'
import { storeConformance } from '../../src/store/conformance.ts'
import { exampleAppend, exampleBatch, expectKind } from '../../src/store/examples.ts'
import { OutcomeUnknown, StoreUnavailable } from '../../src/store/store.ts'
import { SimulatedClock } from './clock.ts'
import { createMemoryStore } from './memory-store.ts'

const A = 'AAAAAAAAAAAAAAAAAAAAAQ:0'
const EVERYTHING = { maxBytes: Number.MAX_SAFE_INTEGER, until: Number.MAX_SAFE_INTEGER }

storeConformance('memory store', async () => {
  let store = createMemoryStore(new SimulatedClock())
  return {
    store,
    reopen: async () => {
      await store.close()
      store = store.reopen()
      return store
    },
    loseTrim: async (_, call) => {
      store.faults.failNext('trim', 'unknown-done')
      await assert.rejects(call(), OutcomeUnknown)
    },
  }
})

async function ledStore() {
  const clock = new SimulatedClock()
  const store = createMemoryStore(clock)
  await store.create([A])
  await store.open(A, 0, 0)
  return { clock, store }
}

test('a fault that was asked for once happens once', async () => {
  const { store } = await ledStore()
  store.faults.failNext('append', 'unavailable')
  await assert.rejects(store.append(exampleAppend(A, 1, 0)), StoreUnavailable)
  assert.equal((await store.append(exampleAppend(A, 1, 0))).kind, 'appended')
})

test('a call with an unknown outcome took effect or not, as the test chose, and open shows which', async () => {
  const { store } = await ledStore()
  store.faults.failNext('append', 'unknown-lost')
  store.faults.failNext('append', 'unknown-done')
  const lost = exampleAppend(A, 1, 0)
  const done = exampleAppend(A, 1, 0)
  await assert.rejects(store.append(lost), OutcomeUnknown)
  assert.equal(expectKind(await store.open(A, 1, 0), 'opened').lastAttempt, null)
  await assert.rejects(store.append({ ...done, epoch: 2 }), OutcomeUnknown)
  const opened = expectKind(await store.open(A, 2, 0), 'opened')
  assert.deepEqual([opened.lastAttempt, opened.end], [done.attempt, 1])
})

test('a delay passes on the clock, and a held call waits until it is let go', async () => {
  const { clock, store } = await ledStore()
  const seen: string[] = []
  store.faults.delay('append', 50)
  void store.append(exampleAppend(A, 1, 0)).then(() => seen.push('append'))
  await clock.advance(49)
  assert.equal(seen.length, 0)
  await clock.advance(1)
  assert.equal(seen.join(), 'append')
  store.faults.delay('append', 0)
  const release = store.faults.hold('all')
  const reading = store.read(A, 0, EVERYTHING).then(() => seen.push('read'))
  await clock.settle()
  assert.equal(seen.length, 1)
  release()
  await reading
  assert.equal(seen.join(), 'append,read')
})

test('a damaged stream reads below the damage and refuses appends', async () => {
  const { store } = await ledStore()
  for (const at of [0, 1, 2]) await store.append(exampleAppend(A, 1, at, [exampleBatch(at)]))
  store.faults.damage(A, 1, 'broken for the test')
  assert.equal(expectKind(await store.read(A, 0, EVERYTHING), 'read').batches.length, 1)
  assert.equal((await store.read(A, 1, EVERYTHING)).kind, 'damaged')
  assert.equal((await store.append(exampleAppend(A, 1, 3))).kind, 'damaged')
})
