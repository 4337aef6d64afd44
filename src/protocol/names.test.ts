import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkGroupId, checkTopicName } from './names.ts'

test('topic names follow the rules of Kafka', () => {
  for (const name of ['a', 'A.b_c-9', '...', '_', 'x'.repeat(249)]) assert.equal(checkTopicName(name), null, name)
  const wrong: [string, RegExp][] = [
    ['', /not be empty/],
    ['.', /not be \./],
    ['..', /not be \.\./],
    ['x'.repeat(250), /at most 249 characters, this one has 250/],
    ['a/b', /only ASCII letters.*"a\/b"/],
    ['a:b', /only ASCII/],
    ['{x}', /only ASCII/],
    ['ä', /only ASCII/],
    ['a\0', /only ASCII/],
    ['a\n', /only ASCII/],
  ]
  for (const [name, reason] of wrong) assert.match(checkTopicName(name) ?? '', reason)
})

test('group ids are not empty, bounded in bytes, and free of control characters', () => {
  for (const id of ['g', 'my group', 'größe', 'x'.repeat(255)]) assert.equal(checkGroupId(id), null)
  for (const id of ['', 'x'.repeat(256), 'é'.repeat(128), 'a\0b', 'a\nb', '\u007f'])
    assert.notEqual(checkGroupId(id), null)
})
