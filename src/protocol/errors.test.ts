import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  because,
  errorOf,
  errors,
  isRefusal,
  NONE,
  OFFSET_OUT_OF_RANGE,
  REBALANCE_IN_PROGRESS,
  UNKNOWN_TOPIC_ID,
} from './errors.ts'

test('every code from -1 to 133 but 0 is one refusal, found by its code', () => {
  assert.deepEqual(
    errors.map(error => error.code),
    Array.from({ length: 135 }, (_, i) => i - 1).filter(code => code !== NONE),
  )
  for (const error of errors) {
    assert.equal(errorOf(error.code), error)
    assert.ok(isRefusal(error) && Object.isFrozen(error))
    assert.match(error.message, /\.$/)
  }
  assert.equal(errorOf(0), null)
  assert.equal(errorOf(4000), null)
})

test('errors that clients retry are marked', () => {
  assert.deepEqual(
    [UNKNOWN_TOPIC_ID.retriable, OFFSET_OUT_OF_RANGE.retriable, REBALANCE_IN_PROGRESS.retriable],
    [true, false, false],
  )
})

test('because keeps the code and changes the sentence', () => {
  const refusal = because(OFFSET_OUT_OF_RANGE, 'Offset 5 is before 7.')
  assert.deepEqual([refusal.code, refusal.name, refusal.message], [1, 'OFFSET_OUT_OF_RANGE', 'Offset 5 is before 7.'])
  assert.ok(isRefusal(refusal) && Object.isFrozen(refusal))
  assert.equal(isRefusal({ code: 1 }), false)
  assert.equal(isRefusal(null), false)
})
