import assert from 'node:assert/strict'
import { test } from 'node:test'
import { filterSettings, ofConfig, type ShownSetting, valueText } from './shown-setting.ts'

const setting = (values: Partial<ShownSetting>): ShownSetting => ({
  name: 'svc.broker.port',
  value: '9092',
  default: '9092',
  source: 'default',
  isSet: false,
  isSecret: false,
  unit: null,
  documentation: 'Port of the listener.',
  notYet: null,
  ...values,
})

test('a secret says only whether it is set', () => {
  assert.equal(valueText(setting({ isSecret: true, value: null, isSet: true })), 'set, not shown')
  assert.equal(valueText(setting({ isSecret: true, value: null })), 'not set')
})

test('a value has its unit, and an absent value its default', () => {
  assert.equal(valueText(setting({ value: '5000', unit: 'ms' })), '5000 ms')
  assert.equal(valueText(setting({ value: null, default: 'plain text' })), 'plain text')
  assert.equal(valueText(setting({ value: null, default: null })), 'no value')
  assert.equal(valueText(setting({ value: '', isSet: true })), 'empty')
})

test('the filter finds names, values and documentation, in any case, among those that are set', () => {
  const all = [
    setting({}),
    setting({ name: 'svc.redis.host', value: 'Cache.example', isSet: true, documentation: 'Host of the store.' }),
  ]
  const names = (text: string, onlySet = false) => filterSettings(all, text, onlySet).map(({ name }) => name)
  assert.deepEqual(names(''), ['svc.broker.port', 'svc.redis.host'])
  assert.deepEqual(names('LISTENER'), ['svc.broker.port'])
  assert.deepEqual(names('cache'), ['svc.redis.host'])
  assert.deepEqual(names('', true), ['svc.redis.host'])
  assert.deepEqual(names('port', true), [])
})

test('a config of another broker tells neither default nor source', () => {
  const shown = ofConfig({
    name: 'broker.id',
    value: '2',
    isSet: true,
    isSensitive: false,
    unit: null,
    choices: null,
    documentation: 'Broker id.',
  })
  assert.equal(shown.default, undefined)
  assert.equal(shown.source, undefined)
  assert.equal(valueText(shown), '2')
})
