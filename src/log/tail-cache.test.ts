import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../testing/property.ts'
import type { Batch } from '../store/store.ts'
import { type Tail, TailCache } from './tail-cache.ts'

function batchAt(baseOffset: number, size: number, frame: Buffer = Buffer.alloc(size)): Batch {
  const bytes = frame.subarray(0, size)
  return { baseOffset, nextOffset: baseOffset + 1, recordCount: 1, maxTimestamp: -1, bytes }
}

function offsets(tail: Tail): number[] {
  return Array.from({ length: tail.length }, (_, i) => tail.at(i)!.baseOffset)
}

test('the oldest batches are evicted first, across partitions', () => {
  const cache = new TailCache(3 * (1000 + 256))
  const [a, b] = [cache.tail(0), cache.tail(0)]
  a.add(batchAt(0, 1000))
  b.add(batchAt(0, 1000))
  a.add(batchAt(1, 1000))
  b.add(batchAt(1, 1000))
  assert.deepEqual([offsets(a), offsets(b)], [[1], [0, 1]])
  assert.deepEqual([a.coversFrom, b.coversFrom], [1, 0])
})

test('a batch that is a small part of its frame is copied out of it, a large one is not', () => {
  const tail = new TailCache(1_000_000).tail(0)
  const frame = Buffer.alloc(10_000)
  tail.add(batchAt(0, 4_999, frame))
  tail.add(batchAt(1, 5_000, frame))
  assert.notEqual(tail.at(0)!.bytes.buffer, frame.buffer)
  assert.equal(tail.at(0)!.bytes.buffer.byteLength, 4_999)
  assert.equal(tail.at(1)!.bytes.buffer, frame.buffer)
})

test('the budget counts all memory that a batch keeps alive', () => {
  const cache = new TailCache(1_000_000)
  cache.tail(0).add(batchAt(0, 6_000, Buffer.alloc(10_000)))
  assert.equal(cache.bytes, 10_000 + 256)
})

test('entries that tails have dropped take no memory, even if the budget is never reached', () => {
  const cache = new TailCache(1_000_000)
  const kept = cache.tail(0)
  for (let at = 0; at < 1_000; at++) {
    const passing = cache.tail(0)
    for (let i = 0; i < 5; i++) passing.add(batchAt(i, 10))
    if (at % 100 === 0) kept.add(batchAt(at / 100, 10))
    passing.reset(5)
  }
  assert.deepEqual(offsets(kept), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
  assert(cache.places < 40, `${cache.places} places for 10 entries`)
})

test('after a batch larger than the budget the tail is complete from the next offset on', () => {
  const cache = new TailCache(5_000)
  const tail = cache.tail(0)
  tail.add(batchAt(0, 1_000))
  tail.add(batchAt(1, 9_000))
  assert.deepEqual([tail.length, tail.coversFrom, cache.bytes], [0, 2, 0])
  tail.add(batchAt(2, 1_000))
  assert.deepEqual([offsets(tail), tail.coversFrom], [[2], 2])
})

test('a look-up finds the batch that covers an offset, or the next one in a gap', () => {
  const tail = new TailCache(1_000_000).tail(0)
  for (const [baseOffset, nextOffset] of [
    [0, 10],
    [10, 20],
    [50, 60],
  ] as const)
    tail.add({ ...batchAt(baseOffset, 100), nextOffset })
  const found = (offset: number) => tail.at(tail.position(offset))?.baseOffset
  assert.deepEqual([0, 9, 10, 19, 20, 49, 55, 59, 60].map(found), [0, 0, 10, 10, 50, 50, 50, 50, undefined])
})

test('for any mixture of calls the budget is kept and each tail is the newest part of its log', () => {
  const step = fc.record({
    tail: fc.nat(2),
    size: fc.integer({ min: 1, max: 3_000 }),
    reset: fc.integer({ min: 0, max: 9 }),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), steps => {
      const cache = new TailCache(10_000)
      const tails = [0, 1, 2].map(() => ({ tail: cache.tail(0), end: 0 }))
      for (const { tail: which, size, reset } of steps) {
        const log = tails[which]!
        if (reset === 0) log.tail.reset(log.end)
        else log.tail.add(batchAt(log.end++, size))
        assert(cache.bytes <= 10_000 && cache.bytes >= 0)
        for (const { tail, end } of tails) {
          const held = offsets(tail)
          assert.deepEqual(
            held,
            Array.from({ length: end - tail.coversFrom }, (_, i) => tail.coversFrom + i),
          )
        }
        const held = tails.flatMap(({ tail }) =>
          Array.from({ length: tail.length }, (_, i) => tail.at(i)!.bytes.length + 256),
        )
        assert.equal(
          cache.bytes,
          held.reduce((a, b) => a + b, 0),
        )
      }
    }),
    { numRuns: 50 },
  )
})
