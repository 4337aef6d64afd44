// Tests that the storage route tells how a broker copes with a Redis that is silent, and with a full pool.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { askHttp } from '../../../testing/ask-http.ts'
import { startBroker } from '../../../testing/broker.ts'
import { eventually } from '../../../testing/eventually.ts'
import { append } from '../../../testing/group-calls.ts'
import { noRedis, startRedis } from '../../../testing/redis.ts'
import { createTopic } from '../../../testing/topic.ts'
import type { StoreState } from '../../api/storage.ts'
import type { Values } from '../../settings/settings.ts'

interface Shown {
  readonly store: StoreState
  readonly streams: readonly { readonly entries: number | null }[]
}

/** Starts a broker with a pool of one, and a topic with a partition for each of three connections. */
async function open(t: TestContext, overrides: Partial<Values>) {
  const redis = await startRedis(t)
  const settings = { 'redis.uri': redis.uri, 'redis.pool.size': 1, 'admin.security-enabled': false, ...overrides }
  const broker = await startBroker(t, { ...settings, 'broker.drain-timeout': 500 }, { hasHttp: true })
  await createTopic(broker, 'orders', 3)
  const wires = await Promise.all([0, 1, 2].map(() => broker.connect()))
  const ask = askHttp(broker.url)
  const shown = () => ask<Shown>('/api/v1/storage')
  await append(wires[0]!, 0, ['a', 'b'])
  return { redis, wires, shown }
}

test('storage shows the appends that wait for the pool, and how long they waited', { skip: noRedis }, async t => {
  const { redis, wires, shown } = await open(t, { 'redis.pool.max-wait': 30_000, 'broker.produce-timeout': 30_000 })
  const well = (await shown()).store
  assert.deepEqual([well.place, well.breaker, well.trouble], [`127.0.0.1:${redis.port}`, 'closed', null])
  const { waitMs, ...counts } = well.pool!
  assert.deepEqual(counts, { size: 1, pending: 0, timeouts: 0, errors: 0 })
  assert.ok(waitMs.p99! >= 0 && waitMs.p50! <= waitMs.p99!, JSON.stringify(waitMs))
  redis.pause()
  const writes = wires.map((wire, partition) => append(wire, partition, ['c']))
  await eventually('two appends that wait', async () => (await shown()).store.pool!.pending === 2, 60_000)
  redis.resume()
  await Promise.allSettled(writes)
  const { pending, waitMs: waited } = (await shown()).store.pool!
  assert.equal(pending, 0)
  // The last answer of the silent Redis took two seconds, and the appends waited meanwhile.
  assert.ok(waited.p99! >= 1_000, JSON.stringify(waited))
})

test('storage answers while Redis is silent, and shows the circuit breaker', { skip: noRedis }, async t => {
  let isSilent = true
  // Before the broker is closed: the appends below would fail for ever.
  t.after(() => {
    isSilent = false
  })
  const { redis, wires, shown } = await open(t, {
    'redis.timeout': 2_000,
    'redis.pool.max-wait': 200,
    'redis.circuit-breaker.open-duration': 3_000,
  })
  redis.pause()
  const writes = wires.map(async (wire, partition) => {
    while (isSilent) await append(wire, partition, ['c']).catch(() => 'refused')
  })
  await eventually('an open breaker', async () => (await shown()).store.breaker === 'open', 60_000)
  const { store, streams } = await shown()
  assert.ok(store.trouble !== null && store.place === null, JSON.stringify(store))
  assert.ok(store.pool!.timeouts + store.pool!.errors > 0, JSON.stringify(store.pool))
  assert.deepEqual([streams.length, streams[0]!.entries], [3, null])
  isSilent = false
  await Promise.all(writes)
  redis.resume()
  await eventually('a closed breaker', async () => (await shown()).store.breaker === 'closed', 60_000)
  await eventually('a store that answers', async () => (await shown()).store.trouble === null, 60_000)
})
