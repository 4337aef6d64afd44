import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { openLogWorld } from '../../testing/sim/logs.ts'
import { topicPattern } from '../../testing/topic-pattern.ts'
import { aloneInCluster } from '../cluster/cluster.ts'
import {
  INVALID_CONFIG,
  INVALID_PARTITIONS,
  INVALID_REPLICA_ASSIGNMENT,
  INVALID_REPLICATION_FACTOR,
  INVALID_REQUEST,
  INVALID_TOPIC_EXCEPTION,
  isRefusal,
  REQUEST_TIMED_OUT,
  TOPIC_ALREADY_EXISTS,
  UNKNOWN_TOPIC_ID,
  UNKNOWN_TOPIC_OR_PARTITION,
} from '../protocol/errors.ts'
import { ZERO_UUID } from '../protocol/schema.ts'
import type { testSettings } from '../settings/settings.ts'
import type { CreatedTopic, NewTopicRequest } from './contract.ts'
import { createPartitions } from './partitions.ts'
import { type CreateOptions, createTopics, deleteTopics } from './topics.ts'

const NODE = 4

async function open(t: TestContext, overrides: Parameters<typeof testSettings>[0] = {}) {
  const world = await openLogWorld(t, { overrides })
  const cluster = aloneInCluster(NODE, null)
  const rooms = { catalogue: world.catalogue, settings: world.settings, clock: world.clock, cluster }
  const create = async (requests: readonly Partial<NewTopicRequest>[], options: Partial<CreateOptions> = {}) =>
    createTopics(
      rooms,
      requests.map(request => ({
        name: 'orders',
        partitions: 1,
        replicationFactor: 1,
        assignments: [],
        configs: [],
        ...request,
      })),
      { validateOnly: false, timeoutMs: 0, auto: false, ...options },
    )
  /** Creates one topic. Resolves to the name of the error, or to the number of partitions. */
  const one = async (request: Partial<NewTopicRequest>, options: Partial<CreateOptions> = {}) => {
    const [outcome] = await create([request], options)
    const { result } = outcome!
    return isRefusal(result) ? result.name : result.partitions
  }
  const remove = (...references: { name?: string; topicId?: string }[]) =>
    deleteTopics(
      rooms,
      references.map(({ name = null, topicId = null }) => ({ name, topicId })),
      { timeoutMs: 0 },
    )
  return { ...world, rooms, create, one, remove }
}

test('a topic is created as requested, and described with the source of each config', async t => {
  const { create, catalogue, logs } = await open(t, { topics: [topicPattern('o*', { retentionBytes: 5_000 })] })
  const configs = [{ name: 'retention.ms', value: '1000' }]
  const [outcome] = await create([{ partitions: 3, configs }])
  const created = outcome!.result as CreatedTopic
  const topic = catalogue.current().topics.get('orders')!
  assert.deepEqual([created.topicId, created.partitions, created.replicationFactor], [topic.id, 3, 1])
  assert.deepEqual([topic.partitions, topic.resolved.retentionMs, topic.resolved.retentionBytes], [3, 1_000, 5_000])
  assert.notEqual(logs.partition(topic.id, 2), null)
  const entry = (name: string) => created.configs.find(config => config.name === name)
  assert.deepEqual([entry('retention.ms')?.value, entry('retention.ms')?.source], ['1000', 'topic'])
  assert.deepEqual([entry('retention.bytes')?.value, entry('retention.bytes')?.source], ['5000', 'settings'])
  assert.equal(entry('segment.ms')?.source, 'default')
  const names = created.configs.map(config => config.name)
  assert.deepEqual(names, [...new Set(names)].sort())
})

test('a boolean of a new topic may be written in any case, and is stored in one spelling', async t => {
  const { create, catalogue } = await open(t)
  const configs = [{ name: 'confluent.value.schema.validation', value: ' TRUE' }]
  const [outcome] = await create([{ configs }])
  assert(!isRefusal(outcome!.result), (outcome!.result as { message: string }).message)
  const topic = catalogue.current().topics.get('orders')!
  assert.deepEqual(topic.configs, { 'confluent.value.schema.validation': 'true' })
  assert.equal(topic.resolved.confluentValueSchemaValidation, true)
})

test('topic names are checked as in Kafka', async t => {
  const { one, create } = await open(t)
  for (const name of [
    '',
    '.',
    '..',
    'a'.repeat(250),
    'a/b',
    'a:b',
    '{x}',
    'ä',
    '__consumer_offsets',
    '__transaction_state',
  ]) {
    assert.equal(await one({ name }), INVALID_TOPIC_EXCEPTION.name, JSON.stringify(name))
  }
  assert.equal(await one({ name: 'a'.repeat(249) }), 1)
  assert.equal(await one({ name: 'a.b_c' }), 1)
  for (const name of ['a_b_c', 'a.b.c', 'a_b.c']) assert.equal(await one({ name }), INVALID_TOPIC_EXCEPTION.name, name)
  const pair = await create([{ name: 'x.y' }, { name: 'x_y' }])
  assert.deepEqual(
    pair.map(({ result }) => (isRefusal(result) ? result.name : result.partitions)),
    [1, INVALID_TOPIC_EXCEPTION.name],
  )
  assert.equal(await one({ name: 'a.b_c' }), TOPIC_ALREADY_EXISTS.name)
})

test('partitions and replicas are checked as in Kafka with one broker', async t => {
  const { one, catalogue } = await open(t, {
    'max-partitions-per-topic': 8,
    topics: [topicPattern('p-*', { partitions: 5 })],
  })
  const cases: [Partial<NewTopicRequest>, string | number][] = [
    [{ partitions: 0 }, INVALID_PARTITIONS.name],
    [{ partitions: -2 }, INVALID_PARTITIONS.name],
    [{ partitions: 9 }, INVALID_PARTITIONS.name],
    [{ partitions: 2 ** 31 - 1 }, INVALID_PARTITIONS.name],
    [{ replicationFactor: 0 }, INVALID_REPLICATION_FACTOR.name],
    [{ replicationFactor: -2 }, INVALID_REPLICATION_FACTOR.name],
    [{ replicationFactor: 3 }, INVALID_REPLICATION_FACTOR.name],
    [{ replicationFactor: 32_767 }, INVALID_REPLICATION_FACTOR.name],
    [{ partitions: 8 }, 8],
    [{ partitions: -1, replicationFactor: -1 }, 1],
    [{ name: 'p-1', partitions: -1 }, 5],
    [{ name: 'p-1', partitions: 2 }, 2],
  ]
  for (const [request, expected] of cases) {
    for (const validateOnly of [true, false])
      assert.equal(await one(request, { validateOnly }), expected, JSON.stringify(request))
    const { topics } = catalogue.current()
    const { remove } = catalogue
    await remove([...topics.values()].map(topic => topic.id))
  }
})

test('the partitions of all topics together are limited, in one request and in many at the same time', async t => {
  const { create, one, catalogue, rooms, remove } = await open(t, { 'max-partitions': 10 })
  const counted = async (...requests: Partial<NewTopicRequest>[]) =>
    (await create(requests)).map(({ result }) => (isRefusal(result) ? result.name : result.partitions))
  const NO = INVALID_PARTITIONS.name
  assert.deepEqual(await counted({ name: 'a', partitions: 4 }, { name: 'b', partitions: 7 }, { name: 'c' }), [4, NO, 1])
  const validateOnly = true
  const checked = await create([{ name: 'd', partitions: 3 }, { name: 'e', partitions: 2 }, { name: 'f' }], {
    validateOnly,
  })
  assert.deepEqual(
    checked.map(({ result }) => (isRefusal(result) ? result.name : [result.topicId, result.partitions])),
    [[ZERO_UUID, 3], [ZERO_UUID, 2], NO],
  )
  assert.equal(await one({ name: 'd', partitions: 6 }, { validateOnly }), NO)
  const atOnce = await Promise.all(['d', 'e', 'f'].map(name => one({ name, partitions: 2 })))
  assert.deepEqual(atOnce, [2, 2, NO])
  assert.equal(await one({ name: 'g', partitions: 2 }), NO)
  const grow = async (name: string, count: number, isCheck = false) => {
    const request = { name, count, assignments: null }
    const [outcome] = await createPartitions(rooms, [request], { validateOnly: isCheck, timeoutMs: 0 })
    return isRefusal(outcome!.result) ? outcome!.result.name : outcome!.result
  }
  for (const isCheck of [true, false]) assert.equal(await grow('a', 6, isCheck), NO)
  assert.equal(await grow('a', 5, true), 5)
  assert.equal(catalogue.current().topics.get('a')?.partitions, 4)
  assert.equal(await grow('a', 5), 5)
  // At the limit, topics can still be changed, and each deleted topic makes room.
  assert.equal(catalogue.current().topics.get('a')?.partitions, 5)
  assert.equal(await one({ name: 'g' }), NO)
  await remove({ name: 'c' })
  assert.equal(await one({ name: 'g' }), 1)
})

test('a manual assignment must name only this broker, and every partition from 0 on', async t => {
  const { one } = await open(t, { 'max-partitions-per-topic': 8 })
  const assign = (...partitions: (readonly [number, ...number[]])[]) => ({
    partitions: -1,
    replicationFactor: -1,
    assignments: partitions.map(([partition, ...brokerIds]) => ({ partition, brokerIds })),
  })
  assert.equal(await one({ ...assign([0, NODE]), partitions: 1 }), INVALID_REQUEST.name)
  assert.equal(await one({ ...assign([0, NODE]), replicationFactor: 1 }), INVALID_REQUEST.name)
  for (const wrong of [
    assign([0]),
    assign([0, NODE + 1]),
    assign([0, NODE, NODE]),
    assign([0, NODE], [0, NODE]),
    assign([1, NODE]),
    assign([0, NODE], [2, NODE]),
    assign([-1, NODE]),
  ])
    assert.equal(await one(wrong), INVALID_REPLICA_ASSIGNMENT.name, JSON.stringify(wrong.assignments))
  const many = Array.from({ length: 9 }, (_, i) => [i, NODE] as const)
  assert.equal(await one(assign(...many)), INVALID_PARTITIONS.name)
  assert.equal(await one(assign([1, NODE], [0, NODE])), 2)
})

test('configs are checked one by one and together', async t => {
  const { one } = await open(t)
  const wrong: [string, string | null][] = [
    ['no.such.config', '1'],
    ['__proto__', '1'],
    ['retention.ms', 'soon'],
    ['retention.ms', null],
    ['retention.ms', 'x'.repeat(10_000_000)],
    ['cleanup.policy', 'compact,compact'],
    ['compression.type', 'gzip'],
  ]
  for (const [name, value] of wrong) assert.equal(await one({ configs: [{ name, value }] }), INVALID_CONFIG.name, name)
  assert.equal(await one({ configs: [{ name: 'remote.storage.enable', value: 'true' }] }), INVALID_CONFIG.name)
  const lags = [
    { name: 'min.compaction.lag.ms', value: '11' },
    { name: 'max.compaction.lag.ms', value: '10' },
  ]
  assert.equal(await one({ configs: lags }), INVALID_CONFIG.name)
})

test('each topic has its own outcome; a name that occurs twice is refused once', async t => {
  const { create, catalogue } = await open(t)
  const outcomes = await create([{ name: 'a' }, { name: 'b' }, { name: 'a' }, { name: 'c', partitions: 0 }])
  assert.deepEqual(
    outcomes.map(({ name, result }) => [name, isRefusal(result) ? result.name : result.partitions]),
    [
      ['a', INVALID_REQUEST.name],
      ['b', 1],
      ['c', INVALID_PARTITIONS.name],
    ],
  )
  assert.deepEqual([...catalogue.current().topics.keys()], ['b'])
})

test('validateOnly creates nothing', async t => {
  const { create, catalogue, store } = await open(t)
  const [outcome] = await create([{ partitions: 4 }], { validateOnly: true })
  const { topicId, partitions, configs } = outcome!.result as CreatedTopic
  assert.deepEqual([topicId, partitions, configs.length > 10], [ZERO_UUID, 4, true])
  assert.equal(catalogue.current().topics.size, 0)
  assert.deepEqual(await store.streams(), [])
})

test('a topic is created automatically only if a pattern allows it, with the partitions of the pattern', async t => {
  const { one, create } = await open(t, {
    topics: [topicPattern('secret*', { autoCreate: false }), topicPattern('*', { autoCreate: true, partitions: 4 })],
  })
  const auto = { auto: true }
  assert.equal(await one({ name: 'secret-1', partitions: -1 }, auto), UNKNOWN_TOPIC_OR_PARTITION.name)
  assert.equal(await one({ name: '__consumer_offsets', partitions: -1 }, auto), INVALID_TOPIC_EXCEPTION.name)
  const racing = await Promise.all([1, 2, 3].map(() => create([{ name: 'orders', partitions: -1 }], auto)))
  const results = racing.map(([outcome]) => outcome!.result as CreatedTopic)
  assert.deepEqual(
    results.map(result => result.partitions),
    [4, 4, 4],
  )
  assert.equal(new Set(results.map(result => result.topicId)).size, 1)
  assert.equal(await one({ name: 'secret-1' }), 1, 'an operator may')
})

test('without patterns no topic is created automatically', async t => {
  const { one } = await open(t, { topics: [] })
  assert.equal(await one({ partitions: -1 }, { auto: true }), UNKNOWN_TOPIC_OR_PARTITION.name)
})

test('if the store takes too long, the request times out, and the topic may still be created', async t => {
  const { create, store, clock, catalogue } = await open(t)
  store.faults.delay('commit', 5_000)
  const creating = create([{ name: 'a' }], { timeoutMs: 1_000 })
  await clock.advance(1_000)
  const [outcome] = await creating
  assert.equal(isRefusal(outcome!.result) && outcome!.result.name, REQUEST_TIMED_OUT.name)
  await clock.advance(5_000)
  assert.equal(catalogue.current().topics.size, 1)
})

test('topics are deleted by name or by id, and wrong references are refused', async t => {
  const { create, remove, catalogue } = await open(t)
  await create([{ name: 'a' }, { name: 'b' }, { name: 'c' }, { name: 'd' }])
  const id = (name: string) => catalogue.current().topics.get(name)!.id
  const outcomes = await remove(
    { name: 'a' },
    { topicId: id('b') },
    { name: 'c' },
    { topicId: id('c') },
    { name: 'd', topicId: id('d') },
    {},
    { name: 'nowhere' },
    { topicId: 'AAAAAAAAAAAAAAAAAAAAAQ' },
  )
  assert.deepEqual(
    outcomes.map(({ result }) => result.name),
    [
      'a',
      'b',
      INVALID_REQUEST.name,
      INVALID_REQUEST.name,
      INVALID_REQUEST.name,
      INVALID_REQUEST.name,
      UNKNOWN_TOPIC_OR_PARTITION.name,
      UNKNOWN_TOPIC_ID.name,
    ],
  )
  assert.deepEqual([...catalogue.current().topics.keys()].sort(), ['c', 'd'])
})

test('if two requests delete a topic at the same time, one of them does not find it', async t => {
  const { create, remove } = await open(t)
  await create([{ name: 'a' }])
  const outcomes = await Promise.all([remove({ name: 'a' }), remove({ name: 'a' })])
  assert.deepEqual(
    outcomes.map(([outcome]) => outcome!.result.name),
    ['a', UNKNOWN_TOPIC_OR_PARTITION.name],
  )
})
