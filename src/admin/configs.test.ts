import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { openLogWorld } from '../../testing/sim/logs.ts'
import { topicPattern } from '../../testing/topic-pattern.ts'
import { FEATURES } from '../cluster/broker-record.ts'
import { isRefusal, type Refusal } from '../protocol/errors.ts'
import { loadSettings } from '../settings/load.ts'
import { settingsTable, type testSettings } from '../settings/settings.ts'
import { inertTopicConfigs, topicConfigs } from '../settings/topic-configs.ts'
import { createLogger } from '../telemetry/logger.ts'
import { alterConfigs, describeConfigs, describeTopicConfigs, listConfigResources } from './configs.ts'
import type { ConfigChange, ConfigEdit, ConfigEntry, ConfigResourceType } from './contract.ts'

const NODE = 4

async function open(t: TestContext, overrides: Parameters<typeof testSettings>[0] = {}) {
  const world = await openLogWorld(t, { overrides })
  const logger = createLogger({ clock: world.clock, write: () => {}, format: 'plain' })
  logger.named('kafka.connection')
  const endpoints = [
    { name: 'PLAINTEXT', host: 'kafka.example', port: 9092, security: 'plaintext' },
    { name: 'INSIDE', host: '::1', port: 9093, security: 'plaintext' },
  ] as const
  const self = {
    id: NODE,
    incarnation: 'first',
    rack: null,
    endpoints,
    version: null,
    certificates: [],
    features: FEATURES,
    expiryMs: 1_000,
  }
  const cluster = { brokers: () => [self], others: () => [] }
  const rooms = { catalogue: world.catalogue, settings: world.settings, logger, nodeId: NODE, cluster }
  const describe = (type: ConfigResourceType, name: string) => describeConfigs(rooms, { type, name })
  const entry = (type: ConfigResourceType, name: string, config: string): ConfigEntry => {
    const entries = describe(type, name)
    assert(!isRefusal(entries), (entries as Refusal).message)
    return entries.find(each => each.name === config)!
  }
  /** Makes one change. Resolves to `done`, or to the code and the message of its refusal. */
  const alter = async (
    type: ConfigResourceType,
    name: string,
    edits: readonly (readonly [ConfigEdit['operation'], string, (string | null)?])[],
    { isWhole = false, validateOnly = false } = {},
  ) => {
    const change: ConfigChange = {
      resource: { type, name },
      isWhole,
      edits: edits.map(([operation, config, value = null]) => ({ name: config, operation, value })),
    }
    const [outcome] = await alterConfigs(rooms, [change], { validateOnly })
    return outcome === null ? 'done' : `${outcome!.name}: ${outcome!.message}`
  }
  return { ...world, rooms, logger, describe, entry, alter }
}

test('each config of a topic shows the source of its value, and the values of the sources below it', async t => {
  const retention = topicPattern('o*', { retention: 5_000, segmentMs: 604_800_000 })
  const { create, entry, describe } = await open(t, { topics: [topicPattern('x'), retention] })
  await create('orders', { 'retention.ms': '1000', 'max.message.bytes': '9' })
  const { documentation, ...own } = entry('topic', 'orders', 'retention.ms')
  assert.deepEqual(own, {
    name: 'retention.ms',
    value: '1000',
    source: 'topic',
    ...{ origin: null, pattern: null, unit: 'ms', choices: null, because: null },
    isReadOnly: false,
    isSensitive: false,
    type: 'long',
    synonyms: [
      { name: 'retention.ms', value: '1000', source: 'topic' },
      { name: 'svc.topics[1].retention', value: '5000', source: 'settings' },
    ],
  })
  assert.match(documentation, /Age at which/)
  assert.deepEqual(entry('topic', 'orders', 'max.message.bytes').synonyms, [
    { name: 'max.message.bytes', value: '9', source: 'topic' },
    { name: 'message.max.bytes', value: '1048588', source: 'default' },
  ])
  // A pattern that sets the default value is still the source of the value.
  assert.equal(entry('topic', 'orders', 'segment.ms').source, 'settings')
  assert.equal(entry('topic', 'orders', 'flush.ms').source, 'default')
  assert.equal(entry('topic', 'orders', 'storage.compression.type').isReadOnly, true)
  const names = (describe('topic', 'orders') as readonly ConfigEntry[]).map(each => each.name)
  assert.deepEqual(names, [...names].sort())
  assert.equal(names.length, topicConfigs.length + inertTopicConfigs.length)
})

test('each config of a topic names the line of the settings that gives it, its unit, its words, and why it is idle', () => {
  const file = `svc:
  storage.local.compression.codec: zstd
  topics:
    - name: 'audit-*'
      compression: gzip
    - name: 'logs-*'
      retention: 1h
      segment-bytes: 1MB
`
  const settings = loadSettings({ argv: ['--config=svc.yaml'], env: {}, cwd: '/', readFile: () => Buffer.from(file) })
  const shown = (name: string, topic: Partial<Parameters<typeof describeTopicConfigs>[0]> = {}) =>
    new Map(
      describeTopicConfigs({ name, partitions: 1, configs: {}, ...topic }, settings).map(entry => [entry.name, entry]),
    )
  const logs = shown('logs-eu')
  const giver = (config: string, from = logs) => [from.get(config)!.origin, from.get(config)!.pattern]
  assert.deepEqual(giver('retention.ms'), ['svc.topics[1].retention (name logs-*), svc.yaml:7:18', 'logs-*'])
  const codec = 'storage.compression.type'
  assert.deepEqual(giver(codec), ['svc.storage.local.compression.codec, svc.yaml:2:36', null])
  assert.deepEqual(giver(codec, shown('audit-1')), [
    'svc.topics[0].compression (name audit-*), svc.yaml:5:20',
    'audit-*',
  ])
  // The topic is older than the settings, which would give it another codec today.
  const older = shown('audit-1', { pinned: { [codec]: 'lz4' } })
  assert.deepEqual([older.get(codec)!.value, ...giver(codec, older)], ['lz4', null, null])
  assert.deepEqual(giver('retention.ms', shown('logs-eu', { configs: { 'retention.ms': '1' } })), [null, null])
  for (const config of ['max.message.bytes', 'flush.ms']) assert.deepEqual(giver(config), [null, null], config)

  const units = ['retention.ms', 'segment.bytes', 'flush.messages', 'min.insync.replicas', 'cleanup.policy']
  assert.deepEqual(
    units.map(config => logs.get(config)!.unit),
    ['ms', 'bytes', 'records', null, null],
  )
  const choices = (config: string) => logs.get(config)!.choices
  assert.deepEqual(choices('message.timestamp.type'), ['CreateTime', 'LogAppendTime'])
  // The words that this version refuses are no choices.
  assert.deepEqual([choices('cleanup.policy'), choices('compression.type')], [['delete', 'compact'], ['producer']])
  assert.deepEqual([choices('retention.ms'), choices('preallocate')], [null, ['false']])
  const idle = [...logs.values()].filter(({ because }) => because !== null).map(entry => entry.name)
  assert.deepEqual(
    idle.filter(config => topicConfigs.some(({ name }) => name === config)),
    ['file.delete.delay.ms', 'min.insync.replicas'],
  )
  for (const { name } of inertTopicConfigs) assert.match(logs.get(name)!.because!, /takes only Kafka's default/)
})

test('overrides are set, deleted, and replaced as a whole', async t => {
  const { create, entry, alter, catalogue, partition } = await open(t)
  await create('orders', { 'retention.ms': '1000' })
  const configs = () => catalogue.current().topics.get('orders')!.configs
  assert.equal(
    await alter('topic', 'orders', [
      ['set', 'segment.ms', '7'],
      ['delete', 'retention.ms'],
    ]),
    'done',
  )
  assert.deepEqual(configs(), { 'segment.ms': '7' })
  assert.equal(partition('orders').state.topic.resolved.segmentMs, 7)
  assert.equal(await alter('topic', 'orders', [['set', 'retention.bytes', '5']], { isWhole: true }), 'done')
  assert.deepEqual(configs(), { 'retention.bytes': '5' })
  assert.deepEqual([entry('topic', 'orders', 'segment.ms').source], ['default'])
  assert.equal(await alter('topic', 'orders', [], { isWhole: true }), 'done')
  assert.deepEqual(configs(), {})
})

test("booleans are taken in Kafka's spellings, and stored in one", async t => {
  const { create, alter, entry } = await open(t)
  await create('orders')
  const names = topicConfigs.filter(({ type }) => type === 'boolean').map(({ name }) => name)
  assert.ok(names.length >= 5, names.join())
  for (const name of names) {
    assert.equal(await alter('topic', 'orders', [['set', name, ' False']]), 'done', name)
    assert.equal(entry('topic', 'orders', name).value, 'false', name)
    for (const wrong of ['yes', '1', 'tru', 't rue', 'FALSE,'])
      assert.match(await alter('topic', 'orders', [['set', name, wrong]]), /^INVALID_CONFIG: .*takes true/)
  }
  const VALIDATION = 'confluent.value.schema.validation'
  for (const value of ['TRUE', 'True ', 'true']) {
    assert.equal(await alter('topic', 'orders', [['set', VALIDATION, value]], { isWhole: true }), 'done')
    assert.equal(entry('topic', 'orders', VALIDATION).value, 'true')
  }
  // Those without an effect take Kafka's default, however it is written.
  assert.equal(await alter('topic', 'orders', [['set', 'preallocate', 'FALSE']]), 'done')
  assert.match(await alter('topic', 'orders', [['set', 'preallocate', 'TRUE']]), /no effect here/)
  // The case of a word counts.
  assert.match(await alter('topic', 'orders', [['set', 'cleanup.policy', 'DELETE']]), /^INVALID_CONFIG/)
})

test('APPEND and SUBTRACT work only on lists, and the resulting list is checked', async t => {
  const { create, alter, catalogue } = await open(t)
  await create('orders')
  const configs = () => catalogue.current().topics.get('orders')!.configs
  assert.equal(await alter('topic', 'orders', [['append', 'cleanup.policy', 'delete']]), 'done')
  assert.deepEqual(configs(), { 'cleanup.policy': 'delete' })
  assert.equal(await alter('topic', 'orders', [['append', 'cleanup.policy', 'compact']]), 'done')
  assert.deepEqual(configs(), { 'cleanup.policy': 'delete,compact' })
  assert.equal(await alter('topic', 'orders', [['subtract', 'cleanup.policy', 'compact']]), 'done')
  assert.match(
    await alter('topic', 'orders', [['subtract', 'cleanup.policy', 'delete']]),
    /^INVALID_CONFIG: cleanup.poli/,
  )
  assert.equal(await alter('topic', 'orders', [['subtract', 'cleanup.policy', 'compact']]), 'done')
  assert.equal(
    await alter('topic', 'orders', [['append', 'retention.ms', '5']]),
    "INVALID_CONFIG: Can't APPEND to key retention.ms because its type is not LIST.",
  )
})

test('an invalid change is refused with a message that names the mistake, and changes nothing', async t => {
  const { create, alter, catalogue } = await open(t)
  await create('orders', { 'retention.ms': '1000' })
  const { version } = catalogue.current()
  const good = ['set', 'segment.ms', '7'] as const
  const cases: [Parameters<typeof alter>[2], RegExp][] = [
    [[good, ['set', 'retentionms', '5']], /^INVALID_CONFIG: Unknown topic config name: retentionms$/],
    [[good, ['delete', 'retentionms']], /^INVALID_CONFIG: Unknown topic config name: retentionms$/],
    [[good, ['append', 'nope', '5']], /^INVALID_CONFIG: Unknown topic config name: nope$/],
    [[good, ['set', '__proto__', '5']], /^INVALID_CONFIG: Unknown topic config name: __proto__$/],
    [[good, ['set', 'retention.ms', '-2']], /^INVALID_CONFIG: retention.ms: got "-2"/],
    [[good, ['set', 'cleanup.policy', 'foo']], /^INVALID_CONFIG: cleanup.policy: got "foo"/],
    [[good, ['set', 'flush.ms', '1']], /^INVALID_CONFIG: flush.ms: .* no effect here/],
    [[good, ['set', 'remote.storage.enable', 'true']], /^INVALID_CONFIG: Tiered Storage functionality is disabled/],
    [[good, ['set', 'storage.compression.type', 'lz4']], /^INVALID_CONFIG: storage.compression.type/],
    [[good, ['set', 'retention.ms', null]], /^INVALID_REQUEST: Null value not supported for : retention.ms$/],
    [[good, ['append', 'cleanup.policy', null]], /^INVALID_REQUEST: Null value/],
    [[good, good], /^INVALID_REQUEST: Error due to duplicate config keys$/],
  ]
  for (const [edits, why] of cases) assert.match(await alter('topic', 'orders', edits), why)
  assert.match(await alter('topic', 'nope', [good]), /^UNKNOWN_TOPIC_OR_PARTITION: The topic 'nope' does not exist.$/)
  assert.match(await alter('topic', '', [good]), /^INVALID_REQUEST: Default topic resources are not allowed.$/)
  assert.match(await alter('topic', 'a/b', [good]), /^INVALID_TOPIC_EXCEPTION/)
  assert.equal(await alter('topic', 'orders', [good], { validateOnly: true }), 'done')
  assert.match(await alter('topic', 'orders', [['set', 'x', '']], { validateOnly: true }), /^INVALID_CONFIG/)
  assert.equal(catalogue.current().version, version)
})

test('a topic keeps the codec that it was created with, even if the settings change later', async t => {
  const { create, alter, entry, rooms } = await open(t)
  const topic = await create('orders')
  assert.equal(await alter('topic', 'orders', [['set', 'storage.compression.type', 'none']]), 'done')
  const other = { ...topic, pinned: { 'storage.compression.type': 'lz4' }, configs: {} }
  const catalogue = {
    ...rooms.catalogue,
    current: () => ({ ...rooms.catalogue.current(), topics: new Map([['orders', other]]) }),
  }
  const edits = [{ name: 'storage.compression.type', operation: 'set' as const, value: 'none' }]
  const change: ConfigChange = { resource: { type: 'topic', name: 'orders' }, isWhole: false, edits }
  const [outcome] = await alterConfigs({ ...rooms, catalogue }, [change], { validateOnly: true })
  assert.match(outcome?.message ?? '', /it is lz4, and fixed when the topic is created/)
  assert.equal(entry('topic', 'orders', 'storage.compression.type').value, 'none')
})

test('a codec that was set at creation is shown as an override, cannot be deleted, and survives a full replacement', async t => {
  const { create, alter, entry } = await open(t, { topics: [topicPattern('o*', { compression: 'lz4' })] })
  await create('orders', { 'storage.compression.type': 'zstd' })
  assert.match(
    await alter('topic', 'orders', [['delete', 'storage.compression.type']]),
    /^INVALID_CONFIG: storage.compression.type: it is zstd, and fixed when the topic is created$/,
  )
  assert.equal(await alter('topic', 'orders', [['set', 'segment.ms', '7']], { isWhole: true }), 'done')
  const { value, source, synonyms } = entry('topic', 'orders', 'storage.compression.type')
  assert.deepEqual([value, source], ['zstd', 'topic'])
  assert.deepEqual(synonyms[1], { name: 'svc.topics[0].compression', value: 'lz4', source: 'settings' })
  await create('others')
  assert.equal(entry('topic', 'others', 'storage.compression.type').value, 'lz4')
  assert.match(
    await alter('topic', 'others', [['set', 'storage.compression.type', 'zstd']]),
    /^INVALID_CONFIG: storage.compression.type: it is lz4, and fixed when the topic is created$/,
  )
})

test('each resource has its own outcome, and a resource that is named twice is refused', async t => {
  const { create, rooms, catalogue } = await open(t)
  for (const name of ['a', 'b', 'c']) await create(name)
  const change = (name: string, value: string): ConfigChange => ({
    resource: { type: 'topic', name },
    isWhole: false,
    edits: [{ name: 'retention.ms', operation: 'set', value }],
  })
  const changes = [change('c', '1'), change('a', '5'), change('b', 'x'), change('c', '1'), change('d', '1')]
  const outcomes = await alterConfigs(rooms, changes, { validateOnly: false })
  assert.deepEqual(
    outcomes.map(outcome => outcome?.name ?? null),
    ['INVALID_REQUEST', null, 'INVALID_CONFIG', 'INVALID_REQUEST', 'UNKNOWN_TOPIC_OR_PARTITION'],
  )
  const retention = ['a', 'b', 'c'].map(name => catalogue.current().topics.get(name)!.configs['retention.ms'])
  assert.deepEqual(retention, ['5', undefined, undefined])
})

test('a broker shows its settings as read-only, and hides its secrets', async t => {
  const { describe, entry, alter } = await open(t, { 'broker.port': 9999, 'admin.password': 'hunter2' })
  const entries = describe('broker', '4') as readonly ConfigEntry[]
  const ours = entries.filter(({ name }) => /^(svc|server|logging|management)\./.test(name))
  assert.equal(ours.length, Object.keys(settingsTable).length)
  assert(entries.every(each => each.isReadOnly && each.documentation !== ''))
  assert(!JSON.stringify(entries).includes('hunter2'))
  const port = entry('broker', '4', 'svc.broker.port')
  assert.deepEqual([port.value, port.source, port.type], ['9999', 'settings', 'int'])
  assert.deepEqual(port.synonyms.at(-1), { name: 'svc.broker.port', value: '9092', source: 'default' })
  const password = entry('broker', '4', 'svc.admin.password')
  assert.deepEqual([password.value, password.isSensitive, password.type], [null, true, 'password'])
  assert.deepEqual(password.synonyms, [
    { name: 'svc.admin.password', value: null, source: 'settings' },
    { name: 'svc.admin.password', value: null, source: 'default' },
  ])
  const unset = entry('broker', '4', 'svc.broker.advertised-host')
  assert.deepEqual([unset.value, unset.source, unset.synonyms], [null, 'default', []])
  assert.deepEqual(describe('broker', ''), [])
  assert.match((describe('broker', '5') as Refusal).message, /Unexpected broker id, expected 4, but received 5/)
  assert.match((describe('broker', 'x') as Refusal).message, /Broker id must be an integer, but it is: x/)

  for (const name of ['4', '']) {
    assert.equal(
      await alter('broker', name, [['set', 'svc.broker.port', '1']]),
      'INVALID_REQUEST: Cannot update these configs dynamically: Set(svc.broker.port)',
    )
    assert.equal(await alter('broker', name, [['set', 'nope', '1']]), 'INVALID_CONFIG: Unknown config name: nope')
    assert.equal(await alter('broker', name, [], { isWhole: true }), 'done')
  }
  assert.match(await alter('broker', '5', []), /^INVALID_REQUEST: Unexpected broker id/)
})

test("a broker shows Kafka's config names beside its settings, with the setting as the synonym", async t => {
  const { describe, entry } = await open(t, {
    'broker.idle-timeout': 90_000,
    'broker.listeners': [
      { name: 'INSIDE', host: '::1', port: 9093, advertisedHost: null, advertisedPort: null, security: null },
    ],
    topics: [
      topicPattern('orders-*', { partitions: 9, retention: 1, autoCreate: true }),
      topicPattern('*', { partitions: 3, retention: 7_200_000, maxMessageBytes: 5_000 }),
    ],
  })
  const entries = describe('broker', '4') as readonly ConfigEntry[]
  const names = entries.map(({ name }) => name)
  assert.deepEqual(names, [...new Set(names)].sort())
  const shown = (name: string) => {
    const { value, type, source, synonyms } = entry('broker', '4', name)
    return [value, type, source, ...synonyms.map(each => `${each.name}=${each.value}`)]
  }
  assert.deepEqual(shown('node.id'), ['0', 'int', 'default', 'svc.broker.id=0'])
  assert.deepEqual(shown('connections.max.idle.ms'), ['90000', 'long', 'settings', 'svc.broker.idle-timeout=90000'])
  assert.deepEqual(shown('group.max.session.timeout.ms').slice(0, 2), ['1800000', 'int'])
  assert.deepEqual(shown('offsets.retention.minutes').slice(0, 2), ['10080', 'int'])
  assert.deepEqual(shown('broker.rack'), [null, 'string', 'default'])
  const listeners = shown('listeners')
  assert.deepEqual(listeners.slice(0, 3), ['PLAINTEXT://0.0.0.0:9092,INSIDE://[::1]:9093', 'list', 'settings'])
  const advertised = 'PLAINTEXT://kafka.example:9092,INSIDE://[::1]:9093'
  assert.deepEqual(shown('advertised.listeners').slice(0, 3), [advertised, 'list', 'settings'])
  assert.deepEqual(shown('num.partitions'), ['3', 'int', 'settings', 'svc.topics[].partitions=3'])
  assert.deepEqual(shown('auto.create.topics.enable'), ['false', 'boolean', 'default'])
  const retention = 'svc.topics[1].retention=7200000'
  assert.deepEqual(shown('log.retention.ms'), ['7200000', 'long', 'settings', retention])
  assert.deepEqual(shown('log.retention.minutes'), ['120', 'int', 'settings', retention])
  assert.deepEqual(shown('log.retention.hours'), ['2', 'int', 'settings', retention])
  const largest = 'svc.topics[1].max-message-bytes=5000'
  assert.deepEqual(shown('message.max.bytes'), ['5000', 'int', 'settings', largest])
  assert.deepEqual(shown('log.cleaner.min.cleanable.ratio'), ['0.5', 'double', 'default'])
  assert.deepEqual(shown('log.cleaner.enable'), ['true', 'boolean', 'default'])
})

test('a time that is not a whole number of minutes or hours is shown only in milliseconds', async t => {
  const { entry } = await open(t, { topics: [topicPattern('*', { retention: 90_000 })] })
  const values = ['ms', 'minutes', 'hours'].map(unit => entry('broker', '4', `log.retention.${unit}`).value)
  assert.deepEqual(values, ['90000', null, null])
  const endless = await open(t, { topics: [topicPattern('*', { retention: -1, autoCreate: true })] })
  const unlimited = ['ms', 'minutes', 'hours'].map(unit => endless.entry('broker', '4', `log.retention.${unit}`).value)
  assert.deepEqual(unlimited, ['-1', '-1', '-1'])
  assert.equal(endless.entry('broker', '4', 'auto.create.topics.enable').value, 'true')
})

test('log.dirs has no value on Redis', async t => {
  const { entry } = await open(t, { 'storage.local.engine': 'redis' })
  assert.equal(entry('broker', '4', 'log.dirs').value, null)
  const embedded = await open(t, { 'storage.local.embedded.path': '/var/ketch' })
  assert.equal(embedded.entry('broker', '4', 'log.dirs').value, '/var/ketch')
})

test('a config cannot be altered by its Kafka name, and the refusal names the setting', async t => {
  const { alter } = await open(t)
  const dynamically = 'INVALID_REQUEST: Cannot update these configs dynamically'
  assert.equal(
    await alter('broker', '4', [['set', 'num.partitions', '3']]),
    `${dynamically}: Set(num.partitions). num.partitions comes from svc.topics[].partitions: a broker reads it when it starts.`,
  )
  assert.equal(
    await alter('broker', '', [
      ['set', 'svc.broker.id', '3'],
      ['set', 'log.retention.hours', '3'],
      ['set', 'default.replication.factor', '3'],
    ]),
    `${dynamically}: Set(svc.broker.id, log.retention.hours, default.replication.factor). log.retention.hours comes from svc.topics[].retention: a broker reads it when it starts. default.replication.factor has a fixed value in this broker.`,
  )
  assert.equal(await alter('broker', '4', [['delete', 'num.partitions']]), 'done')
  assert.match(await alter('broker', '4', [['append', 'listeners', 'x']]), /^INVALID_REQUEST: Cannot update/)
})

test('the levels of loggers are shown and changed while the broker runs', async t => {
  const { describe, entry, alter, logger } = await open(t)
  const level = (name: string) => entry('broker-logger', '4', name).value
  assert.deepEqual([level('root'), level('svc.kafka'), level('svc.kafka.connection')], ['INFO', 'INFO', 'INFO'])
  assert.equal(await alter('broker-logger', '4', [['set', 'svc.kafka', 'DEBUG']], { validateOnly: true }), 'done')
  assert.equal(level('svc.kafka'), 'INFO')
  assert.equal(
    await alter('broker-logger', '4', [
      ['set', 'svc.kafka', 'DEBUG'],
      ['set', 'root', 'FATAL'],
    ]),
    'done',
  )
  assert.deepEqual([level('root'), level('svc.kafka'), level('svc.kafka.connection')], ['OFF', 'DEBUG', 'DEBUG'])
  assert.equal(logger.levels().get('svc.kafka')?.configured, 'DEBUG')
  assert.equal(await alter('broker-logger', '4', [['delete', 'svc.kafka']]), 'done')
  assert.equal(level('svc.kafka.connection'), 'OFF')
  const refused: [Parameters<typeof alter>[2], RegExp][] = [
    [[['set', 'svc.nope', 'DEBUG']], /^INVALID_CONFIG: Logger svc.nope does not exist!$/],
    [[['set', 'svc.kafka', 'LOUD']], /^INVALID_CONFIG: Cannot set the log level of svc.kafka to LOUD/],
    [
      [
        ['set', 'svc.kafka', 'TRACE'],
        ['delete', 'root'],
      ],
      /^INVALID_REQUEST: Removing the log level of the root logger/,
    ],
    [[['append', 'svc.kafka', 'DEBUG']], /^INVALID_REQUEST: APPEND operation is not allowed/],
  ]
  for (const [edits, why] of refused) assert.match(await alter('broker-logger', '4', edits), why)
  assert.equal(level('svc.kafka'), 'OFF')
  assert.match(await alter('broker-logger', '4', [], { isWhole: true }), /^INVALID_REQUEST/)
  assert.match((describe('broker-logger', '') as Refusal).message, /Broker id must not be empty/)
})

test('groups and client metrics have no configs, and every name is refused', async t => {
  const { describe, alter } = await open(t)
  assert.deepEqual([describe('group', 'g'), describe('client-metrics', 'm')], [[], []])
  assert.equal((describe('group', '') as Refusal).name, 'INVALID_REQUEST')
  assert.equal((describe('client-metrics', '') as Refusal).name, 'INVALID_REQUEST')
  assert.match(await alter('group', 'g', [['set', 'x', '1']]), /^INVALID_CONFIG: Unknown group config name: x$/)
  assert.match(await alter('client-metrics', 'm', [['set', 'x', '1']]), /^INVALID_REQUEST: Unknown client metrics/)
})

test('resources that have configs are listed', async t => {
  const { create, rooms } = await open(t)
  await create('orders')
  assert.deepEqual(listConfigResources(rooms, new Set(['topic', 'group'])), [{ type: 'topic', name: 'orders' }])
  assert.deepEqual(listConfigResources(rooms, new Set(['broker', 'broker-logger', 'client-metrics'])), [
    { type: 'broker-logger', name: '4' },
    { type: 'broker', name: '4' },
  ])
})

test('a topic gets the remote tier, and loses it only together with its table', async t => {
  const { create, alter, catalogue, entry } = await open(t, { 'storage.remote.path': '/tables' })
  await create('orders')
  const isRemote = () => catalogue.current().topics.get('orders')!.resolved.remoteStorageEnable
  assert.equal(await alter('topic', 'orders', [['set', 'remote.storage.enable', 'true']]), 'done')
  assert.equal(isRemote(), true)
  const bare = /^INVALID_CONFIG: It is invalid to disable remote storage without deleting remote data/
  assert.match(await alter('topic', 'orders', [['set', 'remote.storage.enable', 'false']]), bare)
  assert.match(await alter('topic', 'orders', [['delete', 'remote.storage.enable']]), bare)
  assert.match(await alter('topic', 'orders', [['set', 'retention.ms', '5']], { isWhole: true }), bare)
  assert.match(
    await alter('topic', 'orders', [['set', 'cleanup.policy', 'compact']]),
    /^INVALID_CONFIG: Remote log storage/,
  )
  assert.equal(isRemote(), true)
  assert.equal(await alter('topic', 'orders', [['set', 'remote.log.copy.disable', 'true']]), 'done')
  const off = [
    ['set', 'remote.storage.enable', 'false'],
    ['set', 'remote.log.delete.on.disable', 'true'],
  ] as const
  assert.equal(await alter('topic', 'orders', off), 'done')
  assert.equal(isRemote(), false)
  assert.equal(entry('topic', 'orders', 'remote.log.delete.on.disable').value, 'true')
})

test('a pattern that gives the remote tier is not shown as the giver for a compacted topic', async t => {
  const topics = [topicPattern('*', { remoteStorageEnabled: true })]
  const { create, entry } = await open(t, { topics, 'storage.remote.path': '/tables' })
  await create('orders')
  await create('changes', { 'cleanup.policy': 'compact' })
  const shown = (name: string) => {
    const { value, source } = entry('topic', name, 'remote.storage.enable')
    return [value, source]
  }
  assert.deepEqual(
    [shown('orders'), shown('changes')],
    [
      ['true', 'settings'],
      ['false', 'default'],
    ],
  )
})
