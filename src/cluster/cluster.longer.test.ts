import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { pattern } from '../../testing/broker.ts'
import { type ClusterBroker, createCluster } from '../../testing/cluster.ts'
import { eventually } from '../../testing/eventually.ts'
import { batchOf, fetchFrom, valuesOf } from '../../testing/kafka.ts'
import { createTopic, removeTopic } from '../../testing/topic.ts'
import {
  KAFKA_STORAGE_ERROR,
  LEADER_NOT_AVAILABLE,
  NONE,
  NOT_COORDINATOR,
  NOT_LEADER_OR_FOLLOWER,
  OUT_OF_ORDER_SEQUENCE_NUMBER,
  UNKNOWN_TOPIC_OR_PARTITION,
} from '../protocol/errors.ts'
import { deleteTopics } from '../protocol/messages/delete-topics.ts'
import { describeCluster } from '../protocol/messages/describe-cluster.ts'
import { describeTopicPartitions } from '../protocol/messages/describe-topic-partitions.ts'
import { fetch } from '../protocol/messages/fetch.ts'
import { findCoordinator } from '../protocol/messages/find-coordinator.ts'
import { listOffsets } from '../protocol/messages/list-offsets.ts'
import { metadata } from '../protocol/messages/metadata.ts'
import { offsetCommit } from '../protocol/messages/offset-commit.ts'
import { offsetFetch } from '../protocol/messages/offset-fetch.ts'
import { produce } from '../protocol/messages/produce.ts'
import { encodeBatch } from '../protocol/records.ts'
import { ZERO_UUID } from '../protocol/schema.ts'

/** Enough that each of three brokers leads some, whatever the id of the topic. */
const PARTITIONS = 36

async function startThree(t: TestContext) {
  const cluster = createCluster(t, { topics: [pattern('*', { partitions: PARTITIONS })] })
  const brokers = [await cluster.start(1), await cluster.start(2), await cluster.start(3)]
  await cluster.agreed(brokers, [1, 2, 3])
  return { ...cluster, brokers }
}

/** Returns the leader of each partition of `t` as this broker reports it; -1 without a leader. */
async function leadersOf(broker: ClusterBroker): Promise<readonly number[]> {
  const wire = await broker.connect()
  const { topics } = await wire.send(metadata, 9, { topics: [{ name: 't' }] })
  await wire.close()
  return topics[0]!.partitions.map(each => each.leaderId)
}

async function produceTo(broker: ClusterBroker, index: number, value: string) {
  const wire = await broker.connect()
  const topicData = [{ name: 't', partitionData: [{ index, records: batchOf([value]) }] }]
  const { responses, nodeEndpoints } = await wire.send(produce, 10, { acks: -1, timeoutMs: 5_000, topicData })
  await wire.close()
  return { ...responses[0]!.partitionResponses[0]!, nodeEndpoints }
}

/** Acts like a client: asks for the leader, produces there, and retries as long as the errors allow it. */
async function deliver(brokers: readonly ClusterBroker[], index: number, value: string): Promise<number> {
  let offset = -1
  await eventually(
    `${value} is in partition ${index}`,
    async () => {
      const leaderId = (await leadersOf(brokers[0]!))[index]!
      const leader = brokers.find(({ id }) => id === leaderId)
      if (leader === undefined) return false
      const { errorCode, baseOffset } = await produceTo(leader, index, value)
      offset = baseOffset
      if (errorCode === NONE) return true
      assert.ok([NOT_LEADER_OR_FOLLOWER.code, UNKNOWN_TOPIC_OR_PARTITION.code].includes(errorCode), `${errorCode}`)
      return false
    },
    60_000,
  )
  return offset
}

test('every broker names all living brokers, one controller, and one leader for each partition', async t => {
  const { brokers } = await startThree(t)
  const leaders = await leadersOf(brokers[0]!)
  assert.deepEqual([...new Set(leaders)].sort(), [1, 2, 3])
  for (const broker of brokers) {
    await eventually('the topic is known', async () => (await leadersOf(broker)).join() === leaders.join())
    const wire = await broker.connect()
    const said = await wire.send(describeCluster, 1, { includeClusterAuthorizedOperations: false })
    assert.deepEqual(
      said.brokers.map(each => [each.brokerId, each.port]),
      brokers.map(each => [each.id, each.port]),
    )
    assert.equal(said.controllerId, 1)
    const { topics } = await wire.send(describeTopicPartitions, 0, {
      topics: [{ name: 't' }],
      responsePartitionLimit: 100,
    })
    assert.deepEqual(
      topics[0]!.partitions.map(each => [each.leaderId, each.replicaNodes, each.isrNodes]),
      leaders.map(id => [id, [id], [id]]),
    )
  }
})

test('a broker that does not lead a partition refuses to write, read and list offsets, and names the leader', async t => {
  const { brokers } = await startThree(t)
  const leaders = await leadersOf(brokers[0]!)
  await deliver(brokers, 0, 'first')
  for (const broker of brokers.filter(({ id }) => id !== leaders[0])) {
    await eventually('the topic is known', async () => (await leadersOf(broker))[0] === leaders[0])
    const produced = await produceTo(broker, 0, 'stray')
    assert.equal(produced.errorCode, NOT_LEADER_OR_FOLLOWER.code)
    assert.equal(produced.currentLeader.leaderId, leaders[0])
    await eventually(
      'the epoch is known',
      async () => (await produceTo(broker, 0, 'stray')).currentLeader.leaderEpoch > 0,
    )
    const leader = brokers.find(({ id }) => id === leaders[0])!
    assert.deepEqual(
      produced.nodeEndpoints.map(each => [each.nodeId, each.port]),
      [[leader.id, leader.port]],
    )
    const wire = await broker.connect()
    const listed = await wire.send(listOffsets, 4, {
      replicaId: -1,
      topics: [{ name: 't', partitions: [{ partitionIndex: 0, timestamp: -1 }] }],
    })
    assert.equal(listed.topics[0]!.partitions[0]!.errorCode, NOT_LEADER_OR_FOLLOWER.code)
    const { responses } = await wire.send(fetch, 12, fetchFrom(0, { maxWaitMs: 0 }))
    assert.equal(responses[0]!.partitions[0]!.errorCode, NOT_LEADER_OR_FOLLOWER.code)
    assert.equal(responses[0]!.partitions[0]!.currentLeader.leaderId, leaders[0])
  }
})

test('if a broker refused the first batch of a producer before it led, it takes that batch first when it leads', async t => {
  const { brokers, agreed } = await startThree(t)
  await deliver(brokers, 0, 'first')
  const leader = (await leadersOf(brokers[0]!))[0]!
  const [one, two] = brokers.filter(({ id }) => id !== leader) as [ClusterBroker, ClusterBroker]
  for (const broker of [one, two]) {
    await eventually('the topic is known', async () => (await leadersOf(broker))[0] === leader)
  }
  const send = async (broker: ClusterBroker, baseSequence: number) => {
    const wire = await broker.connect()
    const records = encodeBatch([{ value: 'v' }], { producerId: 99, producerEpoch: 0, baseSequence })
    const topicData = [{ name: 't', partitionData: [{ index: 0, records }] }]
    const { responses } = await wire.send(produce, 10, { acks: -1, timeoutMs: 5_000, topicData })
    await wire.close()
    return responses[0]!.partitionResponses[0]!.errorCode
  }
  for (const broker of [one, two]) assert.equal(await send(broker, 0), NOT_LEADER_OR_FOLLOWER.code)
  await brokers.find(({ id }) => id === leader)!.broker.close()
  await agreed([one, two], [one.id, two.id])
  const next = (await leadersOf(one))[0] === one.id ? one : two
  let answer: number = NONE
  await eventually('the other leads', async () => {
    answer = await send(next, 1)
    return answer !== NOT_LEADER_OR_FOLLOWER.code
  })
  assert.equal(answer, OUT_OF_ORDER_SEQUENCE_NUMBER.code)
  assert.deepEqual([await send(next, 0), await send(next, 1)], [NONE, NONE])
})

test('a batch that arrives while its topic becomes known stays behind the batches that wait for the topic', async t => {
  const cluster = createCluster(t)
  const [one, two] = [await cluster.start(1), await cluster.start(2)]
  await cluster.agreed([one, two], [1, 2])
  // A look that began before the request does not count. The first look finds the topic while the second is under
  // way.
  one.store.faults.delay('version', 500)
  const asking = await one.connect()
  const asked = asking.send(metadata, 9, { topics: [{ name: 't' }], allowAutoTopicCreation: false })
  await createTopic(two, 't', PARTITIONS)
  const index = (await leadersOf(two)).indexOf(one.id)
  const wire = await one.connect()
  let answered = 0
  const send = async (baseSequence: number) => {
    const records = encodeBatch([{ value: 'v' }], { producerId: 99, producerEpoch: 0, baseSequence })
    const topicData = [{ name: 't', partitionData: [{ index, records }] }]
    const { responses } = await wire.send(produce, 10, { acks: -1, timeoutMs: 5_000, topicData })
    answered++
    return responses[0]!.partitionResponses[0]!.errorCode
  }
  const first = send(0)
  await asked
  const topics = [{ name: 't', partitions: [{ partitionIndex: index, timestamp: -1 }] }]
  await eventually('the partition is led', async () => {
    const listed = await asking.send(listOffsets, 7, { replicaId: -1, isolationLevel: 0, topics })
    return listed.topics[0]!.partitions[0]!.errorCode === NONE
  })
  assert.equal(answered, 0)
  const second = send(1)
  assert.deepEqual([await first, await second], [NONE, NONE])
})

test('a topic that cannot be looked up is refused in its row, and later batches cannot overtake the refused one', async t => {
  const cluster = createCluster(t)
  // Without the registry, whose first look at a new topic asks the store too.
  const settings = { 'schema-registry.enabled': false }
  const [one, two] = [await cluster.start(1, settings), await cluster.start(2, settings)]
  await cluster.agreed([one, two], [1, 2])
  await createTopic(one, 't', PARTITIONS)
  const ledByOne = (await leadersOf(one)).indexOf(one.id)
  const wire = await one.connect()
  const led = await wire.send(metadata, 9, { topics: [{ name: 't' }] })
  assert.equal(led.topics[0]!.partitions[ledByOne]!.leaderId, one.id)
  one.store.faults.failNext('version', 'unavailable', 20)
  await createTopic(two, 'u', PARTITIONS)
  const known = await two.connect()
  const { topics } = await known.send(metadata, 9, { topics: [{ name: 'u' }] })
  const index = topics[0]!.partitions.findIndex(({ leaderId }) => leaderId === one.id)
  const rowOf = (name: string, at: number, baseSequence: number) => {
    const records = encodeBatch([{ value: 'v' }], { producerId: 99, producerEpoch: 0, baseSequence })
    return { name, partitionData: [{ index: at, records }] }
  }
  const send = async (...topicData: ReturnType<typeof rowOf>[]) => {
    const { responses } = await wire.send(produce, 10, { acks: -1, timeoutMs: 5_000, topicData })
    return responses.map(({ partitionResponses }) => partitionResponses[0]!)
  }
  const [appended, refused] = await send(rowOf('t', ledByOne, 0), rowOf('u', index, 0))
  assert.deepEqual([appended!.errorCode, appended!.baseOffset], [NONE, 0])
  assert.equal(refused!.errorCode, KAFKA_STORAGE_ERROR.code)
  assert.match(refused!.errorMessage!, /could not be looked up, nothing was written/)
  let answer: number = KAFKA_STORAGE_ERROR.code
  const passing = [KAFKA_STORAGE_ERROR.code, NOT_LEADER_OR_FOLLOWER.code]
  await eventually('the topic is known and led', async () => {
    const [row] = await send(rowOf('u', index, 1))
    answer = row!.errorCode
    return !passing.includes(answer)
  })
  assert.equal(answer, OUT_OF_ORDER_SEQUENCE_NUMBER.code)
  for (const baseSequence of [0, 1]) {
    const [row] = await send(rowOf('u', index, baseSequence))
    assert.deepEqual([row!.errorCode, row!.baseOffset], [NONE, baseSequence])
  }
})

test('every broker names the epoch of every leader, and no epoch falls when leaders change', async t => {
  const { brokers, agreed } = await startThree(t)
  const epochsOf = async (broker: ClusterBroker) => {
    const wire = await broker.connect()
    const { topics } = await wire.send(metadata, 9, { topics: [{ name: 't' }] })
    await wire.close()
    return topics[0]!.partitions.map(each => each.leaderEpoch)
  }
  const areKnown = async (...of: readonly ClusterBroker[]) => {
    let known: readonly number[] = []
    await eventually('the epochs are known', async () => {
      const [first, ...others] = await Promise.all(of.map(epochsOf))
      known = first!
      return first!.every(epoch => epoch > 0) && others.every(each => each.join() === first!.join())
    })
    return known
  }
  const before = await areKnown(...brokers)
  const led = await leadersOf(brokers[0]!)
  const [one, two, three] = brokers as [ClusterBroker, ClusterBroker, ClusterBroker]
  await two.broker.close()
  await agreed([one, three], [1, 3])
  const expected = before.map((epoch, index) => (led[index] === 2 ? epoch + 1 : epoch))
  let after: readonly number[] = []
  await eventually('the epochs have risen', async () => {
    after = await areKnown(one, three)
    assert.ok(after.every((epoch, index) => epoch >= before[index]!))
    return after.join() === expected.join()
  })
})

test('if a broker is lost, others lead its partitions with every record that it acknowledged', async t => {
  const { brokers, agreed } = await startThree(t)
  for (let index = 0; index < PARTITIONS; index++) assert.equal(await deliver(brokers, index, `a${index}`), 0)
  const [one, two, three] = brokers as [ClusterBroker, ClusterBroker, ClusterBroker]
  const resume = two.cutOff()
  await agreed([one, three], [1, 3])
  for (let index = 0; index < PARTITIONS; index++) assert.equal(await deliver([one, three], index, `b${index}`), 1)

  // Broker 2 must not name itself as a leader. Once it reaches the store, it comes back and leads again.
  assert.ok((await leadersOf(two)).every(id => id !== 2))
  resume()
  await agreed(brokers, [1, 2, 3])
  for (let index = 0; index < PARTITIONS; index++) assert.equal(await deliver(brokers, index, `c${index}`), 2)
  const leaderId = (await leadersOf(one))[0]
  const wire = await brokers.find(({ id }) => id === leaderId)!.connect()
  const { responses } = await wire.send(fetch, 12, fetchFrom(0))
  assert.deepEqual(await valuesOf(responses[0]!.partitions[0]!), [
    [0, 'a0'],
    [1, 'b0'],
    [2, 'c0'],
  ])
})

test('a broker that drains hands over its partitions before it ends', async t => {
  const { brokers, agreed } = await startThree(t)
  for (let index = 0; index < PARTITIONS; index++) await deliver(brokers, index, 'a')
  const [one, two, three] = brokers as [ClusterBroker, ClusterBroker, ClusterBroker]
  await two.broker.close()
  await agreed([one, three], [1, 3])
  assert.equal(await one.store.load('broker', '2'), null)
  for (let index = 0; index < PARTITIONS; index++) assert.equal(await deliver([one, three], index, 'b'), 1)
  assert.doesNotMatch(one.log() + three.log(), /considered dead/)
})

test('one broker coordinates a group; if that broker is lost, the group moves to another and keeps its offsets', async t => {
  const { brokers, agreed } = await startThree(t)
  await leadersOf(brokers[0]!)
  const coordinatorOf = async (broker: ClusterBroker) => {
    const wire = await broker.connect()
    const { coordinators } = await wire.send(findCoordinator, 4, { coordinatorKeys: ['g'] })
    await wire.close()
    return coordinators[0]!
  }
  const [first, ...others] = await Promise.all(brokers.map(coordinatorOf))
  for (const other of others) assert.deepEqual(other, first)
  const coordinator = brokers.find(({ id }) => id === first!.nodeId)!
  assert.equal(first!.port, coordinator.port)

  const commit = async (broker: ClusterBroker, committedOffset: number) => {
    const wire = await broker.connect()
    const partitions = [{ partitionIndex: 0, committedOffset, committedMetadata: '' }]
    const answer = await wire.send(offsetCommit, 7, { groupId: 'g', memberId: '', topics: [{ name: 't', partitions }] })
    await wire.close()
    return answer.topics[0]!.partitions[0]!.errorCode
  }
  const read = async (broker: ClusterBroker) => {
    const wire = await broker.connect()
    const { groups } = await wire.send(offsetFetch, 8, {
      groups: [{ groupId: 'g', topics: [{ name: 't', partitionIndexes: [0] }] }],
    })
    await wire.close()
    return [groups[0]!.errorCode, groups[0]!.topics[0]?.partitions[0]?.committedOffset]
  }
  await eventually('the topic is known', async () => (await commit(coordinator, 5)) === NONE)
  const [stranger] = brokers.filter(each => each !== coordinator)
  assert.equal(await commit(stranger!, 9), NOT_COORDINATOR.code)
  assert.deepEqual(await read(stranger!), [NOT_COORDINATOR.code, undefined])

  const rest = brokers.filter(each => each !== coordinator)
  const resume = coordinator.cutOff()
  await agreed(
    rest,
    rest.map(({ id }) => id),
  )
  const { nodeId } = await coordinatorOf(rest[0]!)
  const next = rest.find(({ id }) => id === nodeId)!
  await eventually('the group has moved', async () => (await read(next)).join() === '0,5', 60_000)
  assert.equal(await commit(next, 6), NONE)
  // The former coordinator refuses, both while it is cut off and when it is back.
  assert.equal(await commit(coordinator, 7), NOT_COORDINATOR.code)
  resume()
  await agreed(brokers, [1, 2, 3])
  await eventually('the group is back', async () => (await read(coordinator)).join() === '0,6', 60_000)
})

test('a topic that three brokers create at the same time is one topic on all of them', async t => {
  const { brokers } = await startThree(t)
  const made = await Promise.all(brokers.map(leadersOf))
  const ids = await Promise.all(
    brokers.map(async broker => {
      const wire = await broker.connect()
      const { topics } = await wire.send(metadata, 12, { topics: [{ name: 't' }] })
      return topics[0]!.topicId
    }),
  )
  assert.equal(new Set(ids).size, 1)
  for (const leaders of made) assert.equal(leaders.length, PARTITIONS)
  assert.equal((await brokers[0]!.store.streams()).length, PARTITIONS)
})

test('a broker that cannot reach the store names no leader for the partitions that it led', async t => {
  const cluster = createCluster(t, { topics: [pattern('*', { partitions: 1 })] })
  const broker = await cluster.start(1)
  await deliver([broker], 0, 'a')
  const resume = broker.cutOff()
  await eventually('the broker is no longer confirmed', async () => (await leadersOf(broker))[0] === -1, 60_000)
  const wire = await broker.connect()
  const { topics } = await wire.send(metadata, 9, { topics: [{ name: 't' }] })
  assert.equal(topics[0]!.partitions[0]!.errorCode, LEADER_NOT_AVAILABLE.code)
  assert.equal((await produceTo(broker, 0, 'b')).errorCode, NOT_LEADER_OR_FOLLOWER.code)
  resume()
  await eventually('the broker is confirmed again', async () => (await leadersOf(broker))[0] === 1, 60_000)
  assert.equal(await deliver([broker], 0, 'c'), 1)
})

test('as soon as one broker has created a topic, its leaders take records, and every broker can delete it', async t => {
  const cluster = createCluster(t, { topics: [pattern('*', { partitions: PARTITIONS })], 'broker.expiry': 10_000 })
  const brokers = [await cluster.start(1), await cluster.start(2)]
  const [one, two] = brokers as [ClusterBroker, ClusterBroker]
  await cluster.agreed(brokers, [1, 2])
  const leaders = await leadersOf(one)
  for (const [index, id] of leaders.entries()) {
    const produced = await produceTo(brokers.find(each => each.id === id)!, index, 'a')
    assert.deepEqual([produced.errorCode, produced.baseOffset], [NONE, 0])
  }
  await (await one.connect()).send(metadata, 9, { topics: [{ name: 'u' }] })
  const topics = [{ name: 'u', topicId: ZERO_UUID }]
  const { responses } = await (await two.connect()).send(deleteTopics, 6, { topics, timeoutMs: 5_000 })
  assert.equal(responses[0]!.errorCode, NONE)
})

test('a record for a topic that another broker deleted and created again is refused, or is in the new topic', async t => {
  const { brokers } = await startThree(t)
  const leaders = await leadersOf(brokers[0]!)
  await deliver(brokers, 0, 'old')
  const leader = brokers.find(({ id }) => id === leaders[0])!
  const [other] = brokers.filter(each => each !== leader)
  const wire = await other!.connect()
  await wire.send(deleteTopics, 6, { topics: [{ name: 't', topicId: ZERO_UUID }], timeoutMs: 5_000 })
  await leadersOf(other!)
  // The leader may not know yet that the topic was deleted and that another topic has its name.
  const produced = await produceTo(leader, 0, 'late')
  assert.ok([NONE, NOT_LEADER_OR_FOLLOWER.code, UNKNOWN_TOPIC_OR_PARTITION.code].includes(produced.errorCode))
  assert.equal(await deliver(brokers, 0, 'new'), produced.errorCode === NONE ? 1 : 0)
})

test('a topic that was deleted through one broker is created at once through another', async t => {
  const { brokers } = await startThree(t)
  const [one, two] = brokers as [ClusterBroker, ClusterBroker]
  await createTopic(one, 'again', 1)
  await eventually('the topic is known', async () => {
    const wire = await two.connect()
    const { topics } = await wire.send(metadata, 9, { topics: [{ name: 'again' }], allowAutoTopicCreation: false })
    await wire.close()
    return topics[0]!.errorCode === NONE
  })
  for (const [remover, maker] of [
    [one, two],
    [two, one],
  ] as const) {
    await removeTopic(remover, 'again')
    await createTopic(maker, 'again', 1)
  }
})
