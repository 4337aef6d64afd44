// ListOffsets for a topic with remote storage. list-offsets.test.ts has the other topics.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { kafkaRooms, send } from '../../../testing/sim/kafka-rooms.ts'
import { batchOf, openLogWorld } from '../../../testing/sim/logs.ts'
import type { Patience } from '../../base/patience.ts'
import type { RemoteLog } from '../../log/remote-log.ts'
import { KAFKA_STORAGE_ERROR, NONE, REQUEST_TIMED_OUT } from '../../protocol/errors.ts'
import { listOffsetsHandler } from './list-offsets.ts'

const [LATEST, EARLIEST, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING] = [-1, -2, -4, -5, -6] as const
const NOTHING = [-1, -1]
const EPOCHS = [
  { epoch: 0, startOffset: 0 },
  { epoch: 1, startOffset: 40 },
]

/** A partition with the offsets 0 to 100, of which the store has those from `localStart` on. */
async function open(t: TestContext, localStart: number, remote: Partial<RemoteLog> | null) {
  const world = await openLogWorld(t)
  await world.create('t')
  const partition = world.partition('t')
  for (let i = 0; i < 10; i++) await partition.append(batchOf(10), 0)
  await partition.trim(localStart)
  const { state } = partition
  if (remote !== null) {
    state.topic = { ...state.topic, resolved: { ...state.topic.resolved, remoteStorageEnable: true } }
    state.remote = {
      ...{ logStart: 0, ranges: [], lost: [], epochs: EPOCHS, version: 1 },
      ...{ readUnder: state.incarnation, ...remote },
    }
  }
  const rooms = await kafkaRooms(world)
  const ask = async (timestamp: number, { timeoutMs = 0 } = {}) => {
    const topics = [{ name: 't', partitions: [{ partitionIndex: 0, currentLeaderEpoch: -1, timestamp }] }]
    const answer = await send(listOffsetsHandler, rooms, { replicaId: -1, isolationLevel: 0, topics, timeoutMs })
    const { topics: answered } = answer as Answer
    const { errorCode, offset, leaderEpoch } = answered[0]!.partitions[0]!
    return errorCode === NONE ? [offset, leaderEpoch] : errorCode
  }
  return { ...world, partition, ask }
}

interface Answer {
  readonly topics: { partitions: { errorCode: number; offset: number; leaderEpoch: number }[] }[]
}

test('the ends of both tiers are answered, each with its own epoch', async t => {
  const { ask } = await open(t, 50, { logStart: 20, ranges: [[20, 80]] })
  assert.deepEqual(await ask(EARLIEST), [20, 0])
  assert.deepEqual(await ask(EARLIEST_LOCAL), [50, 1])
  assert.deepEqual(await ask(LATEST_TIERED), [79, 1])
  assert.deepEqual(await ask(EARLIEST_PENDING), [80, 1])
  assert.deepEqual(await ask(LATEST), [100, 1])
})

test('while nothing is archived, the log start waits for tiering', async t => {
  const { ask } = await open(t, 0, {})
  assert.deepEqual(await ask(EARLIEST_LOCAL), [0, 0])
  assert.deepEqual(await ask(LATEST_TIERED), NOTHING)
  assert.deepEqual(await ask(EARLIEST_PENDING), [0, 0])
})

test('if the store has lost its beginning and no archived offset is known, it is unknown what waits for tiering', async t => {
  const { ask } = await open(t, 50, {})
  assert.deepEqual(await ask(EARLIEST_LOCAL), [50, 1])
  assert.deepEqual(await ask(EARLIEST_PENDING), NOTHING)
})

test('a segment that was passed over waits for tiering although a later one is archived', async t => {
  const ranges = [
    [0, 60],
    [70, 90],
  ] as const
  const { ask } = await open(t, 50, { ranges })
  assert.deepEqual(await ask(LATEST_TIERED), [89, 1])
  assert.deepEqual(await ask(EARLIEST_PENDING), [60, 1])
})

test('once all is archived, the next record waits for tiering', async t => {
  const { ask } = await open(t, 50, { ranges: [[0, 100]] })
  assert.deepEqual(await ask(EARLIEST_PENDING), [100, 1])
})

test('a log start that has passed the local start is the earliest local offset too', async t => {
  const { ask } = await open(t, 50, { logStart: 65, ranges: [[65, 80]] })
  assert.deepEqual(await ask(EARLIEST), [65, 1])
  assert.deepEqual(await ask(EARLIEST_LOCAL), [65, 1])
})

test('without remote storage the local start is the log start, and no offset is tiered or waits for it', async t => {
  const { ask } = await open(t, 50, null)
  assert.deepEqual(await ask(EARLIEST), [50, 1])
  assert.deepEqual(await ask(EARLIEST_LOCAL), [50, 1])
  assert.deepEqual(await ask(LATEST_TIERED), NOTHING)
  assert.deepEqual(await ask(EARLIEST_PENDING), NOTHING)
})

for (const timestamp of [-3, 1_700_000_000_000]) {
  test(`a search for ${timestamp} in both tiers ends after half of the response timeout, or the timeout of its client`, async t => {
    const { ask, partition, clock } = await open(t, 50, { ranges: [[0, 60]] })
    const untilMs: number[] = []
    const search = async (patience: Patience) => {
      untilMs.push(patience.untilMs - clock.monotonic())
      return KAFKA_STORAGE_ERROR
    }
    Object.assign(partition, {
      offsetForTimestamp: (_: number, patience: Patience) => search(patience),
      maxTimestampOffset: search,
    })
    assert.equal(await ask(timestamp), KAFKA_STORAGE_ERROR.code)
    assert.equal(await ask(timestamp, { timeoutMs: 30_000 }), KAFKA_STORAGE_ERROR.code)
    assert.equal(await ask(timestamp, { timeoutMs: 2_000 }), KAFKA_STORAGE_ERROR.code)
    assert.deepEqual(untilMs, [5_000, 5_000, 2_000])
  })
}

test('a local search has the whole time of the request', async t => {
  const { ask, partition, clock } = await open(t, 0, null)
  Object.assign(partition, {
    async offsetForTimestamp(_: number, { untilMs }: Patience) {
      assert.equal(untilMs - clock.monotonic(), 10_000)
      return REQUEST_TIMED_OUT
    },
  })
  assert.equal(await ask(1_700_000_000_000, { timeoutMs: 1 }), REQUEST_TIMED_OUT.code)
})

test('of one request 16 partitions are searched at the same time, and the rows keep their order', async t => {
  const world = await openLogWorld(t)
  await world.create('many', {}, 40)
  let searches = 0
  let most = 0
  const indexes = Array.from({ length: 40 }, (_, i) => i)
  for (const index of indexes)
    Object.assign(world.partition('many', index), {
      async offsetForTimestamp() {
        most = Math.max(most, ++searches)
        await Promise.resolve()
        searches--
        return { offset: index, timestamp: 1, leaderEpoch: 0 }
      },
    })
  const partitions = indexes.map(partitionIndex => ({ partitionIndex, currentLeaderEpoch: -1, timestamp: 1 }))
  const topics = [
    { name: 'many', partitions: partitions.slice(0, 25) },
    { name: 'other', partitions: partitions.slice(0, 2) },
    { name: 'many', partitions: partitions.slice(25) },
  ]
  const rooms = await kafkaRooms(world)
  const answer = await send(listOffsetsHandler, rooms, { replicaId: -1, isolationLevel: 0, topics, timeoutMs: 0 })
  const { topics: answered } = answer as Answer
  assert.deepEqual(
    answered.map(topic => topic.partitions.map(({ offset }) => offset)),
    [indexes.slice(0, 25), [-1, -1], indexes.slice(25)],
  )
  assert.equal(most, 16)
})
