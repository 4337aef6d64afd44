// A Redis that loses keys under a running broker, because someone switched eviction on or deleted keys by hand. The
// broker names the lost partitions, everything else continues, groups keep the state in the broker's memory, and a
// lost partition begins again once an operator gives its records up.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { KAFKA_STORAGE_ERROR, NONE, OFFSET_OUT_OF_RANGE } from '../../src/protocol/errors.ts'
import { deleteRecords } from '../../src/protocol/messages/delete-records.ts'
import { fetch } from '../../src/protocol/messages/fetch.ts'
import { metadata } from '../../src/protocol/messages/metadata.ts'
import { offsetFetch } from '../../src/protocol/messages/offset-fetch.ts'
import { produce } from '../../src/protocol/messages/produce.ts'
import { askHttp } from '../../testing/ask-http.ts'
import { startBroker, type TestBroker } from '../../testing/broker.ts'
import { eventually } from '../../testing/eventually.ts'
import { commit, enter, TOPIC } from '../../testing/group-calls.ts'
import { batchOf, type ProducedRow } from '../../testing/kafka.ts'
import { noRedis, type RedisServer, startRedis } from '../../testing/redis.ts'
import { createTopic, createTopicOfAll } from '../../testing/topic.ts'
import type { Wire } from '../../testing/wire.ts'

const skip = noRedis

/** A long expiry: a broker on a slow machine must not conclude that others consider it dead. */
const LONG = { 'broker.expiry': 60_000, 'admin.security-enabled': false }

async function startOn(t: TestContext, redis: RedisServer, id = 1): Promise<{ broker: TestBroker; wire: Wire }> {
  const values = { 'storage.local.engine': 'redis', 'redis.uri': redis.uri, 'broker.id': id, ...LONG } as const
  const broker = await startBroker(t, values, { hasHttp: true })
  return { broker, wire: await broker.connect() }
}

/** Returns the keys of a partition of the topic, as docs/reference/redis-keys.md names them. */
async function keysOf(wire: Wire, index: number): Promise<{ batches: string; meta: string; rows: string }> {
  const { topics } = await wire.send(metadata, 12, { topics: [{ name: TOPIC }] })
  const prefix = `svc:stream:{${topics[0]!.topicId}:${index}}`
  return { batches: `${prefix}:batches`, meta: `${prefix}:meta`, rows: `${prefix}:rows` }
}

async function send(wire: Wire, index: number, value: string): Promise<ProducedRow> {
  const topicData = [{ name: TOPIC, partitionData: [{ index, records: batchOf([value]) }] }]
  const { responses } = await wire.send(produce, 9, { acks: -1, timeoutMs: 5_000, topicData })
  return responses[0]!.partitionResponses[0]!
}

async function fetchCode(wire: Wire, partition: number, fetchOffset: number): Promise<number> {
  const { responses } = await wire.send(fetch, 11, {
    replicaId: -1,
    maxWaitMs: 0,
    minBytes: 1,
    maxBytes: 1_000_000,
    isolationLevel: 0,
    sessionId: 0,
    sessionEpoch: -1,
    topics: [
      {
        topic: TOPIC,
        partitions: [
          { partition, fetchOffset, partitionMaxBytes: 1_000_000, currentLeaderEpoch: -1, logStartOffset: -1 },
        ],
      },
    ],
    forgottenTopicsData: [],
    rackId: '',
  })
  return responses[0]!.partitions[0]!.errorCode
}

async function giveUp(wire: Wire, partitionIndex: number, offset = -1): Promise<[code: number, start: number]> {
  const { topics } = await wire.send(deleteRecords, 2, {
    topics: [{ name: TOPIC, partitions: [{ partitionIndex, offset }] }],
    timeoutMs: 30_000,
  })
  const { errorCode, lowWatermark } = topics[0]!.partitions[0]!
  return [errorCode, lowWatermark]
}

async function committed(wire: Wire, groupId: string): Promise<number> {
  const { topics } = await wire.send(offsetFetch, 7, {
    groupId,
    topics: [{ name: TOPIC, partitionIndexes: [0] }],
    requireStable: false,
  })
  return topics[0]?.partitions[0]?.committedOffset ?? -1
}

/** Returns the partitions that the broker shows as lost or damaged. */
async function troubles({ url }: TestBroker): Promise<readonly number[]> {
  const { leaders } = await askHttp(url)<{
    leaders: readonly { partition: number; error: { code: string; detail: string } | null }[]
  }>(`/api/v1/topics/${TOPIC}`)
  const troubled = leaders.filter(({ error }) => error !== null)
  for (const { error } of troubled) {
    assert.equal(error!.code, KAFKA_STORAGE_ERROR.name)
    assert.match(error!.detail, /(has lost .*orders|orders-\d is damaged .*deleted).*DeleteRecords to -1/)
  }
  return troubled.map(({ partition }) => partition)
}

for (const which of ['batches', 'meta', 'meta and rows', 'all']) {
  test(`a partition whose keys (${which}) were deleted begins again at its end, once its records are given up`, {
    skip,
  }, async t => {
    const redis = await startRedis(t, { appendfsync: 'always' })
    const { broker, wire } = await startOn(t, redis)
    await createTopic(broker, TOPIC, 2)
    for (let i = 0; i < 5; i++)
      for (const index of [0, 1]) assert.equal((await send(wire, index, `${i}`)).errorCode, NONE)
    const keys = await keysOf(wire, 0)
    const lost = {
      batches: [keys.batches],
      meta: [keys.meta],
      'meta and rows': [keys.meta, keys.rows],
      all: Object.values(keys),
    }
    assert.deepEqual(await troubles(broker), [])
    await redis.ask('DEL', ...lost[which as keyof typeof lost])
    assert.deepEqual(await troubles(broker), [0], 'before any client has used it')
    await eventually(
      'it refuses what is produced',
      async () => (await send(wire, 0, 'lost')).errorCode === KAFKA_STORAGE_ERROR.code,
    )
    assert.deepEqual(await troubles(broker), [0])
    assert.equal((await giveUp(wire, 0, 3))[0], KAFKA_STORAGE_ERROR.code, 'a deletion of only a part is refused')
    assert.equal((await send(wire, 1, '5')).baseOffset, 5, 'the other partition goes on')
    assert.equal((broker.log().match(/ ERROR /g) ?? []).length, which === 'batches' ? 0 : 1)
    const first = broker.log().match(/^.* (?:WARN|ERROR) .*orders-0.*$/m)?.[0]
    const reason =
      which === 'batches' ? /the 5 entries of .* are gone: Redis evicted the key, or another client deleted it/ : /gone/
    assert.match(first ?? '', reason)

    // The entry of an append that was refused may still be there.
    const start = which.startsWith('meta') ? 6 : 5
    assert.deepEqual(await giveUp(wire, 0), [NONE, start])
    assert.match(broker.log(), new RegExp(`store had lost begins again, empty partition=orders-0 offset=${start}`))
    assert.deepEqual(await troubles(broker), [])
    assert.equal(await fetchCode(wire, 0, 2), OFFSET_OUT_OF_RANGE.code)
    const row = await send(wire, 0, 'anew')
    assert.deepEqual([row.errorCode, row.baseOffset, row.logStartOffset], [NONE, start, start])
    assert.equal(await fetchCode(wire, 0, start), NONE)
    assert.deepEqual(await giveUp(wire, 1), [NONE, 6], 'as usual for a partition that is not lost')
  })
}

test('a broker also names the lost partitions of another broker', { skip }, async t => {
  const redis = await startRedis(t)
  const sides = [await startOn(t, redis, 1), await startOn(t, redis, 2)]
  const seen = async ({ wire }: { wire: Wire }) => (await wire.send(metadata, 12, { topics: [] })).brokers.length
  await eventually('both see both', async () => (await seen(sides[0]!)) === 2 && (await seen(sides[1]!)) === 2, 60_000)
  await createTopicOfAll(sides[0]!.broker, TOPIC, 4, [1, 2])
  for (const index of [0, 1, 2, 3]) {
    const isSent = async () => {
      for (const { wire } of sides) if ((await send(wire, index, 'x')).errorCode === NONE) return true
      return false
    }
    await eventually('a leader takes it', isSent)
  }
  for (const { broker } of sides) assert.deepEqual(await troubles(broker), [])
  const { wire } = sides[0]!
  for (const index of [1, 2]) await redis.ask('DEL', (await keysOf(wire, index)).batches)
  await redis.ask('DEL', (await keysOf(wire, 3)).meta)
  for (const { broker } of sides) assert.deepEqual(await troubles(broker), [1, 2, 3])
})

test('after a restart a lost partition begins at or above the committed offsets', { skip }, async t => {
  const redis = await startRedis(t, { appendfsync: 'always' })
  const first = await startOn(t, redis)
  await createTopic(first.broker, TOPIC, 2)
  for (let i = 0; i < 5; i++) assert.equal((await send(first.wire, 0, `${i}`)).errorCode, NONE)
  await commit(first.wire, 'g', { 0: 4 })
  const keys = await keysOf(first.wire, 0)
  await first.broker.broker.close()
  await redis.ask('DEL', ...Object.values(keys))
  const { broker, wire } = await startOn(t, redis)
  assert.equal((await send(wire, 0, 'lost')).errorCode, KAFKA_STORAGE_ERROR.code)
  assert.match(broker.log(), /ERROR .*the store has lost a partition: .*partition=orders-0/)
  const { partitions } = await askHttp(broker.url)<{ partitions: unknown }>(
    `/api/v1/topics/${TOPIC}/records/delete`,
    200,
    {
      body: { offsets: [{ partition: 0, before: 'end' }] },
    },
  )
  assert.deepEqual(partitions, [{ partition: 0, start: 4, error: null }])
  assert.equal((await send(wire, 0, 'anew')).baseOffset, 4)
})

test('after eviction was on for a while, groups have kept their offsets and members, and every partition can be used again', {
  skip,
}, async t => {
  const redis = await startRedis(t, { appendfsync: 'always' })
  const { broker, wire } = await startOn(t, redis)
  await createTopic(broker, TOPIC, 2)
  for (const index of [0, 1]) assert.equal((await send(wire, index, 'x'.repeat(500_000))).errorCode, NONE)
  await commit(wire, 'offsets', { 0: 1 })
  await enter(wire, 'members')
  const groupKeys = (await redis.ask('KEYS', 'svc:documents:{group:*:document:*')) as string[]
  assert.equal(groupKeys.length, 2)
  const streams = [await keysOf(wire, 0), await keysOf(wire, 1)]

  // Keys of topics and the list of groups are kept in use. This test is about partitions, and about the groups in the
  // brokers' memory.
  const kept = (await redis.ask('KEYS', 'svc:*')) as string[]
  await eventually(
    'the partitions have not been used for long',
    async () => {
      const idle = await Promise.all(streams.map(({ batches }) => redis.ask('OBJECT', 'IDLETIME', batches)))
      return idle.every(seconds => Number(seconds) >= 3)
    },
    60_000,
  )
  await redis.ask('CONFIG', 'SET', 'maxmemory-samples', 64)
  await redis.ask('CONFIG', 'SET', 'maxmemory', Number(await redis.info('used_memory')) + 2_000_000)
  await redis.ask('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru')
  let filled = 0
  await redis.session(async ask => {
    await eventually(
      'both partitions have lost a key',
      async () => {
        await ask('TOUCH', ...kept.filter(key => !key.includes(':stream:')))
        for (let i = 0; i < 20; i++) await ask('SET', `other:${filled++}`, 'y'.repeat(20_000))
        const there = await Promise.all(streams.map(({ batches, meta }) => ask('EXISTS', batches, meta)))
        return there.every(count => Number(count) < 2)
      },
      60_000,
    )
  })
  const asksFor = /ERROR .*maxmemory-policy allkeys-lru, .*CONFIG SET maxmemory-policy noeviction/
  await eventually('it is told', () => asksFor.test(broker.log()), 60_000)
  const { checks } = await askHttp(broker.url)<{ checks: readonly { details: unknown }[] }>('/api/v1/health')
  assert.match(JSON.stringify(checks), /maxmemory-policy allkeys-lru/)
  await redis.ask('CONFIG', 'SET', 'maxmemory-policy', 'noeviction')
  await redis.ask('CONFIG', 'SET', 'maxmemory', 0)
  await eventually('it is put right', () => /no longer drops keys of the broker/.test(broker.log()), 60_000)
  await redis.ask('DEL', ...groupKeys)

  assert.equal(await committed(wire, 'offsets'), 1)
  for (const index of [0, 1]) {
    await eventually(
      'it is known to be lost',
      async () => (await send(wire, index, 'lost')).errorCode === KAFKA_STORAGE_ERROR.code,
    )
    const [code, start] = await giveUp(wire, index)
    assert.equal(code, NONE)
    assert.ok(start >= 1, `begins at ${start}`)
    assert.equal((await send(wire, index, 'anew')).baseOffset, start)
  }
  assert.doesNotMatch(broker.log(), /defect in the broker/)
})
