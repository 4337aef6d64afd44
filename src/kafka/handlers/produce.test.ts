import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pattern } from '../../../testing/broker.ts'
import { createCluster } from '../../../testing/cluster.ts'
import { eventually } from '../../../testing/eventually.ts'
import { batchOf, fetchOne, produceTo, startGround, valuesOf } from '../../../testing/kafka.ts'
import { SimulatedClock } from '../../../testing/sim/clock.ts'
import { createTopic } from '../../../testing/topic.ts'
import { crc32c } from '../../base/crc32c.ts'
import {
  CORRUPT_MESSAGE,
  INVALID_PRODUCER_EPOCH,
  INVALID_RECORD,
  INVALID_REQUEST,
  INVALID_REQUIRED_ACKS,
  KAFKA_STORAGE_ERROR,
  MESSAGE_TOO_LARGE,
  NONE,
  OUT_OF_ORDER_SEQUENCE_NUMBER,
  REQUEST_TIMED_OUT,
  TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
  UNKNOWN_TOPIC_ID,
  UNKNOWN_TOPIC_OR_PARTITION,
  UNSUPPORTED_COMPRESSION_TYPE,
} from '../../protocol/errors.ts'
import { metadata } from '../../protocol/messages/metadata.ts'
import { produce } from '../../protocol/messages/produce.ts'

/** A batch that was changed after it was made, with its checksum put right. */
function changed(batch: Buffer, change: (bytes: Buffer) => void): Buffer {
  change(batch)
  batch.writeUInt32BE(crc32c(batch.subarray(21)), 17)
  return batch
}

test('each version is answered with the offset, and the fields that it has', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  const { topics } = await wire.send(metadata, 12, { topics: [{ name: 't' }] })
  for (let version = 3; version <= 13; version++) {
    const name = version < 13 ? { name: 't' } : { topicId: topics[0]!.topicId }
    const topicData = [{ ...name, partitionData: [{ index: 0, records: batchOf(['v']) }] }]
    const { responses } = await wire.send(produce, version, { acks: 1, timeoutMs: 1000, topicData })
    const { errorCode, baseOffset, logAppendTimeMs, logStartOffset, errorMessage } =
      responses[0]!.partitionResponses[0]!
    assert.deepEqual([errorCode, baseOffset, logAppendTimeMs, errorMessage], [NONE, version - 3, -1, null])
    assert.equal(logStartOffset, version < 5 ? -1 : 0)
  }
})

test('with log append time the answer and the records have the time of the broker', async t => {
  const clock = new SimulatedClock()
  const ground = await startGround(t, { topics: [pattern('*', { messageTimestampType: 'LogAppendTime' })] }, clock)
  const wire = await ground.connect()
  const row = await produceTo(wire, batchOf(['v'], {}, 5))
  assert.equal(row.logAppendTimeMs, clock.now())
})

test('acks other than -1, 0 and 1 are refused and nothing is written', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  for (const acks of [2, -2, 32767]) {
    assert.equal((await produceTo(wire, batchOf(['v']), { acks })).errorCode, INVALID_REQUIRED_ACKS.code)
  }
  assert.equal((await produceTo(wire, batchOf(['v']))).baseOffset, 0)
})

test('records that are not one whole batch are refused with a code and a message, and other partitions are written', async t => {
  const ground = await startGround(t, { topics: [pattern('*', { partitions: 2 })] })
  const wire = await ground.connect()
  const broken = batchOf(['v'])
  broken[broken.length - 1]! ^= 1
  const cases: [string, Buffer | null, number][] = [
    ['one bit', broken, CORRUPT_MESSAGE.code],
    ['null', null, INVALID_RECORD.code],
    ['no bytes', Buffer.alloc(0), INVALID_RECORD.code],
    ['a few bytes', Buffer.alloc(20), INVALID_RECORD.code],
    ['two batches', Buffer.concat([batchOf(['a']), batchOf(['b'])]), INVALID_RECORD.code],
    ['cut short', batchOf(['v']).subarray(0, 65), INVALID_RECORD.code],
    ...[0, 1, 3].map((magic): [string, Buffer, number] => [
      `magic ${magic}`,
      changed(batchOf(['v']), bytes => bytes.writeInt8(magic, 16)),
      INVALID_RECORD.code,
    ]),
    ...[0, -1, 0x7fffffff, 2].map((count): [string, Buffer, number] => [
      `count ${count}`,
      changed(batchOf(['v']), bytes => bytes.writeInt32BE(count, 57)),
      INVALID_RECORD.code,
    ]),
    ['delete horizon', changed(batchOf(['v']), bytes => bytes.writeInt16BE(0x40, 21)), INVALID_RECORD.code],
    ['last offset delta', changed(batchOf(['v']), bytes => bytes.writeInt32BE(5, 23)), INVALID_RECORD.code],
    [
      'control',
      batchOf(['v'], { isControl: true, producerId: 1, producerEpoch: 0, baseSequence: 0 }),
      INVALID_RECORD.code,
    ],
    ['transactional without id', batchOf(['v'], { isTransactional: true }), INVALID_RECORD.code],
    ['sequence -1', batchOf(['v'], { producerId: 1, producerEpoch: 0, baseSequence: -1 }), INVALID_RECORD.code],
    ['epoch -1', batchOf(['v'], { producerId: 1, producerEpoch: -1, baseSequence: 0 }), INVALID_PRODUCER_EPOCH.code],
    ...[5, 6, 7].map((codec): [string, Buffer, number] => [
      `codec ${codec}`,
      changed(batchOf(['v']), bytes => bytes.writeInt16BE(codec, 21)),
      UNSUPPORTED_COMPRESSION_TYPE.code,
    ]),
  ]
  for (const [at, [name, records, code]] of cases.entries()) {
    const partitionData = [
      { index: 0, records },
      { index: 1, records: batchOf(['good']) },
    ]
    const { responses } = await wire.send(produce, 9, {
      acks: -1,
      timeoutMs: 1000,
      topicData: [{ name: 't', partitionData }],
    })
    const [bad, good] = responses[0]!.partitionResponses
    assert.deepEqual([bad!.errorCode, bad!.baseOffset], [code, -1], name)
    assert.ok(bad!.errorMessage !== null && bad!.errorMessage.length > 10, name)
    assert.deepEqual([good!.errorCode, good!.baseOffset], [NONE, at], name)
  }
})

test('the base offset that a client writes is ignored', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  const batch = batchOf(['v'])
  batch.writeBigInt64BE(77n, 0)
  assert.equal((await produceTo(wire, batch)).baseOffset, 0)
})

test('zstd needs version 7', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  const batch = () => batchOf(['v'.repeat(500)], { compression: 'zstd' })
  for (let version = 3; version < 7; version++) {
    const { errorCode } = await produceTo(wire, batch(), { version })
    assert.equal(errorCode, UNSUPPORTED_COMPRESSION_TYPE.code)
  }
  assert.equal((await produceTo(wire, batch(), { version: 7 })).errorCode, NONE)
})

test('batches of every codec are accepted and returned unchanged', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  for (const [offset, compression] of (['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const).entries()) {
    const value = `${compression} `.repeat(100)
    const batch = batchOf([value], { compression })
    assert.equal((await produceTo(wire, batch)).baseOffset, offset)
    const row = await fetchOne(wire, offset)
    assert.deepEqual(row.records!.subarray(16), batch.subarray(16))
    assert.deepEqual(await valuesOf(row), [[offset, value]])
  }
})

test('a batch above max.message.bytes is too large', async t => {
  const ground = await startGround(t, { topics: [pattern('*', { maxMessageBytes: 1000 })] })
  const wire = await ground.connect()
  const row = await produceTo(wire, batchOf([Buffer.alloc(1000)]))
  assert.equal(row.errorCode, MESSAGE_TOO_LARGE.code)
  assert.match(row.errorMessage!, /max\.message\.bytes/)
})

test('a transactional id, or a transactional batch, is refused while there are no transactions', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  const code = TRANSACTIONAL_ID_AUTHORIZATION_FAILED.code
  assert.equal((await produceTo(wire, batchOf(['v']), { transactionalId: 'x' })).errorCode, code)
  const batch = batchOf(['v'], { isTransactional: true, producerId: 1, producerEpoch: 0, baseSequence: 0 })
  assert.equal((await produceTo(wire, batch)).errorCode, code)
})

test('a partition that is named twice is refused in both rows, and nothing is written', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  const row = { index: 0, records: batchOf(['v']) }
  for (const topicData of [
    [{ name: 't', partitionData: [row, row] }],
    [
      { name: 't', partitionData: [row] },
      { name: 't', partitionData: [row] },
    ],
  ]) {
    const { responses } = await wire.send(produce, 9, { acks: -1, timeoutMs: 1000, topicData })
    const codes = responses.flatMap(each => each.partitionResponses.map(found => found.errorCode))
    assert.deepEqual(codes, [INVALID_REQUEST.code, INVALID_REQUEST.code])
  }
  assert.equal((await produceTo(wire, batchOf(['v']))).baseOffset, 0)
})

test('unknown topics, partitions and ids have errors in their rows', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  const partitionData = [{ index: 0, records: batchOf(['v']) }]
  const body = { acks: -1, timeoutMs: 1000 }
  const { responses } = await wire.send(produce, 9, { ...body, topicData: [{ name: 'nope', partitionData }] })
  assert.equal(responses[0]!.partitionResponses[0]!.errorCode, UNKNOWN_TOPIC_OR_PARTITION.code)
  assert.equal((await produceTo(wire, batchOf(['v']), { index: 5 })).errorCode, UNKNOWN_TOPIC_OR_PARTITION.code)
  assert.equal((await produceTo(wire, batchOf(['v']), { index: -1 })).errorCode, UNKNOWN_TOPIC_OR_PARTITION.code)
  for (const topicId of ['AAAAAAAAAAAAAAAAAAAAAA', 'abcdefghijklmnopqrstuQ']) {
    const byId = await wire.send(produce, 13, { ...body, topicData: [{ topicId, partitionData }] })
    assert.equal(byId.responses[0]!.partitionResponses[0]!.errorCode, UNKNOWN_TOPIC_ID.code)
  }
})

test('ten thousand partitions of a byte each are refused in their rows', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  const partitionData = Array.from({ length: 10_000 }, (_, index) => ({ index, records: Buffer.of(1) }))
  const { responses } = await wire.send(produce, 9, {
    acks: -1,
    timeoutMs: 1000,
    topicData: [{ name: 't', partitionData }],
  })
  assert.equal(responses[0]!.partitionResponses.length, 10_000)
  for (const row of responses[0]!.partitionResponses) assert.notEqual(row.errorCode, NONE)
})

test('a sequence gap is out of order, a repeat answers the first offset', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  const batch = (baseSequence: number) => batchOf(['v'], { producerId: 9, producerEpoch: 0, baseSequence })
  assert.equal((await produceTo(wire, batch(0))).baseOffset, 0)
  assert.equal((await produceTo(wire, batch(1))).baseOffset, 1)
  assert.equal((await produceTo(wire, batch(3))).errorCode, OUT_OF_ORDER_SEQUENCE_NUMBER.code)
  const repeat = await produceTo(wire, batch(0))
  assert.deepEqual([repeat.errorCode, repeat.baseOffset], [NONE, 0])
})

test('batches stay behind one that came before its topic', async t => {
  const ground = await startGround(t, { topics: [pattern('*', { autoCreate: false }), pattern('t')] })
  const wire = await ground.connect()
  const send = async (baseSequence: number) => {
    const records = batchOf(['v'], { producerId: 9, producerEpoch: 0, baseSequence })
    const topicData = [{ name: 'later', partitionData: [{ index: 0, records }] }]
    const { responses } = await wire.send(produce, 9, { acks: -1, timeoutMs: 1000, topicData })
    return responses[0]!.partitionResponses[0]!.errorCode
  }
  assert.equal(await send(0), UNKNOWN_TOPIC_OR_PARTITION.code)
  await createTopic(ground, 'later', 1)
  assert.equal(await send(1), OUT_OF_ORDER_SEQUENCE_NUMBER.code)
  assert.deepEqual([await send(0), await send(1)], [NONE, NONE])
})

test('if a topic cannot be looked up, only its rows are refused, and batches after its first batch stay behind it', async t => {
  const cluster = createCluster(t, { topics: [pattern('*', { autoCreate: false }), pattern('t')] })
  // Without the registry, whose first look at a new topic asks the store too.
  const broker = await cluster.start(1, { 'schema-registry.enabled': false })
  const wire = await broker.connect()
  await createTopic(broker, 't', 1)
  const send = async (names: readonly string[], baseSequence: number) => {
    const topicData = names.map(name => {
      const records = batchOf(['v'], { producerId: 9, producerEpoch: 0, baseSequence })
      return { name, partitionData: [{ index: 0, records }] }
    })
    const { responses } = await wire.send(produce, 9, { acks: -1, timeoutMs: 1000, topicData })
    return responses.map(({ partitionResponses }) => partitionResponses[0]!.errorCode)
  }
  // A keeper that looks at its documents meanwhile meets the fault too.
  const recover = broker.store.faults.failNext('version', 'unavailable', 1_000)
  assert.deepEqual(await send(['t', 'later'], 0), [NONE, KAFKA_STORAGE_ERROR.code])
  recover()
  await createTopic(broker, 'later', 1)
  assert.deepEqual(await send(['later'], 1), [OUT_OF_ORDER_SEQUENCE_NUMBER.code])
  assert.deepEqual([await send(['later'], 0), await send(['later'], 1)], [[NONE], [NONE]])
})

test('an append takes at most the smaller of the two timeouts, and is then REQUEST_TIMED_OUT in its row', async t => {
  for (const [settingMs, clientMs, expectedMs] of [
    [5000, 1000, 1000],
    [1000, 5000, 1000],
    [1000, 0, 1000],
    [1000, -1, 1000],
    [1000, 0x7fffffff, 1000],
    [0, 1000, 1000],
  ] as const) {
    const clock = new SimulatedClock()
    const ground = await startGround(t, { 'broker.produce-timeout': settingMs }, clock)
    const wire = await ground.connect()
    const release = ground.store.faults.hold('append')
    let isAnswered = false
    const answer = produceTo(wire, batchOf(['v']), { timeoutMs: clientMs }).finally(() => {
      isAnswered = true
    })
    await eventually('the produce is in flight', async () => (await ground.received('Produce')) === 1)
    await clock.advance(expectedMs - 1)
    assert.equal(isAnswered, false)
    await clock.advance(1)
    assert.equal((await answer).errorCode, REQUEST_TIMED_OUT.code)
    assert.equal(await ground.sample('svc_broker_request_seconds_count{api_key="Produce",result="timeout"}'), 1)
    release()
  }
})

test('while the store is unavailable, producers get a code after which they retry', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  ground.store.faults.failNext('append', 'unavailable')
  const row = await produceTo(wire, batchOf(['v']))
  assert.equal(row.errorCode, KAFKA_STORAGE_ERROR.code)
  assert.equal((await produceTo(wire, batchOf(['v']))).baseOffset, 0)
})

test('a request that the broker could not carry out counts as failed, even if other partitions have no error', async t => {
  const ground = await startGround(t, { topics: [pattern('*', { partitions: 2 })] })
  const wire = await ground.connect()
  const requests = (result: string) =>
    ground.sample(`svc_broker_request_seconds_count{api_key="Produce",result="${result}"}`)
  const partitionData = [0, 1].map(index => ({ index, records: batchOf(['a', 'b']) }))
  ground.store.faults.failNext('append', 'unavailable')
  const topicData = [{ name: 't', partitionData }]
  const { responses } = await wire.send(produce, 9, { acks: -1, timeoutMs: 1000, topicData })
  const codes = responses[0]!.partitionResponses.map(({ errorCode }) => errorCode)
  assert.deepEqual(codes, [KAFKA_STORAGE_ERROR.code, NONE])
  assert.deepEqual([await requests('error'), await ground.failures('Produce', 'KAFKA_STORAGE_ERROR')], [1, 1])
  assert.equal(await ground.sample('svc_broker_produce_records_total{topic="t"}'), 2, 'what was written counts')
  // A mistake of the client is no fault of the broker.
  assert.equal((await produceTo(wire, batchOf(['v']), { index: 9 })).errorCode, UNKNOWN_TOPIC_OR_PARTITION.code)
  assert.equal(await requests('success'), 1)
  assert.equal(await ground.failures('Produce', 'UNKNOWN_TOPIC_OR_PARTITION'), 0)
})
