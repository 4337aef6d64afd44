import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startGround } from '../../../testing/kafka.ts'
import {
  INVALID_CONFIG,
  INVALID_PARTITIONS,
  INVALID_REPLICATION_FACTOR,
  INVALID_REQUEST,
  INVALID_TOPIC_EXCEPTION,
  NONE,
  TOPIC_ALREADY_EXISTS,
} from '../../protocol/errors.ts'
import { createTopics } from '../../protocol/messages/create-topics.ts'
import { metadata } from '../../protocol/messages/metadata.ts'
import type { RequestInput } from '../../protocol/schema.ts'

type Topic = RequestInput<typeof createTopics>['topics'][number]

function topic(name: string, fields: Partial<Topic> = {}): Topic {
  return { name, numPartitions: 1, replicationFactor: 1, assignments: [], configs: [], ...fields }
}

test('topics are created in every version, and can be used once the answer is there', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  for (let version = 2; version <= 7; version++) {
    const name = `v${version}`
    const { topics } = await wire.send(createTopics, version, {
      topics: [topic(name, { numPartitions: 3, configs: [{ name: 'retention.ms', value: '1000' }] })],
      timeoutMs: 5000,
    })
    const [row] = topics
    assert.deepEqual([row!.name, row!.errorCode, row!.errorMessage], [name, NONE, null])
    if (version >= 5) {
      assert.deepEqual([row!.numPartitions, row!.replicationFactor], [3, 1])
      const retention = row!.configs!.find(each => each.name === 'retention.ms')
      assert.deepEqual([retention!.value, retention!.configSource], ['1000', 1])
    }
    const found = await wire.send(metadata, 12, { topics: [{ name }], allowAutoTopicCreation: false })
    assert.equal(found.topics[0]!.partitions.length, 3)
    if (version === 7) assert.equal(row!.topicId, found.topics[0]!.topicId)
  }
})

test('each topic has its own answer', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  const cases: [Topic, number][] = [
    [topic('good'), NONE],
    [topic('t'), TOPIC_ALREADY_EXISTS.code],
    [topic(''), INVALID_TOPIC_EXCEPTION.code],
    [topic('.'), INVALID_TOPIC_EXCEPTION.code],
    [topic('..'), INVALID_TOPIC_EXCEPTION.code],
    [topic('x'.repeat(250)), INVALID_TOPIC_EXCEPTION.code],
    [topic('a/b'), INVALID_TOPIC_EXCEPTION.code],
    [topic('{x}'), INVALID_TOPIC_EXCEPTION.code],
    [topic('__consumer_offsets'), INVALID_TOPIC_EXCEPTION.code],
    [topic('none', { numPartitions: 0 }), INVALID_PARTITIONS.code],
    [topic('many', { numPartitions: 129 }), INVALID_PARTITIONS.code],
    [topic('most', { numPartitions: 0x7fffffff }), INVALID_PARTITIONS.code],
    [topic('replicas0', { replicationFactor: 0 }), INVALID_REPLICATION_FACTOR.code],
    [topic('replicas3', { replicationFactor: 3 }), INVALID_REPLICATION_FACTOR.code],
    [topic('unknown', { configs: [{ name: 'no.such', value: '1' }] }), INVALID_CONFIG.code],
    [topic('compact', { configs: [{ name: 'cleanup.policy', value: 'foo' }] }), INVALID_CONFIG.code],
    [topic('null', { configs: [{ name: 'retention.ms', value: null }] }), INVALID_CONFIG.code],
    [topic('__proto__', { configs: [{ name: '__proto__', value: '1' }] }), INVALID_CONFIG.code],
  ]
  const body = { topics: cases.map(([each]) => each), timeoutMs: 5000 }
  for (const validateOnly of [true, false]) {
    const { topics } = await wire.send(createTopics, 5, { ...body, validateOnly })
    for (const [asked, code] of cases) {
      const row = topics.find(each => each.name === asked.name)!
      assert.equal(row.errorCode, code, asked.name)
      assert.equal(row.errorMessage === null, code === NONE, asked.name)
    }
    const { topics: existing } = await wire.send(metadata, 4, { topics: null })
    assert.equal(existing.length, validateOnly ? 1 : 2)
  }
})

test('a name that is given twice is refused and not created', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  const { topics } = await wire.send(createTopics, 5, { topics: [topic('twice'), topic('twice')], timeoutMs: 5000 })
  assert.deepEqual(
    topics.map(each => [each.name, each.errorCode]),
    [['twice', INVALID_REQUEST.code]],
  )
  assert.equal((await wire.send(metadata, 4, { topics: null })).topics.length, 1)
})

test('a refusal can be encoded in every version, even if it is about very long texts', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  const long = 'x'.repeat(32_000)
  for (let version = 2; version <= 7; version++) {
    for (const config of [
      { name: long, value: null },
      { name: long, value: long },
      { name: 'retention.ms', value: long },
    ]) {
      const topics = [topic('new', { configs: [config, { ...config, name: `${config.name}2` }] })]
      const answer = await wire.send(createTopics, version, { topics, timeoutMs: 5000 })
      assert.equal(answer.topics[0]!.errorCode, INVALID_CONFIG.code)
    }
  }
})
