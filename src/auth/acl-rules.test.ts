import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Grant, grantsOf, matches, rowOf, UnreadableRules } from './acl-rules.ts'

const text = (grants: readonly Grant[]) => Buffer.from(rowOf(grants).value!).toString()
const read = (document: string) => grantsOf('ada', new Map([['document', Buffer.from(document)]]))

test('groups are in a document only where there is a rule for one', () => {
  const topic: Grant = { resourceType: 'TOPIC', resource: 'orders', operation: 'WRITE' }
  const group: Grant = { resourceType: 'GROUP', resource: 'g', operation: 'READ' }
  assert.equal(text([topic, { ...topic, operation: 'READ' }]), '{"topics":{"orders":["READ","WRITE"]}}')
  assert.equal(text([group]), '{"topics":{},"groups":{"g":["READ"]}}')
  assert.deepEqual(read(text([group, topic])), [topic, group])
})

test('a document of an older release has topics alone', () => {
  assert.deepEqual(read('{"topics":{"orders":["READ"]}}'), [
    { resourceType: 'TOPIC', resource: 'orders', operation: 'READ' },
  ])
  assert.deepEqual(read('{}'), [])
})

test('a document in another form names the principal', () => {
  for (const document of ['', '[]', 'null', '{"topics":[]}', '{"topics":{"a":"READ"}}', '{"topics":{"a":["ALTER"]}}'])
    assert.throws(
      () => read(document),
      (error: Error) => error instanceof UnreadableRules && error.message.includes('"ada"'),
    )
})

test('S34: a pattern is for what begins with it, in the same case', () => {
  assert.ok(matches('*', 'anything') && matches('a*', 'a') && matches('a*', 'abc') && matches('a', 'a'))
  assert.ok(!matches('a*', 'A') && !matches('a', 'ab') && !matches('ab*', 'a'))
})
