// The handlers of records and offsets for a topic of which the remote tier has the older part and the store the newer
// one. The rules of waiting are in fetch/archive-reads.test.ts.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { MemoryTier } from '../../../testing/cold-tier.ts'
import { kafkaRooms, send } from '../../../testing/sim/kafka-rooms.ts'
import { batchOf, type LogWorld, openLogWorld } from '../../../testing/sim/logs.ts'
import {
  isRefusal,
  KAFKA_STORAGE_ERROR,
  NONE,
  OFFSET_OUT_OF_RANGE,
  REQUEST_TIMED_OUT,
  UNKNOWN_TOPIC_OR_PARTITION,
} from '../../protocol/errors.ts'
import { encodeBatch, viewBatch } from '../../protocol/records.ts'
import { deleteRecordsHandler } from './delete-records.ts'
import { describeLogDirsHandler } from './describe-log-dirs.ts'
import { fetchHandler } from './fetch.ts'
import { listOffsetsHandler } from './list-offsets.ts'
import { offsetForLeaderEpochHandler } from './offset-for-leader-epoch.ts'
import { produceHandler } from './produce.ts'

const CONFIGS = {
  'remote.storage.enable': 'true',
  // Each round seals everything, and drops every local copy.
  'segment.ms': '1',
  'local.retention.ms': '1',
  'retention.ms': '-1',
}

const T0 = 1_700_000_000_000

/** Batch i of a test has one record with the time T0 + i. */
const timed = (i: number) => batchOf([{ value: `record ${i}`, timestamp: T0 + i }])

/** The offsets 0 to 5 are in the remote tier, 5 to 10 in the store. */
async function openTwoTiers(t: TestContext) {
  const tier = new MemoryTier()
  const world = await openLogWorld(t, { coldTier: tier, overrides: { 'storage.worker.enabled': false } })
  const { id } = await world.create('t', CONFIGS)
  await world.clock.advance(1_000)
  for (let i = 0; i < 5; i++) await world.partition('t').append(timed(i), 0)
  await offload(world, tier, id)
  for (let i = 5; i < 10; i++) await world.partition('t').append(timed(i), 0)
  return { ...(await clientOf(world)), world, tier, id }
}

/** Seals everything, archives it, and drops the local copy. */
async function offload(world: LogWorld, tier: MemoryTier, id: string): Promise<void> {
  await world.clock.advance(1_000)
  await world.round()
  await tier.offload(world.logs, id)
  await world.clock.advance(1_000)
  await world.round()
}

async function clientOf(world: LogWorld) {
  const rooms = await kafkaRooms(world)
  const only = <T>(answer: unknown, list: string): T => {
    const [topic] = (answer as Record<string, Record<string, T[]>[]>)[list]!
    return (topic!.partitions ?? topic!.partitionResponses)![0]!
  }
  return {
    async fetch(fetchOffset: number) {
      const partitions = [{ partition: 0, fetchOffset, currentLeaderEpoch: -1, partitionMaxBytes: 1_000_000 }]
      const body = { sessionId: 0, sessionEpoch: -1, topics: [{ topic: 't', topicId: '', partitions }] }
      const limits = { maxWaitMs: 0, minBytes: 1, maxBytes: 1_000_000, isolationLevel: 0, replicaId: -1 }
      const answer = await send(fetchHandler, rooms, { ...body, ...limits, forgottenTopicsData: [] })
      const row = only<{ errorCode: number; logStartOffset: number; highWatermark: number; records: Buffer[] }>(
        answer,
        'responses',
      )
      const offsets = row.records.map(bytes => viewBatch(bytes).baseOffset)
      return row.errorCode === NONE ? [row.logStartOffset, row.highWatermark, ...offsets] : row.errorCode
    },
    async listOffsets(timestamp: number) {
      const partitions = [{ partitionIndex: 0, currentLeaderEpoch: -1, timestamp }]
      const body = { replicaId: -1, isolationLevel: 0, topics: [{ name: 't', partitions }], timeoutMs: 0 }
      const row = only<{ errorCode: number; offset: number }>(await send(listOffsetsHandler, rooms, body), 'topics')
      return row.errorCode === NONE ? row.offset : row.errorCode
    },
    async endOfEpoch(leaderEpoch: number) {
      const partitions = [{ partition: 0, currentLeaderEpoch: -1, leaderEpoch }]
      const answer = await send(offsetForLeaderEpochHandler, rooms, { topics: [{ topic: 't', partitions }] })
      const row = only<{ leaderEpoch: number; endOffset: number }>(answer, 'topics')
      return [row.leaderEpoch, row.endOffset]
    },
    async deleteRecords(offset: number) {
      const topics = [{ name: 't', partitions: [{ partitionIndex: 0, offset }] }]
      const answer = await send(deleteRecordsHandler, rooms, { topics, timeoutMs: 0 })
      const row = only<{ errorCode: number; lowWatermark: number }>(answer, 'topics')
      return row.errorCode === NONE ? row.lowWatermark : row.errorCode
    },
    async produce(value: string) {
      const partitionData = [{ index: 0, records: encodeBatch([{ value }]) }]
      const topicData = [{ name: 't', topicId: '', partitionData }]
      const body = { acks: -1, timeoutMs: 10_000, transactionalId: null, topicData }
      const row = only<{ errorCode: number; baseOffset: number; logStartOffset: number }>(
        await send(produceHandler, rooms, body),
        'responses',
      )
      return row.errorCode === NONE ? [row.baseOffset, row.logStartOffset] : row.errorCode
    },
    async sizeInLogDir() {
      const { results } = (await send(describeLogDirsHandler, rooms, { topics: null })) as {
        results: { topics: { partitions: { partitionSize: number }[] }[] }[]
      }
      return results[0]!.topics[0]!.partitions[0]!.partitionSize
    },
  }
}

const LARGEST = -3

test('a consumer reads from the log start through both tiers, and every answer names the log start of both', async t => {
  const { fetch } = await openTwoTiers(t)
  assert.deepEqual(await fetch(0), [0, 10, 0, 1, 2, 3, 4])
  assert.deepEqual(await fetch(3), [0, 10, 3, 4])
  assert.deepEqual(await fetch(5), [0, 10, 5, 6, 7, 8, 9])
  assert.deepEqual(await fetch(10), [0, 10])
  assert.equal(await fetch(-1), OFFSET_OUT_OF_RANGE.code)
})

test('the ends of the tiers, and records by their time, are found in both', async t => {
  const { listOffsets } = await openTwoTiers(t)
  assert.deepEqual(await Promise.all([-1, -2, -4, -5, -6].map(listOffsets)), [10, 0, 5, 4, 5])
  for (let i = 0; i < 10; i++) assert.equal(await listOffsets(T0 + i), i)
  assert.deepEqual([await listOffsets(0), await listOffsets(T0 + 10), await listOffsets(LARGEST)], [0, -1, 9])
})

test('a producer is told the log start of both tiers', async t => {
  const { produce } = await openTwoTiers(t)
  assert.deepEqual(await produce('next'), [10, 0])
})

test('deleted records are gone from both tiers, and the answer has the log start', async t => {
  const { fetch, listOffsets, deleteRecords } = await openTwoTiers(t)
  assert.equal(await deleteRecords(3), 3)
  assert.deepEqual(await Promise.all([-2, -4, -5, -6].map(listOffsets)), [3, 5, 4, 5])
  assert.equal(await fetch(2), OFFSET_OUT_OF_RANGE.code)
  assert.deepEqual(await fetch(3), [3, 10, 3, 4])
  assert.equal(await listOffsets(0), 3)
  assert.equal(await deleteRecords(1), 3, 'the log start does not go back')
  assert.equal(await deleteRecords(11), OFFSET_OUT_OF_RANGE.code)
  assert.equal(await deleteRecords(7), 7)
  assert.deepEqual(await Promise.all([-2, -4].map(listOffsets)), [7, 7])
  assert.equal(await fetch(6), OFFSET_OUT_OF_RANGE.code)
  assert.equal(await deleteRecords(-1), 10)
  assert.deepEqual(await fetch(10), [10, 10])
})

test('the epochs of records that only the remote tier has are known, also after a restart', async t => {
  const { world, tier, id, endOfEpoch } = await openTwoTiers(t)
  assert.deepEqual(await endOfEpoch(1), [1, 10])
  await offload(world, tier, id)
  assert.deepEqual(await endOfEpoch(1), [1, 10])
  const second = await world.restart()
  // Records are taken once the table was read.
  await second.clock.advance(1_000)
  assert.ok(!isRefusal(await second.partition('t').append(timed(10), 0)))
  for (const isRestarted of [false, true]) {
    const next = isRestarted ? await second.restart() : second
    const after = await clientOf(next)
    assert.deepEqual(await Promise.all([-2, -4, -5].map(after.listOffsets)), [0, 10, 9])
    assert.deepEqual(await after.endOfEpoch(1), [1, 10])
    assert.deepEqual(await after.endOfEpoch(2), [2, 11])
    assert.deepEqual(await after.fetch(8), [0, 11, 8, 9])
    const [first, last] = [next.partition('t').epochAt(9), next.partition('t').epochAt(10)]
    assert.deepEqual([first, last], [1, 2])
  }
})

test('the size of a log directory is the size of the local part', async t => {
  const { world, tier, id, sizeInLogDir } = await openTwoTiers(t)
  const bytes = await sizeInLogDir()
  assert.ok(bytes > 0)
  await offload(world, tier, id)
  assert.equal(await sizeInLogDir(), 0)
})

test('while the remote tier is away or damaged, its offsets are KAFKA_STORAGE_ERROR, and the local ones are served', async t => {
  const { tier, fetch, listOffsets } = await openTwoTiers(t)
  for (const trouble of [{ kind: 'busy' }, { kind: 'away', why: 'gone' }, { kind: 'damaged', why: 'cut' }] as const) {
    tier.trouble = trouble
    assert.equal(await fetch(0), KAFKA_STORAGE_ERROR.code)
    assert.equal(await listOffsets(T0), KAFKA_STORAGE_ERROR.code)
    assert.deepEqual(await fetch(5), [0, 10, 5, 6, 7, 8, 9])
    assert.deepEqual(await Promise.all([-1, -2, -4, -5, -6].map(listOffsets)), [10, 0, 5, 4, 5])
  }
  tier.trouble = null
  assert.deepEqual(await fetch(0), [0, 10, 0, 1, 2, 3, 4])
})

test('a search by time that the remote tier has not answered in time is REQUEST_TIMED_OUT, not a fault of the storage', async t => {
  const { tier, listOffsets } = await openTwoTiers(t)
  // The timer of the tier may come before the deadline of the request by the broker's clock, which stands here.
  tier.late = true
  assert.deepEqual(await Promise.all([T0, -3].map(listOffsets)), [REQUEST_TIMED_OUT.code, REQUEST_TIMED_OUT.code])
})

test('records that are deleted while a consumer waits for them in the archive are OFFSET_OUT_OF_RANGE', async t => {
  const { tier, world, fetch, deleteRecords } = await openTwoTiers(t)
  const gate = Promise.withResolvers<void>()
  tier.gate = gate.promise
  const [gone, left] = [fetch(2), fetch(4)]
  await world.clock.advance(4_000)
  assert.equal(await deleteRecords(4), 4)
  gate.resolve()
  assert.deepEqual(await Promise.all([gone, left]), [OFFSET_OUT_OF_RANGE.code, [4, 10, 4]])
})

test('a topic that is deleted while a consumer waits for the archive ends with its own error', async t => {
  const { tier, world, id, fetch } = await openTwoTiers(t)
  const gate = Promise.withResolvers<void>()
  tier.gate = gate.promise
  const waiting = fetch(2)
  await world.clock.settle()
  await world.catalogue.remove([id])
  gate.resolve()
  assert.equal(await waiting, UNKNOWN_TOPIC_OR_PARTITION.code)
})
