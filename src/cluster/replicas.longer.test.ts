import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { type ClusterBroker, createCluster, EXPIRY_MS } from '../../testing/cluster.ts'
import { eventually } from '../../testing/eventually.ts'
import { batchOf, fetchFrom, valuesOf } from '../../testing/kafka.ts'
import {
  INVALID_REPLICA_ASSIGNMENT,
  INVALID_REPLICATION_FACTOR,
  NO_REASSIGNMENT_IN_PROGRESS,
  NONE,
  REPLICA_NOT_AVAILABLE,
  UNKNOWN_TOPIC_OR_PARTITION,
} from '../protocol/errors.ts'
import { alterPartitionReassignments } from '../protocol/messages/alter-partition-reassignments.ts'
import { createPartitions } from '../protocol/messages/create-partitions.ts'
import { createTopics } from '../protocol/messages/create-topics.ts'
import { describeTopicPartitions } from '../protocol/messages/describe-topic-partitions.ts'
import { fetch } from '../protocol/messages/fetch.ts'
import { listPartitionReassignments } from '../protocol/messages/list-partition-reassignments.ts'
import { metadata } from '../protocol/messages/metadata.ts'
import { produce } from '../protocol/messages/produce.ts'

/** Enough that each of three brokers leads some. */
const PARTITIONS = 12

async function startThree(t: TestContext) {
  const cluster = createCluster(t)
  const brokers = [await cluster.start(1), await cluster.start(2), await cluster.start(3)] as const
  await cluster.agreed(brokers, [1, 2, 3])
  return { ...cluster, brokers }
}

type NewTopic = { name: string; partitions?: number; factor?: number; lists?: readonly (readonly number[])[] }

async function create(broker: ClusterBroker, { name, partitions = PARTITIONS, factor = -1, lists = [] }: NewTopic) {
  const wire = await broker.connect()
  const { topics } = await wire.send(createTopics, 7, {
    topics: [
      {
        name,
        numPartitions: lists.length === 0 ? partitions : -1,
        replicationFactor: factor,
        assignments: lists.map((brokerIds, partitionIndex) => ({ partitionIndex, brokerIds })),
        configs: [],
      },
    ],
    timeoutMs: 10_000,
    validateOnly: false,
  })
  await wire.close()
  const [{ errorCode, errorMessage, replicationFactor }] = topics as [(typeof topics)[number]]
  return { errorCode, errorMessage, replicationFactor }
}

interface Shown {
  readonly errorCode: number
  readonly leaderId: number
  readonly replicaNodes: readonly number[]
  readonly isrNodes: readonly number[]
  readonly offlineReplicas: readonly number[]
}

/**
 * Returns what a broker reports for each partition. Metadata and DescribeTopicPartitions must report the same;
 * returns an empty list while they differ.
 */
async function shownBy(broker: ClusterBroker, name: string): Promise<readonly Shown[]> {
  const wire = await broker.connect()
  const { topics } = await wire.send(metadata, 9, { topics: [{ name }] })
  const described = await wire.send(describeTopicPartitions, 0, { topics: [{ name }], responsePartitionLimit: 100 })
  await wire.close()
  const rows = (partitions: readonly Shown[]) =>
    partitions.map(({ errorCode, leaderId, replicaNodes, isrNodes, offlineReplicas }) => {
      return { errorCode, leaderId, replicaNodes, isrNodes, offlineReplicas }
    })
  const shown = rows(topics[0]!.partitions)
  return isDeepStrictEqual(rows(described.topics[0]!.partitions), shown) ? shown : []
}

/** Resolves with the report of these brokers, once all of them report the same and every partition has a leader. */
async function agreedOn(brokers: readonly ClusterBroker[], name: string, isWanted = (_: readonly Shown[]) => true) {
  let shown: readonly Shown[] = []
  await eventually(`all brokers report ${name} alike`, async () => {
    const [first, ...others] = await Promise.all(brokers.map(each => shownBy(each, name)))
    shown = first!
    const areLed = shown.length > 0 && shown.every(({ errorCode }) => errorCode === NONE)
    return areLed && others.every(each => isDeepStrictEqual(each, first)) && isWanted(shown)
  })
  return shown
}

async function reassign(
  broker: ClusterBroker,
  name: string,
  lists: Readonly<Record<number, readonly number[] | null>>,
  allowReplicationFactorChange = true,
) {
  const wire = await broker.connect()
  const partitions = Object.entries(lists).map(([index, replicas]) => ({ partitionIndex: Number(index), replicas }))
  const { errorCode, responses } = await wire.send(alterPartitionReassignments, 1, {
    timeoutMs: 10_000,
    allowReplicationFactorChange,
    topics: [{ name, partitions }],
  })
  const listed = await wire.send(listPartitionReassignments, 0, { timeoutMs: 10_000, topics: null })
  assert.deepEqual([errorCode, listed.errorCode, listed.topics], [NONE, NONE, []])
  await wire.close()
  return responses[0]!.partitions.map(each => [each.errorCode, each.errorMessage])
}

test('a replication factor up to the number of living brokers is stored, and every broker shows it', async t => {
  const { brokers } = await startThree(t)
  for (const factor of [-1, 1, 2, 3]) {
    const name = `factor${factor}`
    const wanted = Math.abs(factor)
    assert.deepEqual(await create(brokers[1], { name, factor }), {
      errorCode: NONE,
      errorMessage: null,
      replicationFactor: wanted,
    })
    for (const { leaderId, replicaNodes, isrNodes, offlineReplicas } of await agreedOn(brokers, name)) {
      assert.equal(new Set(replicaNodes).size, wanted)
      assert.equal(replicaNodes[0], leaderId)
      assert.deepEqual([isrNodes, offlineReplicas], [replicaNodes, []])
    }
  }
  assert.deepEqual(await create(brokers[0], { name: 'four', factor: 4 }), {
    errorCode: INVALID_REPLICATION_FACTOR.code,
    errorMessage:
      'Unable to replicate the partition 4 time(s): The target replication factor of 4 cannot be reached because only 3 broker(s) are registered.',
    replicationFactor: -1,
  })
})

test('a replica that is away stays listed, is offline and not in sync, and the next replica leads', async t => {
  const { brokers, agreed, start } = await startThree(t)
  const [one, two, three] = brokers
  const names = ['factor1', 'factor2', 'factor3']
  for (const [i, name] of names.entries()) await create(one, { name, factor: i + 1 })
  const before = await Promise.all(names.map(name => agreedOn(brokers, name)))
  await two.broker.close()
  await agreed([one, three], [1, 3])
  for (const [i, name] of names.entries()) {
    const after = await agreedOn([one, three], name)
    for (const [index, { leaderId, replicaNodes, isrNodes, offlineReplicas }] of after.entries()) {
      const listed = before[i]![index]!.replicaNodes
      // If broker 2 is the only replica, no living replica would be left: the leader is shown in its place.
      const expected = listed.every(id => id === 2) ? [leaderId] : listed
      assert.deepEqual(replicaNodes, expected)
      assert.deepEqual(
        isrNodes,
        expected.filter(id => id !== 2),
      )
      assert.deepEqual(
        offlineReplicas,
        expected.filter(id => id === 2),
      )
      assert.equal(leaderId, isrNodes[0])
    }
  }
  const wire = await one.connect()
  const { topics } = await wire.send(metadata, 0, { topics: [{ name: 'factor3' }] })
  for (const { errorCode, replicaNodes } of topics[0]!.partitions) {
    assert.deepEqual([errorCode, [...replicaNodes].sort()], [REPLICA_NOT_AVAILABLE.code, [1, 3]])
  }
  const grown = await wire.send(createPartitions, 3, {
    topics: [{ name: 'factor3', count: PARTITIONS + 1, assignments: null }],
    timeoutMs: 10_000,
    validateOnly: false,
  })
  assert.equal(grown.results[0]!.errorCode, NONE)
  const again = await start(2)
  await agreed([one, again, three], [1, 2, 3])
  for (const [i, name] of names.entries()) {
    const after = await agreedOn([one, again, three], name)
    assert.deepEqual(after.slice(0, PARTITIONS), before[i])
    assert.ok(after.every(({ isrNodes }) => isrNodes.length === i + 1))
  }
})

test('assigned brokers lead in the order of their list, also after restarts; if none of them lives, another one leads', async t => {
  const { brokers, agreed, start } = await startThree(t)
  const lists = [
    [3, 1],
    [2, 3],
    [1, 2],
    [3, 2],
  ]
  assert.deepEqual(await create(brokers[0], { name: 'a', lists }), {
    errorCode: NONE,
    errorMessage: null,
    replicationFactor: 2,
  })
  const first = await agreedOn(brokers, 'a')
  assert.deepEqual(
    first.map(each => [each.leaderId, each.replicaNodes, each.isrNodes]),
    lists.map(list => [list[0], list, list]),
  )
  for (const broker of [...brokers].reverse()) await broker.broker.close()
  const [one, two] = [await start(1), await start(2)]
  await agreed([one, two], [1, 2])
  assert.deepEqual(
    (await agreedOn([one, two], 'a')).map(each => [each.leaderId, each.replicaNodes, each.isrNodes]),
    [
      [1, [3, 1], [1]],
      [2, [2, 3], [2]],
      [1, [1, 2], [1, 2]],
      [2, [3, 2], [2]],
    ],
  )
  await one.broker.close()
  await agreed([two], [2])
  const [alone] = await agreedOn([two], 'a')
  assert.deepEqual(alone, { errorCode: NONE, leaderId: 2, replicaNodes: [3, 2], isrNodes: [2], offlineReplicas: [3] })
})

test('an impossible assignment is refused with the message of Kafka', async t => {
  const { brokers } = await startThree(t)
  const [one] = brokers
  const cases: [readonly (readonly number[])[], string][] = [
    [[[1, 4]], 'The manual partition assignment includes broker 4, but no such broker is registered.'],
    [[[1, 2, 1]], 'The manual partition assignment includes the broker 1 more than once.'],
    [[[]], 'The manual partition assignment includes an empty replica list.'],
    [
      [[1, 2], [3]],
      'The manual partition assignment includes a partition with 1 replica(s), but this is not consistent with previous partitions, which have 2 replica(s).',
    ],
  ]
  for (const [lists, message] of cases) {
    const { errorCode, errorMessage } = await create(one, { name: 'no', lists })
    assert.deepEqual([errorCode, errorMessage], [INVALID_REPLICA_ASSIGNMENT.code, message])
  }
  await create(one, { name: 'grows', partitions: 1, factor: 2 })
  const wire = await one.connect()
  const grow = async (assignments: readonly (readonly number[])[]) => {
    const { results } = await wire.send(createPartitions, 3, {
      topics: [{ name: 'grows', count: 2, assignments: assignments.map(brokerIds => ({ brokerIds })) }],
      timeoutMs: 10_000,
      validateOnly: false,
    })
    return [results[0]!.errorCode, results[0]!.errorMessage]
  }
  assert.deepEqual(await grow([[3]]), [
    INVALID_REPLICA_ASSIGNMENT.code,
    'The manual partition assignment includes a partition with 1 replica(s), but this is not consistent with previous partitions, which have 2 replica(s).',
  ])
  assert.deepEqual(await grow([[3, 1]]), [NONE, null])
  const shown = await agreedOn(brokers, 'grows', rows => rows.length === 2)
  assert.deepEqual([shown[1]!.leaderId, shown[1]!.replicaNodes], [3, [3, 1]])
})

test('a reassignment changes the replica list and the leader, and the partition keeps every record', async t => {
  const { brokers } = await startThree(t)
  const [one] = brokers
  await create(one, { name: 't', lists: [[1], [2]] })
  await agreedOn(brokers, 't')
  const at = async (leaderId: number) => {
    const leader = brokers.find(({ id }) => id === leaderId)!
    const wire = await leader.connect()
    const write = async (value: string) => {
      const topicData = [{ name: 't', partitionData: [{ index: 0, records: batchOf([value]) }] }]
      const { responses } = await wire.send(produce, 9, { acks: -1, timeoutMs: 5_000, topicData })
      assert.equal(responses[0]!.partitionResponses[0]!.errorCode, NONE)
    }
    const read = async () => {
      const { responses } = await wire.send(fetch, 12, fetchFrom(0))
      return await valuesOf(responses[0]!.partitions[0]!)
    }
    return { write, read }
  }
  await (await at(1)).write('a')
  assert.deepEqual(await reassign(brokers[1], 't', { 0: [3, 1], 1: [2] }), [
    [NONE, null],
    [NONE, null],
  ])
  const shown = await agreedOn(brokers, 't', ([row]) => row!.leaderId === 3)
  assert.deepEqual(
    shown.map(each => [each.leaderId, each.replicaNodes, each.isrNodes]),
    [
      [3, [3, 1], [3, 1]],
      [2, [2], [2]],
    ],
  )
  const leader = await at(3)
  await leader.write('b')
  assert.deepEqual(await leader.read(), [
    [0, 'a'],
    [1, 'b'],
  ])
})

test('an impossible reassignment is refused row by row, with the messages of Kafka', async t => {
  const { brokers } = await startThree(t)
  const [one] = brokers
  await create(one, { name: 't', partitions: 3, factor: 2 })
  const [before] = await agreedOn(brokers, 't')
  const other = [1, 2, 3].find(id => !before!.replicaNodes.includes(id))!
  assert.deepEqual(await reassign(one, 'nothing', { 0: [1] }), [
    [UNKNOWN_TOPIC_OR_PARTITION.code, 'Unable to find a topic named nothing.'],
  ])
  assert.deepEqual(await reassign(one, 't', { 0: [other, 9], 1: null, 2: [], 3: [1] }), [
    [
      INVALID_REPLICA_ASSIGNMENT.code,
      'The manual partition assignment includes broker 9, but no such broker is registered.',
    ],
    [NO_REASSIGNMENT_IN_PROGRESS.code, NO_REASSIGNMENT_IN_PROGRESS.message],
    [INVALID_REPLICA_ASSIGNMENT.code, 'The manual partition assignment includes an empty replica list.'],
    [UNKNOWN_TOPIC_OR_PARTITION.code, 'Unable to find partition t:3.'],
  ])
  assert.deepEqual(await reassign(one, 't', { 0: [other], 1: [other, before!.leaderId] }, false), [
    [INVALID_REPLICATION_FACTOR.code, 'The replication factor is changed from 2 to 1'],
    [NONE, null],
  ])
  const after = await agreedOn(brokers, 't', rows => rows[1]!.leaderId === other)
  assert.deepEqual(after[0], before)
})

test('a reassignment may keep a replica that is away, and that replica leads when it is back', async t => {
  const { brokers, agreed } = await startThree(t)
  const [one, two, three] = brokers
  await create(one, { name: 't', lists: [[2, 1]] })
  await agreedOn(brokers, 't')
  const resume = two.cutOff()
  t.after(resume)
  await agreed([one, three], [1, 3])
  assert.deepEqual(await reassign(one, 't', { 0: [2, 3] }), [[NONE, null]])
  const [row] = await agreedOn([one, three], 't', ([each]) => each!.leaderId === 3)
  assert.deepEqual([row!.replicaNodes, row!.isrNodes, row!.offlineReplicas], [[2, 3], [3], [2]])
  resume()
  await agreed(brokers, [1, 2, 3])
  await eventually('broker 2 leads again', async () => (await shownBy(one, 't'))[0]?.leaderId === 2, 10 * EXPIRY_MS)
})
