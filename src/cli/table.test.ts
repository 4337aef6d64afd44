import assert from 'node:assert/strict'
import { test } from 'node:test'
import { time } from './table.ts'

test('a time is ISO 8601; the lack of one is nothing, and one beyond every date is a number', () => {
  assert.equal(time(1_700_000_000_000), '2023-11-14T22:13:20.000Z')
  assert.equal(time(-2), '1969-12-31T23:59:59.998Z')
  assert.equal(time(null), null)
  assert.equal(time(-1), null, 'a batch or a segment without a timestamp')
  assert.equal(time(9e15), '9000000000000000')
})
