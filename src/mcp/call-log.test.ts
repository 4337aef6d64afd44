import assert from 'node:assert/strict'
import { test } from 'node:test'
import { visible } from './call-log.ts'

test('a text of a client becomes one line of at most a hundred visible characters', () => {
  assert.equal(visible('a\nb\r\n\u2028\u202ec \u0085 d'), 'a b c d')
  assert.equal(visible('x'.repeat(100)), 'x'.repeat(100))
  assert.equal(visible('x'.repeat(101)), `${'x'.repeat(100)}…`)
  // A character of two code units is kept whole or not at all.
  for (const length of [101, 1_000_000]) assert.equal(visible('😀'.repeat(length)), `${'😀'.repeat(100)}…`)
  assert.equal(visible(`${' '.repeat(999)}😀`), '…')
})
