import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ShownConfig } from '../../../src/api/topics.ts'
import { changeOf, NO_EDITS, withEdit } from './config-edits.ts'
import { effectOf } from './config-effects.ts'

function config(name: string, value: string, more: Partial<ShownConfig> = {}): ShownConfig {
  return {
    name,
    value,
    source: 'default',
    origin: null,
    pattern: null,
    unit: name.endsWith('.ms') ? 'ms' : name.endsWith('.bytes') ? 'bytes' : null,
    choices: null,
    type: 'long',
    default: value,
    isReadOnly: false,
    isSensitive: false,
    documentation: '',
    hasEffect: true,
    because: null,
    ...more,
  }
}

const retention = config('retention.ms', '604800000', { source: 'topic' })
const size = config('retention.bytes', '-1')

test('edits become a request with exact values, and a field with its old value changes nothing', () => {
  const change = changeOf([retention, size], { 'retention.ms': '1 d', 'retention.bytes': 'no limit' })
  assert.deepEqual(change.body, { set: { 'retention.ms': '86400000' }, delete: [] })
  assert.deepEqual(
    change.steps.map(({ config: { name }, to }) => [name, to]),
    [['retention.ms', '86400000']],
  )
  assert.deepEqual(changeOf([retention], { 'retention.ms': '9223372036854775807' }).body.set, {
    'retention.ms': '9223372036854775807',
  })
})

test('only a config that the topic sets can be reset', () => {
  assert.deepEqual(changeOf([retention, size], { 'retention.ms': null, 'retention.bytes': null }).body, {
    set: {},
    delete: ['retention.ms'],
  })
})

test('a text that is no value is an objection', () => {
  const { steps, objections } = changeOf([retention], { 'retention.ms': 'soon' })
  assert.deepEqual([steps.length, Object.keys(objections)], [0, ['retention.ms']])
})

test('an edit is taken back', () => {
  const edits = withEdit(withEdit(NO_EDITS, 'a', '1'), 'b', null)
  assert.deepEqual(edits, { a: '1', b: null })
  assert.deepEqual(withEdit(edits, 'a', undefined), { b: null })
})

test('the effect says what is lost', () => {
  assert.deepEqual(effectOf({ config: retention, to: '86400000' }), {
    text: 'Records older than 1 d are deleted soon, and cannot be brought back.',
    isLoss: true,
  })
  assert.equal(effectOf({ config: retention, to: '-1' }).isLoss, false)
  assert.equal(effectOf({ config: size, to: '1073741824' }).isLoss, true)
  assert.equal(effectOf({ config: retention, to: null }).isLoss, false)
  assert.match(
    effectOf({ config: config('x', '1', { because: 'It is idle.' }), to: '2' }).text,
    /^No effect: It is idle/,
  )
})
