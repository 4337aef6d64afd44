// Tests the model itself: which answers of a broker it accepts and which it refuses.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeBatch } from '../../src/protocol/records.ts'
import { Difference } from './difference.ts'
import { LogModel, type RetentionRule, type SentBatch } from './log-model.ts'
import { type Origin, Sequences } from './sequences.ts'

const NOW_MS = 1_000_000

function batch(tag: string, records = 2, origin: Origin | null = null): SentBatch {
  const sent = Array.from({ length: records }, (_, i) => ({
    key: null,
    value: Buffer.from(`${tag}${i}`),
    timestamp: i,
  }))
  return { tag, records: sent, bytes: encodeBatch(sent), isZstd: false, origin, sentAtMs: NOW_MS }
}

const keepAll: RetentionRule = { ms: -1, bytes: -1, untilMs: Number.POSITIVE_INFINITY }

function logOf(tags: readonly string[], rules: readonly RetentionRule[] = [keepAll]): LogModel {
  const log = new LogModel('t-0', rules)
  for (const tag of tags) log.place(batch(tag), log.end, -1)
  return log
}

const found = (tag: string, baseOffset: number) => ({ tag, baseOffset, appendTimeMs: -1 })

test('a batch whose answer is lost may be in the log or not, and the acknowledged ones must be', () => {
  for (const landed of [true, false]) {
    const log = logOf(['a'])
    log.pending.push({ sent: batch('b'), baseOffset: null, appendTimeMs: -1 })
    log.pending.push({ sent: batch('c'), baseOffset: landed ? 4 : 2, appendTimeMs: -1 })
    log.resolve(landed ? [found('b', 2), found('c', 4)] : [found('c', 2)])
    assert.equal(log.end, landed ? 6 : 4)
    assert.equal(log.pending.length, 0)
  }
})

test('an acknowledged batch that is lost, moved or out of order is a difference, and so is one that no producer sent', () => {
  const wrong = [[], [found('b', 3)], [found('c', 2)], [found('c', 2), found('b', 4)], [found('b', 2), found('b', 4)]]
  for (const batches of wrong) {
    const log = logOf(['a'])
    log.pending.push({ sent: batch('b'), baseOffset: 2, appendTimeMs: -1 })
    log.pending.push({ sent: batch('c'), baseOffset: null, appendTimeMs: -1 })
    assert.throws(() => log.resolve(batches), Difference, JSON.stringify(batches))
  }
})

test('a batch that was refused must not be in the log', () => {
  const log = logOf([])
  log.pending.push({ sent: batch('a'), baseOffset: null, appendTimeMs: -1, isRefused: true })
  assert.throws(() => log.resolve([found('a', 0)]), Difference)
})

test('a producer without a batch in the log begins with the first batch that failed', () => {
  const log = logOf([])
  const origin = (sequence: number): Origin => ({ producerId: 1, epoch: 0, sequence })
  for (const [tag, sequence] of [
    ['a', 0],
    ['b', 2],
  ] as const)
    log.pending.push({ sent: batch(tag, 2, origin(sequence)), baseOffset: null, appendTimeMs: -1, isRefused: true })
  log.resolve([])
  assert.deepEqual(log.awaited.get(1), origin(0))
  log.place(batch('a', 2, origin(0)), 0, -1)
  assert.equal(log.awaited.get(1), undefined)
})

test('the log start moves only if the model knows a reason', () => {
  const log = logOf(['a', 'b', 'c'])
  assert.throws(() => log.sawStart(2, NOW_MS), Difference)
  log.lateStarts.add(3)
  assert.throws(() => log.sawStart(4, NOW_MS), Difference)
  log.sawStart(3, NOW_MS)
  assert.throws(() => log.sawStart(0, NOW_MS), Difference)
})

test('retention drops whole batches that are old enough, or keeps at least the configured bytes', () => {
  const byTime = logOf(['a', 'b'], [{ ...keepAll, ms: 500 }])
  assert.throws(() => byTime.sawStart(1, NOW_MS), Difference)
  byTime.sawStart(2, NOW_MS)
  const { bytes } = batch('b')
  const bySize = logOf(['a', 'b', 'c'], [{ ...keepAll, bytes: bytes.length + 1 }])
  assert.throws(() => bySize.sawStart(4, NOW_MS), Difference)
  bySize.sawStart(2, NOW_MS)
})

test('look-ups by time see only records above the log start, and the first of equal timestamps', () => {
  const log = logOf(['a', 'b'])
  assert.deepEqual(log.firstAtOrAfter(1), { offset: 1, timestamp: 1 })
  assert.deepEqual(log.largestTimestamp(), { offset: 1, timestamp: 1 })
  log.start = 2
  assert.deepEqual(log.largestTimestamp(), { offset: 3, timestamp: 1 })
  assert.equal(log.firstAtOrAfter(2), null)
})

test('sequences continue, repeat and wrap around as in Kafka', () => {
  const sequences = new Sequences()
  const origin = (epoch: number, sequence: number): Origin => ({ producerId: 1, epoch, sequence })
  assert.equal(sequences.verdict(origin(3, 2 ** 31 - 2), 3).kind, 'next')
  sequences.add(origin(3, 2 ** 31 - 2), 3, 10)
  assert.equal(sequences.next, 1)
  assert.deepEqual(sequences.verdict(origin(3, 2 ** 31 - 2), 3), { kind: 'repeat', baseOffset: 10 })
  assert.deepEqual(sequences.verdict(origin(3, 2), 1), { kind: 'refused', code: 45 })
  assert.deepEqual(sequences.verdict(origin(2, 1), 1), { kind: 'refused', code: 47 })
  assert.deepEqual(sequences.verdict(origin(4, 1), 1), { kind: 'refused', code: 45 })
  assert.equal(sequences.verdict(origin(4, 0), 1).kind, 'next')
  for (let i = 1; i <= 5; i++) sequences.add(origin(3, i), 1, 12 + i)
  assert.equal(sequences.verdict(origin(3, 2 ** 31 - 2), 3).kind, 'refused')
  assert.deepEqual(sequences.verdict(origin(3, 1), 1), { kind: 'repeat', baseOffset: 13 })
})
