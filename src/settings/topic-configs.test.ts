import assert from 'node:assert/strict'
import { test } from 'node:test'
import { topicPattern } from '../../testing/topic-pattern.ts'
import { matchPattern } from './patterns.ts'
import type { TopicPattern } from './settings.ts'
import { testSettings } from './settings.ts'
import { checkTopicConfig, inertTopicConfigs, resolveTopicConfigs, topicConfigs } from './topic-configs.ts'

function withPatterns(...patterns: readonly (Partial<TopicPattern> & { readonly name: string })[]) {
  return testSettings({ topics: patterns.map(({ name, ...fields }) => topicPattern(name, fields)) })
}

test('patterns merge field by field, top to bottom, the first that sets a field winning', () => {
  const settings = withPatterns(
    { name: 'orders.*', partitions: 6, retention: 1000 },
    { name: 'audit.*', autoCreate: false, partitions: 99 },
    { name: '*.eu', autoCreate: true, partitions: 3, segmentBytes: 2 ** 21 },
    { name: '*', autoCreate: false, retention: -1, maxMessageBytes: 5 },
  )
  assert.deepEqual(matchPattern(settings, 'orders.eu'), {
    autoCreate: true,
    partitions: 6,
    configs: { 'retention.ms': '1000', 'segment.bytes': '2097152', 'max.message.bytes': '5' },
    fields: {
      'retention.ms': { key: 'svc.topics[0].retention', pattern: 'orders.*', origin: 'test' },
      'segment.bytes': { key: 'svc.topics[2].segment-bytes', pattern: '*.eu', origin: 'test' },
      'max.message.bytes': { key: 'svc.topics[3].max-message-bytes', pattern: '*', origin: 'test' },
    },
  })
  assert.deepEqual(matchPattern(settings, 'orders.us').autoCreate, false)
  assert.deepEqual(matchPattern(settings, 'x').partitions, null)
})

test('false and 0 are set values, so lower patterns do not apply', () => {
  const settings = withPatterns(
    { name: 'a', autoCreate: false, offsetSequenceBits: 0 },
    { name: '*', autoCreate: true, offsetSequenceBits: 4 },
  )
  assert.deepEqual(matchPattern(settings, 'a'), {
    autoCreate: false,
    partitions: null,
    configs: { 'offset.sequence.bits': '0' },
    fields: {
      'offset.sequence.bits': { key: 'svc.topics[0].offset-sequence-bits', pattern: 'a', origin: 'test' },
    },
  })
})

test('without a matching pattern nothing is auto-created', () => {
  const nothing = { autoCreate: false, partitions: null, configs: {}, fields: {} }
  assert.deepEqual(matchPattern(withPatterns(), 'a'), nothing)
  assert.deepEqual(matchPattern(withPatterns({ name: 'b', autoCreate: true, partitions: 2 }), 'a'), nothing)
})

test('every field of a pattern becomes a config that the table takes', () => {
  const full: TopicPattern = {
    name: '*',
    autoCreate: true,
    partitions: 1,
    offsetSequenceBits: 3,
    compression: 'none',
    remoteStorageEnabled: false,
    cleanupPolicy: 'delete',
    retention: -1,
    retentionBytes: 10,
    localRetention: 5,
    localRetentionBytes: 5,
    segmentMs: 1,
    segmentBytes: 2 ** 20,
    maxMessageBytes: 0,
    messageTimestampType: 'LogAppendTime',
  }
  const { configs, fields } = matchPattern(withPatterns(full), 'a')
  assert.deepEqual(Object.keys(fields), Object.keys(configs))
  assert.equal(fields['local.retention.bytes']?.key, 'svc.topics[0].local-retention-bytes')
  assert.equal(Object.keys(configs).length, 12)
  for (const [name, value] of Object.entries(configs)) assert.equal(checkTopicConfig(name, value), null)
})

test('overrides beat patterns, patterns beat defaults', () => {
  const settings = withPatterns({ name: '*', retention: 5000, segmentMs: 7000 })
  const pattern = matchPattern(settings, 'a')
  const resolved = resolveTopicConfigs({ 'retention.ms': '1' }, pattern, settings)
  assert.equal(resolved.retentionMs, 1)
  assert.equal(resolved.segmentMs, 7000)
  assert.equal(resolved.maxMessageBytes, 1048588)
  assert.equal(resolved.messageTimestampType, 'CreateTime')
  assert.deepEqual(resolved.cleanupPolicy, ['delete'])
  assert.equal(resolved.messageTimestampBeforeMaxMs, Number('9223372036854775807'))
  assert.equal(resolveTopicConfigs({}, null, settings).retentionMs, 604_800_000)
  assert.equal(
    resolveTopicConfigs({}, null, testSettings({ 'storage.local.compression.codec': 'zstd' })).storageCompressionType,
    'zstd',
  )
})

test('resolving an override that the table does not take throws a TypeError', () => {
  assert.throws(() => resolveTopicConfigs({ 'retention.ms': 'x' }, null, testSettings()), TypeError)
})

test('good values pass, bad ones are refused by name', () => {
  const good: readonly [string, string | null][] = [
    ['retention.ms', '-1'],
    ['retention.ms', '9223372036854775807'],
    ['retention.bytes', '0'],
    ['local.retention.ms', '-2'],
    ['segment.bytes', '1048576'],
    ['max.message.bytes', '0'],
    ['min.insync.replicas', '2'],
    ['cleanup.policy', 'delete'],
    ['min.cleanable.dirty.ratio', '0.0036906537968481867'],
    ['compression.type', 'producer'],
    ['message.timestamp.type', 'LogAppendTime'],
    ['storage.compression.type', 'none'],
    ['storage.compression.type', 'zstd'],
    ['remote.storage.enable', 'true'],
    ['remote.log.copy.disable', 'true'],
    ['remote.log.delete.on.disable', 'true'],
    ['offset.sequence.bits', '11'],
    ['retention.ms', null],
    ['flush.ms', null],
  ]
  for (const [name, value] of good) assert.equal(checkTopicConfig(name, value), null, `${name}=${value}`)
  const bad: readonly [string, string, RegExp][] = [
    ['retention.ms', '-2', /takes an integer from -1 to 9223372036854775807/],
    ['retention.ms', '9223372036854775808', /takes an integer/],
    ['retention.ms', '1.5', /takes an integer/],
    ['retention.ms', '7d', /takes an integer/],
    ['retention.ms', '', /takes an integer/],
    ['local.retention.bytes', '-3', /from -2/],
    ['segment.bytes', '1048575', /from 1048576 to 2147483647/],
    ['segment.bytes', '2147483648', /to 2147483647/],
    ['segment.ms', '0', /from 1/],
    ['max.message.bytes', '-1', /from 0/],
    ['min.insync.replicas', '0', /from 1/],
    ['cleanup.policy', 'foo', /distinct words out of delete, compact/],
    ['cleanup.policy', 'delete,delete', /distinct words/],
    ['delete.retention.ms', '-1', /from 0/],
    ['min.compaction.lag.ms', '-1', /from 0/],
    ['max.compaction.lag.ms', '0', /from 1/],
    ['min.cleanable.dirty.ratio', '1.5', /a number from 0 to 1/],
    ['min.cleanable.dirty.ratio', '-0.1', /a number from 0 to 1/],
    ['min.cleanable.dirty.ratio', 'half', /a number from 0 to 1/],
    ['compression.type', 'zstd', /takes only producer/],
    ['compression.type', 'best', /one of producer/],
    ['message.timestamp.type', 'createtime', /one of CreateTime, LogAppendTime/],
    ['storage.compression.type', 'lzma', /one of none, gzip, snappy, lz4, zstd/],
    ['remote.storage.enable', 'yes', /true or false/],
    ['offset.sequence.bits', '12', /from 0 to 11/],
    ['unclean.leader.election.enable', 'true', /no effect here .* "false"/],
    ['flush.ms', '1000', /no effect here/],
  ]
  for (const [name, value, why] of bad) {
    const message = checkTopicConfig(name, value)
    assert.match(message ?? 'accepted', why)
    assert(message?.startsWith(`${name}: got ${JSON.stringify(value)}`), message ?? '')
  }
})

test('the configs of the check against schemas become values that need no look-up', () => {
  const settings = testSettings()
  const strategy = (name: string) => `io.confluent.kafka.serializers.subject.${name}Strategy`
  const {
    confluentKeySchemaValidation,
    confluentValueSchemaValidation,
    confluentKeySubjectNameStrategy,
    confluentValueSubjectNameStrategy,
    schemaValidationAction,
  } = resolveTopicConfigs({}, null, settings)
  assert.deepEqual([confluentKeySchemaValidation, confluentValueSchemaValidation], [null, null])
  assert.deepEqual([confluentKeySubjectNameStrategy, confluentValueSubjectNameStrategy], ['TopicName', 'TopicName'])
  assert.equal(schemaValidationAction, 'reject')
  const given = resolveTopicConfigs(
    {
      'confluent.key.schema.validation': 'false',
      'confluent.value.schema.validation': 'true',
      'confluent.key.subject.name.strategy': strategy('RecordName'),
      'confluent.value.subject.name.strategy': strategy('TopicRecordName'),
      'schema.validation.action': 'count',
    },
    null,
    settings,
  )
  assert.deepEqual([given.confluentKeySchemaValidation, given.confluentValueSchemaValidation], [false, true])
  assert.equal(given.confluentKeySubjectNameStrategy, 'RecordName')
  assert.equal(given.confluentValueSubjectNameStrategy, 'TopicRecordName')
  assert.equal(given.schemaValidationAction, 'count')
})

test('the configs of the check against schemas take each of their values, and no other', () => {
  const cases: readonly [string, readonly string[], readonly string[], RegExp][] = [
    ['schema.validation', [''], ['true', 'false'], /true, false or nothing/],
    [
      'subject.name.strategy',
      ['io.confluent.kafka.serializers.subject.TopicNameStrategy'],
      ['RecordName', 'TopicRecordName'].map(name => `io.confluent.kafka.serializers.subject.${name}Strategy`),
      /one of io\.confluent\./,
    ],
  ]
  const rows = cases.flatMap(([rest, ...more]) =>
    ['key', 'value'].map(of => [`confluent.${of}.${rest}`, ...more] as const),
  )
  for (const [name, defaults, others, takes] of [
    ...rows,
    ['schema.validation.action', ['reject'], ['count'], /one of reject, count/] as const,
  ]) {
    for (const value of defaults) assert.equal(checkTopicConfig(name, value), null)
    for (const value of others) assert.equal(checkTopicConfig(name, value), null)
    assert.match(checkTopicConfig(name, 'other') ?? 'accepted', takes)
  }
})

test('an unknown name is refused, however it is spelt', () => {
  for (const name of [
    'retention',
    'Retention.ms',
    '',
    '__proto__',
    'constructor',
    'toString',
    'message.format.version',
  ]) {
    assert.equal(checkTopicConfig(name, '1'), `Unknown topic config name: ${name}`)
  }
})

test('an error does not repeat a value of ten megabytes', () => {
  assert((checkTopicConfig('retention.ms', 'x'.repeat(10_000_000)) ?? '').length < 300)
  assert((checkTopicConfig('x'.repeat(10_000_000), '') ?? '').length < 300)
})

test("Kafka's configs without effect are accepted with Kafka's default value", () => {
  for (const { name, only } of inertTopicConfigs) assert.equal(checkTopicConfig(name, only), null, name)
})

test('the default of every config is a valid value', () => {
  for (const { name, fallback } of topicConfigs) assert.equal(checkTopicConfig(name, fallback), null, name)
})
