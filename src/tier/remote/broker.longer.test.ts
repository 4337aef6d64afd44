// The remote tier of real brokers: records that clients produced go to a table, leave the local store, and come back to
// clients byte for byte, on both stores, from a folder and a bucket.

import assert from 'node:assert/strict'
import { mkdtemp, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { startBroker, type TestBroker } from '../../../testing/broker.ts'
import { eventually } from '../../../testing/eventually.ts'
import { inBucket } from '../../../testing/holder-world.ts'
import { noRedis, startRedis } from '../../../testing/redis.ts'
import { everyNth, startS3Stub } from '../../../testing/s3-stub.ts'
import { createTopic } from '../../../testing/topic.ts'
import type { Wire } from '../../../testing/wire.ts'
import { seededRandom } from '../../base/random.ts'
import { fetch } from '../../protocol/messages/fetch.ts'
import { listOffsets } from '../../protocol/messages/list-offsets.ts'
import { produce } from '../../protocol/messages/produce.ts'
import { encodeBatch, splitBatches } from '../../protocol/records.ts'
import type { Values } from '../../settings/settings.ts'

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

async function folderOf(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'ketch-tables-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  return folder
}

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
    await eventually('the partition takes records', async () => (await send(wire, topic, index, encodeBatch(values))) === 0)
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
    20_000,
  )
  return Buffer.concat(parts)
}

/** Resolves when the local store has nothing of the partition below its end. */
async function allCold(wire: Wire, topic: string, index: number, end: number): Promise<void> {
  const isCold = async () => (await offsetOf(wire, topic, index, EARLIEST_LOCAL)) === end
  await eventually(`${topic}-${index} is cold up to ${end}`, isCold, 15_000)
}

const places = {
  folder: async (t: TestContext): Promise<Partial<Values>> => ({ 'storage.remote.path': await folderOf(t) }),
  bucket: async (t: TestContext): Promise<Partial<Values>> => {
    const { path, values } = inBucket(await startS3Stub(t))
    return { ...values, 'storage.remote.path': path! }
  },
}

const stores = {
  embedded: async (): Promise<Partial<Values>> => ({}),
  Redis: async (t: TestContext): Promise<Partial<Values>> => ({ 'redis.uri': (await startRedis(t)).uri }),
}

for (const [store, openStore] of Object.entries(stores))
  for (const [place, openPlace] of Object.entries(places))
    test(`records come back from a ${place} byte for byte, on ${store}`, { skip: store === 'Redis' && noRedis }, async t => {
      const broker = await startBroker(t, { ...TICK, ...(await openStore(t)), ...(await openPlace(t)) })
      await createTopic(broker, 'orders', 2, { ...AT_ONCE, 'local.retention.ms': '-2' })
      const wire = await broker.connect()
      for (const index of [0, 1]) await fill(wire, 'orders', index, 10, index + 1)
      const before = [await readAll(wire, 'orders', 0), await readAll(wire, 'orders', 1)]
      await createTopic(broker, 'cold', 2, AT_ONCE)
      for (const index of [0, 1]) await fill(wire, 'cold', index, 10, index + 1)
      for (const index of [0, 1]) await allCold(wire, 'cold', index, 50)
      assert.equal(await offsetOf(wire, 'cold', 0, EARLIEST), 0)
      for (const index of [0, 1]) {
        const after = await readAll(wire, 'cold', index)
        assert.deepEqual(withoutTimes(after), withoutTimes(before[index]!))
      }
      await fill(wire, 'cold', 0, 1, 9)
      await allCold(wire, 'cold', 0, 55)
    })

/** The times of two productions differ. */
function withoutTimes(bytes: Buffer): string[] {
  return splitBatches(bytes).map(({ baseOffset, bytes: batch }) => `${baseOffset} ${batch.subarray(61).toString('hex')}`)
}
