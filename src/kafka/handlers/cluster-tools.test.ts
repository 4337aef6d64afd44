// ElectLeaders, AlterReplicaLogDirs, DescribeProducers and DescribeQuorum, which Kafka's tools for clusters use.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createCluster } from '../../../testing/cluster.ts'
import { eventually } from '../../../testing/eventually.ts'
import { batchOf, produceTo, startGround } from '../../../testing/kafka.ts'
import { SimulatedClock } from '../../../testing/sim/clock.ts'
import { createTopic, createTopicOfAll } from '../../../testing/topic.ts'
import type { Wire } from '../../../testing/wire.ts'
import {
  ELECTION_NOT_NEEDED,
  INVALID_REQUEST,
  INVALID_TOPIC_EXCEPTION,
  KAFKA_STORAGE_ERROR,
  LOG_DIR_NOT_FOUND,
  NONE,
  NOT_LEADER_OR_FOLLOWER,
  REPLICA_NOT_AVAILABLE,
  UNKNOWN_TOPIC_OR_PARTITION,
} from '../../protocol/errors.ts'
import { alterReplicaLogDirs } from '../../protocol/messages/alter-replica-log-dirs.ts'
import { describeLogDirs } from '../../protocol/messages/describe-log-dirs.ts'
import { describeProducers } from '../../protocol/messages/describe-producers.ts'
import { describeQuorum } from '../../protocol/messages/describe-quorum.ts'
import { electLeaders } from '../../protocol/messages/elect-leaders.ts'
import { metadata } from '../../protocol/messages/metadata.ts'
import { ZERO_UUID } from '../../protocol/schema.ts'

test('no partition needs an election, in every version, and an unknown partition has an error', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  const topicPartitions = [
    { topic: 't', partitions: [0, 1, -1] },
    { topic: 'nowhere', partitions: [0] },
  ]
  const needless = [ELECTION_NOT_NEEDED.code, ELECTION_NOT_NEEDED.message]
  const unknown = UNKNOWN_TOPIC_OR_PARTITION.code
  for (let version = 0; version <= 2; version++) {
    for (const electionType of version === 0 ? [0] : [0, 1]) {
      const answer = await wire.send(electLeaders, version, { electionType, topicPartitions })
      assert.equal(answer.errorCode, NONE)
      assert.deepEqual(
        answer.replicaElectionResults.map(({ topic, partitionResult }) => [
          topic,
          ...partitionResult.map(each => [each.partitionId, each.errorCode, each.errorMessage]),
        ]),
        [
          ['t', [0, ...needless], [1, unknown, 'No such partition as t-1'], [-1, unknown, 'No such partition as t--1']],
          ['nowhere', [0, unknown, 'No such topic as nowhere']],
        ],
      )
    }
  }
})

test('an election of all partitions names none of those that are led', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  const { errorCode, replicaElectionResults } = await wire.send(electLeaders, 2, {
    electionType: 0,
    topicPartitions: null,
  })
  assert.deepEqual([errorCode, replicaElectionResults], [NONE, [{ topic: 't', partitionResult: [] }]])
})

test('an unknown kind of election is refused as a whole and in each row', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  const topicPartitions = [{ topic: 't', partitions: [0] }]
  const refusal = { errorCode: INVALID_REQUEST.code, errorMessage: 'Unknown election type 2' }
  const answer = await wire.send(electLeaders, 2, { electionType: 2, topicPartitions })
  assert.equal(answer.errorCode, INVALID_REQUEST.code)
  assert.deepEqual(answer.replicaElectionResults, [{ topic: 't', partitionResult: [{ partitionId: 0, ...refusal }] }])
})

async function placeOf(wire: Wire): Promise<string> {
  return (await wire.send(describeLogDirs, 4, { topics: null })).results[0]!.logDir
}

/** The outcomes of moving these partitions to a place, as `topic-partition: code`. */
async function move(wire: Wire, path: string, topics: readonly { name: string; partitions: number[] }[], version = 2) {
  const { results } = await wire.send(alterReplicaLogDirs, version, { dirs: [{ path, topics }] })
  return results.flatMap(({ topicName, partitions }) =>
    partitions.map(({ partitionIndex, errorCode }) => `${topicName}-${partitionIndex}: ${errorCode}`),
  )
}

test('a replica may move to its own log directory, and there is no other log directory', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  const place = await placeOf(wire)
  const topics = [
    { name: 't', partitions: [0, 1] },
    { name: 'nowhere', partitions: [0] },
  ]
  const unknown = UNKNOWN_TOPIC_OR_PARTITION.code
  for (let version = 1; version <= 2; version++) {
    assert.deepEqual(await move(wire, place, topics, version), [
      `t-0: ${NONE}`,
      `t-1: ${unknown}`,
      `nowhere-0: ${unknown}`,
    ])
  }
  const gone = LOG_DIR_NOT_FOUND.code
  assert.deepEqual(await move(wire, `${place}/other`, topics), [`t-0: ${gone}`, `t-1: ${gone}`, `nowhere-0: ${gone}`])
  ground.store.faults.failNext('space', 'unavailable')
  assert.deepEqual(await move(wire, place, topics.slice(0, 1)), [
    `t-0: ${KAFKA_STORAGE_ERROR.code}`,
    `t-1: ${KAFKA_STORAGE_ERROR.code}`,
  ])
})

async function producersOf(wire: Wire, topics: readonly { name: string; partitionIndexes: number[] }[]) {
  const answer = await wire.send(describeProducers, 0, { topics })
  return answer.topics.flatMap(({ name, partitions }) => partitions.map(row => ({ name, ...row })))
}

test('the idempotent producers of a partition are listed with epoch, last sequence and the time of their last write', async t => {
  const clock = new SimulatedClock()
  const ground = await startGround(t, {}, clock)
  const wire = await ground.connect()
  const empty = await producersOf(wire, [{ name: 't', partitionIndexes: [0] }])
  assert.deepEqual([empty[0]!.errorCode, empty[0]!.activeProducers], [NONE, []])
  await produceTo(wire, batchOf(['a', 'b'], { producerId: 7, producerEpoch: 3, baseSequence: 0 }))
  await produceTo(wire, batchOf(['c'], { producerId: 7, producerEpoch: 3, baseSequence: 2 }))
  const wroteAtMs = clock.now()
  await clock.advance(1000)
  await produceTo(wire, batchOf(['d'], { producerId: 5, producerEpoch: 0, baseSequence: 9 }))
  await produceTo(wire, batchOf(['e']))
  const [row] = await producersOf(wire, [{ name: 't', partitionIndexes: [0] }])
  const none = { coordinatorEpoch: -1, currentTxnStartOffset: -1 }
  assert.deepEqual(row!.activeProducers, [
    { producerId: 7, producerEpoch: 3, lastSequence: 2, lastTimestamp: wroteAtMs, ...none },
    { producerId: 5, producerEpoch: 0, lastSequence: 9, lastTimestamp: wroteAtMs + 1000, ...none },
  ])
})

test('producers are refused for an unknown partition and for a partition that is named twice', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  const rows = await producersOf(wire, [
    { name: 't', partitionIndexes: [1, -1] },
    { name: 'nowhere', partitionIndexes: [0] },
    { name: 'in valid', partitionIndexes: [0] },
    { name: 't', partitionIndexes: [0, 0] },
  ])
  const [unknown, twice] = [UNKNOWN_TOPIC_OR_PARTITION.code, INVALID_REQUEST.code]
  assert.deepEqual(
    rows.map(each => each.errorCode),
    [unknown, unknown, unknown, INVALID_TOPIC_EXCEPTION.code, twice, twice],
  )
  assert.match(rows.at(-1)!.errorMessage!, /at most once/)
})

const METADATA = [{ topicName: '__cluster_metadata', partitions: [{ partitionIndex: 0 }] }]

test('the quorum of a single broker is that broker, in every version', async t => {
  const clock = new SimulatedClock()
  const ground = await startGround(t, { 'broker.id': 4 }, clock)
  const wire = await ground.connect()
  const offsets: number[] = []
  for (let version = 0; version <= 2; version++) {
    const { errorCode, topics, nodes } = await wire.send(describeQuorum, version, { topics: METADATA })
    const [{ topicName, partitions }] = topics as [(typeof topics)[number]]
    const [{ highWatermark, currentVoters, ...partition }] = partitions as [(typeof partitions)[number]]
    assert.deepEqual([errorCode, topicName, partitions.length], [NONE, '__cluster_metadata', 1])
    const rest = { partitionIndex: 0, errorCode: NONE, errorMessage: '', observers: [] }
    assert.deepEqual({ ...partition }, { ...rest, leaderId: 4, leaderEpoch: 1 })
    assert.deepEqual(currentVoters, [
      {
        replicaId: 4,
        replicaDirectoryId: ZERO_UUID,
        logEndOffset: highWatermark,
        lastFetchTimestamp: version === 0 ? -1 : clock.now(),
        lastCaughtUpTimestamp: version === 0 ? -1 : clock.now(),
      },
    ])
    const listeners = [{ name: 'PLAINTEXT', host: '127.0.0.1', port: ground.port }]
    assert.deepEqual(nodes, version < 2 ? [] : [{ nodeId: 4, listeners }])
    offsets.push(highWatermark)
    await createTopic(ground, `made-${version}`, 1)
  }
  assert.deepEqual(
    offsets.map(offset => offset - offsets[0]!),
    [0, 1, 2],
    'each topic is a step of the metadata',
  )
})

test('only the partition of the metadata has a quorum', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  const ask = async (topics: { topicName: string; partitions: { partitionIndex: number }[] }[]) => {
    const answer = await wire.send(describeQuorum, 2, { topics })
    assert.deepEqual([answer.errorCode, answer.nodes], [NONE, []])
    return answer.topics.flatMap(each =>
      each.partitions.map(({ errorCode, currentVoters }) => {
        assert.deepEqual(currentVoters, [])
        return errorCode
      }),
    )
  }
  const unknown = UNKNOWN_TOPIC_OR_PARTITION.code
  const partitions = [{ partitionIndex: 0 }]
  assert.deepEqual(await ask([{ topicName: 't', partitions }]), [unknown])
  assert.deepEqual(await ask([{ topicName: '__cluster_metadata', partitions: [{ partitionIndex: 1 }] }]), [unknown])
  assert.deepEqual(await ask([...METADATA, { topicName: 't', partitions }]), [unknown, unknown])
  assert.deepEqual(await ask([]), [])
})

/** Two brokers that see each other, each with a connection, and a topic of which each leads a part. */
async function startTwo(t: TestContext) {
  const cluster = createCluster(t)
  const brokers = await Promise.all([cluster.start(1), cluster.start(2)])
  await cluster.agreed(brokers, [1, 2])
  await createTopicOfAll(brokers[0], 'shared', 6, [1, 2])
  const wires = await Promise.all(brokers.map(each => each.connect()))
  const leadersAt = async (wire: Wire) => {
    const { topics } = await wire.send(metadata, 9, { topics: [{ name: 'shared' }] })
    return topics[0]!.partitions.map(each => each.leaderId)
  }
  let leaders: readonly number[] = []
  await eventually('both say who leads', async () => {
    leaders = await leadersAt(wires[0]!)
    return !leaders.includes(-1) && (await leadersAt(wires[1]!)).join() === leaders.join()
  })
  return { brokers, wires: wires as [Wire, Wire], leaders }
}

test('every broker is a voter; each answers for the partitions that it leads', async t => {
  const { brokers, wires, leaders } = await startTwo(t)
  const all = leaders.map((_, index) => index)
  for (const [at, wire] of wires.entries()) {
    const isOwn = (index: number) => leaders[index] === brokers[at]!.id
    const { topics, nodes } = await wire.send(describeQuorum, 2, { topics: METADATA })
    const { leaderId, highWatermark, currentVoters } = topics[0]!.partitions[0]!
    assert.equal(leaderId, 1)
    assert.deepEqual(
      currentVoters.map(each => [each.replicaId, each.logEndOffset]),
      [
        [1, highWatermark],
        [2, highWatermark],
      ],
    )
    assert.deepEqual(
      nodes.map(each => [each.nodeId, each.listeners[0]!.port]),
      brokers.map(each => [each.id, each.port]),
    )
    const rows = await producersOf(wire, [{ name: 'shared', partitionIndexes: all }])
    assert.deepEqual(
      rows.map(each => each.errorCode),
      all.map(index => (isOwn(index) ? NONE : NOT_LEADER_OR_FOLLOWER.code)),
    )
    assert.deepEqual(
      await move(wire, await placeOf(wire), [{ name: 'shared', partitions: all }]),
      all.map(index => `shared-${index}: ${isOwn(index) ? NONE : REPLICA_NOT_AVAILABLE.code}`),
    )
    const topicPartitions = [{ topic: 'shared', partitions: all }]
    const { replicaElectionResults } = await wire.send(electLeaders, 2, { electionType: 0, topicPartitions })
    assert.deepEqual(
      replicaElectionResults[0]!.partitionResult.map(each => each.errorCode),
      all.map(() => ELECTION_NOT_NEEDED.code),
    )
  }
})
