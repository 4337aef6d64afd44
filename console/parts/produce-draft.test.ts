import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ShownRecord } from '../../src/api/messages.ts'
import { type Draft, draftOf, EMPTY_DRAFT, emptyDraftOf, messageOf, objectionsOf } from './produce-draft.ts'

const text = (value: string) => ({ status: 'decoded' as const, text: value, bytes: value.length, truncated: false })

const RECORD: ShownRecord = {
  partition: 2,
  offset: 7,
  timestamp: 1_700_000_000_000,
  timestampType: 'CreateTime',
  key: { status: 'raw', base64: 'AAE=', bytes: 2, truncated: false },
  value: text('{"id":73314510714175488,"id":1.10}\r\n'),
  headers: [
    { key: 'trace', value: text('a') },
    { key: 'trace', value: null },
    { key: '', value: { status: 'raw', base64: '/w==', bytes: 1, truncated: false } },
  ],
  headerCount: 3,
}

test('an empty form is a record with an empty value and no key', () => {
  assert.deepEqual(messageOf(EMPTY_DRAFT), { key: null, value: { text: '' }, headers: [] })
})

test('an empty form of a topic whose values have a schema is JSON with this schema', () => {
  const { value } = messageOf(emptyDraftOf({ key: null, value: { subject: 'orders-value' } }))
  assert.deepEqual(value, { text: '', schema: { name: 'orders-value' } })
  assert.equal(emptyDraftOf({ key: { subject: 'orders-key' }, value: null }), EMPTY_DRAFT)
})

test('a record is produced again with the same bytes, and the headers in their order', () => {
  assert.deepEqual(messageOf(draftOf(RECORD)), {
    partition: 2,
    key: { base64: 'AAE=' },
    value: { text: '{"id":73314510714175488,"id":1.10}\r\n' },
    headers: [
      { key: 'trace', value: { text: 'a' } },
      { key: 'trace', value: null },
      { key: '', value: { base64: '/w==' } },
    ],
  })
})

test('a key or value that was decoded with a schema is encoded with it again, and other bytes stay as they are', () => {
  const schema = { id: 7, subject: 'refunds-value', version: 2, type: 'PROTOBUF' as const, message: 'shop.Refund' }
  const lost = {
    status: 'schema-not-found' as const,
    base64: 'AAAAAAk=',
    bytes: 5,
    truncated: false,
    schema: { id: 9 },
  }
  const draft = draftOf({ ...RECORD, key: lost, value: { ...text('{"id":"1"}'), schema } })
  const { key, value } = messageOf(draft)
  assert.deepEqual(key, { base64: 'AAAAAAk=' })
  assert.deepEqual(value, { text: '{"id":"1"}', schema: { name: '7', message: 'shop.Refund' } })
  const named = (name: string) =>
    messageOf({ ...draft, value: { kind: 'schema', typed: '1', schema: { name, message: '' } } }).value
  assert.deepEqual(named(' orders-value:3 '), { text: '1', schema: { name: 'orders-value:3' } })
})

test('an objection to a schema is at its own field', () => {
  const fields = { 'messages.0.value.schema': 'not found', 'messages.0.key.text': 'at /id: expected a number' }
  const found = objectionsOf({ code: 'INVALID_REQUEST', detail: '', fields }, EMPTY_DRAFT)
  assert.deepEqual([found.valueSchema, found.value, found.key], ['not found', undefined, 'at /id: expected a number'])
})

test('a header without its tick is left out', () => {
  const draft = draftOf(RECORD)
  const headers = draft.headers.map(header => ({ ...header, isSent: header.id !== 0 }))
  assert.deepEqual(
    messageOf({ ...draft, headers }).headers!.map(({ value }) => value),
    [null, { base64: '/w==' }],
  )
})

test('a tombstone has no value, and base64 may have line breaks', () => {
  const draft: Draft = {
    ...EMPTY_DRAFT,
    value: { kind: 'null', typed: 'kept' },
    key: { kind: 'base64', typed: 'AA\nE=\n' },
    timestamp: 0,
  }
  assert.deepEqual(messageOf(draft), { key: { base64: 'AAE=' }, value: null, headers: [], timestamp: 0 })
})

test('each objection of a refusal is at its field, also when a header was left out', () => {
  const draft = draftOf(RECORD)
  const headers = draft.headers.map(header => ({ ...header, isSent: header.id !== 0 }))
  const fields = {
    'messages.0.value.base64': 'not base64',
    'messages.0.headers.1.value.base64': 'not base64 either',
    'messages.0.timestamp': 'takes no -1',
  }
  const found = objectionsOf({ code: 'INVALID_REQUEST', detail: '', fields }, { ...draft, headers })
  assert.deepEqual(found, {
    value: 'not base64',
    timestamp: 'takes no -1',
    headers: new Map([[2, 'not base64 either']]),
    isElsewhere: false,
  })
})

test('a refusal of Kafka is at the field that it is about, and another one is said for all', () => {
  const at = (code: string) => objectionsOf({ code, detail: 'no', fields: {} }, EMPTY_DRAFT)
  assert.equal(at('MESSAGE_TOO_LARGE').value, 'no')
  assert.equal(at('INVALID_TIMESTAMP').timestamp, 'no')
  assert.equal(at('UNKNOWN_TOPIC_OR_PARTITION').partition, 'no')
  assert.equal(at('KAFKA_STORAGE_ERROR').isElsewhere, true)
  assert.equal(at('MESSAGE_TOO_LARGE').isElsewhere, false)
})
