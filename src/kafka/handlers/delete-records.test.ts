import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { startBroker } from '../../../testing/broker.ts'
import { eventually } from '../../../testing/eventually.ts'
import { batchOf, fetchOne, produceTo, startGround, valuesOf } from '../../../testing/kafka.ts'
import { createTopic } from '../../../testing/topic.ts'
import type { Wire } from '../../../testing/wire.ts'
import {
  INVALID_REQUEST,
  KAFKA_STORAGE_ERROR,
  NONE,
  OFFSET_OUT_OF_RANGE,
  REQUEST_TIMED_OUT,
  UNKNOWN_TOPIC_OR_PARTITION,
} from '../../protocol/errors.ts'
import { deleteRecords } from '../../protocol/messages/delete-records.ts'
import { listOffsets } from '../../protocol/messages/list-offsets.ts'

interface Asked {
  readonly version?: number
  readonly partitions?: readonly number[]
  readonly timeoutMs?: number
}

async function remove(wire: Wire, offset: number, { version = 2, partitions = [0], timeoutMs = 5000 }: Asked = {}) {
  const { topics } = await wire.send(deleteRecords, version, {
    topics: [{ name: 't', partitions: partitions.map(partitionIndex => ({ partitionIndex, offset })) }],
    timeoutMs,
  })
  return topics[0]!.partitions.map(each => [each.partitionIndex, each.errorCode, each.lowWatermark])
}

async function earliest(wire: Wire) {
  const partitions = [{ partitionIndex: 0, timestamp: -2 }]
  return (await wire.send(listOffsets, 4, { replicaId: -1, topics: [{ name: 't', partitions }] })).topics[0]!
    .partitions[0]!.offset
}

async function open(t: TestContext) {
  const ground = await startGround(t)
  const wire = await ground.connect()
  for (let i = 0; i < 4; i++) await produceTo(wire, batchOf([`${3 * i}`, `${3 * i + 1}`, `${3 * i + 2}`]))
  return { ground, wire }
}

test('records below an offset are deleted, in every version; the batch that contains the offset stays whole', async t => {
  const { wire } = await open(t)
  for (const [version, offset] of [2, 4, 6].entries()) {
    assert.deepEqual(await remove(wire, offset, { version }), [[0, NONE, offset]])
    assert.equal(await earliest(wire), offset)
    assert.equal((await fetchOne(wire, offset - 1)).errorCode, OFFSET_OUT_OF_RANGE.code)
    const { errorCode, logStartOffset, highWatermark } = await fetchOne(wire, offset)
    assert.deepEqual([errorCode, logStartOffset, highWatermark], [NONE, offset, 12])
  }
  assert.deepEqual((await valuesOf(await fetchOne(wire, 7)))[0], [6, '6'])
  assert.deepEqual(await remove(wire, 3), [[0, NONE, 6]], 'what is gone already')
})

test('-1 deletes up to the high watermark, and the offsets go on', async t => {
  const { wire } = await open(t)
  assert.deepEqual(await remove(wire, -1), [[0, NONE, 12]])
  assert.equal((await fetchOne(wire, 11)).errorCode, OFFSET_OUT_OF_RANGE.code)
  assert.equal((await produceTo(wire, batchOf(['x']))).baseOffset, 12)
  assert.deepEqual(await valuesOf(await fetchOne(wire, 12)), [[12, 'x']])
})

test('a row has an error if its records cannot be deleted', async t => {
  const { wire } = await open(t)
  assert.deepEqual(await remove(wire, 13), [[0, OFFSET_OUT_OF_RANGE.code, -1]])
  assert.deepEqual(await remove(wire, -2), [[0, OFFSET_OUT_OF_RANGE.code, -1]])
  assert.deepEqual(await remove(wire, 2, { partitions: [0, 9] }), [
    [0, NONE, 2],
    [9, UNKNOWN_TOPIC_OR_PARTITION.code, -1],
  ])
  assert.deepEqual(await remove(wire, 3, { partitions: [0, 0] }), [
    [0, INVALID_REQUEST.code, -1],
    [0, INVALID_REQUEST.code, -1],
  ])
  assert.equal(await earliest(wire), 2)
})

test('a fetch that waits below the new log start is answered at once; a fetch at the end keeps waiting', async t => {
  const { ground, wire } = await open(t)
  const [below, atEnd] = [await ground.connect(), await ground.connect()]
  const waiting = fetchOne(below, 0, { maxWaitMs: 20_000, minBytes: 1_000_000 })
  const parked = fetchOne(atEnd, 12, { maxWaitMs: 20_000 })
  await eventually('both fetches are there', async () => (await ground.received('Fetch')) >= 2)
  await remove(wire, 5)
  assert.equal((await waiting).errorCode, OFFSET_OUT_OF_RANGE.code)
  await produceTo(wire, batchOf(['x']))
  assert.deepEqual(await valuesOf(await parked), [[12, 'x']])
})

test('an unavailable store deletes nothing, a slow store deletes later, and the answer shows which', async t => {
  const { ground, wire } = await open(t)
  ground.store.faults.failNext('trim', 'unavailable')
  assert.deepEqual(await remove(wire, 5), [[0, KAFKA_STORAGE_ERROR.code, -1]])
  assert.equal(await earliest(wire), 0)
  ground.store.faults.failNext('trim', 'unknown-done')
  assert.deepEqual(await remove(wire, 5), [[0, KAFKA_STORAGE_ERROR.code, -1]])
  assert.deepEqual(await remove(wire, 5), [[0, NONE, 5]], 'asking again is safe')
  const release = ground.store.faults.hold('trim')
  assert.deepEqual(await remove(wire, 7, { timeoutMs: 5 }), [[0, REQUEST_TIMED_OUT.code, -1]])
  release()
  await eventually('the log start moves', async () => (await earliest(wire)) === 7)
})

test('deleted records stay deleted after a restart', async t => {
  const first = await startBroker(t)
  const wire = await first.connect()
  await createTopic(first, 't', 1)
  await produceTo(wire, batchOf(['a', 'b', 'c']))
  assert.deepEqual(await remove(wire, 2), [[0, NONE, 2]])
  await first.broker.close()
  const again = await startBroker(t, {}, { dir: first.dir })
  assert.equal(await earliest(await again.connect()), 2)
})
