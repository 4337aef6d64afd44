import assert from 'node:assert/strict'
import { test } from 'node:test'
import { UnreadableDocument } from '../../store/store.ts'
import { type Grant, grantsOf, matches, rowOf } from './acl-rules.ts'

const text = (grants: readonly Grant[]) => Buffer.from(rowOf(grants).value!).toString()
const read = (document: string) => grantsOf('ada', new Map([['document', Buffer.from(document)]]))

test('a document has groups only if it has a rule for a group', () => {
  const topic: Grant = { resourceType: 'TOPIC', resource: 'orders', operation: 'WRITE' }
  const group: Grant = { resourceType: 'GROUP', resource: 'g', operation: 'READ' }
  assert.equal(text([topic, { ...topic, operation: 'READ' }]), '{"topics":{"orders":["READ","WRITE"]}}')
  assert.equal(text([group]), '{"topics":{},"groups":{"g":["READ"]}}')
  assert.deepEqual(read(text([group, topic])), [topic, group])
})

test('a document of an older release, which has only topics, is read', () => {
  assert.deepEqual(read('{"topics":{"orders":["READ"]}}'), [
    { resourceType: 'TOPIC', resource: 'orders', operation: 'READ' },
  ])
  assert.deepEqual(read('{}'), [])
  // The specification, Authorization 6: a name that ends in `*` was literal, and is a prefix now.
  const [rule] = read('{"topics":{"orders*":["READ"]}}')
  assert.equal(matches(rule!.resource, 'orders-eu'), true)
})

test('a document in another form is refused with the principal and the defect', () => {
  const refused = (document: string, defect: string) =>
    assert.throws(() => read(document), new UnreadableDocument(`The stored rules of "ada" cannot be read: ${defect}.`))
  for (const document of ['', '{', 'READ']) refused(document, 'they are no JSON')
  for (const document of ['[]', 'null', '7']) refused(document, 'they are no JSON object')
  refused('{"topics":[]}', 'topics is no object')
  refused('{"groups":{"g":"READ"}}', 'groups["g"] is no list')
  refused('{"topics":{"a":["READ","ALTER"]}}', 'topics["a"] holds "ALTER", which is no operation')
})

test('a pattern matches the names that begin with its prefix, in the same case', () => {
  assert.ok(matches('*', 'anything') && matches('a*', 'a') && matches('a*', 'abc') && matches('a', 'a'))
  assert.ok(!matches('a*', 'A') && !matches('a', 'ab') && !matches('ab*', 'a'))
})
