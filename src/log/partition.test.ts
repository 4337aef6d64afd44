// Reads, checks of batches before the append, and searches by time. lane.test.ts tests the append itself.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { zstdCompressSync } from 'node:zlib'
import { batchWith } from '../../testing/poison.ts'
import { fc } from '../../testing/property.ts'
import { SimulatedClock } from '../../testing/sim/clock.ts'
import { batchOf, openLogWorld, readAll } from '../../testing/sim/logs.ts'
import { createMemoryStore, type MemoryStore } from '../../testing/sim/memory-store.ts'
import { ENDLESS, type Patience, patience } from '../base/patience.ts'
import {
  CORRUPT_MESSAGE,
  FENCED_LEADER_EPOCH,
  INVALID_RECORD,
  INVALID_TIMESTAMP,
  isRefusal,
  KAFKA_STORAGE_ERROR,
  MESSAGE_TOO_LARGE,
  NOT_LEADER_OR_FOLLOWER,
  OFFSET_OUT_OF_RANGE,
  REQUEST_TIMED_OUT,
  type Refusal,
  TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
  UNKNOWN_LEADER_EPOCH,
  UNKNOWN_TOPIC_OR_PARTITION,
} from '../protocol/errors.ts'
import { type BatchView, encodeBatch, viewBatch } from '../protocol/records.ts'
import { expectKind } from '../store/examples.ts'
import { streamId } from '../store/store.ts'
import type { Partition, ReadResult } from './partition.ts'

/** Options without a tail in memory: every read goes to the store. */
const COLD = { overrides: { 'storage.local.tail-cache-bytes': 0 } }

type Answer = ReadResult | Refusal

/** Returns the base offsets of the batches, or the error. */
function found(answer: Answer): readonly number[] | string {
  return isRefusal(answer) ? answer.name : answer.batches.map(bytes => viewBatch(bytes).baseOffset)
}

/** Appends batches with these numbers of records. */
async function fill(partition: Partition, ...counts: number[]): Promise<void> {
  await Promise.all(counts.map(count => partition.append(batchOf(count), 0)))
}

for (const [place, options] of [
  ['memory', {}],
  ['the store', COLD],
] as const) {
  test(`a read from ${place} begins with the whole batch that covers the offset`, async t => {
    const partition = await (await openLogWorld(t, options)).createPartition()
    await fill(partition, 10, 10, 10)
    assert.deepEqual(found(await partition.read(0, 1e6, true)), [0, 10, 20])
    assert.deepEqual(found(await partition.read(15, 1e6, true)), [10, 20])
    assert.deepEqual(found(await partition.read(29, 1e6, true)), [20])
    assert.deepEqual(found(await partition.read(30, 1e6, true)), [])
  })

  test(`a read from ${place} keeps its limit, except for the first batch with minOneBatch`, async t => {
    const partition = await (await openLogWorld(t, options)).createPartition()
    await fill(partition, 1, 1, 1)
    const size = (await readAll(partition))[0]!.bytes.length
    assert.deepEqual(found(await partition.read(0, 2 * size, true)), [0, 1])
    assert.deepEqual(found(await partition.read(0, 2 * size - 1, true)), [0])
    assert.deepEqual(found(await partition.read(0, size - 1, true)), [0])
    assert.deepEqual(found(await partition.read(0, size - 1, false)), [])
    const { bytes, highWatermark, logStartOffset } = (await partition.read(0, 2 * size, true)) as ReadResult
    assert.deepEqual([bytes, highWatermark, logStartOffset], [2 * size, 3, 0])
  })

  test(`a read from ${place} inside a gap returns the next batch`, async t => {
    const { createPartition, clock } = await openLogWorld(t, options)
    const partition = await createPartition({ 'offset.sequence.bits': '2' })
    await fill(partition, 1)
    const first = partition.endOffset - 1
    await clock.advance(1_000)
    await fill(partition, 1)
    assert.deepEqual(found(await partition.read(first + 1, 1e6, true)), [first + 4_000])
    assert.deepEqual(found(await partition.read(0, 1e6, true)), [first, first + 4_000])
  })

  test(`an offset below the log start or above the end is out of range in ${place}`, async t => {
    const partition = await (await openLogWorld(t, options)).createPartition()
    await fill(partition, 10, 10)
    await partition.trim(10)
    for (const offset of [-1, 0, 9, 21, 2 ** 53 + 2, 2 ** 63, Number.NaN]) {
      assert.equal(found(await partition.read(offset, 1e6, true)), OFFSET_OUT_OF_RANGE.name, `offset ${offset}`)
    }
    assert.deepEqual(found(await partition.read(10, 1e6, true)), [10])
  })
}

test('batches in memory are read synchronously, without the store', async t => {
  const { createPartition, store } = await openLogWorld(t)
  const partition = await createPartition()
  await fill(partition, 5, 5)
  const read = partition.read(0, 1e6, true)
  assert(!(read instanceof Promise))
  assert.deepEqual(found(read), [0, 5])
  assert.equal(store.calls.read, 0)
})

test('batches that are no longer in memory come from the store, with the same bytes', async t => {
  const { createPartition } = await openLogWorld(t, { overrides: { 'storage.local.tail-cache-bytes': 2_000 } })
  const partition = await createPartition()
  await fill(partition, ...Array.from({ length: 20 }, () => 3))
  const all = await readAll(partition)
  assert.deepEqual(
    all.map(batch => batch.baseOffset),
    Array.from({ length: 20 }, (_, i) => i * 3),
  )
  for (const batch of all) {
    const [again] = ((await partition.read(batch.baseOffset, 1, true)) as ReadResult).batches
    assert(batch.bytes.equals(again!))
  }
})

test('a batch whose checksum fails is never returned, but the batches around it are', async t => {
  const { createPartition, store, metrics, lines } = await openLogWorld(t, COLD)
  const partition = await createPartition()
  await fill(partition, 2, 2, 2)
  store.faults.rot(streamId(partition.topicId, 0), 2)
  assert.deepEqual(found(await partition.read(0, 1e6, true)), [0])
  const refused = await partition.read(2, 1e6, true)
  assert.equal(found(refused), CORRUPT_MESSAGE.name)
  assert.match((refused as Refusal).message, /offsets 2 to 3/)
  assert.deepEqual(found(await partition.read(4, 1e6, true)), [4])
  assert.equal(metrics.total('svc.storage.corrupt_batches'), 2)
  assert.equal(metrics.total('svc.broker.lossy_records'), 2)
  assert.equal(lines.filter(line => line.includes('checksum')).length, 1)
})

test('a read that retention overtakes is out of range instead of beginning too late', async t => {
  const { createPartition, store, clock } = await openLogWorld(t, COLD)
  const partition = await createPartition()
  await fill(partition, 10, 10)
  const release = store.faults.hold('read')
  const reading = partition.read(0, 1e6, true)
  await clock.settle()
  await partition.trim(10)
  release()
  assert.equal(found(await reading), OFFSET_OUT_OF_RANGE.name)
})

test('a read overtaken after the store has read is out of range too', async t => {
  const { createPartition, store } = await openLogWorld(t, COLD)
  const partition = await createPartition()
  await fill(partition, 10, 10)
  const reading = partition.read(0, 1e6, true)
  partition.state.raiseStart(10)
  assert.equal(found(await reading), OFFSET_OUT_OF_RANGE.name)
  assert.equal(store.calls.read, 1)
})

test('a leader that was deposed without knowing it does not return out of range for a higher offset', async t => {
  const { createPartition, store } = await openLogWorld(t)
  const partition = await createPartition()
  await fill(partition, 2)
  const { stream } = partition.state
  assert.equal(found(await partition.read(3, 1e6, true)), OFFSET_OUT_OF_RANGE.name)
  store.faults.failNext('confirm', 'unavailable')
  assert.equal(found(await partition.read(3, 1e6, true)), KAFKA_STORAGE_ERROR.name)
  await store.open(stream, 0, 0)
  assert.equal(found(await partition.read(3, 1e6, true)), NOT_LEADER_OR_FOLLOWER.name)
  await store.remove([stream])
  assert.equal(found(await partition.read(3, 1e6, true)), UNKNOWN_TOPIC_OR_PARTITION.name)
})

test('while the store is away only callers that need it get a storage error', async t => {
  const { createPartition, store } = await openLogWorld(t, COLD)
  const partition = await createPartition()
  await fill(partition, 1)
  store.faults.failNext('read', 'unavailable')
  assert.equal(found(await partition.read(0, 1e6, true)), KAFKA_STORAGE_ERROR.name)
  assert.deepEqual(found(await partition.read(1, 1e6, true)), [])
  assert.deepEqual(found(await partition.read(0, 1e6, true)), [0])
})

test('nothing above the high watermark is shown', async t => {
  const partition = await (await openLogWorld(t)).createPartition()
  await fill(partition, 5, 5)
  partition.state.highWatermark = 5
  assert.deepEqual(found(await partition.read(0, 1e6, true)), [0])
  assert.deepEqual(found(await partition.read(5, 1e6, true)), [])
  assert.deepEqual(found(await partition.read(10, 1e6, true)), [])
})

test('a chunk that replicas do not have yet is not taken for empty', async t => {
  const world = await openLogWorld(t)
  const partition = await world.createPartition()
  await partition.append(batchOf([{ value: 'one', timestamp: 70 }]), 0)
  await partition.append(batchOf([{ value: 'two', timestamp: 80 }]), 0)
  partition.reopen()
  await world.clock.advance(5_000)
  const { state } = partition
  const [unknown] = state.timeIndex.chunks
  assert.deepEqual([unknown!.isKnown, unknown!.next], [false, 2])
  for (const highWatermark of [0, 1]) {
    state.highWatermark = highWatermark
    assert.equal(await partition.learnChunks(), null)
    assert.equal(state.timeIndex.chunks[0]!.isKnown, false)
  }
  assert.deepEqual(await partition.maxTimestampOffset(), { offset: 0, timestamp: 70, leaderEpoch: 1 })
  state.highWatermark = 2
  assert.equal(await partition.learnChunks(), null)
  const [{ isKnown, bytes, maxTimestamp }] = state.timeIndex.chunks as [(typeof state.timeIndex.chunks)[number]]
  assert.deepEqual([isKnown, bytes, maxTimestamp], [true, state.bytes, 80])
})

for (const [place, options] of [
  ['memory', {}],
  ['the store', COLD],
] as const) {
  test(`after the end was raised an empty batch leads a read to it, until a batch is appended; from ${place}`, async t => {
    const world = await openLogWorld(t, options)
    const partition = await world.createPartition()
    await fill(partition, 3)
    const stream = streamId(partition.topicId, partition.index)
    expectKind(await world.store.open(stream, 0, 50), 'opened')
    partition.reopen()
    await world.clock.advance(5_000)
    assert.equal(partition.endOffset, 50)
    const empty = await partition.read(10, 1e6, true)
    assert(!isRefusal(empty))
    const [batch] = empty.batches.map(viewBatch)
    assert.deepEqual(
      [batch!.baseOffset, batch!.lastOffset, batch!.recordCount, batch!.leaderEpoch, batch!.isIntact],
      [10, 49, 0, partition.leaderEpoch, true],
    )
    assert.equal(partition.mostBytesAt(10), empty.bytes)
    assert.deepEqual(found(await partition.read(50, 1e6, true)), [])
    assert.deepEqual(found(await partition.read(0, 1e6, true)), [0])
    await fill(partition, 1)
    assert.deepEqual(found(await partition.read(10, 1e6, true)), [50])
  })
}

test('trimming drops the batches below, keeps the size right, and stops at the high watermark', async t => {
  const { createPartition } = await openLogWorld(t)
  const partition = await createPartition()
  await fill(partition, 10, 10)
  await partition.trim(1e9)
  assert.deepEqual([partition.logStartOffset, partition.endOffset, partition.sizeBytes], [20, 20, 0])
  await fill(partition, 3)
  const [batch] = await readAll(partition)
  assert.deepEqual([batch!.baseOffset, partition.sizeBytes], [20, batch!.bytes.length])
  await partition.trim(5)
  assert.equal(partition.logStartOffset, 20)
})

test('sizes are exact when records are deleted in the middle of a chunk, before a restart and after it', async t => {
  const world = await openLogWorld(t)
  const partition = await world.createPartition()
  await fill(partition, 10, 10, 10, 10)
  const size = partition.sizeBytes / 4
  assert.equal(await partition.deleteRecords(25), 25)
  assert.equal(partition.sizeBytes, 2 * size)
  const appending = fill(partition, 10)
  assert.equal(await partition.deleteRecords(30), 30)
  await appending
  assert.equal(partition.sizeBytes, 2 * size)
  const next = await world.restart()
  const again = next.partition(partition.topicName)
  assert.equal(again.sizeBytes, 2 * size)
  assert.equal(await again.deleteRecords(-1), 50)
  assert.equal(again.sizeBytes, 0)
  assert.deepEqual(
    again.state.timeIndex.chunks.map(chunk => chunk.bytes),
    [0],
  )
})

test('a trim whose answer comes after the partition was opened again is counted once', async t => {
  const memory = createMemoryStore(new SimulatedClock())
  const answering = Promise.withResolvers<void>()
  const store: MemoryStore = {
    ...memory,
    async trim(...call) {
      const outcome = await memory.trim(...call)
      await answering.promise
      return outcome
    },
  }
  const world = await openLogWorld(t, { store })
  const partition = await world.createPartition()
  await fill(partition, 10, 10, 10)
  const size = partition.sizeBytes / 3
  const trimming = partition.trim(10)
  await world.clock.settle()
  partition.reopen()
  await world.clock.settle()
  assert.deepEqual([partition.leaderEpoch, partition.logStartOffset, partition.sizeBytes], [2, 10, 2 * size])
  answering.resolve()
  await trimming
  assert.deepEqual([partition.logStartOffset, partition.sizeBytes], [10, 2 * size])
  assert.equal(
    partition.state.timeIndex.chunks.reduce((sum, { bytes }) => sum + bytes, 0),
    2 * size,
  )
})

test('a mark that still waits for its append does not outlive the data that is trimmed meanwhile', async t => {
  const { createPartition, store } = await openLogWorld(t)
  const partition = await createPartition()
  const { state } = partition
  await fill(partition, 10)
  state.pendingRows.push(state.timeIndex.seal(0)!)
  await partition.trim(10)
  await partition.flushRows()
  const opened = await store.open(streamId(partition.topicId, 0), 0, 0)
  assert.deepEqual(opened.kind === 'opened' && [...opened.rows.keys()], ['o'])
})

test("a client's leader epoch is compared with the one that batches are stamped with", async t => {
  const world = await openLogWorld(t)
  await world.create('orders')
  const partition = (await world.restart()).partition('orders')
  const { leaderEpoch } = partition
  assert.deepEqual(
    [-1, leaderEpoch, leaderEpoch - 1, leaderEpoch + 1].map(epoch => partition.checkEpoch(epoch)?.name ?? null),
    [null, null, FENCED_LEADER_EPOCH.name, UNKNOWN_LEADER_EPOCH.name],
  )
  await fill(partition, 1)
  assert.equal((await readAll(partition))[0]!.leaderEpoch, leaderEpoch)
})

test('an append is refused for its size, its kind and its times', async t => {
  const { createPartition, clock } = await openLogWorld(t)
  const partition = await createPartition({
    'max.message.bytes': '1000',
    'message.timestamp.before.max.ms': '10000',
    'message.timestamp.after.max.ms': '5000',
  })
  const now = clock.now()
  const at = (...timestamps: number[]) => batchOf(timestamps.map(timestamp => ({ value: 'x', timestamp })))
  const sized = (size: number) => {
    const overhead = encodeBatch([{ value: Buffer.alloc(900) }]).length - 900
    return batchOf([{ value: Buffer.alloc(size - overhead) }])
  }
  const cases: [string, BatchView, string | number][] = [
    ['as large as allowed', sized(1_000), 0],
    ['one byte larger', sized(1_001), MESSAGE_TOO_LARGE.name],
    ['control', batchOf(1, { isControl: true }), INVALID_RECORD.name],
    [
      'transactional',
      batchOf(1, { isTransactional: true, producerId: 1, producerEpoch: 0, baseSequence: 0 }),
      TRANSACTIONAL_ID_AUTHORIZATION_FAILED.name,
    ],
    ['oldest allowed', at(now - 10_000), 1],
    ['too old', at(now - 10_001), INVALID_TIMESTAMP.name],
    ['before 1970', at(-2), INVALID_TIMESTAMP.name],
    ['newest allowed', at(now, now + 5_000), 2],
    ['too new', at(now, now + 5_001), INVALID_TIMESTAMP.name],
    ['without a time', at(-1), 4],
  ]
  for (const [what, batch, expected] of cases) {
    const answer = await partition.append(batch, 0)
    assert.equal(isRefusal(answer) ? answer.name : answer.baseOffset, expected, what)
  }
})

test('if the broker stamps the time, the timestamps of records are not checked', async t => {
  const partition = await (await openLogWorld(t)).createPartition({
    'message.timestamp.type': 'LogAppendTime',
    'message.timestamp.before.max.ms': '1000',
  })
  assert(!isRefusal(await partition.append(batchOf([{ value: 'x', timestamp: 5 }]), 0)))
})

// ---------------------------------------------------------------------------------------------- searches by time

test('a search by time finds the first record at or after the time, with the timestamp of the record', async t => {
  const { createPartition, clock } = await openLogWorld(t)
  const partition = await createPartition()
  const base = clock.now() - 100_000
  for (const compression of ['none', 'gzip'] as const) {
    const start = partition.endOffset
    const records = [10, 30, 20, 40].map(after => ({ value: 'x', timestamp: base + start * 1_000 + after }))
    await partition.append(batchOf(records, { compression }), 0)
  }
  const epoch = partition.leaderEpoch
  const at = (offset: number, timestamp: number) => ({ offset, timestamp, leaderEpoch: epoch })
  assert.deepEqual(await partition.offsetForTimestamp(0), at(0, base + 10))
  assert.deepEqual(await partition.offsetForTimestamp(base + 11), at(1, base + 30))
  assert.deepEqual(await partition.offsetForTimestamp(base + 31), at(3, base + 40))
  assert.deepEqual(await partition.offsetForTimestamp(base + 41), at(4, base + 4_010))
  assert.deepEqual(await partition.offsetForTimestamp(base + 4_011), at(5, base + 4_030))
  assert.equal(await partition.offsetForTimestamp(base + 4_041), null)
  assert.deepEqual(await partition.maxTimestampOffset(), at(7, base + 4_040))
})

test('the search for the largest timestamp finds the first record that has it, or null without any timestamp', async t => {
  const { createPartition, clock } = await openLogWorld(t)
  const partition = await createPartition()
  assert.equal(await partition.maxTimestampOffset(), null)
  await partition.append(batchOf([{ value: 'x' }]), 0)
  assert.equal(await partition.maxTimestampOffset(), null)
  const timestamp = clock.now()
  for (let i = 0; i < 2; i++) await partition.append(batchOf([{ timestamp: 1 }, { timestamp }, { timestamp }]), 0)
  assert.deepEqual(await partition.maxTimestampOffset(), { offset: 2, timestamp, leaderEpoch: partition.leaderEpoch })
})

test('for a batch that does not unpack the search returns its first offset, so that no record is skipped', async t => {
  const { createPartition, clock } = await openLogWorld(t)
  const partition = await createPartition()
  const batch = batchOf([{ value: 'a'.repeat(50), timestamp: clock.now() }], { compression: 'gzip' })
  batch.bytes.fill(0xff, 61)
  await partition.append(batch, 0)
  assert.equal(((await partition.offsetForTimestamp(1)) as { offset: number }).offset, 0)
})

test('a search by time reads only timestamps and offsets of records', async t => {
  const world = await openLogWorld(t)
  const partition = await world.createPartition()
  const timestamp = world.clock.now() - 1_000
  // The header of the first record has no key, so it is not a valid header.
  const [first, second] = ['0000000101020101', '0064020101' + '00'].map(hex => Buffer.from(hex, 'hex'))
  const plain = Buffer.concat([first!, second!].flatMap(body => [Buffer.of(body.length * 2), body]))
  for (const codec of ['none', 'zstd'] as const) {
    const payload = codec === 'none' ? plain : zstdCompressSync(plain)
    const stated = { codec, count: 2, baseTimestamp: timestamp, maxTimestamp: timestamp + 50 }
    const { endOffset } = partition
    const appended = await partition.append(viewBatch(batchWith(payload, stated)), 0)
    assert.ok(!isRefusal(appended), JSON.stringify(appended))
    const found = await partition.offsetForTimestamp(timestamp + 1)
    assert.deepEqual(found, { offset: 1, timestamp: timestamp + 50, leaderEpoch: partition.leaderEpoch })
    assert.deepEqual(await partition.maxTimestampOffset(), found)
    assert.equal(endOffset % 2, 0)
  }
})

test('the largest timestamp is found in one pass, also if a larger one is no longer in the log', async t => {
  const world = await openLogWorld(t)
  const partition = await world.createPartition()
  const base = world.clock.now() - 100_000
  const times = Array.from({ length: 2_000 }, (_, i) => ({ timestamp: i === 0 ? base + 50_000 : base + i }))
  await partition.append(batchOf(times, { compression: 'zstd' }), 0)
  await partition.deleteRecords(1)
  const { unpacking } = world.logs
  let looks = 0
  const look = unpacking.look.bind(unpacking)
  unpacking.look = ((...given: Parameters<typeof look>) => {
    looks++
    return look(...given)
  }) as typeof unpacking.look
  const expected = { offset: 1_999, timestamp: base + 1_999, leaderEpoch: partition.leaderEpoch }
  assert.deepEqual(await partition.maxTimestampOffset(), expected)
  assert.equal(looks, 1)
})

test('a search by time ends with the patience of its caller, and other searches get their turn', async t => {
  const world = await openLogWorld(t)
  const partition = await world.createPartition()
  const timestamp = world.clock.now()
  // The header of each batch announces the time, but no record has it.
  const lying = { codec: 'none', count: 1, baseTimestamp: timestamp, maxTimestamp: timestamp + 1_000 } as const
  const payload = Buffer.from('0c000000010100', 'hex')
  for (let i = 0; i < 50; i++) await partition.append(viewBatch(batchWith(payload, lying)), 0)
  for (const lookUp of [
    (waiting: Patience) => partition.offsetForTimestamp(timestamp + 500, waiting),
    (waiting: Patience) => partition.maxTimestampOffset(waiting),
  ]) {
    let asked = 0
    const waiting: Patience = {
      ...ENDLESS,
      get isOver() {
        return ++asked > 3
      },
    }
    const refused = await lookUp(waiting)
    assert.ok(isRefusal(refused) && refused.code === REQUEST_TIMED_OUT.code, JSON.stringify(refused))
    assert.ok(asked < 10, `it went on for ${asked} steps`)
    const ended = new AbortController()
    ended.abort()
    // All slots are free again.
    const many = Array.from({ length: 40 }, () => lookUp(patience(world.clock, Number.POSITIVE_INFINITY, ended.signal)))
    assert.ok((await Promise.all(many)).every(isRefusal))
    assert.ok(!isRefusal(await lookUp(ENDLESS)))
  }
})

test('searches by time agree with a plain scan, across chunks, trims and restarts, with and without memory', async () => {
  const batches = fc.array(
    fc.record({
      times: fc.array(fc.integer({ min: -1, max: 30 }), { minLength: 1, maxLength: 3 }),
      isBig: fc.boolean(),
    }),
    { minLength: 1, maxLength: 8 },
  )
  const scenario = fc.record({ batches, restarts: fc.boolean(), isCold: fc.boolean(), trims: fc.nat(6) })
  await fc.assert(
    fc.asyncProperty(scenario, async ({ batches, restarts, isCold, trims }) => {
      const first = await openLogWorld(null, isCold ? COLD : {})
      await first.create('orders')
      let partition = first.partition('orders')
      const records: { offset: number; timestamp: number }[] = []
      const filler = Buffer.alloc(700_000)
      for (const { times, isBig } of batches) {
        for (const timestamp of times) records.push({ offset: records.length, timestamp })
        const value = isBig ? filler : 'x'
        await partition.append(batchOf(times.map((timestamp, i) => ({ value: i === 0 ? value : 'x', timestamp }))), 0)
      }
      const world = restarts ? await first.restart() : first
      partition = world.partition('orders')
      if (trims > 0 && trims < records.length) await partition.trim(trims)
      const live = records.filter(record => record.offset >= partition.logStartOffset)
      const offsetOf = (answer: Awaited<ReturnType<typeof partition.offsetForTimestamp>>) =>
        answer === null || isRefusal(answer) ? answer : { offset: answer.offset, timestamp: answer.timestamp }
      for (const timestamp of [0, 1, 7, 15, 30, 31]) {
        const expected = live.find(record => record.timestamp >= timestamp) ?? null
        assert.deepEqual(offsetOf(await partition.offsetForTimestamp(timestamp)), expected, `time ${timestamp}`)
      }
      const largest = live.reduce((max, record) => Math.max(max, record.timestamp), -1)
      const expected = largest < 0 ? null : live.find(record => record.timestamp === largest)
      assert.deepEqual(offsetOf(await partition.maxTimestampOffset()), expected)
      await world.logs.close()
    }),
    { numRuns: 40 },
  )
})
