import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedClock } from '../../testing/sim/clock.ts'
import { createMemoryStore } from '../../testing/sim/memory-store.ts'
import { StoreUnavailable } from '../store/store.ts'
import { openProducerIds, type ProducerIds } from './producer-ids.ts'

async function take(ids: ProducerIds, count: number): Promise<number[]> {
  const taken = await Promise.all(Array.from({ length: count }, () => ids.allocate()))
  return taken.map(id => {
    assert(typeof id === 'number', 'an id was expected, not a refusal')
    return id
  })
}

test('producer ids are dense within a block, and a block costs one commit', async () => {
  const store = createMemoryStore(new SimulatedClock())
  const ids = openProducerIds(store)
  assert.deepEqual(await take(ids, 1_000), [...Array(1_000).keys()])
  assert.equal(store.calls.commit, 1)
  assert.deepEqual(
    await take(ids, 1_500),
    Array.from({ length: 1_500 }, (_, index) => 1_000 + index),
  )
  assert.equal(store.calls.commit, 3)
})

test('no producer id is handed out twice across crashes and unknown outcomes', async () => {
  const seen = new Set<number>()
  let store = createMemoryStore(new SimulatedClock())
  for (let life = 0; life < 10; life++) {
    if (life % 3 === 1) store.faults.failNext('commit', 'unknown-lost')
    if (life % 3 === 2) store.faults.failNext('commit', 'unknown-done')
    const ids = openProducerIds(store)
    for (const id of await take(ids, 37)) {
      assert(!seen.has(id), `${id} was handed out before`)
      seen.add(id)
    }
    store = store.reopen()
  }
  assert.equal(seen.size, 370)
})

test('two brokers on one store never share a producer id', async () => {
  const store = createMemoryStore(new SimulatedClock())
  const brokers = [openProducerIds(store), openProducerIds(store)]
  const taken = await Promise.all(brokers.map(ids => take(ids, 2_500)))
  assert.equal(new Set(taken.flat()).size, 5_000)
})

test('an id is refused for now while the store is away, and comes when it is back', async () => {
  const store = createMemoryStore(new SimulatedClock())
  const ids = openProducerIds(store)
  store.faults.failNext('commit', 'unavailable')
  await assert.rejects(ids.allocate(), StoreUnavailable)
  assert.deepEqual(await take(ids, 1), [0])
})

test('a stored block that is no number is not taken for one', async () => {
  const store = createMemoryStore(new SimulatedClock())
  const changes = [{ key: 'next', value: Buffer.from('-1e9') }]
  await store.commit({ kind: 'producer-ids', name: 'blocks', expect: 0, changes })
  await assert.rejects(openProducerIds(store).allocate(), /"-1e9", a number was expected/)
})
