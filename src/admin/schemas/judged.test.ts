import assert from 'node:assert/strict'
import { test } from 'node:test'
import { catalogueOf, topicOf } from '../../../testing/catalogue-of.ts'
import { Rules } from '../../registry/judge/rules.ts'
import { judgedTopics, topicsOfSubject } from './judged.ts'

const STRATEGY = 'io.confluent.kafka.serializers.subject.'

function world(topics: Readonly<Record<string, Readonly<Record<string, string>>>>, isOnByDefault = true) {
  const rules = new Rules(isOnByDefault, { child: () => ({ inc() {} }) as never })
  const found = catalogueOf(Object.entries(topics).map(([name, configs]) => topicOf(name, configs)))
  return {
    catalogue: { current: () => found },
    judge: { judged: (topic: Parameters<Rules['of']>[0]) => rules.of(topic).rows },
  }
}

const named = (parts: ReturnType<typeof topicsOfSubject>) => parts.map(({ topic, part }) => `${topic} ${part}`)
const isLive = (name: string) => !name.startsWith('dead')

test('a part is judged once its subject is live, always if the topic demands it, and never if it says so', () => {
  const rooms = world({
    live: {},
    dead: {},
    required: { 'confluent.value.schema.validation': 'true' },
    off: { 'confluent.value.schema.validation': 'false', 'confluent.key.schema.validation': 'false' },
  })
  const none = () => false
  assert.deepEqual(
    judgedTopics(rooms, isLive).map(({ topic }) => topic),
    ['live', 'required'],
  )
  assert.deepEqual(
    judgedTopics(rooms, none).map(({ topic, key, value }) => [topic, key.judged, value.judged, value.required]),
    [['required', false, true, true]],
  )
  assert.equal(judgedTopics(rooms, none, { isAll: true }).length, 4)
  const [off] = judgedTopics(rooms, isLive, { isAll: true }).filter(({ topic }) => topic === 'off')
  assert.deepEqual([off!.value.judged, off!.value.live], [false, true], 'its records may still name schemas')
  assert.deepEqual(judgedTopics(world({ live: {} }, false), isLive), [])
})

test('a subject judges the topics that its name or the names of its records tell', () => {
  const byRecord = { 'confluent.value.subject.name.strategy': `${STRATEGY}RecordNameStrategy` }
  const byBoth = { 'confluent.key.subject.name.strategy': `${STRATEGY}TopicRecordNameStrategy` }
  const rooms = world({ a: byBoth, 'a-b': {}, c: byRecord, 'dead-x': {} })
  assert.deepEqual(named(topicsOfSubject(rooms, isLive, 'a-b-value')), ['a-b value'])
  assert.deepEqual(named(topicsOfSubject(rooms, isLive, 'a-value')), ['a value'])
  assert.deepEqual(named(topicsOfSubject(rooms, isLive, 'a-com.R')), [])
  assert.deepEqual(named(topicsOfSubject(rooms, isLive, 'a-com.R', ['com.R'])), ['a key'])
  assert.deepEqual(named(topicsOfSubject(rooms, isLive, 'com.R', ['com.R'])), ['c value'])
  assert.deepEqual(named(topicsOfSubject(rooms, isLive, 'c-value', ['com.R'])), [])
  assert.deepEqual(named(topicsOfSubject(rooms, isLive, 'dead-x-value')), [])
})
