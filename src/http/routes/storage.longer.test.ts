import assert from 'node:assert/strict'
import { test } from 'node:test'
import { askHttp } from '../../../testing/ask-http.ts'
import { startBroker } from '../../../testing/broker.ts'
import { append } from '../../../testing/group-calls.ts'
import { batchOf } from '../../../testing/kafka.ts'
import { createMemoryStore } from '../../../testing/sim/memory-store.ts'
import { createTopic } from '../../../testing/topic.ts'
import { systemClock } from '../../base/clock.ts'
import { produce } from '../../protocol/messages/produce.ts'

interface Shown {
  readonly store: Readonly<Record<string, unknown>>
  readonly streams: readonly Readonly<Record<string, unknown>>[]
  readonly total: number
}

interface Producers {
  readonly producers: readonly Readonly<Record<string, unknown>>[]
  readonly total: number
}

test('storage shows the size of each partition, by name or the largest first', async t => {
  const broker = await startBroker(t, { 'admin.security-enabled': false }, { hasHttp: true })
  const ask = askHttp(broker.url)
  await createTopic(broker, 'orders', 3)
  await createTopic(broker, 'empty', 1)
  const wire = await broker.connect()
  await append(wire, 1, ['a', 'b'])
  await append(wire, 2, ['a much longer record than those of the other partition'])
  const { store, streams, total } = await ask<Shown>('/api/v1/storage')
  assert.deepEqual([store.place, Number(store.totalBytes) > 0, total], [broker.dir, true, 4])
  assert.deepEqual([store.breaker, store.pool, store.trouble], ['disabled', null, null])
  assert.deepEqual(
    streams.map(({ topic, partition, startOffset, endOffset, leaderId }) => {
      return [topic, partition, startOffset, endOffset, leaderId]
    }),
    [
      ['empty', 0, 0, 0, 0],
      ['orders', 0, 0, 0, 0],
      ['orders', 1, 0, 2, 0],
      ['orders', 2, 0, 1, 0],
    ],
  )
  assert.deepEqual([streams[0]!.sizeBytes, streams[0]!.entries, streams[0]!.memoryBytes], [0, null, null])
  const pageOf = async (query: string) =>
    (await ask<Shown>(`/api/v1/storage?${query}`)).streams.map(({ topic, partition }) => `${topic}-${partition}`)
  assert.deepEqual(await pageOf('offset=2&limit=1'), ['orders-1'])
  assert.deepEqual(await pageOf('offset=1&limit=2&order=desc'), ['orders-1', 'orders-0'])
  assert.deepEqual(await pageOf('offset=3&limit=2&order=desc'), ['empty-0'])
  assert.deepEqual(await pageOf('offset=4'), [])
  assert.deepEqual(await pageOf('offset=4&order=desc'), [])
  const largest = await ask<Shown>('/api/v1/storage?sort=sizeBytes&order=desc&limit=2&q=ORD')
  assert.deepEqual([largest.streams.map(({ partition }) => partition), largest.total], [[2, 1], 3])
})

test('a store that does not answer is described without the numbers that it would give', async t => {
  const store = createMemoryStore(systemClock)
  const openStore = async () => store
  const broker = await startBroker(t, { 'admin.security-enabled': false }, { hasHttp: true, openStore })
  await createTopic(broker, 'orders', 1)
  const ask = askHttp(broker.url)
  store.faults.failNext('space', 'unavailable')
  store.faults.failNext('usage', 'unavailable')
  const refused = await ask<Shown>('/api/v1/storage')
  assert.deepEqual(
    [refused.store.place, refused.store.totalBytes, refused.store.description],
    [null, null, store.description],
  )
  assert.match(String(refused.store.trouble), /\w/)
  assert.deepEqual([refused.total, refused.streams[0]!.endOffset, refused.streams[0]!.entries], [1, 0, null])
  const release = store.faults.hold('space')
  const silent = await ask<Shown>('/api/v1/storage')
  assert.equal(silent.store.trouble, 'the store gave no answer within 2000 ms')
  release()
  const again = await ask<Shown>('/api/v1/storage')
  assert.deepEqual([again.store.place, again.store.trouble], ['memory', null])
})

test('idempotent producers are shown as their partitions remember them', async t => {
  const broker = await startBroker(t, { 'admin.security-enabled': false }, { hasHttp: true })
  const ask = askHttp(broker.url)
  await createTopic(broker, 'orders', 1)
  const wire = await broker.connect()
  for (const baseSequence of [0, 2]) {
    const records = batchOf(['a', 'b'], { producerId: 7, producerEpoch: 3, baseSequence })
    const topicData = [{ name: 'orders', partitionData: [{ index: 0, records }] }]
    await wire.send(produce, 9, { acks: -1, timeoutMs: 5_000, topicData })
  }
  const { producers, total } = await ask<Producers>('/api/v1/producers?q=order')
  const [{ lastAppendAt, ...producer }] = producers as [Record<string, unknown>]
  assert.match(String(lastAppendAt), /^2\d{3}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  assert.deepEqual(producer, {
    ...{ topic: 'orders', partition: 0, producerId: 7, epoch: 3, lastSequence: 3, lastOffset: 3 },
  })
  assert.equal(total, 1)
})
