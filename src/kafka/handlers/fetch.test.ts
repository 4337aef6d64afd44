import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pattern, startBroker } from '../../../testing/broker.ts'
import { eventually } from '../../../testing/eventually.ts'
import { batchOf, fetchFrom, fetchOne, type Ground, produceTo, startGround, valuesOf } from '../../../testing/kafka.ts'
import { SimulatedClock } from '../../../testing/sim/clock.ts'
import { createMemoryStore } from '../../../testing/sim/memory-store.ts'
import type { Wire } from '../../../testing/wire.ts'
import { systemClock } from '../../base/clock.ts'
import {
  FENCED_LEADER_EPOCH,
  NONE,
  OFFSET_OUT_OF_RANGE,
  REQUEST_TIMED_OUT,
  UNKNOWN_LEADER_EPOCH,
  UNKNOWN_TOPIC_ID,
  UNKNOWN_TOPIC_OR_PARTITION,
  UNSUPPORTED_COMPRESSION_TYPE,
} from '../../protocol/errors.ts'
import { deleteRecords } from '../../protocol/messages/delete-records.ts'
import { deleteTopics } from '../../protocol/messages/delete-topics.ts'
import { fetch } from '../../protocol/messages/fetch.ts'
import { listOffsets } from '../../protocol/messages/list-offsets.ts'
import { metadata } from '../../protocol/messages/metadata.ts'
import { produce } from '../../protocol/messages/produce.ts'
import { splitBatches } from '../../protocol/records.ts'
import { expectKind } from '../../store/examples.ts'
import { type Store, streamId } from '../../store/store.ts'

const topicsOf = (ids: readonly (readonly [string, number, number?])[]) =>
  ids.map(([topic, fetchOffset, partitionMaxBytes = 1_000_000]) => ({
    topic,
    partitions: [{ partition: 0, fetchOffset, partitionMaxBytes }],
  }))

async function produceInto(wire: Wire, topic: string, values: readonly (string | Buffer)[]): Promise<void> {
  await wire.send(metadata, 4, { topics: [{ name: topic }] })
  const topicData = [{ name: topic, partitionData: [{ index: 0, records: batchOf(values) }] }]
  await wire.send(produce, 9, { acks: -1, timeoutMs: 10_000, topicData })
}

test('what was produced is read back, in every version, with the watermarks', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  await produceTo(wire, batchOf(['a', 'b']))
  const { topics } = await wire.send(metadata, 12, { topics: [{ name: 't' }] })
  const topicId = topics[0]!.topicId
  for (let version = fetch.versions.min; version <= fetch.versions.max; version++) {
    const asked = { partitions: [{ partition: 0, fetchOffset: 0, partitionMaxBytes: 1000 }] }
    const body = {
      maxWaitMs: 0,
      minBytes: 1,
      topics: [version < 13 ? { ...asked, topic: 't' } : { ...asked, topicId }],
    }
    const { responses, sessionId, errorCode } = await wire.send(fetch, version, body)
    const row = responses[0]!.partitions[0]!
    assert.deepEqual(await valuesOf(row), [
      [0, 'a'],
      [1, 'b'],
    ])
    assert.deepEqual([errorCode, sessionId, row.errorCode, row.highWatermark, row.lastStableOffset], [0, 0, 0, 2, 2])
    assert.equal(row.logStartOffset, version < 5 ? -1 : 0)
    assert.equal(version < 13 ? responses[0]!.topic : responses[0]!.topicId, version < 13 ? 't' : topicId)
  }
})

for (const [place, settings] of [
  ['memory', {}],
  ['the store', { 'storage.local.tail-cache-bytes': 0 }],
] as const) {
  test(`below version 10 a partition in ${place} answers what lies before a batch in zstd, and then UNSUPPORTED_COMPRESSION_TYPE`, async t => {
    const ground = await startGround(t, settings)
    const wire = await ground.connect()
    for (const compression of ['none', 'gzip', 'zstd', 'lz4'] as const) {
      await produceTo(wire, batchOf([compression], { compression }))
    }
    await produceInto(wire, 'u', ['beside it'])
    for (let version = fetch.versions.min; version <= 12; version++) {
      const values = async (offset: number) => {
        const row = await fetchOne(wire, offset, { version })
        return row.errorCode === NONE ? (await valuesOf(row)).map(([, value]) => value) : row.errorCode
      }
      const isKnown = version >= 10
      assert.deepEqual(await values(0), isKnown ? ['none', 'gzip', 'zstd', 'lz4'] : ['none', 'gzip'])
      assert.deepEqual(await values(2), isKnown ? ['zstd', 'lz4'] : UNSUPPORTED_COMPRESSION_TYPE.code)
      assert.deepEqual(await values(3), ['lz4'])
      // The partitions beside it are answered.
      const topics = topicsOf([
        ['t', 2],
        ['u', 0],
      ])
      const { responses } = await wire.send(fetch, version, { maxWaitMs: 500, minBytes: 1, maxBytes: 1e6, topics })
      const codes = responses.map(({ partitions }) => partitions[0]!.errorCode)
      assert.deepEqual(codes, [isKnown ? NONE : UNSUPPORTED_COMPRESSION_TYPE.code, NONE])
      assert.deepEqual(await valuesOf(responses[1]!.partitions[0]!), [[0, 'beside it']])
    }
  })
}

test('where a log end has moved forward over offsets, a fetch continues behind them, below version 5 once records follow', async t => {
  const store: Store = createMemoryStore(systemClock)
  const openStore = async () => Object.assign(Object.create(store) as Store, { close: async () => {} })
  const former = await startBroker(t, {}, { openStore })
  const { topics } = await (await former.connect()).send(metadata, 12, { topics: [{ name: 't' }] })
  await former.broker.close()
  expectKind(await store.open(streamId(topics[0]!.topicId, 0), 0, 50), 'opened')
  const broker = await startBroker(t, {}, { openStore })
  const wire = await broker.connect()
  const found = async (version: number) => {
    const { highWatermark, records } = await fetchOne(wire, 10, { version, maxWaitMs: 0 })
    const batches = splitBatches(records ?? Buffer.alloc(0)).map(({ baseOffset, lastOffset }) => [
      baseOffset,
      lastOffset,
    ])
    return [highWatermark, ...batches]
  }
  await eventually('it is led', async () => (await found(12))[0] === 50)
  for (let version = fetch.versions.min; version <= 12; version++) {
    assert.deepEqual(await found(version), version < 5 ? [50] : [50, [10, 49]])
  }
  const old = fetchOne(wire, 10, { version: 4, maxWaitMs: 30_000 })
  await produceTo(await broker.connect(), batchOf(['b']))
  assert.deepEqual(await valuesOf(await old), [[50, 'b']])
})

test('a batch that only the store compresses with zstd is fetched in every version', async t => {
  const ground = await startGround(t, {
    'storage.local.tail-cache-bytes': 0,
    'storage.local.compression.codec': 'zstd',
  })
  const wire = await ground.connect()
  await produceTo(wire, batchOf(['x'.repeat(5_000)]))
  assert.deepEqual(await valuesOf(await fetchOne(wire, 0, { version: 4 })), [[0, 'x'.repeat(5_000)]])
})

test('an offset inside a batch gets the whole batch', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  await produceTo(wire, batchOf(['a', 'b', 'c', 'd']))
  await produceTo(wire, batchOf(['e']))
  const values = await valuesOf(await fetchOne(wire, 2))
  assert.deepEqual(values[0], [0, 'a'])
  assert.deepEqual(values.at(-1), [4, 'e'])
})

test('the first partition with records returns one batch even if the limits are smaller, and later ones obey the limits', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  await wire.send(metadata, 4, { topics: [{ name: 'empty' }] })
  for (const topic of ['one', 'two']) {
    await produceInto(wire, topic, [Buffer.alloc(10_000)])
    await produceInto(wire, topic, [Buffer.alloc(10_000)])
  }
  const topics = topicsOf([
    ['empty', 0, 1],
    ['one', 0, 1],
    ['two', 0, 1],
  ])
  for (const maxBytes of [1, 0, 5000, 15_000]) {
    const { responses } = await wire.send(fetch, 12, { maxWaitMs: 0, minBytes: 1, maxBytes, topics })
    const sizes = responses.map(each => each.partitions[0]!.records!.length)
    assert.deepEqual([sizes[0], sizes[1]! > 10_000, sizes[1]! < 20_000, sizes[2]], [0, true, true, 0], `${maxBytes}`)
  }
  const enough = await wire.send(fetch, 12, {
    maxWaitMs: 0,
    minBytes: 1,
    topics: topicsOf([
      ['one', 0],
      ['two', 0],
    ]),
  })
  for (const each of enough.responses) assert.ok(each.partitions[0]!.records!.length > 20_000)
})

test('the whole answer stays below the limit of the broker, even if the client asks for more', async t => {
  const ground = await startGround(t, { 'broker.fetch-max-bytes': 25_000 })
  const wire = await ground.connect()
  for (let i = 0; i < 5; i++) await produceTo(wire, batchOf([Buffer.alloc(10_000)]))
  const row = await fetchOne(wire, 0, { maxBytes: 0x7fffffff })
  assert.ok(row.records!.length > 20_000 && row.records!.length < 25_000)
})

test('a request without a size for a partition gets the default of the broker', async t => {
  const ground = await startGround(t, { 'broker.fetch-partition-max-bytes': 15_000 })
  const wire = await ground.connect()
  for (let i = 0; i < 3; i++) await produceTo(wire, batchOf([Buffer.alloc(10_000)]))
  for (const partitionMaxBytes of [0, -1]) {
    const { responses } = await wire.send(fetch, 12, fetchFrom(0, { topics: topicsOf([['t', 0, partitionMaxBytes]]) }))
    assert.ok(responses[0]!.partitions[0]!.records!.length < 15_000)
  }
})

test('a fetch waits for its minimum of bytes and is woken by the append that makes it', async t => {
  const ground = await startGround(t, { 'broker.fetch-max-wait': 60_000 })
  const [consumer, producer] = [await ground.connect(), await ground.connect()]
  const first = batchOf([Buffer.alloc(600)])
  await produceTo(producer, first)
  let isAnswered = false
  const waiting = fetchOne(consumer, 0, { maxWaitMs: 60_000, minBytes: 1500 }).finally(() => {
    isAnswered = true
  })
  await eventually('the fetch is in flight', async () => (await ground.received('Fetch')) === 1)
  await produceTo(producer, first)
  assert.equal(isAnswered, false)
  await produceTo(producer, first)
  assert.equal((await waiting).records!.length, 3 * first.length)
})

test('a fetch that finds nothing is answered empty when its wait is over, with its watermark', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  await produceTo(wire, batchOf(['a']))
  const row = await fetchOne(wire, 1, { maxWaitMs: 5 })
  assert.deepEqual([row.errorCode, row.highWatermark, row.records!.length], [NONE, 1, 0])
})

test('the wait is never longer than the broker allows', async t => {
  const ground = await startGround(t, { 'broker.fetch-max-wait': 5 })
  const wire = await ground.connect()
  for (const maxWaitMs of [0x7fffffff, 1]) assert.equal((await fetchOne(wire, 0, { maxWaitMs })).errorCode, NONE)
})

test('a fetch that asks for more bytes than an answer may have does not wait for them', async t => {
  const ground = await startGround(t, { 'broker.fetch-max-wait': 60_000 })
  const wire = await ground.connect()
  await produceTo(wire, batchOf([Buffer.alloc(1000)]))
  const row = await fetchOne(wire, 0, { maxWaitMs: 60_000, minBytes: 0x7fffffff, maxBytes: 500 })
  assert.ok(row.records!.length > 1000)
})

test('an append between the read and the wait is not missed', async t => {
  const ground = await startGround(t, { 'broker.fetch-max-wait': 60_000 })
  const [consumer, producer] = [await ground.connect(), await ground.connect()]
  for (let offset = 0; offset < 100; offset++) {
    const [row] = await Promise.all([
      fetchOne(consumer, offset, { maxWaitMs: 60_000 }),
      produceTo(producer, batchOf([`v${offset}`])),
    ])
    assert.deepEqual(await valuesOf(row), [[offset, `v${offset}`]])
  }
})

test('an offset out of range is answered at once, and delays no other partition', async t => {
  const ground = await startGround(t, { 'broker.fetch-max-wait': 60_000 })
  const wire = await ground.connect()
  await produceTo(wire, batchOf(['a']))
  for (const offset of [-1, -2, 2, 2 ** 53 - 1]) {
    const row = await fetchOne(wire, offset, { maxWaitMs: 60_000 })
    assert.deepEqual([row.errorCode, row.highWatermark, row.records!.length], [OFFSET_OUT_OF_RANGE.code, -1, 0])
  }
})

test('offsets beyond the safe integers of JavaScript are out of range', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  for (const hex of ['7fffffffffffffff', '0020000000000001', '8000000000000000']) {
    const head = Buffer.from(
      '0001000400000005ffffffffffff000000000000000100ffffff00000000010001740000000100000000',
      'hex',
    )
    const body = Buffer.concat([head, Buffer.from(hex, 'hex'), Buffer.from('000fffff', 'hex')])
    const size = Buffer.alloc(4)
    size.writeInt32BE(body.length)
    await wire.raw(Buffer.concat([size, body]))
    const answer = await wire.answer()
    // correlation id, throttle, one topic `t`, one partition with index 0, error code.
    assert.equal(answer.readInt16BE(4 + 4 + 4 + 3 + 4 + 4), OFFSET_OUT_OF_RANGE.code)
  }
})

test('a leader epoch that is not the partition’s is fenced or unknown', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  await produceTo(wire, batchOf(['a']))
  const { topics } = await wire.send(metadata, 9, { topics: [{ name: 't' }] })
  const { leaderEpoch } = topics[0]!.partitions[0]!
  const ask = async (currentLeaderEpoch: number) => {
    const partitions = [{ partition: 0, fetchOffset: 0, partitionMaxBytes: 1000, currentLeaderEpoch }]
    const { responses } = await wire.send(fetch, 12, fetchFrom(0, { topics: [{ topic: 't', partitions }] }))
    return responses[0]!.partitions[0]!.errorCode
  }
  assert.equal(await ask(leaderEpoch), NONE)
  assert.equal(await ask(-1), NONE)
  assert.equal(await ask(leaderEpoch - 1), FENCED_LEADER_EPOCH.code)
  assert.equal(await ask(leaderEpoch + 1), UNKNOWN_LEADER_EPOCH.code)
})

test('batches and ListOffsets carry the leader epoch that Metadata says', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  await produceTo(wire, batchOf(['a']))
  const { topics } = await wire.send(metadata, 9, { topics: [{ name: 't' }] })
  const row = await fetchOne(wire, 0)
  const { leaderEpoch } = topics[0]!.partitions[0]!
  assert.equal(row.records!.readInt32BE(12), leaderEpoch)
  for (const timestamp of [-1, -2, 0]) {
    const asked = [{ name: 't', partitions: [{ partitionIndex: 0, timestamp }] }]
    const found = await wire.send(listOffsets, 7, { replicaId: -1, isolationLevel: 0, topics: asked })
    assert.equal(found.topics[0]!.partitions[0]!.leaderEpoch, leaderEpoch)
  }
})

test('an unknown topic, partition or id has an error in its row, and the other rows are answered', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  await produceTo(wire, batchOf(['a']))
  const partitions = [0, 7].map(partition => ({ partition, fetchOffset: 0, partitionMaxBytes: 1000 }))
  const byName = await wire.send(fetch, 12, {
    maxWaitMs: 60_000,
    minBytes: 10_000,
    topics: [
      { topic: 'nope', partitions },
      { topic: 't', partitions },
    ],
  })
  const codes = byName.responses.map(each => each.partitions.map(row => row.errorCode))
  const missing = UNKNOWN_TOPIC_OR_PARTITION.code
  assert.deepEqual(codes, [
    [missing, missing],
    [NONE, missing],
  ])
  assert.equal((await valuesOf(byName.responses[1]!.partitions[0]!)).length, 1)
  for (const topicId of ['AAAAAAAAAAAAAAAAAAAAAA', 'abcdefghijklmnopqrstuQ']) {
    const byId = await wire.send(fetch, 13, { maxWaitMs: 0, minBytes: 1, topics: [{ topicId, partitions }] })
    assert.equal(byId.responses[0]!.partitions[0]!.errorCode, UNKNOWN_TOPIC_ID.code)
  }
})

test('a partition that is named twice is answered once, as its last row says', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  await produceTo(wire, batchOf(['a']))
  await produceTo(wire, batchOf(['b']))
  const topics = topicsOf([
    ['t', 0],
    ['t', 1],
  ])
  const { responses } = await wire.send(fetch, 12, { maxWaitMs: 0, minBytes: 1, topics })
  assert.equal(responses.length, 1)
  assert.deepEqual(await valuesOf(responses[0]!.partitions[0]!), [[1, 'b']])
})

test('readers of committed records get a list of aborted transactions, others none', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  await produceTo(wire, batchOf(['a']))
  assert.deepEqual((await fetchOne(wire, 0, { isolationLevel: 1 })).abortedTransactions, [])
  assert.equal((await fetchOne(wire, 0, { isolationLevel: 0 })).abortedTransactions, null)
})

test('a replica id grants nothing and costs nothing', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  await produceTo(wire, batchOf(['a']))
  assert.equal((await valuesOf(await fetchOne(wire, 0, { replicaId: 1 }))).length, 1)
})

test('a fetch of no partitions is answered at once', async t => {
  const ground = await startGround(t, { 'broker.fetch-max-wait': 60_000 })
  const wire = await ground.connect()
  const { responses } = await wire.send(fetch, 12, { maxWaitMs: 60_000, minBytes: 1, topics: [] })
  assert.deepEqual(responses, [])
})

test('a repeated fetch finds the records that arrived since, and then no records', async t => {
  const ground = await startGround(t, { topics: [pattern('*', { partitions: 4 })] })
  const [consumer, producer] = [await ground.connect(), await ground.connect()]
  const batch = batchOf(['a', 'b'])
  await produceTo(producer, batch)
  const partitions = [0, 1, 2, 3].map(partition => ({ partition, fetchOffset: 2, partitionMaxBytes: 1000 }))
  partitions[1]!.fetchOffset = 0
  const body = { maxWaitMs: 0, minBytes: 1, topics: [{ topic: 't', partitions: partitions.slice(0, 2) }] }
  const ask = async () => {
    const { responses } = await consumer.send(fetch, 11, body)
    return responses[0]!.partitions.map(row => [
      row.errorCode,
      row.records!.length,
      row.highWatermark,
      row.logStartOffset,
    ])
  }
  const nothing = [
    [NONE, 0, 2, 0],
    [NONE, 0, 0, 0],
  ]
  for (let time = 0; time < 3; time++) assert.deepEqual(await ask(), nothing)
  await produceTo(producer, batch, { index: 1 })
  const something = [
    [NONE, 0, 2, 0],
    [NONE, batch.length, 2, 0],
  ]
  for (let time = 0; time < 2; time++) assert.deepEqual(await ask(), something)
  partitions[1]!.fetchOffset = 2
  const waiting = [await ask(), await ask()]
  assert.deepEqual(waiting[1], [nothing[0], [NONE, 0, 2, 0]])
  assert.deepEqual(waiting[0], waiting[1])
  await producer.send(deleteRecords, 2, {
    topics: [{ name: 't', partitions: [{ partitionIndex: 0, offset: 1 }] }],
    timeoutMs: 10_000,
  })
  assert.deepEqual(await ask(), [
    [NONE, 0, 2, 1],
    [NONE, 0, 2, 0],
  ])
  await producer.send(deleteTopics, 5, { topicNames: ['t'], timeoutMs: 10_000 })
  assert.deepEqual(
    (await ask()).map(([code]) => code),
    Array(2).fill(UNKNOWN_TOPIC_OR_PARTITION.code),
  )
})

test('consumers that repeat the same fetch miss no records, whenever they arrive', async t => {
  const ground = await startGround(t, { 'broker.fetch-max-wait': 1, topics: [pattern('*', { partitions: 3 })] })
  const producer = await ground.connect()
  const batch = batchOf(['a'])
  const read = async () => {
    const consumer = await ground.connect()
    const partitions = [0, 1, 2].map(partition => ({ partition, fetchOffset: 0, partitionMaxBytes: 1000 }))
    const topics = [{ topic: 't', partitions }]
    for (let left = 30; left > 0; ) {
      const { responses } = await consumer.send(fetch, 11, { maxWaitMs: 500, minBytes: 1, topics })
      for (const row of responses[0]!.partitions) {
        const read = row.records!.length / batch.length
        partitions[row.partitionIndex]!.fetchOffset += read
        left -= read
      }
    }
    return partitions.map(({ fetchOffset }) => fetchOffset)
  }
  const consumers = Array.from({ length: 5 }, read)
  for (let at = 0; at < 30; at++) {
    await eventually('everybody has asked meanwhile', async () => (await ground.received('Fetch')) >= 10 * at)
    await produceTo(producer, batch, { index: at % 3 })
  }
  for (const offsets of await Promise.all(consumers)) assert.deepEqual(offsets, [10, 10, 10])
})

test('a different fetch of the same connection gets its own answer, and so does the first fetch when it is repeated', async t => {
  const ground = await startGround(t, { topics: [pattern('*', { partitions: 2 })] })
  const wire = await ground.connect()
  await produceTo(wire, batchOf(['a']))
  const empty = {
    maxWaitMs: 5,
    minBytes: 1,
    topics: [{ topic: 't', partitions: [{ partition: 1, fetchOffset: 0, partitionMaxBytes: 1000 }] }],
  }
  const found = async (body: typeof empty) => {
    const { responses } = await wire.send(fetch, 11, body)
    return responses[0]!.partitions.map(row => [row.partitionIndex, row.errorCode, row.records!.length > 0])
  }
  const other = structuredClone(empty)
  other.topics[0]!.partitions[0]!.partition = 0
  const beyond = structuredClone(empty)
  beyond.topics[0]!.partitions[0]!.fetchOffset = 7
  for (let time = 0; time < 2; time++) {
    assert.deepEqual(await found(empty), [[1, NONE, false]])
    assert.deepEqual(await found(empty), [[1, NONE, false]])
    assert.deepEqual(await found(other), [[0, NONE, true]])
    assert.deepEqual(await found(beyond), [[1, OFFSET_OUT_OF_RANGE.code, false]])
  }
})

test('deleting the topic ends the wait of those who read it', async t => {
  const ground = await startGround(t, { 'broker.fetch-max-wait': 60_000 })
  const [consumer, admin] = [await ground.connect(), await ground.connect()]
  const waiting = fetchOne(consumer, 0, { maxWaitMs: 60_000 })
  await eventually('the fetch is in flight', async () => (await ground.received('Fetch')) === 1)
  await admin.send(deleteTopics, 5, { topicNames: ['t'], timeoutMs: 10_000 })
  assert.equal((await waiting).errorCode, UNKNOWN_TOPIC_OR_PARTITION.code)
})

test('one fetch may name many partitions, and any of them wakes it', async t => {
  const ground = await startGround(t, { 'broker.fetch-max-wait': 60_000, topics: [pattern('*', { partitions: 100 })] })
  const [consumer, producer] = [await ground.connect(), await ground.connect()]
  const partitions = Array.from({ length: 100 }, (_, partition) => ({
    partition,
    fetchOffset: 0,
    partitionMaxBytes: 1000,
  }))
  const topics = [{ topic: 't', partitions }]
  const waiting = consumer.send(fetch, 12, { maxWaitMs: 60_000, minBytes: 1, topics })
  await eventually('the fetch is in flight', async () => (await ground.received('Fetch')) === 1)
  await produceTo(producer, batchOf(['x']), { index: 63 })
  const { responses } = await waiting
  const found = responses[0]!.partitions.filter(row => row.records!.length > 0)
  assert.deepEqual(
    found.map(row => row.partitionIndex),
    [63],
  )
  assert.equal(responses[0]!.partitions.length, 100)
})

test('old data comes from the store as it was, after the tail in memory has moved on', async t => {
  const ground = await startGround(t, { 'storage.local.tail-cache-bytes': 50_000 })
  const wire = await ground.connect()
  for (let i = 0; i < 20; i++) await produceTo(wire, batchOf([Buffer.alloc(10_000, i), `v${i}`]))
  const seen: string[] = []
  for (let offset = 0; offset < 40; ) {
    const values = await valuesOf(await fetchOne(wire, offset, { maxBytes: 35_000 }))
    for (const [, value] of values) if (value.startsWith('v')) seen.push(value)
    offset = values.at(-1)![0] + 1
  }
  assert.deepEqual(
    seen,
    Array.from({ length: 20 }, (_, i) => `v${i}`),
  )
  assert.ok(ground.store.calls.read > 0)
})

test('the memory of a read is given back when the network has taken the answer, and not before', async t => {
  const ground = await startGround(t, { 'storage.local.tail-cache-bytes': 0 })
  const wire = await ground.connect()
  for (let i = 0; i < 16; i++) await produceTo(wire, batchOf([Buffer.alloc(900_000, i)]))
  const { read } = ground.store
  let released = 0
  Object.assign(ground.store, {
    async read(...args: Parameters<typeof read>) {
      const found = await read(...args)
      if (found.kind !== 'read') return found
      const { release } = found
      return {
        ...found,
        release() {
          released++
          release?.()
        },
      }
    },
  })
  wire.socket.pause()
  const answer = fetchOne(wire, 0, { maxBytes: 50_000_000 })
  const pending = () => ground.sample('svc_broker_pending_bytes')
  await eventually('the answer waits for its client', async () => (await pending()) > 10_000_000)
  assert.equal(released, 0)
  wire.socket.resume()
  assert.equal((await valuesOf(await answer)).length, 16)
  await eventually('the memory is given back', async () => released === 1)
})

test('once an answer is full the store is not asked for the partitions that are left', async t => {
  const ground = await startGround(t, { 'storage.local.tail-cache-bytes': 0 })
  const wire = await ground.connect()
  const names = ['one', 'two', 'three']
  for (const name of names) await produceInto(wire, name, ['v'])
  const before = ground.store.calls.read
  const topics = topicsOf(names.map(name => [name, 0]))
  const { responses } = await wire.send(fetch, 12, { maxWaitMs: 0, minBytes: 1, maxBytes: 1, topics })
  assert.deepEqual(
    responses.map(each => [each.partitions[0]!.records!.length > 0, each.partitions[0]!.highWatermark]),
    [
      [true, 1],
      [false, 1],
      [false, 1],
    ],
  )
  assert.equal(ground.store.calls.read, before + 1)
})

test('if memory for answers is scarce, the store is not asked for a batch that may not fit into the rest', async t => {
  // A third of what is free is a megabyte.
  const ground = await startGround(t, {
    'storage.local.tail-cache-bytes': 0,
    'broker.global-max-pending-bytes': 8 << 20,
    'broker.global-resume-pending-bytes': 4 << 20,
  })
  const wire = await ground.connect()
  const names = ['one', 'two', 'three', 'four']
  for (const name of names) await produceInto(wire, name, [Buffer.alloc(900_000)])
  const before = ground.store.calls.read
  const topics = topicsOf(names.map(name => [name, 0, 1 << 20]))
  const { responses } = await wire.send(fetch, 12, { maxWaitMs: 0, minBytes: 1, maxBytes: 8 << 20, topics })
  assert.deepEqual(
    responses.map(each => [each.partitions[0]!.records!.length > 0, each.partitions[0]!.highWatermark]),
    [[true, 1], ...names.slice(1).map(() => [false, 1])],
  )
  assert.equal(ground.store.calls.read, before + 1)
})

test('fetches that read from the store at the same time share the memory for answers, and each gets a batch', async t => {
  const ground = await startGround(t, {
    'storage.local.tail-cache-bytes': 0,
    'broker.global-max-pending-bytes': 40 << 20,
    'broker.global-resume-pending-bytes': 20 << 20,
  })
  const wire = await ground.connect()
  for (let i = 0; i < 20; i++) await produceTo(wire, batchOf([Buffer.alloc(4900, i)]))
  const release = ground.store.faults.hold('read')
  const readUntilFound = async () => {
    const reader = await ground.connect()
    for (;;) {
      const row = await fetchOne(reader, 0)
      if (row.records!.length > 4900) return
    }
  }
  const readers = Array.from({ length: 40 }, readUntilFound)
  const granted = () => ground.sample('svc_broker_fetch_granted_bytes')
  await eventually('the memory is taken', async () => (await granted()) > 13 << 20)
  await eventually(
    'others are answered without',
    async () => (await ground.sample('svc_broker_fetch_deferred_total')) > 5,
  )
  assert.ok((await granted()) < 18 << 20)
  assert.ok(ground.store.calls.read < 20, `${ground.store.calls.read} read at a time`)
  release()
  await Promise.all(readers)
  assert.ok((await fetchOne(wire, 0)).records!.length > 95_000, 'alone it has all of it')
  await eventually('all is given back', async () => (await granted()) === 0)
})

test('a fetch that waits for more bytes is answered with the bytes that it has if others have the memory by then', async t => {
  const ground = await startGround(t, {
    'storage.local.tail-cache-bytes': 0,
    'broker.fetch-max-wait': 10_000,
    'broker.global-max-pending-bytes': 8 << 20,
    'broker.global-resume-pending-bytes': 4_000_000,
  })
  const wire = await ground.connect()
  await produceTo(wire, batchOf(['v']))
  const patient = fetchOne(wire, 0, { minBytes: 1000, maxWaitMs: 1000 })
  await eventually('it has read what there is', () => ground.store.calls.read === 1)
  const release = ground.store.faults.hold('read')
  const others = Array.from({ length: 8 }, async () => fetchOne(await ground.connect(), 0, { maxWaitMs: 10_000 }))
  await eventually(
    'the memory is taken',
    async () => (await ground.sample('svc_broker_fetch_granted_bytes')) > 2_000_000,
  )
  const found = await patient
  release()
  assert.deepEqual(await valuesOf(found), [[0, 'v']])
  for (const other of others) assert.deepEqual(await valuesOf(await other), [[0, 'v']])
})

test('an answer of 50 MB is possible while no other client has the memory', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  for (let i = 0; i < 60; i++) await produceTo(wire, batchOf([Buffer.alloc(1_000_000, i)]))
  const row = await fetchOne(wire, 0, { maxBytes: 50 << 20 })
  assert.ok(row.records!.length > 49_000_000, `${row.records!.length}`)
})

test('the memory of an answer that came too late is given back', async t => {
  const clock = new SimulatedClock()
  const ground = await startGround(t, { 'storage.local.tail-cache-bytes': 0 }, clock)
  const wire = await ground.connect()
  await produceTo(wire, batchOf(['v']))
  const release = ground.store.faults.hold('read')
  const late = wire.send(fetch, 12, fetchFrom(0))
  await eventually('it reads', () => ground.store.calls.read === 1)
  await clock.advance(11_000)
  assert.equal((await late).errorCode, REQUEST_TIMED_OUT.code)
  assert.ok((await ground.sample('svc_broker_fetch_granted_bytes')) > 0)
  release()
  await eventually('it is given back', async () => (await ground.sample('svc_broker_fetch_granted_bytes')) === 0)
})

test('if the store cannot be read, the row has a code after which clients retry', async t => {
  const ground = await startGround(t, { 'storage.local.tail-cache-bytes': 0 })
  const wire = await ground.connect()
  await produceTo(wire, batchOf(['a']))
  ground.store.faults.failNext('read', 'unavailable')
  assert.equal((await fetchOne(wire, 0)).errorCode, 56)
  assert.equal((await valuesOf(await fetchOne(wire, 0))).length, 1)
})

test('if the first partition cannot be read, the next one returns a batch even if the limits are smaller', async t => {
  const ground = await startGround(t, { 'storage.local.tail-cache-bytes': 0 })
  const wire = await ground.connect()
  for (const name of ['one', 'two', 'three']) await produceInto(wire, name, ['v'])
  ground.store.faults.failNext('read', 'unavailable')
  const topics = topicsOf([
    ['one', 0, 10],
    ['two', 0, 10],
    ['three', 0, 10],
  ])
  const { responses } = await wire.send(fetch, 12, { maxWaitMs: 0, minBytes: 1, topics })
  assert.deepEqual(
    responses.map(({ partitions: [row] }) => [row!.errorCode, row!.records!.length > 0]),
    [
      [56, false],
      [NONE, true],
      [NONE, false],
    ],
  )
})

test('draining answers a fetch that waits, with what it has', async t => {
  const ground: Ground = await startGround(t, { 'broker.fetch-max-wait': 60_000 })
  const wire = await ground.connect()
  await produceTo(wire, batchOf(['a']))
  const waiting = fetchOne(wire, 0, { maxWaitMs: 60_000, minBytes: 100_000 })
  await eventually('the fetch is in flight', async () => (await ground.received('Fetch')) === 1)
  await ground.broker.close()
  assert.equal((await valuesOf(await waiting)).length, 1)
})

test('full fetches of one connection that ask for the same, for other things or at the same time do not mix', async t => {
  const ground = await startGround(t, { 'broker.fetch-max-wait': 60_000, topics: [pattern('*', { partitions: 3 })] })
  const [wire, producer] = [await ground.connect(), await ground.connect()]
  const batch = batchOf(['a'])
  const ask = (rows: readonly (readonly [number, number])[], maxWaitMs = 0) => {
    const partitions = rows.map(([partition, fetchOffset]) => ({ partition, fetchOffset, partitionMaxBytes: 1000 }))
    return wire.send(fetch, 12, { maxWaitMs, minBytes: 1, topics: [{ topic: 't', partitions }] })
  }
  const bytesOf = async (answer: ReturnType<typeof ask>) =>
    (await answer).responses[0]!.partitions.map(row => [row.partitionIndex, row.records!.length])
  const before = await ground.received('Fetch')
  // Both wait, with rows of their own for the same partition.
  const first = ask(
    [
      [0, 0],
      [1, 0],
    ],
    60_000,
  )
  const second = ask(
    [
      [2, 0],
      [1, 0],
    ],
    60_000,
  )
  await eventually('both are in flight', async () => (await ground.received('Fetch')) === before + 2)
  await produceTo(producer, batch, { index: 0 })
  assert.deepEqual(await bytesOf(first), [
    [0, batch.length],
    [1, 0],
  ])
  await produceTo(producer, batch, { index: 1 })
  assert.deepEqual(await bytesOf(second), [
    [2, 0],
    [1, batch.length],
  ])
  assert.deepEqual(
    await bytesOf(
      ask([
        [0, 1],
        [1, 0],
      ]),
    ),
    [
      [0, 0],
      [1, batch.length],
    ],
  )
  assert.deepEqual(
    await bytesOf(
      ask([
        [1, 0],
        [2, 0],
      ]),
    ),
    [
      [1, batch.length],
      [2, 0],
    ],
  )
  const again = ask(
    [
      [1, 1],
      [2, 0],
    ],
    60_000,
  )
  await eventually('it waits', async () => (await ground.received('Fetch')) === before + 5)
  await produceTo(producer, batch, { index: 2 })
  assert.deepEqual(await bytesOf(again), [
    [1, 0],
    [2, batch.length],
  ])
})
