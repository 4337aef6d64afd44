import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkGroupId, checkTopicName } from './names.ts'

test('topic names follow the rules of Kafka', () => {
  for (const name of ['a', 'A.b_c-9', '...', '_', 'x'.repeat(249)]) assert.equal(checkTopicName(name), null, name)
  const wrong: [string, RegExp][] = [
    ['', /empty string/],
    ['.', /'\.' is not allowed/],
    ['..', /'\.\.' is not allowed/],
    ['x'.repeat(250), /longer than the max allowed length 249/],
    ['a/b', /'a\/b' contains .* other than ASCII/],
    ['a:b', /other than ASCII/],
    ['{x}', /other than ASCII/],
    ['ä', /other than ASCII/],
    ['a\0', /other than ASCII/],
    ['a\n', /other than ASCII/],
  ]
  for (const [name, reason] of wrong) assert.match(checkTopicName(name) ?? '', reason)
})

test('group ids are not empty, bounded in bytes, and free of control characters', () => {
  for (const id of ['g', 'my group', 'größe', 'x'.repeat(255)]) assert.equal(checkGroupId(id), null)
  for (const id of ['', 'x'.repeat(256), 'é'.repeat(128), 'a\0b', 'a\nb', '\u007f'])
    assert.notEqual(checkGroupId(id), null)
})
