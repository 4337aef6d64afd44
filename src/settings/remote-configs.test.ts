import assert from 'node:assert/strict'
import { test } from 'node:test'
import { topicPattern } from '../../testing/topic-pattern.ts'
import { matchPattern } from './patterns.ts'
import { type TopicPattern, testSettings } from './settings.ts'
import { checkTopicConfigs, resolveTopicConfigs } from './topic-configs.ts'

const ENABLED = { 'remote.storage.enable': 'true' }

const NO_TIER =
  'Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage.'
const COMPACTED =
  'Remote log storage only supports topics with cleanup.policy=delete or cleanup.policy being an empty list.'
const BARE = /^It is invalid to disable remote storage without deleting remote data\. If you want to keep .*`\.$/

function world({ path = '/tables' as string | null, patterns = [] as readonly TopicPattern[] } = {}) {
  const settings = testSettings({ 'storage.remote.path': path, topics: patterns })
  const pattern = matchPattern(settings, 'orders')
  const resolve = (configs: Record<string, string>) => resolveTopicConfigs(configs, pattern, settings)
  return {
    resolve,
    check: (configs: Record<string, string>, before: Record<string, string> | null = null) =>
      checkTopicConfigs(configs, pattern, settings, before === null ? null : resolve(before)),
  }
}

test('a topic has the remote tier only on a broker that has one', () => {
  assert.equal(world().check(ENABLED), null)
  assert.equal(world({ path: null }).check(ENABLED), NO_TIER)
  assert.equal(world({ path: null }).check(ENABLED, ENABLED), NO_TIER)
  assert.equal(world({ path: null }).check({}), null)
})

test('a compacted topic has no remote tier', () => {
  const { check } = world()
  for (const policy of ['compact', 'delete,compact']) {
    assert.equal(check({ ...ENABLED, 'cleanup.policy': policy }), COMPACTED)
    assert.equal(check({ 'cleanup.policy': policy, 'remote.storage.enable': 'false' }), null)
  }
})

test('a pattern does not give the remote tier to a compacted topic, and compaction does not take it away', () => {
  const { check, resolve } = world({ patterns: [topicPattern('*', { remoteStorageEnabled: true })] })
  const compacted = { 'cleanup.policy': 'compact' }
  assert.equal(resolve({}).remoteStorageEnable, true)
  assert.equal(resolve(compacted).remoteStorageEnable, false)
  assert.equal(check(compacted), null)
  assert.equal(check(compacted, compacted), null)
  assert.equal(check({ ...ENABLED, ...compacted }), COMPACTED)
  assert.equal(check(compacted, {}), COMPACTED)
  const off = { 'remote.storage.enable': 'false', 'remote.log.delete.on.disable': 'true' }
  assert.equal(check({ ...compacted, ...off }, {}), null)
})

test('local retention is at most the retention, after patterns and defaults', () => {
  const { check } = world({ patterns: [topicPattern('*', { retention: 5000, remoteStorageEnabled: true })] })
  assert.equal(check({ 'local.retention.ms': '5000' }), null)
  assert.equal(
    check({ 'local.retention.ms': '5001' }),
    'Invalid value 5001 for configuration local.retention.ms: Value must not be more than retention.ms property value: 5000',
  )
  assert.equal(
    check({ 'local.retention.ms': '-1' }),
    'Invalid value -1 for configuration local.retention.ms: Value must not be -1 as retention.ms value is set as 5000.',
  )
  assert.equal(check({ 'retention.ms': '-1', 'local.retention.ms': '-1' }), null)
  assert.equal(
    check({ 'retention.bytes': '5', 'local.retention.bytes': '6' }),
    'Invalid value 6 for configuration local.retention.bytes: Value must not be more than retention.bytes property value: 5',
  )
  // Without the remote tier the local limits have no effect, and Kafka takes them.
  assert.equal(check({ 'remote.storage.enable': 'false', 'local.retention.ms': '5001' }), null)
})

test('a tier that is only read needs the same local and total retention', () => {
  const { check } = world()
  const readOnly = { ...ENABLED, 'remote.log.copy.disable': 'true' }
  assert.equal(check(readOnly), null)
  assert.equal(check({ ...readOnly, 'local.retention.ms': '604800000' }), null)
  for (const unit of ['ms', 'bytes'])
    assert.equal(
      check({ ...readOnly, [`local.retention.${unit}`]: '5' }),
      `When \`remote.log.copy.disable\` is set to true, the \`local.retention.${unit}\` and \`retention.${unit}\` must be set to the identical value because there will be no more logs copied to the remote storage.`,
    )
  assert.equal(check({ 'remote.log.copy.disable': 'true', 'local.retention.ms': '5' }), null)
})

test('the tier of a topic is switched off only together with its table', () => {
  const { check } = world()
  assert.match(check({ 'remote.storage.enable': 'false' }, ENABLED) ?? '', BARE)
  assert.match(check({}, ENABLED) ?? '', BARE)
  const both = { 'remote.storage.enable': 'false', 'remote.log.delete.on.disable': 'true' }
  assert.equal(check(both, ENABLED), null)
  assert.equal(world({ path: null }).check(both, ENABLED), null)
  assert.equal(check({ 'remote.log.delete.on.disable': 'true' }, ENABLED), null)
  assert.equal(check({ 'remote.storage.enable': 'false' }, {}), null)
  const ofPattern = world({ patterns: [topicPattern('*', { remoteStorageEnabled: true })] })
  assert.match(ofPattern.check({ 'remote.storage.enable': 'false' }, {}) ?? '', BARE)
  assert.equal(ofPattern.check({}, ENABLED), null)
})
