import assert from 'node:assert/strict'
import { test } from 'node:test'
import { exactConfig, inheritance, readConfig, showConfig, sourceOf, writeConfig } from './config-text.ts'

const LONG_MAX = '9223372036854775807'
const ms = { name: 'retention.ms', unit: 'ms' } as const
const bytes = { name: 'retention.bytes', unit: 'bytes' } as const
const records = { name: 'flush.messages', unit: 'records' } as const
const word = { name: 'storage.compression.type', unit: null } as const

test('a value is shown with its unit, and exactly', () => {
  assert.equal(showConfig(ms, '604800000'), '7 d')
  assert.equal(exactConfig(ms, '604800000'), '604800000 ms')
  assert.equal(showConfig(bytes, '-1'), 'no limit')
  assert.equal(exactConfig(bytes, '-1'), '-1')
  assert.equal(showConfig(ms, LONG_MAX), 'no limit')
  assert.equal(exactConfig(ms, LONG_MAX), `${LONG_MAX} ms`)
  assert.equal(showConfig(records, '10000'), '10,000 records')
  assert.equal(showConfig(records, LONG_MAX), 'no limit')
  assert.equal(exactConfig(records, LONG_MAX), `${LONG_MAX} records`)
  assert.equal(showConfig(word, 'zstd'), 'zstd')
  assert.equal(exactConfig(word, 'zstd'), null)
  assert.equal(showConfig(word, ''), 'empty')
  assert.equal(showConfig({ name: 'local.retention.ms', unit: 'ms' }, '-2'), 'as retention.ms')
})

test('the text of a field gives the same value back', () => {
  for (const [config, value] of [
    [ms, '604800000'],
    [ms, LONG_MAX],
    [ms, '-1'],
    [ms, '-2'],
    [bytes, '1073741824'],
    [bytes, '1048588'],
    [word, 'zstd'],
  ] as const)
    assert.deepEqual(readConfig(config, writeConfig(config, value)), { value })
  assert.ok('error' in readConfig(ms, 'soon'))
})

test('the source names the pattern, the setting or the default', () => {
  const entry = {
    ...ms,
    value: '604800000',
    source: 'default',
    origin: null,
    pattern: null,
    choices: null,
    type: 'long',
    default: '604800000',
    isReadOnly: false,
    isSensitive: false,
    documentation: '',
    hasEffect: true,
    because: null,
  } as const
  assert.equal(inheritance(entry), 'inherits 7 d, the default')
  const byPattern = { ...entry, source: 'settings', pattern: 'logs-*', origin: 'svc.topics[0].retention' } as const
  assert.equal(inheritance(byPattern), 'inherits 7 d from pattern logs-*')
  const bySetting = { ...entry, source: 'settings', origin: 'svc.retention, svc.yaml:3:5' } as const
  assert.equal(sourceOf(bySetting), 'svc.retention, svc.yaml:3:5')
  assert.equal(sourceOf({ ...entry, source: 'topic' }), 'topic')
})
