import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BLOCK, denseParts, hasDense } from './dense.ts'

const filled = (unit: string, length = 20 * BLOCK) => unit.repeat(length / unit.length)

test('hidden and stacked characters without end are dense behind their first block', () => {
  for (const unit of ['\x01', '\x1b', '\u200B', '\u0301', '\x01a', '\x01abcd'])
    assert.deepEqual(denseParts(filled(unit)), [{ from: BLOCK, to: 20 * BLOCK }], JSON.stringify(unit))
  const line = `${filled('a', BLOCK)}${filled('\x01', 3 * BLOCK)}${filled('b', BLOCK)}${filled('\x02', BLOCK)}end`
  assert.deepEqual(denseParts(line), [
    { from: 2 * BLOCK, to: 4 * BLOCK },
    { from: 5 * BLOCK, to: 6 * BLOCK },
  ])
})

test('text that somebody can read is not dense', () => {
  for (const unit of [
    'x',
    '漢',
    'นํ้',
    'नमस्ते दुनिया ',
    'شَدَّة ',
    '👩‍👩‍👧',
    'می‌خواهم کتاب‌های خوب را بخوانم ',
    '\x1b[31mERROR\x1b[0m it did not work; ',
    'e\u0301\u0302\u0303',
    'a\t\t\t',
  ])
    assert.deepEqual(denseParts(unit.repeat(2_000)), [], JSON.stringify(unit))
  assert.deepEqual(denseParts(''), [])
  assert.deepEqual(denseParts(filled('\x01', BLOCK)), [])
})

test('a part never begins or ends inside a character', () => {
  const line = `x${'\u{E0041}'.repeat(2 * BLOCK)}`
  for (const { from, to } of denseParts(line))
    for (const at of [from, to]) assert.doesNotMatch(line.slice(at - 1, at + 1), /^[\ud800-\udbff][\udc00-\udfff]$/)
  assert.deepEqual(denseParts(line), [{ from: BLOCK + 1, to: line.length }])
})

test('a text is dense if one of its lines is', () => {
  const line = filled('\u0301')
  assert.ok(hasDense(line))
  assert.ok(hasDense(`{\n  "a": "${line}"\n}\n`))
  for (const text of ['', '\n'.repeat(2_000), `${'\x01'.repeat(BLOCK)}\n`.repeat(9), filled('x')])
    assert.ok(!hasDense(text))
})
