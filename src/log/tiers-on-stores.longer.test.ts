// A log over two tiers on the real stores, with the real archive.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as systemSleep } from 'node:timers/promises'
import { ArchiveTier } from '../../testing/archive-tier.ts'
import type { CleanUp } from '../../testing/broker.ts'
import { eventually } from '../../testing/eventually.ts'
import { startForgetfulRedis } from '../../testing/forgetful-redis.ts'
import { type OpenedLogs, openLogsOn } from '../../testing/open-logs.ts'
import { noRedis, startRedis } from '../../testing/redis.ts'
import { openTestStore } from '../../testing/redis-store.ts'
import { batchOf, readAll } from '../../testing/sim/logs.ts'
import { newFolder } from '../../testing/store-folder.ts'
import { systemClock } from '../base/clock.ts'
import { isRefusal } from '../protocol/errors.ts'
import { openEmbeddedStore } from '../store/embedded/embedded-store.ts'
import type { Store } from '../store/store.ts'
import type { Partition } from './partition.ts'

const SHARE = { concurrency: 4, isCleaningAllowed: false }
/** Each round seals everything. Local retention drops only what is archived. */
const CONFIGS = {
  'remote.storage.enable': 'true',
  'segment.ms': '1',
  'local.retention.ms': '1',
  'retention.ms': '-1',
  'storage.compression.type': 'zstd',
}

async function create({ catalogue }: OpenedLogs): Promise<string> {
  const [topic] = await catalogue.add([{ name: 'orders', partitions: 1, configs: CONFIGS }])
  assert.ok(topic !== undefined && !isRefusal(topic))
  return topic.id
}

async function partitionOf({ logs }: OpenedLogs, id: string): Promise<Partition> {
  const partition = logs.partition(id, 0)
  assert.ok(partition !== null)
  await eventually('the table is read', () => partition.state.hold === null)
  assert.equal(await partition.learnChunks(), null)
  return partition
}

async function append(partition: Partition, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    const values = [{ key: `key ${i}`, value: 'x'.repeat(2_000) }, { value: null }, { value: String(i) }]
    const answer = await partition.append(batchOf(values), 0)
    assert.ok(!isRefusal(answer), isRefusal(answer) ? answer.message : '')
  }
}

async function round({ logs }: OpenedLogs): Promise<void> {
  await systemSleep(5)
  const { failures } = await logs.runRound(SHARE)
  assert.equal(failures, 0)
}

const bytesOf = async (partition: Partition, from?: number) =>
  (await readAll(partition, from)).map(({ bytes }) => bytes.toString('base64'))

type OpenStore = (cleanUp: CleanUp) => Promise<() => Promise<Store>>

const stores: readonly { readonly name: string; readonly skip: string | false; readonly on: OpenStore }[] = [
  {
    name: 'the embedded store',
    skip: false,
    on: async cleanUp => {
      const path = newFolder(cleanUp)
      const options = { path, fsync: 'interval', fsyncIntervalMs: 100, clock: systemClock } as const
      return () => openEmbeddedStore({ ...options, report: message => assert.fail(message) })
    },
  },
  {
    name: 'Redis',
    skip: noRedis,
    on: async cleanUp => {
      const { uri } = await startRedis(cleanUp)
      return async () => (await openTestStore(cleanUp, { 'redis.uri': uri })).store
    },
  },
]

for (const { name, skip, on } of stores) {
  test(`on ${name} a log is read over both tiers, before a restart and after it`, { skip }, async t => {
    const cleanUp = t as CleanUp
    const open = await on(cleanUp)
    const coldTier = new ArchiveTier(cleanUp)
    const openLogs = async () => openLogsOn(cleanUp, await open(), { clock: systemClock, coldTier })
    const first = await openLogs()
    const id = await create(first)
    const leader = await partitionOf(first, id)
    await append(leader, 20)
    const before = await bytesOf(leader)
    await round(first)
    assert.equal(await coldTier.offload(first.logs, id), 1)
    await round(first)
    assert.deepEqual([leader.logStartOffset, leader.localStartOffset, leader.sizeBytes], [0, 60, 0])
    assert.deepEqual(await bytesOf(leader), before)
    await append(leader, 2)
    assert.deepEqual((await bytesOf(leader)).slice(0, 20), before)
    const found = await leader.offsetForTimestamp(0)
    const largest = await leader.maxTimestampOffset()
    assert.equal(await leader.deleteRecords(4), 4)
    await first.logs.close()
    await first.store.close()

    const next = await openLogs()
    const partition = await partitionOf(next, id)
    assert.deepEqual([partition.logStartOffset, partition.localStartOffset], [4, 60])
    assert.deepEqual((await bytesOf(partition)).slice(0, 19), before.slice(1))
    assert.deepEqual(await bytesOf(partition, 57), (await bytesOf(partition)).slice(-3))
    assert.deepEqual([found, largest], [await partition.offsetForTimestamp(0), await partition.maxTimestampOffset()])
    assert.deepEqual(
      [0, 30, 65].map(offset => partition.epochAt(offset)),
      [1, 1, 1],
    )
    assert.deepEqual(partition.endOfEpoch(1), { epoch: 1, endOffset: 66 })
    await append(partition, 1)
    assert.equal(partition.endOffset, 69)
    await next.logs.close()
    await next.store.close()
  })
}

test('a Redis that lost the tail of a log and of its document: what is archived is read, and no offset of it is used again', {
  skip: noRedis,
}, async t => {
  const cleanUp = t as CleanUp
  const { redis, remember, forget } = await startForgetfulRedis(cleanUp)
  const coldTier = new ArchiveTier(cleanUp)
  const open = async () => {
    const { store } = await openTestStore(cleanUp, { 'redis.uri': redis.uri })
    return await openLogsOn(cleanUp, store, { clock: systemClock, coldTier })
  }
  const first = await open()
  const id = await create(first)
  const leader = await partitionOf(first, id)
  await append(leader, 4)
  await round(first)
  await remember()
  await append(leader, 4)
  await round(first)
  assert.equal(await coldTier.offload(first.logs, id), 2)
  const archived = await bytesOf(leader)
  await append(leader, 2)
  await first.logs.close()
  await first.store.close()
  await forget()

  const next = await open()
  const partition = await partitionOf(next, id)
  assert.ok(partition.endOffset >= 24, `the log ends at ${partition.endOffset}`)
  assert.deepEqual((await bytesOf(partition)).slice(0, 8), archived)
  await append(partition, 1)
  await round(next)
  assert.equal(await coldTier.offload(next.logs, id), 1)
  await round(next)
  await round(next)
  assert.equal(partition.sizeBytes, 0)
  const batches = await readAll(partition)
  assert.deepEqual(
    batches.slice(0, 8).map(({ bytes }) => bytes.toString('base64')),
    archived,
  )
  assert.equal(batches.length, 9)
  assert.ok(batches[8]!.baseOffset >= 24)
})
