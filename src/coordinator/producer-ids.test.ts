import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedClock } from '../../testing/sim/clock.ts'
import { createMemoryStore } from '../../testing/sim/memory-store.ts'
import { ReplicatedServer } from '../../testing/sim/replicated-server.ts'
import { connectReplicatedStore, type Wire } from '../../testing/sim/replicated-store.ts'
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
  const taken = await take(ids, 1_000)
  assert.equal(store.calls.commit, 1)
  taken.push(...(await take(ids, 1_500)))
  const [first] = taken
  assert.deepEqual(
    taken,
    taken.map((_, index) => first! + index),
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

test('while the store is away no new block is allocated, and ids come again when it is back', async () => {
  const store = createMemoryStore(new SimulatedClock())
  const ids = openProducerIds(store)
  store.faults.failNext('commit', 'unavailable')
  await assert.rejects(ids.allocate(), StoreUnavailable)
  assert.equal((await take(ids, 1)).length, 1)
})

test('no producer id is handed out twice after the store has lost its last blocks', async () => {
  const clock = new SimulatedClock()
  const server = new ReplicatedServer(1)
  const calm: Wire = {
    fate: () => 'answered',
    toServer: queueMicrotask,
    toBroker: queueMicrotask,
    later: (ms, due) => clock.timer(ms, due).cancel,
    delayMs: () => 10,
  }
  const connect = () => connectReplicatedStore({ server, wire: calm, waitReplicas: 0, waitTimeoutMs: 1000 })
  const seen = new Set(await take(openProducerIds(connect()), 10))
  server.replicate(0, Number.MAX_SAFE_INTEGER)
  const ids = openProducerIds(connect())
  for (const id of await take(ids, 2_500)) seen.add(id)
  server.failOver(0)
  await clock.settle()
  // One broker has most of its block left, the other needs a new block.
  for (const broker of [ids, openProducerIds(connect())]) {
    for (const id of await take(broker, 1_500)) {
      assert(!seen.has(id), `${id} was handed out before`)
      seen.add(id)
    }
  }
})
