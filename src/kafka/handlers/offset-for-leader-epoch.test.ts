import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startBroker, type TestBroker } from '../../../testing/broker.ts'
import { batchOf, fetchOne, produceTo } from '../../../testing/kafka.ts'
import { createTopic } from '../../../testing/topic.ts'
import type { Wire } from '../../../testing/wire.ts'
import { FENCED_LEADER_EPOCH, NONE, UNKNOWN_LEADER_EPOCH, UNKNOWN_TOPIC_OR_PARTITION } from '../../protocol/errors.ts'
import { deleteRecords } from '../../protocol/messages/delete-records.ts'
import { listOffsets } from '../../protocol/messages/list-offsets.ts'
import { metadata } from '../../protocol/messages/metadata.ts'
import { offsetForLeaderEpoch } from '../../protocol/messages/offset-for-leader-epoch.ts'
import { splitBatches, viewBatch } from '../../protocol/records.ts'

async function ask(
  wire: Wire,
  leaderEpoch: number,
  { version = 4, partition = 0, currentLeaderEpoch = -1, topic = 't' } = {},
): Promise<[number, number, number]> {
  const partitions = [{ partition, currentLeaderEpoch, leaderEpoch }]
  const answer = await wire.send(offsetForLeaderEpoch, version, { replicaId: -1, topics: [{ topic, partitions }] })
  const row = answer.topics[0]!.partitions[0]!
  assert.deepEqual([answer.topics[0]!.topic, row.partition], [topic, partition])
  return [row.errorCode, row.leaderEpoch, row.endOffset]
}

test('each start has an epoch of its own, and all APIs of a broker agree about the epochs', async t => {
  let broker: TestBroker = await startBroker(t)
  await createTopic(broker, 't', 1)
  const dir = broker.dir
  // Epochs 1 and 4 have records. The epochs of two other starts have no records.
  const restart = async () => {
    await broker.broker.close()
    broker = await startBroker(t, {}, { dir })
    return broker.connect()
  }
  let wire = await broker.connect()
  await produceTo(wire, batchOf(['a', 'b', 'c']))
  for (let i = 0; i < 3; i++) wire = await restart()
  await produceTo(wire, batchOf(['d', 'e']))
  wire = await restart()

  for (let version = 2; version <= 4; version++) {
    assert.deepEqual(await ask(wire, 1, { version }), [NONE, 1, 3])
  }
  assert.deepEqual(await ask(wire, 2), [NONE, 1, 3], 'an epoch without records ends where the one before does')
  assert.deepEqual(await ask(wire, 3), [NONE, 1, 3])
  assert.deepEqual(await ask(wire, 4), [NONE, 4, 5])
  assert.deepEqual(await ask(wire, 5), [NONE, 5, 5], 'the newest ends at the end of the log')
  assert.deepEqual(await ask(wire, 6), [NONE, -1, -1])
  assert.deepEqual(await ask(wire, -1), [NONE, -1, -1])
  await produceTo(wire, batchOf(['f']))
  assert.deepEqual(await ask(wire, 5), [NONE, 5, 6])

  const inBatches = splitBatches((await fetchOne(wire, 0, { minBytes: 1 })).records!).map(
    ({ bytes }) => viewBatch(bytes).leaderEpoch,
  )
  assert.deepEqual(inBatches, [1, 4, 5])
  const { topics } = await wire.send(metadata, 9, { topics: [{ name: 't' }] })
  assert.equal(topics[0]!.partitions[0]!.leaderEpoch, 5)
  const epochOf = async (timestamp: number) => {
    const partitions = [{ partitionIndex: 0, timestamp }]
    const answer = await wire.send(listOffsets, 5, { replicaId: -1, topics: [{ name: 't', partitions }] })
    return answer.topics[0]!.partitions[0]!.leaderEpoch
  }
  assert.deepEqual([await epochOf(-1), await epochOf(-2)], [5, 1])

  // The log start passes epoch 1: an older epoch than any that is left ends where the log begins.
  const trim = async (offset: number) => {
    const partitions = [{ partitionIndex: 0, offset }]
    await wire.send(deleteRecords, 2, { topics: [{ name: 't', partitions }], timeoutMs: 5000 })
  }
  await trim(4)
  const expected = [
    [NONE, 1, 4],
    [NONE, 4, 5],
    [NONE, 5, 6],
  ]
  assert.deepEqual([await ask(wire, 1), await ask(wire, 4), await ask(wire, 5)], expected)
  assert.equal(await epochOf(-2), 4)
  wire = await restart()
  assert.deepEqual([await ask(wire, 1), await ask(wire, 4), await ask(wire, 5)], expected)
  assert.deepEqual(await ask(wire, 6), [NONE, 6, 6])
})

test('a client gets an error if its own epoch is old or not known yet, or if it names an unknown partition', async t => {
  const broker = await startBroker(t)
  await createTopic(broker, 't', 1)
  const wire = await broker.connect()
  assert.deepEqual(await ask(wire, 1, { currentLeaderEpoch: 1 }), [NONE, 1, 0])
  assert.deepEqual(await ask(wire, 1, { currentLeaderEpoch: 0 }), [FENCED_LEADER_EPOCH.code, -1, -1])
  assert.deepEqual(await ask(wire, 1, { currentLeaderEpoch: 2 }), [UNKNOWN_LEADER_EPOCH.code, -1, -1])
  assert.deepEqual(await ask(wire, 1, { partition: 9 }), [UNKNOWN_TOPIC_OR_PARTITION.code, -1, -1])
  assert.deepEqual(await ask(wire, 1, { topic: 'nowhere' }), [UNKNOWN_TOPIC_OR_PARTITION.code, -1, -1])
})
