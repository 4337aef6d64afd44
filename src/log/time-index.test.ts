import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Row } from '../store/store.ts'
import { TimeIndex } from './time-index.ts'

function rowsOf(...rows: (Row | null)[]): Map<string, Uint8Array> {
  return new Map(rows.flatMap(row => (row?.value ? [[row.key, row.value] as const] : [])))
}

/** Adds a batch of one record that has this size in both forms. */
function add(index: TimeIndex, nextOffset: number, size: number, timestamp: number, nowMs: number): Row | null {
  const bytes = Buffer.alloc(size)
  return index.add({ nextOffset, recordCount: 1, maxTimestamp: timestamp, bytes }, size, timestamp, nowMs)
}

test('a chunk counts its batches and is sealed when it is large or old enough', () => {
  const index = new TimeIndex()
  add(index, 10, 600, 5_000, 4_000)
  assert.equal(index.seal(1_000), null)
  add(index, 20, 600, 3_000, 4_100)
  const mark = index.seal(1_000)
  assert.equal(mark?.key, 'm0')
  add(index, 30, 10, 9_000, 5_000)
  assert.equal(index.seal(1_000, 5_999, 1_000), null)
  assert.notEqual(index.seal(1_000, 6_000, 1_000), null)
  const ranges = index.chunks.map(({ from, next, bytes, maxTimestamp, newestMs }) => [
    from,
    next,
    bytes,
    maxTimestamp,
    newestMs,
  ])
  assert.deepEqual(ranges, [
    [0, 20, 1_200, 5_000, 4_000],
    [20, 30, 10, 9_000, 5_000],
    [30, 30, 0, -1, -1],
  ])
})

test('the age of data is that of its records or its append, whichever is older; without a timestamp its append counts', () => {
  const index = new TimeIndex()
  add(index, 1, 10, 99_000, 1_000)
  assert.equal(index.chunks[0]!.newestMs, 1_000)
  add(index, 2, 10, -1, 2_000)
  assert.equal(index.chunks[0]!.newestMs, 2_000)
  assert.equal(index.chunks[0]!.maxTimestamp, 99_000)
})

test('marks are found again, and a part without marks is one unknown chunk until it is learned', () => {
  const before = new TimeIndex()
  add(before, 10, 100, 1_000, 1_000)
  const first = before.seal(0)
  add(before, 20, 200, 2_000, 2_000)
  before.seal(0)
  add(before, 30, 300, 3_000, 3_000)
  const third = before.seal(0)

  const after = new TimeIndex()
  assert.deepEqual(
    after.adopt(
      rowsOf(first, third),
      { start: 0, end: 45, emptyFrom: 45, bytes: 100 + 200 + 300 + 50, activeFrom: 0 },
      9_000,
    ),
    [],
  )
  assert.deepEqual(
    after.chunks.map(({ from, next, isKnown }) => [from, next, isKnown]),
    [
      [0, 10, true],
      [10, 20, false],
      [20, 30, true],
      [30, 45, false],
      [45, 45, true],
    ],
  )
  const mark = after.learn(after.chunks[1]!, [
    { bytes: 150, maxTimestamp: 2_000, plainBytes: 300, records: 4, minTimestamp: 1_900 },
    { bytes: 50, maxTimestamp: 99_000, plainBytes: 50, records: 1, minTimestamp: -1 },
  ])
  assert.equal(mark?.key, 'm10')
  const { bytes, maxTimestamp, newestMs, isKnown } = after.chunks[1]!
  assert.deepEqual([bytes, maxTimestamp, newestMs, isKnown], [200, 99_000, 9_000, true])
})

test('a mark that overlaps an earlier one is not used, and its row goes', () => {
  const before = new TimeIndex()
  add(before, 10, 100, 1_000, 1_000)
  const first = before.seal(0)
  add(before, 20, 200, 2_000, 2_000)
  const second = before.seal(0)
  // A leader that had rewritten [0, 15) learned the rest of the second chunk.
  const other = new TimeIndex()
  other.adopt(new Map(), { start: 15, end: 20, emptyFrom: 20, bytes: 100, activeFrom: 0 }, 0)
  const rest = other.learn(other.chunks[0]!, [
    { bytes: 100, plainBytes: 100, records: 1, minTimestamp: 0, maxTimestamp: 0 },
  ])
  const after = new TimeIndex()
  const dead = after.adopt(
    rowsOf(rest, second, first),
    { start: 0, end: 20, emptyFrom: 20, bytes: 300, activeFrom: 0 },
    0,
  )
  assert.deepEqual(dead, [{ key: 'm15', value: null }])
  assert.deepEqual(
    after.chunks.map(({ from, next, bytes }) => [from, next, bytes]),
    [
      [0, 10, 100],
      [10, 20, 200],
      [20, 20, 0],
    ],
  )
})

test('marks below the log start or beyond the end are not used and are deleted', () => {
  const before = new TimeIndex()
  add(before, 10, 100, 1_000, 1_000)
  const first = before.seal(0)
  add(before, 20, 100, 1_000, 1_000)
  const second = before.seal(0)
  const after = new TimeIndex()
  assert.deepEqual(
    after.adopt(rowsOf(first, second), { start: 10, end: 20, emptyFrom: 20, bytes: 100, activeFrom: 0 }, 0),
    [{ key: 'm0', value: null }],
  )
  assert.equal(
    new TimeIndex().adopt(rowsOf(first, second), { start: 0, end: 15, emptyFrom: 15, bytes: 100, activeFrom: 0 }, 0)[0]
      ?.key,
    'm10',
  )
  assert.deepEqual(
    after.chunks.map(({ from, next }) => [from, next]),
    [
      [10, 20],
      [20, 20],
    ],
  )
})

test('a chunk whose mark begins below the log start is learned again, because the mark counts dropped bytes', () => {
  const before = new TimeIndex()
  add(before, 10, 100, 1_000, 1_000)
  const mark = before.seal(0)
  const after = new TimeIndex()
  assert.deepEqual(after.adopt(rowsOf(mark), { start: 5, end: 10, emptyFrom: 10, bytes: 50, activeFrom: 0 }, 0), [
    { key: 'm0', value: null },
  ])
  const { from, next, bytes, isKnown } = after.chunks[0]!
  assert.deepEqual([from, next, bytes, isKnown], [5, 10, 50, false])
})

test('dropping forgets whole chunks, subtracts the other bytes from the next chunk, and never forgets the open one', () => {
  const index = new TimeIndex()
  for (const end of [10, 20, 30]) {
    add(index, end, 100, -1, 0)
    if (end < 30) index.seal(0)
  }
  assert.deepEqual(
    index.marksBefore(25).map(row => row.key),
    ['m0', 'm10'],
  )
  const bytes = () => index.chunks.map(chunk => chunk.bytes)
  index.drop(15, 140)
  assert.deepEqual(bytes(), [60, 100])
  index.drop(30, 130)
  assert.deepEqual(bytes(), [30])
  const gone = index.chunks[0]!
  index.seal(0)
  index.drop(30, 30)
  assert.equal(index.learn(gone, []), null)
})

test('a mark carries sizes, counts and the times of appends; what a mark of format 1 lacks is unknown', () => {
  const before = new TimeIndex()
  const bytes = Buffer.alloc(500)
  const opening = before.add({ nextOffset: 10, recordCount: 10, maxTimestamp: 7_000, bytes }, 100, 6_000, 8_000)
  assert.equal(before.add({ nextOffset: 12, recordCount: 2, maxTimestamp: -1, bytes }, 100, -1, 9_000), null)
  assert.equal(opening?.key, 'o')
  const mark = before.seal(0)!
  const log = { start: 0, end: 12, emptyFrom: 12, bytes: 200, activeFrom: 0 }
  const countsOf = (row: Row) => {
    const after = new TimeIndex()
    after.adopt(rowsOf(row), log, 50_000)
    const { plainBytes, batches, records, minTimestamp, firstAppendMs, lastAppendMs, newestMs } = after.chunks[0]!
    return [plainBytes, batches, records, minTimestamp, firstAppendMs, lastAppendMs, newestMs]
  }
  assert.deepEqual(countsOf(mark), [1_000, 2, 12, 6_000, 8_000, 9_000, 9_000])
  const former = Buffer.from(mark.value!.subarray(0, 33))
  former[0] = 1
  assert.deepEqual(countsOf({ key: 'm0', value: former }), [null, null, null, null, null, null, 9_000])

  const unmarked = new TimeIndex()
  unmarked.adopt(rowsOf(opening), log, 50_000)
  assert.equal(unmarked.chunks[0]!.firstAppendMs, 8_000, 'the first append of the open chunk is known without a mark')
})

test('a mark of batches that the store has lost does not count, and is deleted', () => {
  const index = new TimeIndex()
  add(index, 10, 100, 1_000, 1_000)
  const kept = index.seal(0)!
  add(index, 20, 200, 2_000, 2_000)
  const lost = index.seal(0)!
  const after = new TimeIndex()
  const log = { start: 0, end: 25, emptyFrom: 10, bytes: 100, activeFrom: 0 }
  assert.deepEqual(after.adopt(rowsOf(kept, lost), log, 0), [{ key: 'm10', value: null }])
  assert.deepEqual(
    after.chunks.map(({ from, next, bytes, isKnown }) => [from, next, bytes, isKnown]),
    [
      [0, 10, 100, true],
      [10, 25, 0, false],
      [25, 25, 0, true],
    ],
  )
})

test('a part without marks is divided where the active segment begins', () => {
  const index = new TimeIndex()
  index.adopt(new Map(), { start: 0, end: 100, emptyFrom: 100, bytes: 900, activeFrom: 60 }, 0)
  assert.deepEqual(
    index.chunks.map(({ from, next, isKnown }) => [from, next, isKnown]),
    [
      [0, 60, false],
      [60, 100, false],
      [100, 100, true],
    ],
  )
})

test('a rewritten range becomes one chunk, the rest of a cut chunk is learned again, and the rows say the same', () => {
  const index = new TimeIndex()
  const marks: Row[] = []
  for (const end of [10, 20, 30, 40]) {
    add(index, end, 100, end, end)
    marks.push(index.seal(0)!)
  }
  const remains = { bytes: 50, plainBytes: 70, batches: 1, records: 3, minTimestamp: 11, maxTimestamp: 19 }
  const rows = index.rewritten(10, 25, remains)
  assert.equal(index.chunks.length, 5, 'nothing is changed yet')
  index.commitRewritten(10, 25, remains)
  const shown = (chunks: TimeIndex['chunks']) =>
    chunks.map(({ from, next, bytes, records, newestMs, firstAppendMs, isKnown }) =>
      isKnown ? [from, next, bytes, records, newestMs, firstAppendMs] : [from, next],
    )
  const expected = [
    [0, 10, 100, 1, 10, 10],
    [10, 25, 50, 3, 30, 20],
    [25, 30],
    [30, 40, 100, 1, 40, 40],
    [40, 40, 0, 0, -1, null],
  ]
  assert.deepEqual(shown(index.chunks), expected)

  const stored = rowsOf(...marks)
  for (const { key, value } of rows) {
    if (value === null) stored.delete(key)
    else stored.set(key, value)
  }
  const again = new TimeIndex()
  assert.deepEqual(again.adopt(stored, { start: 0, end: 40, emptyFrom: 40, bytes: 300, activeFrom: 0 }, 0), [])
  assert.deepEqual(shown(again.chunks), expected)
})

test('records that were appended after the adoption keep their age when a rewrite makes their chunk unknown', () => {
  const index = new TimeIndex()
  index.adopt(rowsOf(), { start: 0, end: 10, emptyFrom: 10, bytes: 100, activeFrom: 0 }, 1_000)
  for (const next of [20, 30]) add(index, next, 50, 5_000, 5_000)
  index.seal(0)
  add(index, 40, 50, 6_000, 6_000)
  index.seal(0)
  const remains = { bytes: 150, plainBytes: 150, batches: 3, records: 3, minTimestamp: 500, maxTimestamp: 5_000 }
  index.commitRewritten(0, 20, remains)
  const batch = { bytes: 50, plainBytes: 50, records: 1, minTimestamp: 5_000, maxTimestamp: 5_000 }
  for (const chunk of index.chunks.filter(({ isKnown }) => !isKnown)) index.learn(chunk, [batch])
  const ages = index.chunks.map(({ from, next, newestMs, isKnown }) => [from, next, newestMs, isKnown])
  assert.deepEqual(ages, [
    [0, 20, 5_000, true],
    [20, 30, 5_000, true],
    [30, 40, 6_000, true],
    [40, 40, -1, true],
  ])
})

test('the rest of a cut chunk keeps the age of its records, however long ago the log was opened', () => {
  const openedAtMs = 1_000
  const index = new TimeIndex()
  index.adopt(new Map(), { start: 0, end: 0, emptyFrom: 0, bytes: 0, activeFrom: 0 }, openedAtMs)
  for (const [end, nowMs] of [[10, 50_000] as const, [20, 60_000] as const]) add(index, end, 100, nowMs, nowMs)
  index.seal(0)
  const remains = { bytes: 50, plainBytes: 50, batches: 1, records: 1, minTimestamp: 50_000, maxTimestamp: 50_000 }
  index.commitRewritten(0, 10, remains)
  const rest = index.chunks[1]!
  assert.deepEqual([rest.from, rest.next, rest.isKnown], [10, 20, false])
  const batch = { bytes: 100, plainBytes: 100, records: 1, minTimestamp: 60_000 }
  index.learn(rest, [{ ...batch, maxTimestamp: 60_000 }])
  assert.equal(index.chunks[1]!.newestMs, 60_000)
})

test('a rewrite from a log start within a chunk leaves nothing below the log start', () => {
  const start = 15
  const index = new TimeIndex()
  for (const end of [10, 20, 30]) {
    add(index, end, 100, end, end)
    index.seal(0)
  }
  index.drop(start, 150)
  const adopted = new TimeIndex()
  adopted.adopt(rowsOf(), { start, end: 30, emptyFrom: 30, bytes: 150, activeFrom: 20 }, 40)
  const remains = { bytes: 50, plainBytes: 50, batches: 1, records: 1, minTimestamp: 20, maxTimestamp: 20 }
  for (const each of [index, adopted]) {
    each.rewritten(start, 20, remains)
    each.commitRewritten(start, 20, remains)
    assert.deepEqual(
      each.chunks.map(({ from, next }) => [from, next]),
      [
        [start, 20],
        [20, 30],
        [30, 30],
      ],
    )
  }
})
