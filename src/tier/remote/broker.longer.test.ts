// The remote tier of real brokers: records that clients produced go to a table, leave the local store, and come back
// to clients byte for byte, on both stores, from a folder and a bucket.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { drawnBy } from '../../../testing/at-length.ts'
import { startBroker, type TestBroker } from '../../../testing/broker.ts'
import { createCluster } from '../../../testing/cluster.ts'
import { eventually } from '../../../testing/eventually.ts'
import { inBucket } from '../../../testing/holder-world.ts'
import { auditTable } from '../../../testing/iceberg-audit.ts'
import { noRedis, startRedis } from '../../../testing/redis.ts'
import { everyNth, startS3Stub } from '../../../testing/s3-stub.ts'
import { seed } from '../../../testing/seed.ts'
import { temporaryFolder } from '../../../testing/temporary-folder.ts'
import { createTopic, createTopicOfAll } from '../../../testing/topic.ts'
import type { Wire } from '../../../testing/wire.ts'
import { systemClock } from '../../base/clock.ts'
import { seededRandom } from '../../base/random.ts'
import { fetch } from '../../protocol/messages/fetch.ts'
import { incrementalAlterConfigs } from '../../protocol/messages/incremental-alter-configs.ts'
import { listOffsets } from '../../protocol/messages/list-offsets.ts'
import { metadata } from '../../protocol/messages/metadata.ts'
import { produce } from '../../protocol/messages/produce.ts'
import { encodeBatch, splitBatches } from '../../protocol/records.ts'
import type { Values } from '../../settings/settings.ts'
import type { Objects } from '../objects/objects.ts'
import { openObjects, parsePlace } from '../objects/place.ts'

const TICK: Partial<Values> = {
  'storage.worker.tick-interval': 100,
  'storage.worker.lease-duration': 1_000,
  'storage.remote.iceberg.max-file-wait': 0,
  'storage.remote.iceberg.offload.threads': 1,
  'storage.remote.iceberg.read.threads': 2,
}

/** Each round seals what was appended, and drops it here when the table has it. */
const AT_ONCE = { 'segment.ms': '1', 'local.retention.ms': '1', 'retention.ms': '-1', 'remote.storage.enable': 'true' }

const EARLIEST = -2
const EARLIEST_LOCAL = -4

async function send(wire: Wire, topic: string, index: number, batch: Buffer): Promise<number> {
  const body = { acks: -1, timeoutMs: 10_000, topicData: [{ name: topic, partitionData: [{ index, records: batch }] }] }
  const { responses } = await wire.send(produce, 9, body)
  return responses[0]!.partitionResponses[0]!.errorCode
}

/** Produces batches of random records; retries while the table of the topic is being read. */
async function fill(wire: Wire, topic: string, index: number, batches: number, seed = 1): Promise<void> {
  const random = seededRandom(seed)
  for (let i = 0; i < batches; i++) {
    const values = Array.from({ length: 5 }, () => ({ key: random.bytes(8), value: random.bytes(200) }))
    await eventually(
      'the partition takes records',
      async () => (await send(wire, topic, index, encodeBatch(values))) === 0,
    )
  }
}

async function offsetOf(wire: Wire, topic: string, index: number, timestamp: number): Promise<number> {
  const { topics } = await wire.send(listOffsets, 8, {
    replicaId: -1,
    topics: [{ name: topic, partitions: [{ partitionIndex: index, timestamp }] }],
  })
  return topics[0]!.partitions[0]!.offset
}

interface Row {
  readonly errorCode: number
  readonly records: Uint8Array | null
  readonly highWatermark: number
}

async function fetchRow(wire: Wire, topic: string, partition: number, fetchOffset: number): Promise<Row> {
  const { responses } = await wire.send(fetch, 11, {
    maxWaitMs: 100,
    minBytes: 1,
    topics: [{ topic, partitions: [{ partition, fetchOffset, partitionMaxBytes: 1_000_000 }] }],
  })
  return responses[0]!.partitions[0] as Row
}

/** Reads all batches from 0 on, as one buffer. */
async function readAll(wire: Wire, topic: string, partition: number): Promise<Buffer> {
  const parts: Uint8Array[] = []
  let offset = 0
  await eventually(
    'all of the partition is read',
    async () => {
      const { errorCode, records, highWatermark } = await fetchRow(wire, topic, partition, offset)
      if (errorCode !== 0) return false
      for (const { bytes, lastOffset } of splitBatches(records ?? new Uint8Array())) {
        if (lastOffset < offset) continue
        parts.push(Buffer.from(bytes))
        offset = lastOffset + 1
      }
      return offset >= highWatermark
    },
    60_000,
  )
  return Buffer.concat(parts)
}

/** Resolves when the local store has nothing of the partition below its end. */
async function allCold(wire: Wire, topic: string, index: number, end: number): Promise<void> {
  const isCold = async () => (await offsetOf(wire, topic, index, EARLIEST_LOCAL)) === end
  await eventually(`${topic}-${index} is cold up to ${end}`, isCold, 60_000)
}

const places = {
  folder: async (t: TestContext): Promise<Partial<Values>> => ({
    'storage.remote.path': await temporaryFolder(t, 'ketch-tables-'),
  }),
  bucket: async (t: TestContext): Promise<Partial<Values>> => {
    const { path, values } = inBucket(await startS3Stub(t))
    return { ...values, 'storage.remote.path': path! }
  },
}

const stores = {
  embedded: async (): Promise<Partial<Values>> => ({}),
  Redis: async (t: TestContext): Promise<Partial<Values>> => ({ 'redis.uri': (await startRedis(t)).uri }),
}

async function enable(wire: Wire, topic: string, configs: Readonly<Record<string, string>> = AT_ONCE): Promise<void> {
  const { responses } = await wire.send(incrementalAlterConfigs, 1, {
    validateOnly: false,
    resources: [
      {
        resourceType: 2,
        resourceName: topic,
        configs: Object.entries(configs).map(([name, value]) => ({ name, configOperation: 0, value })),
      },
    ],
  })
  assert.deepEqual(responses[0]!.errorCode, 0, responses[0]!.errorMessage ?? '')
}

// A run takes each store and each place once, as the seed draws; KETCH_LONG=1 takes each store with each place.
for (const [at, [store, openStore]] of Object.entries(stores).entries())
  for (const [place, openPlace] of drawnBy(at + seed, 2, Object.entries(places)))
    test(`records come back from a ${place} byte for byte, on ${store}`, {
      skip: store === 'Redis' && noRedis,
    }, async t => {
      const broker = await startBroker(t, { ...TICK, ...(await openStore(t)), ...(await openPlace(t)) })
      await createTopic(broker, 'orders', 2)
      const wire = await broker.connect()
      for (const index of [0, 1]) await fill(wire, 'orders', index, 10, index + 1)
      const before = [await readAll(wire, 'orders', 0), await readAll(wire, 'orders', 1)]
      await enable(wire, 'orders')
      for (const index of [0, 1]) await allCold(wire, 'orders', index, 50)
      assert.equal(await offsetOf(wire, 'orders', 0, EARLIEST), 0)
      for (const index of [0, 1]) assert.deepEqual(await readAll(wire, 'orders', index), before[index])
      await fill(wire, 'orders', 0, 1, 9)
      await allCold(wire, 'orders', 0, 55)
      const all = await readAll(wire, 'orders', 0)
      assert.deepEqual(all.subarray(0, before[0]!.length), before[0])
      assert.equal(splitBatches(all).length, 11)
      const text = await broker.broker.metrics.scrape()
      assert.match(text, /svc_storage_archive_lag_segments 0\n/)
      assert.match(text, /svc_storage_write_messages_count\{[^}]*tier="remote"[^}]*\} [1-9]/)
      assert.match(text, /svc_storage_write_seconds_count\{tier="remote",result="success"\} [1-9]/)
      assert.match(text, /svc_storage_read_seconds_count\{tier="remote",result="success",mode="stream"\} [1-9]/)
      assert.match(text, /svc_storage_read_messages_count\{tier="remote",mode="stream"\} [1-9]/)
      assert.doesNotMatch(text, /svc_storage_worker_failures_total\{.*\} [1-9]/)
    })

test('a bucket that goes away and comes back costs no attempt, and producers go on', async t => {
  const stub = await startS3Stub(t)
  const { path, values } = inBucket(stub)
  const broker = await startBroker(t, { ...TICK, ...values, 'storage.remote.path': path! })
  const { metrics } = broker.broker
  await createTopic(broker, 'orders', 1, AT_ONCE)
  const wire = await broker.connect()
  await fill(wire, 'orders', 0, 3)
  await allCold(wire, 'orders', 0, 15)
  stub.faultOf = () => 'unavailable'
  await fill(wire, 'orders', 0, 3, 2)
  await eventually('the backlog grows', () => metrics.read('svc.storage.archive.lag.segments', {}) > 0, 60_000)
  await eventually('the breaker opens', () => broker.log().includes('the remote tier does not work'), 60_000)
  const { errorCode } = await fetchRow(wire, 'orders', 0, 15)
  assert.equal(errorCode, 0, 'what is local is served')
  stub.faultOf = () => null
  await allCold(wire, 'orders', 0, 30)
  assert.equal(splitBatches(await readAll(wire, 'orders', 0)).length, 6)
  assert.equal(metrics.total('svc.storage.archive.failures'), 0)
  assert.match(broker.log(), /the place of the remote tier works again/)
})

test('a bucket that loses every fifth answer loses no record', async t => {
  const stub = await startS3Stub(t)
  const { path, values } = inBucket(stub)
  const broker = await startBroker(t, { ...TICK, ...values, 'storage.remote.path': path! })
  await createTopic(broker, 'orders', 1, AT_ONCE)
  const wire = await broker.connect()
  stub.faultOf = everyNth(5, 'lost')
  await fill(wire, 'orders', 0, 8)
  await allCold(wire, 'orders', 0, 40)
  assert.equal(splitBatches(await readAll(wire, 'orders', 0)).length, 8)
})

test('a broker that starts while the bucket is away serves what is local, and takes records when it is back', async t => {
  const stub = await startS3Stub(t)
  const { path, values } = inBucket(stub)
  const settings = { ...TICK, ...values, 'storage.remote.path': path! }
  const dir = await temporaryFolder(t, 'ketch-away-')
  const first = await startBroker(t, settings, { dir })
  await createTopic(first, 'orders', 1, { ...AT_ONCE, 'local.retention.ms': '-2' })
  const before = await first.connect()
  await fill(before, 'orders', 0, 3)
  await first.broker.close()
  stub.faultOf = () => 'reset'
  const broker = await startBroker(t, settings, { dir })
  const wire = await broker.connect()
  assert.equal(splitBatches(await readAll(wire, 'orders', 0)).length, 3)
  assert.equal(await send(wire, 'orders', 0, encodeBatch([{ key: null, value: Buffer.from('a') }])), 56)
  stub.faultOf = () => null
  await fill(wire, 'orders', 0, 1)
  assert.equal(splitBatches(await readAll(wire, 'orders', 0)).length, 4)
})

test('new topics take their first records at the first request, and so does a broker that has started', async t => {
  const stub = await startS3Stub(t)
  // Each answer of the bucket takes longer than a producer needs to be there.
  stub.faultOf = () => ({ delayMs: 5 })
  const { path, values } = inBucket(stub)
  const settings = { ...TICK, ...values, 'storage.remote.path': path!, 'storage.remote.iceberg.read.threads': 4 }
  const dir = await temporaryFolder(t, 'ketch-new-')
  const names = Array.from({ length: 30 }, (_, i) => `new-${i}`)
  const indexes = [0, 1, 2, 3]
  const first = await startBroker(t, settings, { dir })
  const sent = await Promise.all(
    names.map(async name => {
      await createTopic(first, name, indexes.length, { 'remote.storage.enable': 'true' })
      return await sendToAll(await first.connect(), name, indexes)
    }),
  )
  assert.deepEqual(sent.flat(), Array(120).fill([0, 0]))
  await first.broker.close()
  const next = await startBroker(t, settings, { dir })
  const again = await Promise.all(names.map(async name => await sendToAll(await next.connect(), name, indexes)))
  assert.deepEqual(again.flat(), Array(120).fill([0, 1]))
})

/** Sends a record to each partition in one request. Resolves with the error codes and the offsets of the answer. */
async function sendToAll(wire: Wire, topic: string, indexes: readonly number[]): Promise<(readonly number[])[]> {
  const partitionData = indexes.map(index => ({ index, records: encodeBatch([{ key: null, value: topic }]) }))
  const body = { acks: -1, timeoutMs: 10_000, topicData: [{ name: topic, partitionData }] }
  const { responses } = await wire.send(produce, 9, body)
  return responses[0]!.partitionResponses.map(({ errorCode, baseOffset }) => [errorCode, Number(baseOffset)])
}

test('the holder stops between upload and commit: another one offloads, and each record is there once', async t => {
  const stub = await startS3Stub(t)
  const { path, values } = inBucket(stub)
  const cluster = createCluster(t, { ...TICK, ...values, 'storage.remote.path': path! })
  const brokers = [await cluster.start(1), await cluster.start(2)]
  await cluster.agreed(brokers, [1, 2])
  const holder = brokers.find(isHolder)!
  const other = brokers.find(broker => broker !== holder)!
  let resume: (() => void) | null = null
  stub.faultOf = ({ operation, key }) => {
    if (resume === null && operation === 'PutObject' && key.endsWith('.parquet')) resume = holder.cutOff()
    return null
  }
  await createTopicOfAll(other, 'orders', 4, [1, 2], AT_ONCE)
  const wire = await other.connect()
  const index = (await leadersOf(wire, 'orders')).indexOf(other.id)
  await fill(wire, 'orders', index, 1)
  await eventually('the holder uploads', () => resume !== null)
  await eventually('the other broker holds the lease', () => isHolder(other), 60_000)
  await fill(wire, 'orders', index, 5)
  const end = await offsetOf(wire, 'orders', index, -1)
  await allCold(wire, 'orders', index, end)
  assert.notEqual(resume, null)
  ;(resume as unknown as () => void)()
  await fill(wire, 'orders', index, 1, 2)
  await allCold(wire, 'orders', index, end + 5)
  const all = splitBatches(await readAll(wire, 'orders', index))
  assert.equal(
    all.reduce((sum, { recordCount }) => sum + recordCount, 0),
    end + 5,
  )
  const objects = await openObjects(parsePlace(path!), stub.options, {
    clock: systemClock,
    random: seededRandom(1),
    warn() {},
  })
  t.after(() => objects.close())
  const [location] = await locationsOf(objects)
  const { findings } = await auditTable(objects, location!, { nowMs: systemClock.now(), graceMs: 3_600_000 })
  assert.deepEqual(findings, [])
})

test('two brokers on Redis offload what both lead, and a change of the holder loses nothing', {
  skip: noRedis,
}, async t => {
  const { uri } = await startRedis(t)
  const shared = {
    ...TICK,
    'redis.uri': uri,
    'storage.remote.path': await temporaryFolder(t, 'ketch-tables-'),
    'broker.expiry': 1_000,
  }
  const brokers = [
    await startBroker(t, { ...shared, 'broker.id': 1 }),
    await startBroker(t, { ...shared, 'broker.id': 2 }),
  ]
  await createTopicOfAll(brokers[0]!, 'orders', 4, [1, 2], AT_ONCE)
  const wires = await Promise.all(brokers.map(broker => broker.connect()))
  const leaders = await leadersOf(wires[0]!, 'orders')
  const wireOf = (index: number) => wires[leaders[index]! - 1]!
  for (let index = 0; index < 4; index++) await fill(wireOf(index), 'orders', index, 4, index + 1)
  for (let index = 0; index < 4; index++) await allCold(wireOf(index), 'orders', index, 20)
  const holder = brokers.find(isHolder)!
  const other = brokers.find(broker => broker !== holder)!
  const wire = wires[brokers.indexOf(other)]!
  await holder.broker.close()
  await eventually('the other broker leads all', async () => {
    const now = await leadersOf(wire, 'orders')
    return now.every(id => id === brokers.indexOf(other) + 1)
  })
  for (let index = 0; index < 4; index++) await fill(wire, 'orders', index, 2, 20 + index)
  for (let index = 0; index < 4; index++) {
    await allCold(wire, 'orders', index, 30)
    assert.equal(splitBatches(await readAll(wire, 'orders', index)).length, 6)
  }
})

const isHolder = ({ broker }: TestBroker) => broker.metrics.read('svc.storage.worker.up', {}) === 1

async function leadersOf(wire: Wire, name: string): Promise<number[]> {
  const { topics } = await wire.send(metadata, 9, { topics: [{ name }] })
  return topics[0]!.partitions.toSorted((a, b) => a.partitionIndex - b.partitionIndex).map(each => each.leaderId)
}

async function locationsOf(objects: Objects): Promise<readonly string[]> {
  const found = new Set<string>()
  for await (const { key } of objects.list('default/')) found.add(key.split('/').slice(0, 2).join('/'))
  return [...found]
}
