import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RESET_TARGETS } from '../../../../src/api/words.ts'
import { byTopic, type Choices, commandTarget, requestOf, stillOffered, TARGETS, toolTopics } from './reset-request.ts'

const CHOICES: Choices = { scope: 'all', topic: '', chosen: new Map(), to: 'clear', offset: '', timestamp: null }
const ALL = { topics: [], partitions: [] }

test('each target of the API has a label and a sentence', () => {
  assert.deepEqual(Object.keys(TARGETS), [...RESET_TARGETS])
})

test('the request names the scope and carries the value of its target alone', () => {
  assert.deepEqual(requestOf({ ...CHOICES, offset: '7', timestamp: 9 }), { scope: ALL, to: 'clear' })
  assert.deepEqual(requestOf({ ...CHOICES, to: 'offset', offset: ' 7 ' }), { scope: ALL, to: 'offset', offset: 7 })
  assert.deepEqual(requestOf({ ...CHOICES, to: 'timestamp', timestamp: 9 }), {
    scope: ALL,
    to: 'timestamp',
    timestamp: 9,
  })
  assert.deepEqual(requestOf({ ...CHOICES, scope: 'topic', topic: 'orders', to: 'latest' }), {
    scope: { topics: ['orders'], partitions: [] },
    to: 'latest',
  })
  const chosen = new Map([
    ['orders', [2, 0]],
    ['payments', []],
  ])
  assert.deepEqual(requestOf({ ...CHOICES, scope: 'partitions', chosen }), {
    scope: {
      topics: [],
      partitions: [
        { topic: 'orders', partition: 2 },
        { topic: 'orders', partition: 0 },
      ],
    },
    to: 'clear',
  })
})

test('a choice that is not complete says what is missing', () => {
  assert.equal(requestOf({ ...CHOICES, scope: 'topic' }), 'Choose a topic.')
  assert.equal(requestOf({ ...CHOICES, scope: 'partitions' }), 'Choose at least one partition.')
  for (const offset of ['', '-1', '1.5', 'x', '9007199254740993'])
    assert.equal(requestOf({ ...CHOICES, to: 'offset', offset }), 'Type the offset, a number from 0.', offset)
  assert.equal(requestOf({ ...CHOICES, to: 'timestamp' }), 'Type the time.')
})

test('a topic or partition that is gone is no longer chosen', () => {
  const offered = new Map([['orders', [0, 1]]])
  const chosen = new Map([
    ['orders', [1, 2]],
    ['payments', [0]],
  ])
  const choices = { ...CHOICES, topic: 'payments', chosen }
  assert.deepEqual(stillOffered(choices, offered), { ...CHOICES, chosen: new Map([['orders', [1]]]) })
  assert.equal(stillOffered({ ...choices, topic: 'orders' }, offered).topic, 'orders')
})

test('the commands get the same target, and Kafka’s tools the same partitions', () => {
  assert.deepEqual(commandTarget({ scope: ALL, to: 'offset', offset: 0 }), { offset: 0 })
  assert.deepEqual(commandTarget({ scope: ALL, to: 'timestamp', timestamp: 0 }), { timestamp: 0 })
  assert.equal(commandTarget({ scope: ALL, to: 'earliest' }), 'earliest')
  assert.equal(commandTarget({ scope: ALL }), 'clear')
  const partitions = [
    { topic: 'orders', partition: 1 },
    { topic: '__proto__', partition: 0 },
    { topic: 'orders', partition: 3 },
  ]
  assert.deepEqual(toolTopics({ scope: { partitions } }), ['orders:1,3', '__proto__:0'])
  assert.deepEqual(byTopic(partitions).get('orders'), [1, 3])
})
