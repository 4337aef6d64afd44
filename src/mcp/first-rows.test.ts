import assert from 'node:assert/strict'
import { test } from 'node:test'
import { firstRows } from './first-rows.ts'

test('a list shows its first rows, and how many there are', () => {
  assert.deepEqual(firstRows([]), { total: 0, rows: [] })
  assert.deepEqual(firstRows([1, 2]), { total: 2, rows: [1, 2] })
  const many = Array.from({ length: 51 }, (_, i) => i)
  assert.deepEqual(firstRows(many), { total: 51, rows: many.slice(0, 50) })
})

test('long rows are fewer, and one is always there', () => {
  const long = (length: number) => 'x'.repeat(length)
  assert.equal(firstRows(Array.from({ length: 50 }, () => long(1_000))).rows.length, 6)
  assert.deepEqual(firstRows([long(10_000), 'y']), { total: 2, rows: [long(10_000)] })
  assert.deepEqual(firstRows(['y', long(10_000)]), { total: 2, rows: ['y'] })
})
