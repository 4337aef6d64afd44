import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isOffered, requestOf, unitOf } from './new-topic.ts'

test('texts become a request with exact values, and empty fields are left out', () => {
  const configs = { 'retention.ms': '7 d', 'retention.bytes': '', 'segment.ms': '9223372036854775807' }
  assert.deepEqual(requestOf({ name: ' orders ', partitions: '3', configs }), {
    body: {
      name: 'orders',
      partitions: 3,
      configs: { 'retention.ms': '604800000', 'segment.ms': '9223372036854775807' },
    },
    objections: {},
  })
  assert.deepEqual(requestOf({ name: 'a', partitions: '', configs: {} }).body, { name: 'a', configs: {} })
})

test('a text that is no value is an objection at its field', () => {
  const { objections, body } = requestOf({ name: 'a', partitions: 'many', configs: { 'retention.ms': 'soon' } })
  assert.deepEqual(Object.keys(objections), ['retention.ms', 'partitions'])
  assert.deepEqual(body, { name: 'a', configs: {} })
})

test('the unit is the end of the name', () => {
  assert.equal(unitOf('retention.ms'), 'ms')
  assert.equal(unitOf('max.message.bytes'), 'bytes')
  assert.equal(unitOf('cleanup.policy'), null)
})

test('a config with one choice is not offered, unless the draft has another value', () => {
  const offers = (choices: string[] | null, text?: string) =>
    isOffered(
      { name: 'preallocate', choices },
      { name: 'a', partitions: '', configs: text === undefined ? {} : { preallocate: text } },
    )
  assert.deepEqual(
    [null, [], ['a', 'b'], ['a']].map(choices => offers(choices)),
    [true, true, true, false],
  )
  assert.deepEqual(
    ['', 'false', 'true'].map(text => offers(['false'], text)),
    [false, false, true],
  )
})
