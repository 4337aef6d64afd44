import assert from 'node:assert/strict'
import { test } from 'node:test'
import { restAfter } from './rest.ts'

test('work rests five times as long as it took, for each that takes turns, up to a limit for each', () => {
  assert.equal(restAfter(10, 4_000, 1), 50)
  assert.equal(restAfter(10, 4_000, 3), 150)
  assert.equal(restAfter(10_000, 4_000, 3), 12_000)
  assert.equal(restAfter(10, 4_000, 0), 50)
})
