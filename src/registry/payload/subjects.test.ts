import assert from 'node:assert/strict'
import { test } from 'node:test'
import { subjectOf } from './subjects.ts'

test('the subject is made of topic, part and record name', () => {
  assert.equal(subjectOf('TopicName', 'orders', 'value', null), 'orders-value')
  assert.equal(subjectOf('TopicName', 'orders', 'key', 'a.Order'), 'orders-key')
  assert.equal(subjectOf('RecordName', 'orders', 'value', 'a.Order'), 'a.Order')
  assert.equal(subjectOf('TopicRecordName', 'orders', 'value', 'a.Order'), 'orders-a.Order')
  assert.equal(subjectOf('RecordName', 'orders', 'value', null), null)
  assert.equal(subjectOf('TopicRecordName', 'orders', 'value', null), null)
})
