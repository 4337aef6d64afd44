import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedClock } from '../../testing/sim/clock.ts'
import { batchOf, type LogWorld, openLogWorld, readAll } from '../../testing/sim/logs.ts'
import { CORRUPT_MESSAGE, isRefusal, OFFSET_OUT_OF_RANGE, type Refusal } from '../protocol/errors.ts'
import { viewBatch } from '../protocol/records.ts'
import { streamId } from '../store/store.ts'
import type { Partition, ReadResult } from './partition.ts'
import { AHEAD_BYTES, type Found, KEEP_MS, ReadAhead } from './read-ahead.ts'

const MIB = 2 ** 20

/**
 * Creates a partition of batches of equal size without a tail in memory. `two` is the limit of a read of two batches.
 */
async function openCold(
  t: Parameters<typeof openLogWorld>[0],
  batches: number,
): Promise<Omit<LogWorld, 'partition'> & { readonly partition: Partition; readonly two: number }> {
  const world = await openLogWorld(t, { overrides: { 'storage.local.tail-cache-bytes': 0 } })
  const partition = await world.createPartition()
  for (let i = 0; i < batches; i++) await partition.append(batchOf([{ value: `value ${1000 + i}` }]), 0)
  return { ...world, partition, two: (await readAll(partition))[0]!.bytes.length * 2 }
}

function found(answer: ReadResult | Refusal): readonly number[] | string {
  return isRefusal(answer) ? answer.name : answer.batches.map(bytes => viewBatch(bytes).baseOffset)
}

test('a reader that continues after its last answer finds the next batches in memory, again and again', async t => {
  const { partition, two, store, clock } = await openCold(t, 10)
  assert.deepEqual(found(await partition.read(0, two, true)), [0, 1])
  await clock.settle()
  const before = store.calls.read
  assert.deepEqual(found(await partition.read(2, two, true)), [2, 3])
  await clock.settle()
  assert.equal(store.calls.read, before + 2)
  for (const [at, offset] of [4, 6, 8].entries()) {
    const read = partition.read(offset, two, true)
    assert(!(read instanceof Promise))
    assert.deepEqual(found(read), [offset, offset + 1])
    await clock.settle()
    // Behind the last batches there is nothing to read ahead.
    assert.equal(store.calls.read, before + 2 + Math.min(at + 1, 2))
  }
})

test('there is no read-ahead for a reader that reads once, or that reads at another offset', async t => {
  const { partition, two, store, clock } = await openCold(t, 10)
  const before = store.calls.read
  for (const offset of [0, 4, 1, 7]) await partition.read(offset, two, true)
  await clock.settle()
  assert.equal(store.calls.read, before + 4)
})

test('a read that arrives during its read-ahead gets the result of the read-ahead', async t => {
  const { partition, two, store, clock } = await openCold(t, 10)
  for (const offset of [0, 2]) await partition.read(offset, two, true)
  const before = store.calls.read
  assert.deepEqual(found(await partition.read(4, two, true)), [4, 5])
  assert.equal(store.calls.read, before + 1)
  await clock.settle()
})

test('a read-ahead result is not used for a read with another limit', async t => {
  const { partition, two, clock } = await openCold(t, 10)
  for (const offset of [0, 2]) await partition.read(offset, two, true)
  await clock.settle()
  assert.deepEqual(found(await partition.read(4, two * 2, true)), [4, 5, 6, 7])
})

test('a read-ahead batch above the limit goes only to a reader with minOneBatch', async t => {
  const { partition, two, clock } = await openCold(t, 10)
  for (const offset of [0, 1]) await partition.read(offset, 1, true)
  await clock.settle()
  assert.deepEqual(found(await partition.read(2, 1, false)), [])
  for (const offset of [4, 5]) await partition.read(offset, 1, true)
  await clock.settle()
  assert.deepEqual(found(await partition.read(6, 1, true)), [6])
  assert.deepEqual(found(await partition.read(6, two, true)), [6, 7])
})

test('a read-ahead at the end of the log does not hide batches that are appended later', async t => {
  const { partition, two, clock } = await openCold(t, 5)
  for (const offset of [0, 2]) await partition.read(offset, two, true)
  await clock.settle()
  await partition.append(batchOf([{ value: 'value 1005' }]), 0)
  assert.deepEqual(found(await partition.read(4, two, true)), [4, 5])
})

test('offsets that retention has dropped meanwhile are out of range, during a read-ahead and after it', async t => {
  const { partition, two, store, clock } = await openCold(t, 10)
  for (const offset of [0, 2]) await partition.read(offset, two, true)
  await clock.settle()
  await partition.trim(5)
  assert.equal(found(await partition.read(4, two, true)), OFFSET_OUT_OF_RANGE.name)

  await partition.read(5, two, true)
  const release = store.faults.hold('read')
  const second = partition.read(7, two, true)
  await clock.settle()
  release()
  await second
  const again = store.faults.hold('read')
  const reading = partition.read(9, two, true)
  await clock.settle()
  const trimming = partition.trim(10)
  again()
  await trimming
  assert.equal(found(await reading), OFFSET_OUT_OF_RANGE.name)
})

test('a batch whose checksum fails is refused as corrupt after a read-ahead too', async t => {
  const { partition, two, store, clock } = await openCold(t, 10)
  store.faults.rot(streamId(partition.topicId, 0), 5)
  const answers = []
  for (const offset of [0, 2, 4, 5, 6, 8]) {
    answers.push(found(await partition.read(offset, two, true)))
    await clock.settle()
  }
  assert.deepEqual(answers, [[0, 1], [2, 3], [4], CORRUPT_MESSAGE.name, [6, 7], [8, 9]])
})

test('after a failed read-ahead the reader reads for itself', async t => {
  const { partition, two, store, clock } = await openCold(t, 10)
  for (const offset of [0, 2]) await partition.read(offset, two, true)
  store.faults.failNext('read', 'unavailable')
  const before = store.calls.read
  await clock.settle()
  assert.equal(store.calls.read, before + 1)
  assert.deepEqual(found(await partition.read(4, two, true)), [4, 5])
})

test('a reader during appends, with any limit, misses no batch and gets no batch twice', async t => {
  const { partition, two, clock } = await openCold(t, 10)
  for (const limit of [1, two / 2, two, two * 3 - 1, MIB]) {
    const offsets: number[] = []
    for (let offset = 0; offset < partition.endOffset; ) {
      const read = await partition.read(offset, limit, true)
      assert(!isRefusal(read))
      for (const bytes of read.batches) {
        const batch = viewBatch(bytes)
        offsets.push(batch.baseOffset)
        offset = batch.lastOffset + 1
      }
      if (offsets.length % 3 === 0 && offsets.length < 30) await partition.append(batchOf([{ value: 'value' }]), 0)
      if (offsets.length % 2 === 0) await clock.settle()
    }
    assert.deepEqual(
      offsets,
      Array.from({ length: partition.endOffset }, (_, offset) => offset),
    )
  }
})

/** The result of a read of this many bytes, in its own memory. */
const foundOf = (bytes: number): Found => ({ batches: [new Uint8Array(bytes)] })

test('read-ahead stays within its budget, and a result that is taken frees its part', async () => {
  const clock = new SimulatedClock()
  const ahead = new ReadAhead<Found>(clock)
  const places = Array.from({ length: AHEAD_BYTES / MIB + 3 }, (_, i) => `s@1@${i}`)
  let loads = 0
  for (const place of places) {
    ahead.read(place, MIB, async () => {
      loads++
      return foundOf(MIB)
    })
  }
  assert.equal(ahead.bytes, AHEAD_BYTES)
  await clock.settle()
  assert.deepEqual([ahead.bytes, loads], [AHEAD_BYTES, AHEAD_BYTES / MIB])
  const taken = ahead.take(places[0]!, MIB)
  assert(taken !== null && taken !== undefined && !(taken instanceof Promise))
  assert.equal(ahead.bytes, AHEAD_BYTES - MIB)
  // There was no memory for the last one. Its reader is expected anyway.
  assert.equal(ahead.take(places.at(-1)!, MIB), null)
  assert.equal(ahead.take('s@1@elsewhere', MIB), undefined)
  ahead.read(places[0]!, MIB, async () => foundOf(MIB))
  await clock.settle()
  assert.equal(ahead.bytes, AHEAD_BYTES)
})

test('a result that no reader asks for is dropped, and memory that results share is counted once', async () => {
  const clock = new SimulatedClock()
  const ahead = new ReadAhead<Found>(clock)
  const shared = new ArrayBuffer(MIB)
  for (let i = 0; i < 4; i++) {
    ahead.read(`s@1@${i}`, MIB / 4, async () => ({ batches: [new Uint8Array(shared, i * 100, 100)] }))
  }
  assert.equal(ahead.bytes, MIB)
  await clock.settle()
  assert.equal(ahead.bytes, MIB)
  void ahead.take('s@1@0', MIB / 4)
  assert.equal(ahead.bytes, MIB)
  await clock.advance(2 * KEEP_MS)
  assert.equal(ahead.bytes, 0)
  assert.equal(ahead.take('s@1@1', MIB / 4), undefined)
})

test('a result that is dropped during its read is not kept when the read ends', async () => {
  const clock = new SimulatedClock()
  const ahead = new ReadAhead<Found>(clock)
  const load = Promise.withResolvers<Found>()
  ahead.read('s@1@0', MIB, () => load.promise)
  await clock.advance(2 * KEEP_MS)
  assert.equal(ahead.bytes, 0)
  load.resolve(foundOf(MIB))
  await clock.settle()
  assert.equal(ahead.bytes, 0)
})
