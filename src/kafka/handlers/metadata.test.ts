import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pattern } from '../../../testing/broker.ts'
import { startGround } from '../../../testing/kafka.ts'
import {
  INVALID_REQUEST,
  INVALID_TOPIC_EXCEPTION,
  LEADER_NOT_AVAILABLE,
  NONE,
  UNKNOWN_TOPIC_ID,
  UNKNOWN_TOPIC_OR_PARTITION,
} from '../../protocol/errors.ts'
import { deleteTopics } from '../../protocol/messages/delete-topics.ts'
import { metadata } from '../../protocol/messages/metadata.ts'
import { ZERO_UUID } from '../../protocol/schema.ts'

const named = (...names: string[]) => names.map(name => ({ name }))

test('version 0 takes an empty list for all topics, later ones for none and null for all', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  await wire.send(metadata, 4, { topics: named('u') })
  const namesOf = async (version: number, topics: { name: string }[] | null) =>
    (await wire.send(metadata, version, { topics })).topics.map(topic => topic.name).sort()
  assert.deepEqual(await namesOf(0, []), ['t', 'u'])
  for (let version = 1; version <= 13; version++) {
    assert.deepEqual(await namesOf(version, []), [], `${version}`)
    assert.deepEqual(await namesOf(version, null), ['t', 'u'], `${version}`)
  }
})

test('every version returns the broker, the controller, the cluster and each partition with its leader', async t => {
  const ground = await startGround(t, { 'broker.id': 3, topics: [pattern('*', { partitions: 2 })] })
  const wire = await ground.connect()
  for (let version = 0; version <= 13; version++) {
    const answer = await wire.send(metadata, version, { topics: named('t') })
    assert.deepEqual(answer.brokers, [{ nodeId: 3, host: '127.0.0.1', port: ground.port, rack: null }])
    assert.equal(answer.controllerId, version < 1 ? -1 : 3)
    assert.equal(answer.clusterId?.length, version < 2 ? undefined : 22)
    const [topic] = answer.topics
    assert.equal(topic!.topicId === ZERO_UUID, version < 10)
    assert.deepEqual(
      topic!.partitions.map(each => [each.errorCode, each.partitionIndex, each.leaderId, ...each.replicaNodes]),
      [
        [NONE, 0, 3, 3],
        [NONE, 1, 3, 3],
      ],
    )
    for (const each of topic!.partitions) assert.ok(version < 7 ? each.leaderEpoch === -1 : each.leaderEpoch > 0)
  }
})

test('clients get the advertised host and port in place of the bound ones', async t => {
  const ground = await startGround(t, { 'broker.advertised-host': 'kafka.example', 'broker.advertised-port': 19092 })
  const wire = await ground.connect()
  const { brokers } = await wire.send(metadata, 1, { topics: [] })
  assert.deepEqual(brokers, [{ nodeId: 0, host: 'kafka.example', port: 19092, rack: null }])
})

test('a broker that is bound to every interface advertises localhost', async t => {
  const ground = await startGround(t, { 'broker.host': '0.0.0.0' })
  const wire = await ground.connect()
  assert.equal((await wire.send(metadata, 1, { topics: [] })).brokers[0]!.host, 'localhost')
})

test('a topic may be asked for by its id from version 12 on', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  const { topics } = await wire.send(metadata, 12, { topics: named('t') })
  const { topicId } = topics[0]!
  for (const version of [12, 13]) {
    const byId = await wire.send(metadata, version, { topics: [{ topicId, name: null }] })
    assert.deepEqual([byId.topics[0]!.errorCode, byId.topics[0]!.name], [NONE, 't'])
    const unknown = await wire.send(metadata, version, { topics: [{ topicId: 'abcdefghijklmnopqrstuQ', name: null }] })
    assert.deepEqual([unknown.topics[0]!.errorCode, unknown.topics[0]!.name], [UNKNOWN_TOPIC_ID.code, null])
    assert.equal(unknown.topics[0]!.topicId, 'abcdefghijklmnopqrstuQ')
  }
})

test('versions 10 and 11 do not honour ids', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  const { topics } = await wire.send(metadata, 12, { topics: named('t') })
  const { topicId } = topics[0]!
  for (const version of [10, 11]) {
    for (const topic of [
      { topicId, name: null },
      { topicId, name: 't' },
    ]) {
      const answer = await wire.send(metadata, version, { topics: [topic] })
      assert.deepEqual(
        answer.topics.map(each => [each.errorCode, each.name]),
        [[INVALID_REQUEST.code, topic.name ?? '']],
      )
    }
  }
})

test('an unknown topic is created when request and pattern allow it, and answered with its partitions', async t => {
  const ground = await startGround(t, { topics: [pattern('auto-*', { partitions: 4 }), pattern('t')] })
  const wire = await ground.connect()
  const { topics } = await wire.send(metadata, 4, { topics: named('auto-1', 'other') })
  assert.deepEqual(
    topics.map(each => [each.name, each.errorCode, each.partitions.length]),
    [
      ['auto-1', NONE, 4],
      ['other', UNKNOWN_TOPIC_OR_PARTITION.code, 0],
    ],
  )
  const refused = await wire.send(metadata, 4, { topics: named('auto-2'), allowAutoTopicCreation: false })
  assert.equal(refused.topics[0]!.errorCode, UNKNOWN_TOPIC_OR_PARTITION.code)
  const before4 = await wire.send(metadata, 3, { topics: named('auto-2') })
  assert.equal(before4.topics[0]!.errorCode, NONE)
  assert.deepEqual((await wire.send(metadata, 1, { topics: null })).topics.map(each => each.name).sort(), [
    'auto-1',
    'auto-2',
    't',
  ])
})

test('without a pattern nothing is created', async t => {
  const ground = await startGround(t, { topics: [] })
  const wire = await ground.connect()
  const { topics } = await wire.send(metadata, 4, { topics: named('new') })
  assert.equal(topics[0]!.errorCode, UNKNOWN_TOPIC_OR_PARTITION.code)
  assert.deepEqual((await wire.send(metadata, 4, { topics: null })).topics, [])
})

test('names that no topic may have are invalid, and nothing is created', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  const bad = ['', '.', '..', 'a/b', 'a:b', '{x}', 'é', 'a\u0000b', 'x'.repeat(250), 'a*', '__consumer_offsets']
  const { topics } = await wire.send(metadata, 4, { topics: named(...bad) })
  for (const { name, errorCode } of topics) assert.equal(errorCode, INVALID_TOPIC_EXCEPTION.code, String(name))
  assert.equal((await wire.send(metadata, 4, { topics: null })).topics.length, 1)
})

test('a name that is asked for twice is answered once', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  const { topics } = await wire.send(metadata, 4, { topics: named('t', 'new', 't', 'new') })
  assert.deepEqual(
    topics.map(each => [each.name, each.errorCode]),
    [
      ['t', NONE],
      ['new', NONE],
    ],
  )
})

test('two clients that create one topic at the same time both get it', async t => {
  const ground = await startGround(t)
  const [one, two] = [await ground.connect(), await ground.connect()]
  const answers = await Promise.all([one, two].map(wire => wire.send(metadata, 12, { topics: named('new') })))
  assert.deepEqual(
    answers.map(answer => answer.topics[0]!.errorCode),
    [NONE, NONE],
  )
  assert.equal(answers[0]!.topics[0]!.topicId, answers[1]!.topics[0]!.topicId)
})

test('one request creates a bounded number of topics, and the rest may be asked for again', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  const names = Array.from({ length: 150 }, (_, at) => `storm-${at}`)
  const codesOf = async () => {
    const { topics } = await wire.send(metadata, 4, { topics: named(...names) })
    return topics.map(each => each.errorCode)
  }
  const first = await codesOf()
  assert.deepEqual(
    [first.filter(code => code === NONE).length, new Set(first.slice(100))],
    [100, new Set([LEADER_NOT_AVAILABLE.code])],
  )
  assert.deepEqual(new Set(await codesOf()), new Set([NONE]))
})

test('a hundred thousand names are answered', async t => {
  const ground = await startGround(t, { topics: [] })
  const wire = await ground.connect()
  const names = Array.from({ length: 100_000 }, (_, at) => `n${at}`)
  const { topics } = await wire.send(metadata, 9, { topics: named(...names) })
  assert.equal(topics.length, 100_000)
})

test('operations are returned if the request asks for them, and are the smallest number otherwise', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  const asked = await wire.send(metadata, 8, {
    topics: named('t'),
    includeTopicAuthorizedOperations: true,
    includeClusterAuthorizedOperations: true,
  })
  assert.deepEqual([asked.topics[0]!.topicAuthorizedOperations, asked.clusterAuthorizedOperations], [3576, 8096])
  const silent = await wire.send(metadata, 8, { topics: named('t') })
  const none = -2_147_483_648
  assert.deepEqual([silent.topics[0]!.topicAuthorizedOperations, silent.clusterAuthorizedOperations], [none, none])
})

test('a topic that was deleted and created again under its name has another id', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  const idOf = async () => (await wire.send(metadata, 12, { topics: named('t') })).topics[0]!.topicId
  const before = await idOf()
  await wire.send(deleteTopics, 5, { topicNames: ['t'], timeoutMs: 1000 })
  assert.notEqual(await idOf(), before)
})
