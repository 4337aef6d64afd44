import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type DirtyChunk, dirtinessOf, type Lags } from './choose.ts'

const NEVER = Number.POSITIVE_INFINITY
const LAGS: Lags = { minCleanableDirtyRatio: 0.5, minCompactionLagMs: 0, maxCompactionLagMs: NEVER }
const NOW = 10_000

/** Chunks of ten offsets with these sizes, of which each is 1,000 ms younger than the one before. */
function chunksOf(...sizes: readonly number[]): DirtyChunk[] {
  return sizes.map((bytes, i) => ({
    from: i * 10,
    next: (i + 1) * 10,
    bytes,
    newestMs: (i + 1) * 1_000,
    isKnown: true,
    minTimestamp: i * 1_000 + 500,
  }))
}

function look(chunks: readonly DirtyChunk[], cleanedTo: number, lags: Partial<Lags> = {}, isInterrupted = false) {
  const sealedTo = chunks.at(-1)!.next
  return dirtinessOf(chunks, { cleanedTo, sealedTo, isInterrupted }, { ...LAGS, ...lags }, NOW)
}

test('a log is due when the dirty share of its cleanable bytes exceeds the ratio', () => {
  const { ratio, dirtyBytes, upTo, isDue } = look(chunksOf(50, 50), 10)
  assert.deepEqual([ratio, dirtyBytes, upTo, isDue], [0.5, 50, 20, false])
  assert.equal(look(chunksOf(50, 51), 10).isDue, true)
  assert.equal(look(chunksOf(50, 51), 20).isDue, false)
  assert.equal(look(chunksOf(1, 1), 0, { minCleanableDirtyRatio: 1 }).isDue, false)
  assert.equal(look(chunksOf(1_000, 1), 10, { minCleanableDirtyRatio: 0 }).isDue, true)
  assert.equal(look(chunksOf(1, 0), 10, { minCleanableDirtyRatio: 0 }).isDue, false)
})

test('bytes that no pass may clean yet do not count', () => {
  const chunks = chunksOf(10, 10, 1_000)
  const { ratio, upTo } = dirtinessOf(chunks, { cleanedTo: 10, sealedTo: 20, isInterrupted: false }, LAGS, NOW)
  assert.deepEqual([ratio, upTo], [0.5, 20])
})

test('a record younger than min.compaction.lag.ms ends the part that may be cleaned, and so does an unknown age', () => {
  // The third chunk is newer than 10,000 - 7,500 ms.
  const young = look(chunksOf(10, 10, 10), 0, { minCompactionLagMs: 7_500 })
  assert.deepEqual([young.upTo, young.dirtyBytes], [20, 20])
  const unknown = chunksOf(10, 10, 10)
  unknown[1] = { ...unknown[1]!, isKnown: false }
  assert.equal(look(unknown, 0, { minCompactionLagMs: 1 }).upTo, 10)
  assert.equal(look(unknown, 0).upTo, 30)
  // A young chunk that is already clean changes nothing.
  assert.equal(look(chunksOf(10, 10), 20, { minCompactionLagMs: 9_999 }).upTo, 20)
})

test('a dirty record older than max.compaction.lag.ms makes a log due, however small its dirty share is', () => {
  const chunks = chunksOf(1_000, 1)
  assert.equal(look(chunks, 10, { maxCompactionLagMs: 8_500 }).isDue, false)
  const late = look(chunks, 10, { maxCompactionLagMs: 8_499 })
  assert.deepEqual([late.isDue, late.oldestMs], [true, 8_500])
  assert.equal(look(chunks, 20, { maxCompactionLagMs: 1 }).isDue, false)
  const { minTimestamp: _, ...unknown } = chunks[1]!
  assert.equal(look([chunks[0]!, unknown], 10, { maxCompactionLagMs: 1 }).oldestMs, 8_000)
})

test('an interrupted pass is always due', () => {
  assert.equal(look(chunksOf(1_000, 1), 10, {}, true).isDue, true)
})
