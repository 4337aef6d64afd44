// Tests that the storage page tells how a broker copes with a Redis that is silent, and with a full pool.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { askHttp } from '../../../testing/ask-http.ts'
import { startBroker } from '../../../testing/broker.ts'
import { eventually } from '../../../testing/eventually.ts'
import { append } from '../../../testing/group-calls.ts'
import { noRedis, startRedis } from '../../../testing/redis.ts'
import { createTopic } from '../../../testing/topic.ts'

interface Shown {
  readonly store: {
    readonly place: string | null
    readonly breaker: string
    readonly trouble: string | null
    readonly pool: {
      readonly size: number
      readonly pending: number
      readonly timeouts: number
      readonly errors: number
      readonly waitMs: Readonly<Record<'p50' | 'p95' | 'p99', number | null>>
    }
  }
  readonly streams: readonly { readonly endOffset: number | null; readonly entries: number | null }[]
}

test('storage shows the waits for the pool and the circuit breaker of a Redis, silent or not', {
  skip: noRedis,
}, async t => {
  const redis = await startRedis(t)
  const broker = await startBroker(
    t,
    {
      'redis.uri': redis.uri,
      'redis.timeout': 500,
      'redis.pool.size': 1,
      'redis.pool.max-wait': 200,
      'redis.circuit-breaker.open-duration': 3_000,
      'admin.security-enabled': false,
      'broker.drain-timeout': 500,
    },
    { hasHttp: true },
  )
  const ask = askHttp(broker.url)
  const shown = async () => (await ask<Shown>('/api/v1/storage')).store
  await createTopic(broker, 'orders', 3)
  const wires = await Promise.all([0, 1, 2].map(() => broker.connect()))
  await append(wires[0]!, 0, ['a', 'b'])
  const well = await shown()
  assert.deepEqual([well.place, well.breaker, well.trouble], [`127.0.0.1:${redis.port}`, 'closed', null])
  const { waitMs, ...counts } = well.pool
  assert.deepEqual(counts, { size: 1, pending: 0, timeouts: 0, errors: 0 })
  assert.ok(waitMs.p99! >= 0 && waitMs.p99! < 200, JSON.stringify(waitMs))

  redis.pause()
  let isSilent = true
  const writes = wires.map(async (wire, partition) => {
    while (isSilent) await append(wire, partition, ['c']).catch(() => 'refused')
  })
  await eventually('an append that waits', async () => (await shown()).pool.pending > 0)
  await eventually('an open breaker', async () => (await shown()).breaker === 'open', 20_000)
  const { store, streams } = await ask<Shown>('/api/v1/storage')
  assert.ok(store.trouble !== null && store.place === null, JSON.stringify(store))
  assert.ok(store.pool.timeouts > 0 && store.pool.waitMs.p99! >= 190, JSON.stringify(store.pool))
  assert.deepEqual([streams.length, streams[0]!.entries], [3, null])

  isSilent = false
  await Promise.all(writes)
  redis.resume()
  await eventually('a closed breaker', async () => (await shown()).breaker === 'closed', 20_000)
  await eventually('a store that answers', async () => (await shown()).trouble === null, 20_000)
})
