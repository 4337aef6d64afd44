import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../../testing/property.ts'
import { BadMetadata } from './metadata.ts'
import {
  type Archived,
  addable,
  addRange,
  archivedEnd,
  covers,
  LOG_STARTS,
  lowest,
  moveLogStart,
  RANGES,
  RangeOverlap,
  readArchived,
  writeArchived,
} from './ranges.ts'

const NONE = readArchived({})

test('ranges are sorted, joined with their neighbours, and come back from the properties', () => {
  let archived = NONE
  for (const range of [
    [20, 30],
    [0, 10],
    [10, 20],
    [40, 50],
  ] as const)
    archived = addRange(archived, 3, range)
  assert.equal(writeArchived(archived)[RANGES], '{"3":[[0,30],[40,50]]}')
  assert.deepEqual(readArchived(writeArchived(archived)), archived)
  assert.equal(archivedEnd(archived, 3), 50)
  assert.equal(archivedEnd(archived, 4), 0)
  assert.equal(lowest(archived, 3), 0)
  assert.equal(lowest(archived, 4), null)
})

test('a range that the table has in part is refused, and so is one below the log start', () => {
  const archived = addRange(NONE, 0, [10, 20])
  for (const range of [
    [10, 20],
    [0, 11],
    [19, 30],
    [12, 15],
    [5, 5],
    [-1, 5],
  ] as const)
    assert.throws(() => addRange(archived, 0, range), RangeOverlap, String(range))
  assert.throws(() => addRange(moveLogStart(NONE, 0, 15), 0, [10, 20]), RangeOverlap)
  assert.doesNotThrow(() => addRange(archived, 1, [10, 20]))
})

test('a segment that the log start cuts is added from the log start on', () => {
  const archived = moveLogStart(NONE, 0, 15)
  const part = addable(archived, 0, [10, 20])
  assert.deepEqual(part, [15, 20])
  const added = addRange(archived, 0, part!)
  assert.equal(addable(added, 0, [10, 20]), null)
  assert.equal(addable(added, 0, [0, 15]), null)
  assert.deepEqual(addable(added, 0, [20, 30]), [20, 30])
  assert.throws(() => addRange(added, 0, addable(added, 0, [18, 30])!), RangeOverlap)
})

test('after retention removed everything, the end of the archive does not go back', () => {
  const archived = moveLogStart(addRange(NONE, 0, [0, 100]), 0, 100)
  assert.equal(archivedEnd(archived, 0), 100)
  assert.equal(lowest(archived, 0), null)
  assert.equal(covers(archived, 0, [0, 100]), true)
  assert.equal(covers(archived, 0, [0, 101]), false)
  assert.equal(moveLogStart(archived, 0, 50).logStarts.get(0), 100)
})

test('properties that are no ranges are refused with the name of the property', () => {
  for (const text of [
    'x',
    '[]',
    'null',
    '{"a":[]}',
    '{"01":[]}',
    '{"0":[[5,5]]}',
    '{"0":[[5,9],[9,12]]}',
    '{"0":[[1]]}',
  ])
    assert.throws(() => readArchived({ [RANGES]: text }), BadMetadata, text)
  for (const text of ['{"0":-1}', '{"0":"1"}', '{"0":1.5}'])
    assert.throws(() => readArchived({ [LOG_STARTS]: text }), BadMetadata, text)
})

test('ranges agree with a set of offsets, whatever is added and cut', () => {
  const step = fc.record({ base: fc.nat(60), length: fc.integer({ min: 1, max: 12 }), isCut: fc.boolean() })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), steps => {
      let archived: Archived = NONE
      const offsets = new Set<number>()
      let logStart = 0
      for (const { base, length, isCut } of steps) {
        const span = Array.from({ length }, (_, i) => base + i)
        if (isCut) {
          archived = moveLogStart(archived, 0, base)
          logStart = Math.max(logStart, base)
          for (const offset of offsets) if (offset < logStart) offsets.delete(offset)
        } else if (base >= logStart && span.every(offset => !offsets.has(offset))) {
          archived = addRange(archived, 0, [base, base + length])
          for (const offset of span) offsets.add(offset)
        } else assert.throws(() => addRange(archived, 0, [base, base + length]), RangeOverlap)
        archived = readArchived(writeArchived(archived))
        assert.equal(
          covers(archived, 0, [base, base + length]),
          span.every(offset => offset < logStart || offsets.has(offset)),
        )
        assert.equal(archivedEnd(archived, 0), Math.max(logStart, ...[...offsets].map(offset => offset + 1)))
        assert.equal(lowest(archived, 0), offsets.size === 0 ? null : Math.min(...offsets))
      }
    }),
  )
})
