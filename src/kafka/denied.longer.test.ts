// Effects that a missing permission prevents, and what the identity of another client does not give: each test is one
// behaviour. authorization.longer.test.ts has the errors of every API.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { askHttp } from '../../testing/ask-http.ts'
import { CODES, restore, startWorld, type World } from '../../testing/authorization-world.ts'
import { startBroker } from '../../testing/broker.ts'
import { eventually } from '../../testing/eventually.ts'
import { batchOf } from '../../testing/kafka.ts'
import { createMemoryStore } from '../../testing/sim/memory-store.ts'
import type { Wire } from '../../testing/wire.ts'
import type { Operation, ResourceType } from '../api/words.ts'
import type { Grant } from '../auth/clients/acl-rules.ts'
import { type Client, EVERYTHING, policyOf } from '../auth/clients/policy.ts'
import { systemClock } from '../base/clock.ts'
import { MEMBER_ID_REQUIRED } from '../protocol/errors.ts'
import { deleteGroups } from '../protocol/messages/delete-groups.ts'
import { deleteRecords } from '../protocol/messages/delete-records.ts'
import { deleteTopics } from '../protocol/messages/delete-topics.ts'
import { describeProducers } from '../protocol/messages/describe-producers.ts'
import { describeTopicPartitions } from '../protocol/messages/describe-topic-partitions.ts'
import { fetch } from '../protocol/messages/fetch.ts'
import { findCoordinator } from '../protocol/messages/find-coordinator.ts'
import { initProducerId } from '../protocol/messages/init-producer-id.ts'
import { joinGroup } from '../protocol/messages/join-group.ts'
import { leaveGroup } from '../protocol/messages/leave-group.ts'
import { listOffsets } from '../protocol/messages/list-offsets.ts'
import { metadata } from '../protocol/messages/metadata.ts'
import { offsetCommit } from '../protocol/messages/offset-commit.ts'
import { offsetFetch } from '../protocol/messages/offset-fetch.ts'
import { produce } from '../protocol/messages/produce.ts'

const ADA: Client = { name: 'ada', groups: [] }
const policy = (...grants: readonly Grant[]) => policyOf(new Map([['ada', grants]]), new Set(), ADA)
const on = (resourceType: ResourceType, operation: Operation, resource: string): Grant => ({
  ...{ resourceType, operation, resource },
})
const produced = (wire: Wire, name: string, acks = -1) =>
  wire.send(produce, 9, {
    ...{ transactionalId: null, acks, timeoutMs: 1000 },
    topicData: [{ name, partitionData: [{ index: 0, records: batchOf(['x']) }] }],
  })
const endOf = async (world: World, name: string) => {
  const topics = [{ name, partitions: [{ partitionIndex: 0, currentLeaderEpoch: -1, timestamp: -1 }] }]
  const answer = await world.admin.send(listOffsets, 7, { replicaId: -1, isolationLevel: 0, topics })
  return answer.topics[0]!.partitions[0]!.offset
}

test('a denied produce stores nothing, and a denied Metadata, Produce or commit creates nothing', async t => {
  const world = await startWorld(t)
  await restore(world.admin)
  const reader = await world.connectAs(policy(on('TOPIC', 'READ', '*'), on('GROUP', 'WRITE', '*')))
  assert.equal((await produced(reader, 'a')).responses[0]!.partitionResponses[0]!.errorCode, CODES.TOPIC)
  assert.equal(await endOf(world, 'a'), 0)
  assert.equal((await produced(reader, 'auto-1')).responses[0]!.partitionResponses[0]!.errorCode, CODES.TOPIC)
  const asked = await reader.send(metadata, 9, { topics: [{ name: 'auto-1' }], allowAutoTopicCreation: true } as never)
  assert.deepEqual(
    asked.topics.map(({ name, errorCode }) => [name, errorCode]),
    [['auto-1', CODES.TOPIC]],
  )
  const committed = await reader.send(offsetCommit, 8, {
    ...{ groupId: 'fresh', generationIdOrMemberEpoch: -1, memberId: '', groupInstanceId: null },
    topics: [
      {
        name: 'a',
        partitions: [{ partitionIndex: 0, committedOffset: 7, committedLeaderEpoch: -1, committedMetadata: null }],
      },
    ],
  } as never)
  assert.equal(committed.topics[0]!.partitions[0]!.errorCode, CODES.GROUP)
  const all = await world.admin.send(metadata, 9, { topics: null } as never)
  assert.deepEqual(all.topics.map(({ name }) => name).sort(), ['a', 'b'])
  const kept = await world.admin.send(offsetFetch, 7, { groupId: 'fresh', topics: null } as never)
  assert.deepEqual(kept.topics, [])
  const stopped = await world.connectAs(policy())
  await stopped.post(produce, 9, {
    ...{ transactionalId: null, acks: 0, timeoutMs: 1000 },
    topicData: [{ name: 'a', partitionData: [{ index: 0, records: batchOf(['x']) }] }],
  })
  await stopped.closed
  assert.equal(await endOf(world, 'a'), 0)
})

test('a topic that a client may not ask for is not looked for in the store, so no time tells whether it exists', async t => {
  const store = createMemoryStore(systemClock)
  t.after(() => store.faults.release())
  const policies = { current: () => policy(on('GROUP', 'READ', '*')), resolve: async () => null }
  const broker = await startBroker(t, {}, { openStore: async () => store, isShared: true, policies })
  const wire = await broker.connect()
  await wire.send(metadata, 9, { topics: [] } as never)
  store.faults.hold('version')
  const name = 'hidden'
  const { topics } = await wire.send(metadata, 9, { topics: [{ name }], allowAutoTopicCreation: true } as never)
  assert.equal(topics[0]!.errorCode, CODES.TOPIC)
  const described = await wire.send(describeProducers, 0, { topics: [{ name, partitionIndexes: [0] }] })
  assert.equal(described.topics[0]!.partitions[0]!.errorCode, CODES.TOPIC)
  const partitions = [{ partitionIndex: 0, committedOffset: 7, committedLeaderEpoch: -1, committedMetadata: null }]
  const committed = await wire.send(offsetCommit, 8, {
    ...{ groupId: 'g', generationIdOrMemberEpoch: -1, memberId: '', groupInstanceId: null },
    topics: [{ name, partitions }],
  } as never)
  assert.equal(committed.topics[0]!.partitions[0]!.errorCode, CODES.TOPIC)
  assert.equal((await produced(wire, name)).responses[0]!.partitionResponses[0]!.errorCode, CODES.TOPIC)
})

test('a rule to write a name lets its client create the topic and delete its records, as Kafka Streams does', async t => {
  const world = await startWorld(t)
  const writer = await world.connectAs(policy(on('TOPIC', 'WRITE', 'auto-*')))
  const asked = await writer.send(metadata, 9, {
    topics: [{ name: 'auto-1' }, { name: 'other' }],
    allowAutoTopicCreation: true,
  } as never)
  assert.deepEqual(
    asked.topics.map(({ name, errorCode }) => [name, errorCode]),
    [
      ['auto-1', 0],
      ['other', CODES.TOPIC],
    ],
  )
  const deletion = { name: 'auto-1', partitions: [{ partitionIndex: 0, offset: -1 }] }
  await produced(writer, 'auto-1')
  const deleted = await writer.send(deleteRecords, 2, {
    topics: [deletion, { ...deletion, name: 'a' }],
    timeoutMs: 1000,
  })
  assert.deepEqual(
    deleted.topics.map(({ partitions: [row] }) => [row!.errorCode, row!.lowWatermark]),
    [
      [0, 1],
      [CODES.TOPIC, -1],
    ],
  )
  const operations = await writer.send(metadata, 9, {
    topics: [{ name: 'auto-1' }],
    includeTopicAuthorizedOperations: true,
  } as never)
  const bits = [4, 5, 8, 10].reduce((sum, code) => sum | (1 << code), 0)
  assert.equal(operations.topics[0]!.topicAuthorizedOperations, bits, 'WRITE, CREATE, DESCRIBE, DESCRIBE_CONFIGS')
})

test('a fetch session shows another client only the partitions that it may read', async t => {
  const world = await startWorld(t)
  await restore(world.admin)
  await produced(world.admin, 'a')
  await produced(world.admin, 'b')
  const both = policy(on('TOPIC', 'READ', '*'))
  const owner = await world.connectAs(both)
  const partitions = [{ partition: 0, fetchOffset: 0, partitionMaxBytes: 1000, currentLeaderEpoch: -1 }]
  const opened = await owner.send(fetch, 12, {
    ...{ maxWaitMs: 0, minBytes: 0, sessionId: 0, sessionEpoch: 0 },
    topics: ['a', 'b'].map(topic => ({ topic, partitions })),
  })
  assert.ok(opened.sessionId !== 0)
  const codes = ({ responses }: typeof opened) =>
    responses.map(({ topic, partitions: [row] }) => [topic, row!.errorCode])
  assert.deepEqual(codes(opened), [
    ['a', 0],
    ['b', 0],
  ])
  const next = { maxWaitMs: 0, minBytes: 0, sessionId: opened.sessionId, topics: [] }
  const thief = await world.connectAs(policy(on('TOPIC', 'READ', 'b')))
  assert.deepEqual(codes(await thief.send(fetch, 12, { ...next, sessionEpoch: 1 })).sort(), [
    ['a', CODES.TOPIC],
    ['b', 0],
  ])
  assert.deepEqual(codes(await owner.send(fetch, 12, { ...next, sessionEpoch: 2 })).sort(), [
    ['a', 0],
    ['b', 0],
  ])
})

test('a member id does not let another client act in a group that it may not read', async t => {
  const world = await startWorld(t)
  await restore(world.admin)
  const owner = await world.connectAs(policy(on('GROUP', 'READ', 'own')))
  const join = {
    ...{ groupId: 'own', sessionTimeoutMs: 10_000, rebalanceTimeoutMs: 10_000, groupInstanceId: null },
    protocolType: 'consumer',
    protocols: [{ name: 'p', metadata: Buffer.alloc(0) }],
  }
  const { memberId } = await owner.send(joinGroup, 5, { ...join, memberId: '' })
  const joined = await owner.send(joinGroup, 5, { ...join, memberId })
  assert.equal(joined.errorCode, 0)
  const other = await world.connectAs(policy(on('GROUP', 'READ', 'other'), on('TOPIC', 'READ', '*')))
  const left = await other.send(leaveGroup, 3, {
    groupId: 'own',
    members: [{ memberId, groupInstanceId: null }],
  } as never)
  assert.equal(left.errorCode, CODES.GROUP)
  const found = await other.send(findCoordinator, 3, { key: 'own', keyType: 0 } as never)
  assert.equal(found.errorCode, CODES.GROUP)
  const again = await owner.send(joinGroup, 5, { ...join, memberId })
  assert.equal(again.errorCode, 0)
})

test('a client consumes through a group only if it may read both the topic and the group', async t => {
  const world = await startWorld(t)
  await restore(world.admin)
  await produced(world.admin, 'a')
  const [topic, group] = [on('TOPIC', 'READ', 'a'), on('GROUP', 'READ', 'g')]
  for (const [rules, expected] of [
    [
      [topic, group],
      [0, 0, 0],
    ],
    [[topic], [CODES.GROUP, CODES.GROUP, 0]],
    [[group], [0, CODES.TOPIC, CODES.TOPIC]],
    [[], [CODES.GROUP, CODES.GROUP, CODES.TOPIC]],
  ] as const) {
    const wire = await world.connectAs(policy(...rules))
    const joined = await wire.send(joinGroup, 5, {
      ...{ groupId: 'g', sessionTimeoutMs: 10_000, rebalanceTimeoutMs: 10_000, memberId: '', groupInstanceId: null },
      ...{ protocolType: 'consumer', protocols: [{ name: 'p', metadata: Buffer.alloc(0) }] },
    })
    const partition = { partitionIndex: 0, committedOffset: 1, committedLeaderEpoch: -1, committedMetadata: null }
    const committed = await wire.send(offsetCommit, 8, {
      ...{ groupId: 'g', generationIdOrMemberEpoch: -1, memberId: '', groupInstanceId: null },
      topics: [{ name: 'a', partitions: [partition] }],
    } as never)
    const fetched = await wire.send(fetch, 12, {
      ...{ maxWaitMs: 0, minBytes: 0 },
      topics: [{ topic: 'a', partitions: [{ partition: 0, fetchOffset: 0, partitionMaxBytes: 1000 }] }],
    })
    assert.deepEqual(
      [
        // A new member gets its id with MEMBER_ID_REQUIRED.
        joined.errorCode === MEMBER_ID_REQUIRED.code ? 0 : joined.errorCode,
        committed.topics[0]!.partitions[0]!.errorCode,
        fetched.responses[0]!.partitions[0]!.errorCode,
      ],
      expected,
      JSON.stringify(rules),
    )
  }
})

test('the producer id of another client gives no right to write', async t => {
  const world = await startWorld(t)
  await restore(world.admin)
  const owner = await world.connectAs(policy(on('TOPIC', 'WRITE', 'a')))
  const { producerId } = await owner.send(initProducerId, 3, { transactionalId: null, transactionTimeoutMs: 1000 })
  const write = async (wire: Wire, name: string, baseSequence: number) => {
    const records = batchOf(['x'], { producerId, producerEpoch: 0, baseSequence })
    const topicData = [{ name, partitionData: [{ index: 0, records }] }]
    const { responses } = await wire.send(produce, 9, { transactionalId: null, acks: -1, timeoutMs: 1000, topicData })
    return responses[0]!.partitionResponses[0]!.errorCode
  }
  assert.equal(await write(owner, 'a', 0), 0)
  const thief = await world.connectAs(policy(on('TOPIC', 'WRITE', 'b'), on('TOPIC', 'READ', 'a')))
  assert.equal(await write(thief, 'a', 1), CODES.TOPIC)
  assert.equal(await write(owner, 'a', 1), 0, 'the sequence of the owner goes on')
  const refused = await thief.send(initProducerId, 3, { transactionalId: 'own', transactionTimeoutMs: 1000 })
  assert.equal(refused.errorCode, CODES.TRANSACTIONAL_ID)
})

test('a client that may only write a group deletes it, and finds its coordinator for that', async t => {
  const world = await startWorld(t)
  await restore(world.admin)
  const client = await world.connectAs(policy(on('GROUP', 'WRITE', 'g')))
  assert.equal((await client.send(findCoordinator, 3, { key: 'g', keyType: 0 } as never)).errorCode, 0)
  const deleted = await client.send(deleteGroups, 1, { groupsNames: ['h', 'g'] })
  assert.deepEqual(
    deleted.results.map(({ groupId, errorCode }) => [groupId, errorCode]),
    [
      ['h', CODES.GROUP],
      ['g', 0],
    ],
  )
})

test('pages of topics leave out those that the client may not see', async t => {
  const world = await startWorld(t)
  await restore(world.admin)
  const client = await world.connectAs(policy(on('TOPIC', 'READ', 'b')))
  const page = await client.send(describeTopicPartitions, 0, { topics: [], responsePartitionLimit: 10 } as never)
  assert.deepEqual(
    page.topics.map(({ name }) => name),
    ['b'],
  )
})

test('each denied permission is logged with the client, and a client that may do everything causes no line', async t => {
  const world = await startWorld(t)
  await restore(world.admin)
  const client = await world.connectAs(policy())
  await produced(client, 'a')
  assert.match(
    world.log(),
    /svc\.kafka\.authorization.*no rule allows.*principal=User:ANONYMOUS.*operation=WRITE.*type=TOPIC.*name=a allowedBy="WRITE TOPIC"/,
  )
  const before = world.log().length
  await produced(await world.connectAs(EVERYTHING), 'a')
  assert.doesNotMatch(world.log().slice(before), /no rule allows/)
})

test('a change of rules counts for connections that open after it, and for no connection that is open', async t => {
  const store = createMemoryStore(systemClock)
  const settings = { 'broker.acl.enabled': true, 'admin.security-enabled': false } as const
  const broker = await startBroker(t, settings, { openStore: async () => store, hasHttp: true })
  const ask = askHttp(broker.url)
  const codeOf = async (wire: Wire) => (await produced(wire, 'a')).responses[0]!.partitionResponses[0]!.errorCode
  const early = await broker.connect()
  assert.equal(await codeOf(early), CODES.TOPIC, 'without a rule nothing is allowed')
  await ask('/api/v1/acls', 201, { body: { principal: 'ANONYMOUS', topic: 'a', operation: 'WRITE' } })
  assert.equal(await codeOf(early), CODES.TOPIC)
  const later = await broker.connect()
  const created = await later.send(metadata, 9, { topics: [{ name: 'a' }], allowAutoTopicCreation: true } as never)
  assert.equal(created.topics[0]!.errorCode, 0)
  assert.equal(await codeOf(later), 0)
  await ask('/api/v1/acls/ANONYMOUS?topic=a&operation=WRITE', 204, { method: 'DELETE' })
  assert.equal(await codeOf(later), 0)
  assert.equal(await codeOf(await broker.connect()), CODES.TOPIC)
})

test('a change over Kafka has its audit line with the client and the result, also if it is refused', async t => {
  const world = await startWorld(t)
  await restore(world.admin)
  const topicNames = ['b']
  const client = await world.connectAs(policy())
  const refused = await client.send(deleteTopics, 5, { topicNames, timeoutMs: 10_000 })
  assert.equal(refused.responses[0]!.errorCode, CODES.TOPIC)
  await world.admin.send(deleteTopics, 5, { topicNames, timeoutMs: 10_000 })
  const lines = world
    .log()
    .split('\n')
    .filter(line => /delete topics .*\\"b/.test(line))
  const line = (code: string) =>
    new RegExp(`svc\\.audit.*delete topics.*who=User:ANONYMOUS.*from=127\\.0\\.0\\.1.*code=${code}.*what=.*b`)
  assert.match(lines[0]!, line('TOPIC_AUTHORIZATION_FAILED'))
  assert.match(lines[1]!, line('null'))
})

test('a change is audited even if its client is gone before the answer', async t => {
  const world = await startWorld(t)
  await restore(world.admin)
  const client = await world.connectAs(null)
  await client.post(deleteTopics, 5, { topicNames: ['b'], timeoutMs: 10_000 })
  client.socket.resetAndDestroy()
  await eventually('the line is written', () => /svc\.audit.*delete topics.*code=null/.test(world.log()))
})
