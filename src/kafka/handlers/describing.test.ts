// DescribeCluster, DescribeTopicPartitions and DescribeLogDirs: what an operator looks at.

import assert from 'node:assert/strict'
import { statfs } from 'node:fs/promises'
import { type TestContext, test } from 'node:test'
import { startBroker } from '../../../testing/broker.ts'
import { batchOf, produceTo, startGround } from '../../../testing/kafka.ts'
import { createTopic } from '../../../testing/topic.ts'
import {
  INVALID_REQUEST,
  INVALID_TOPIC_EXCEPTION,
  KAFKA_STORAGE_ERROR,
  MISMATCHED_ENDPOINT_TYPE,
  NONE,
  UNKNOWN_TOPIC_OR_PARTITION,
  UNSUPPORTED_ENDPOINT_TYPE,
} from '../../protocol/errors.ts'
import { deleteRecords } from '../../protocol/messages/delete-records.ts'
import { describeCluster } from '../../protocol/messages/describe-cluster.ts'
import { describeLogDirs } from '../../protocol/messages/describe-log-dirs.ts'
import { describeTopicPartitions } from '../../protocol/messages/describe-topic-partitions.ts'
import { metadata } from '../../protocol/messages/metadata.ts'

const SELF = 4

test('the cluster is described as Metadata does, in every version', async t => {
  const ground = await startGround(t, { 'broker.id': SELF })
  const wire = await ground.connect()
  const { clusterId } = await wire.send(metadata, 9, { topics: [] })
  for (let version = 0; version <= 2; version++) {
    const cluster = await wire.send(describeCluster, version, { includeClusterAuthorizedOperations: version > 0 })
    assert.deepEqual(cluster, {
      throttleTimeMs: 0,
      errorCode: NONE,
      errorMessage: null,
      endpointType: 1,
      clusterId,
      controllerId: SELF,
      brokers: [{ brokerId: SELF, host: '127.0.0.1', port: ground.port, rack: null, isFenced: false }],
      clusterAuthorizedOperations: version === 0 ? -(2 ** 31) : 0b1111110100000,
    })
  }
})

test('the endpoint type of controllers is refused, and other endpoint types are unknown', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  const ask = async (endpointType: number) => {
    const request = { includeClusterAuthorizedOperations: false, endpointType }
    const { errorCode, errorMessage, brokers } = await wire.send(describeCluster, 1, request)
    assert.deepEqual(brokers, [])
    return [errorCode, errorMessage]
  }
  assert.deepEqual(await ask(2), [
    MISMATCHED_ENDPOINT_TYPE.code,
    'The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER',
  ])
  assert.deepEqual(await ask(3), [UNSUPPORTED_ENDPOINT_TYPE.code, 'Unsupported endpoint type 3'])
})

async function threeTopics(t: TestContext) {
  const ground = await startGround(t, { 'broker.id': SELF })
  for (const [name, partitions] of [
    ['c', 1],
    ['a', 3],
    ['b', 2],
  ] as const)
    await createTopic(ground, name, partitions)
  const wire = await ground.connect()
  const page = async (
    names: readonly string[],
    responsePartitionLimit = 2000,
    cursor: { topicName: string; partitionIndex: number } | null = null,
  ) => {
    const topics = names.map(name => ({ name }))
    const answer = await wire.send(describeTopicPartitions, 0, { topics, responsePartitionLimit, cursor })
    return {
      ...answer,
      found: answer.topics.map(({ name, errorCode, partitions }) => [
        name,
        errorCode === NONE ? partitions.map(each => each.partitionIndex) : errorCode,
      ]),
    }
  }
  return { wire, page }
}

test('topics are described in the order of their names, with ids, replicas and operations', async t => {
  const { wire, page } = await threeTopics(t)
  const { found, topics, nextCursor } = await page([])
  assert.deepEqual(found, [
    ['a', [0, 1, 2]],
    ['b', [0, 1]],
    ['c', [0]],
    ['t', [0]],
  ])
  assert.equal(nextCursor, null)
  const said = await wire.send(metadata, 12, { topics: [{ name: 'b' }], includeTopicAuthorizedOperations: true })
  const { topicId, topicAuthorizedOperations, partitions } = said.topics[0]!
  const replicas = { eligibleLeaderReplicas: [], lastKnownElr: [] }
  assert.deepEqual(topics[1], {
    errorCode: NONE,
    name: 'b',
    topicId,
    isInternal: false,
    partitions: partitions.map(each => ({ ...each, ...replicas })),
    topicAuthorizedOperations,
  })
})

test('named topics are described once each; one that is not there has its error', async t => {
  const { page } = await threeTopics(t)
  assert.deepEqual((await page(['nowhere', 'b', 'b', 'in valid'])).found, [
    ['b', [0, 1]],
    ['in valid', INVALID_TOPIC_EXCEPTION.code],
    ['nowhere', UNKNOWN_TOPIC_OR_PARTITION.code],
  ])
})

test('pages follow each other by their cursors until everything was seen once', async t => {
  const { page } = await threeTopics(t)
  for (const limit of [-5, 0, 1, 2, 3, 4, 6]) {
    const seen: string[] = []
    let cursor: Awaited<ReturnType<typeof page>>['nextCursor'] = null
    do {
      const answer: Awaited<ReturnType<typeof page>> = await page([], limit, cursor)
      const rows = answer.topics.flatMap(({ name, partitions }) =>
        partitions.map(each => `${name}${each.partitionIndex}`),
      )
      assert.ok(rows.length <= Math.max(limit, 1), `${rows.length} partitions with a limit of ${limit}`)
      seen.push(...rows)
      cursor = answer.nextCursor
    } while (cursor !== null)
    assert.deepEqual(seen, ['a0', 'a1', 'a2', 'b0', 'b1', 'c0', 't0'], `limit ${limit}`)
  }
  assert.deepEqual((await page(['a', 'b'], 3)).nextCursor, { topicName: 'b', partitionIndex: 0 })
})

test('a cursor may name a topic that is gone, but no topic that was not requested', async t => {
  const { page } = await threeTopics(t)
  assert.deepEqual((await page([], 9, { topicName: 'aa', partitionIndex: 7 })).found[0], ['b', [0, 1]])
  assert.deepEqual((await page([], 9, { topicName: 'b', partitionIndex: 7 })).found[0], ['b', []])
  assert.deepEqual((await page(['b', 'c'], 9, { topicName: 'a', partitionIndex: 0 })).found, [
    ['b', INVALID_REQUEST.code],
    ['c', INVALID_REQUEST.code],
  ])
  assert.deepEqual((await page(['b'], 9, { topicName: 'b', partitionIndex: -1 })).found, [['b', INVALID_REQUEST.code]])
})

test('log directories name the folder, its size and the bytes of each partition, which a deletion releases', async t => {
  const broker = await startBroker(t)
  await createTopic(broker, 't', 2)
  await createTopic(broker, 'u', 1)
  const wire = await broker.connect()
  const batch = batchOf(['x'.repeat(5000)])
  for (let i = 0; i < 3; i++) await produceTo(wire, batch, { index: 1 })
  const describe = async (topics: readonly { topic: string; partitions: number[] }[] | null, version = 4) => {
    const { errorCode, results } = await wire.send(describeLogDirs, version, { topics })
    assert.deepEqual(
      [errorCode, results.length, results[0]!.errorCode, results[0]!.logDir],
      [NONE, 1, NONE, broker.dir],
    )
    const sizes = results[0]!.topics.flatMap(({ name, partitions }) =>
      partitions.map(each => [`${name}-${each.partitionIndex}`, each.partitionSize, each.offsetLag, each.isFutureKey]),
    )
    return { sizes, totalBytes: results[0]!.totalBytes, usableBytes: results[0]!.usableBytes }
  }
  for (let version = 1; version <= 4; version++) {
    const { sizes, totalBytes, usableBytes } = await describe(null, version)
    assert.deepEqual(sizes, [
      ['t-0', 0, 0, false],
      ['t-1', 3 * batch.length, 0, false],
      ['u-0', 0, 0, false],
    ])
    const { blocks, bsize } = await statfs(broker.dir)
    assert.equal(totalBytes, version < 4 ? -1 : blocks * bsize)
    assert.ok(version < 4 ? usableBytes === -1 : usableBytes > 0 && usableBytes < totalBytes)
  }
  const some = [
    { topic: 't', partitions: [1, 1, 9] },
    { topic: 'nowhere', partitions: [0] },
  ]
  assert.deepEqual((await describe(some)).sizes, [['t-1', 3 * batch.length, 0, false]])
  assert.deepEqual((await describe([])).sizes, [])
  const partitions = [{ partitionIndex: 1, offset: 2 }]
  await wire.send(deleteRecords, 2, { topics: [{ name: 't', partitions }], timeoutMs: 5000 })
  assert.deepEqual((await describe(some)).sizes, [['t-1', batch.length, 0, false]])
})

test('if the store cannot say how much space there is, the whole answer is an error', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  ground.store.faults.failNext('space', 'unavailable')
  const { errorCode, results } = await wire.send(describeLogDirs, 3, { topics: null })
  assert.deepEqual([errorCode, results], [KAFKA_STORAGE_ERROR.code, []])
})
