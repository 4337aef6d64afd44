// A group without a lane: which batches go together, and their offsets. lane.test.ts tests groups on their way to a
// store.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { batchOf } from '../../testing/sim/logs.ts'
import { INVALID_PRODUCER_EPOCH, isRefusal, OUT_OF_ORDER_SEQUENCE_NUMBER } from '../protocol/errors.ts'
import { type BatchView, viewBatch } from '../protocol/records.ts'
import { streamId } from '../store/store.ts'
import { AppendGroup, type LogEnd, type Placeable } from './append-group.ts'
import { decodeProducer, type Producer } from './producers.ts'

const NOW = 1_700_000_000_000

const waiting = (batch: BatchView): Placeable => ({
  batch,
  isHandedOver: false,
  baseOffset: -1,
  nextOffset: -1,
  logAppendTimeMs: -1,
})

const sized = (bytes: number) => waiting(batchOf([{ value: Buffer.alloc(bytes) }]))

const sequenced = (baseSequence: number, records = 1, producerEpoch = 0) =>
  waiting(batchOf(records, { producerId: 7, producerEpoch, baseSequence }))

function logEnding(end: number, configs: Partial<LogEnd['topic']['resolved']> = {}, producers = {}): LogEnd {
  return {
    stream: streamId('topic', 0),
    epoch: 5,
    end,
    producers: new Map(Object.entries(producers).map(([id, producer]) => [Number(id), producer as Producer])),
    topic: { resolved: { messageTimestampType: 'CreateTime', offsetSequenceBits: 0, ...configs } },
  }
}

const groupOn = (log: LogEnd) => new AppendGroup<Placeable>(log, 'attempt', NOW, 0)

/** Adds a batch as the lane does, and returns the result of the group. */
function add(group: AppendGroup<Placeable>, each: Placeable): string | number | null {
  const known = group.producerOf(each.batch)
  const verdict = group.check(each, known)
  if (verdict === null) group.add(each, known)
  return isRefusal(verdict) ? verdict.name : (verdict?.baseOffset ?? null)
}

const known: Producer = {
  epoch: 1,
  batches: [{ baseSequence: 0, lastSequence: 3, baseOffset: 90, lastOffset: 93, logAppendTimeMs: -1 }],
  lastAppendMs: NOW - 1,
}

test('batches get dense offsets from the end of the log, and the offsets and the epoch are stamped into their bytes', () => {
  const group = groupOn(logEnding(100))
  for (const each of [3, 1].map(records => waiting(batchOf(records)))) assert.equal(add(group, each), null)
  assert.deepEqual(
    group.batches.map(({ baseOffset, nextOffset, bytes }) => [
      baseOffset,
      nextOffset,
      viewBatch(bytes).baseOffset,
      viewBatch(bytes).leaderEpoch,
    ]),
    [
      [100, 103, 100, 5],
      [103, 104, 103, 5],
    ],
  )
  assert.deepEqual([group.end, group.records, group.append.at, group.append.epoch], [104, 4, 100, 5])
  assert.equal(group.bytes, group.batches[0]!.bytes.length + group.batches[1]!.bytes.length)
})

test('a group has room for 4 MiB, and for one batch of any size', () => {
  const group = groupOn(logEnding(0))
  const large = sized(6_000_000)
  assert.equal(group.hasRoomFor(large.batch), true)
  add(group, large)
  assert.equal(group.hasRoomFor(sized(1).batch), false)
  const other = groupOn(logEnding(0))
  add(other, sized(3_000_000))
  assert.equal(other.hasRoomFor(sized(1_194_000).batch), true)
  assert.equal(other.hasRoomFor(sized(1_195_000).batch), false)
})

test('a batch that the store already has is stamped in a copy', () => {
  const first = waiting(batchOf(1))
  const original = first.batch.bytes
  add(groupOn(logEnding(10)), first)
  assert.equal(viewBatch(original).baseOffset, 10)
  const again = groupOn(logEnding(20))
  add(again, first)
  assert.equal(viewBatch(original).baseOffset, 10)
  assert.equal(viewBatch(again.batches[0]!.bytes).baseOffset, 20)
  assert.deepEqual([first.baseOffset, first.nextOffset], [20, 21])
})

test('with LogAppendTime the batch has the time of the group', () => {
  const group = groupOn(logEnding(0, { messageTimestampType: 'LogAppendTime' }))
  const each = waiting(batchOf(2))
  add(group, each)
  assert.equal(each.logAppendTimeMs, NOW)
  assert.equal(group.batches[0]!.maxTimestamp, NOW)
  assert.equal(viewBatch(group.batches[0]!.bytes).maxTimestamp, NOW)
})

test('with offset sequence bits offsets follow the clock and never go back', () => {
  const behind = groupOn(logEnding(5, { offsetSequenceBits: 4 }))
  add(behind, waiting(batchOf(3)))
  add(behind, waiting(batchOf(1)))
  assert.deepEqual(
    behind.batches.map(({ baseOffset }) => baseOffset),
    [NOW * 16, NOW * 16 + 3],
  )
  const ahead = groupOn(logEnding(NOW * 16 + 1_000, { offsetSequenceBits: 4 }))
  add(ahead, waiting(batchOf(1)))
  assert.equal(ahead.batches[0]!.baseOffset, NOW * 16 + 1_000)
})

test('sequences follow the log and the earlier batches of the group', () => {
  const group = groupOn(logEnding(100, {}, { 7: known }))
  assert.equal(add(group, sequenced(4, 2, 1)), null)
  assert.equal(add(group, sequenced(7, 1, 1)), OUT_OF_ORDER_SEQUENCE_NUMBER.name)
  assert.equal(add(group, sequenced(6, 1, 1)), null)
  assert.equal(add(group, sequenced(0, 1, 0)), INVALID_PRODUCER_EPOCH.name)
  assert.deepEqual([group.batches.length, group.end], [2, 103])
  assert.equal(group.producers.get(7)!.batches.length, 3)
  assert.equal(known.batches.length, 1, 'the log changes when the group is in it')
})

test('a repeat has the offsets of its original, and waits with the group if the original is in the group', () => {
  const group = groupOn(logEnding(100, {}, { 7: known }))
  const old = sequenced(0, 4, 1)
  assert.equal(add(group, old), 90)
  assert.deepEqual([old.baseOffset, old.nextOffset], [90, 94])
  assert.deepEqual(group.repeats, [])
  add(group, sequenced(4, 1, 1))
  const twin = sequenced(4, 1, 1)
  assert.equal(add(group, twin), 100)
  assert.deepEqual(group.repeats, [twin])
  assert.equal(group.batches.length, 1)
})

test('the append carries the waiting rows, then the rows of the producers of the group', () => {
  const group = groupOn(logEnding(100, {}, { 7: known }))
  add(group, sequenced(4, 1, 1))
  add(group, waiting(batchOf(1)))
  const row = { key: 'p3', value: null }
  group.carry([row])
  const { attempt, batches, rows } = group.append
  assert.equal(attempt, 'attempt')
  assert.equal(batches, group.batches)
  assert.equal(group.pendingRows, 1)
  assert.deepEqual(rows[0], row)
  assert.equal(rows[1]!.key, 'p7')
  assert.deepEqual(decodeProducer(rows[1]!.value!), group.producers.get(7))
  assert.equal(rows.length, 2)
})
