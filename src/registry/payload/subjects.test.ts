import assert from 'node:assert/strict'
import { test } from 'node:test'
import { classOf, SUBJECT_STRATEGIES, subjectOf, subjectStrategyOf } from './subjects.ts'

test('a strategy is known by Confluent’s class, by its short name and by the word alone', () => {
  for (const strategy of SUBJECT_STRATEGIES)
    for (const name of [classOf(strategy), `${strategy}Strategy`, strategy])
      assert.equal(subjectStrategyOf(name), strategy)
  assert.equal(classOf('TopicName'), 'io.confluent.kafka.serializers.subject.TopicNameStrategy')
  for (const wrong of ['', 'Strategy', 'topicname', 'com.example.TopicNameStrategy', 'AssociatedNameStrategy'])
    assert.equal(subjectStrategyOf(wrong), null)
})

test('the subject is made of topic, part and record name', () => {
  assert.equal(subjectOf('TopicName', 'orders', 'value', null), 'orders-value')
  assert.equal(subjectOf('TopicName', 'orders', 'key', 'a.Order'), 'orders-key')
  assert.equal(subjectOf('RecordName', 'orders', 'value', 'a.Order'), 'a.Order')
  assert.equal(subjectOf('TopicRecordName', 'orders', 'value', 'a.Order'), 'orders-a.Order')
  assert.equal(subjectOf('RecordName', 'orders', 'value', null), null)
  assert.equal(subjectOf('TopicRecordName', 'orders', 'value', null), null)
})
