import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lostRecords } from './lost-records.ts'

const partition = (start: number | null, end: number | null) => ({ start, end })

test('a deletion of everything takes the records of all partitions that answer', () => {
  const lost = lostRecords([partition(0, 10), partition(5, 8), partition(null, null)], 'end')
  assert.deepEqual(lost, { records: 13, from: null, to: null, unknown: 1 })
  assert.equal(lostRecords([partition(null, null)], 'end').records, null)
})

test('a deletion below an offset takes the records from the start to it', () => {
  assert.deepEqual(lostRecords([partition(5, 20)], 12), { records: 7, from: 5, to: 11, unknown: 0 })
  assert.deepEqual(lostRecords([partition(5, 20)], 3), { records: 0, from: null, to: null, unknown: 0 })
  assert.deepEqual(lostRecords([partition(5, 20)], 99), { records: 15, from: 5, to: 19, unknown: 0 })
})
