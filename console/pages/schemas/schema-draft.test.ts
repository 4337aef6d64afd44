import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SchemaVersion } from '../../../src/api/schemas.ts'
import { draftOf, keyOf, requestOf } from './schema-draft.ts'

const like: SchemaVersion = {
  ...{
    subject: 'orders-value',
    version: 3,
    id: 7,
    guid: 'g',
    type: 'JSON',
    schema: '{"a":1}',
    pretty: '{\n  "a": 1\n}',
  },
  ...{ references: [{ name: 'n', subject: 's', version: 2 }], metadata: null, ruleSet: null, deleted: false },
  ...{ registeredAt: '2026-11-20T21:10:03.412Z', referrers: [] },
}

test('the draft of a next version begins with the text, the type and the references of the one before', () => {
  const draft = draftOf('orders-value', like)
  assert.equal(draft.type, 'JSON')
  assert.equal(draft.text, like.pretty)
  assert.deepEqual(requestOf(draft), {
    body: {
      type: 'JSON',
      schema: like.pretty,
      references: [{ name: 'n', subject: 's', version: 2 }],
      normalize: false,
    },
    objections: {},
  })
})

test('an empty draft says what is missing, and so does a reference without a whole version', () => {
  const empty = draftOf('', undefined)
  assert.deepEqual(Object.keys(requestOf(empty).objections), ['subject', 'text'])
  for (const version of ['', '0', '1.5', 'latest', '-1']) {
    const references = [{ id: 4, name: 'n', subject: 's', version }]
    const { objections } = requestOf({ ...empty, subject: 's', text: '{}', references })
    assert.deepEqual(Object.keys(objections), ['reference 4'], version)
  }
})

test('a check counts only for the draft that it was made for', () => {
  const draft = draftOf('orders-value', like)
  assert.equal(keyOf(draft), keyOf(draftOf('orders-value', like)))
  for (const other of [
    { text: '{}' },
    { subject: 'x' },
    { normalize: true },
    { references: [] },
    { type: 'AVRO' as const },
  ])
    assert.notEqual(keyOf({ ...draft, ...other }), keyOf(draft))
})
