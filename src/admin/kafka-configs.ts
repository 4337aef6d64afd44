// Describes broker configs by their Kafka names, because tools and operators ask for them. Each value comes from
// Ketch's settings or is fixed, and cannot be changed by its Kafka name. A Kafka name without a row here is unknown.

import type { Cluster } from '../cluster/cluster.ts'
import { kafkaEndpoints } from '../settings/endpoints.ts'
import { chooseEngine } from '../settings/engine.ts'
import { fieldOfConfig, type MergedPattern, matchEveryTopic } from '../settings/patterns.ts'
import { fullKey, type Key, type Settings, settingsTable, type Value } from '../settings/settings.ts'
import { fallbackOf, inertTopicConfigs, topicConfigs } from '../settings/topic-configs.ts'
import type { ConfigEntry, ConfigSynonym, ConfigType } from './contract.ts'

export interface KafkaConfigRooms {
  readonly settings: Settings
  /** The id of this broker. A request may name no other broker. */
  readonly nodeId: number
  readonly cluster: Pick<Cluster, 'brokers'>
}

/** The rooms and patterns that values are read from. */
interface Sources extends KafkaConfigRooms {
  /** The patterns that match every topic: the defaults of topics that no other pattern matches. */
  readonly everyTopic: MergedPattern
}

interface Row {
  readonly name: string
  readonly type: ConfigType
  /** Names of the settings that decide the value; empty if the value is always the same. */
  readonly settings: readonly string[]
  readonly documentation: string
  /** Returns the value; null if the config has no value. */
  readonly value: (sources: Sources) => string | null
  /** Returns the settings behind the value, as they were written. */
  readonly synonyms: (sources: Sources) => readonly ConfigSynonym[]
}

/**
 * Makes the row of a Kafka config that equals one of Ketch's settings. `show` gets the value of the setting:
 * milliseconds, bytes or a count.
 */
function ofSetting<K extends Key>(
  name: string,
  type: ConfigType,
  key: K,
  show: (value: Value<K>) => string | null = String,
): Row {
  return ofSettings(name, type, [key], ({ settings }) => show(settings.get(key)))
}

function ofSettings(name: string, type: ConfigType, keys: readonly Key[], value: Row['value']): Row {
  const documentation = keys.map(key => settingsTable[key].doc).join(' ')
  const synonyms: Row['synonyms'] = ({ settings }) =>
    keys
      .filter(key => settings.get(key) !== null)
      .map(key => ({
        name: fullKey(key),
        value: settings.show(key),
        source: settings.isSet(key) ? 'settings' : 'default',
      }))
  return { name, type, settings: keys.map(fullKey), documentation, value, synonyms }
}

/** Makes the row of a Kafka config that is the default of this topic config. */
function ofTopics(
  name: string,
  type: ConfigType,
  config: string,
  documentation: string,
  show: (value: string) => string | null = String,
): Row {
  const field = fieldOfConfig(config)
  return {
    name,
    type,
    settings: field === null ? [] : [ofPatterns(field)],
    documentation,
    value: ({ everyTopic }) => show(everyTopic.configs[config] ?? fallbackOf(config)),
    synonyms({ everyTopic: { fields, configs } }) {
      if (configs[config] === undefined) return []
      return [{ name: fields[config]!.key, value: configs[config], source: 'settings' }]
    },
  }
}

/**
 * Makes the row of a Kafka config that is a field of Ketch's topic patterns, but not a topic config. `given` returns
 * null if no pattern sets the field.
 */
function ofPattern(
  name: string,
  type: ConfigType,
  field: string,
  documentation: string,
  { given, fallback }: { readonly given: (pattern: MergedPattern) => string | null; readonly fallback: string },
): Row {
  return {
    name,
    type,
    settings: [ofPatterns(field)],
    documentation,
    value: ({ everyTopic }) => given(everyTopic) ?? fallback,
    synonyms({ everyTopic }) {
      const value = given(everyTopic)
      return value === null ? [] : [{ name: ofPatterns(field), value, source: 'settings' }]
    },
  }
}

function always(name: string, type: ConfigType, value: string, documentation: string): Row {
  return { name, type, settings: [], documentation, value: () => value, synonyms: () => [] }
}

function ofPatterns(field: string): string {
  return `${fullKey('topics')}[].${field}`
}

const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000

/**
 * Returns a function that shows a time in this unit. It returns null if the time is not a whole number of units; then
 * only the config in milliseconds has a value.
 */
function whole(unitMs: number): (ms: number | string) => string | null {
  return ms => (Number(ms) === -1 ? '-1' : Number(ms) % unitMs === 0 ? String(Number(ms) / unitMs) : null)
}

const RETENTION = 'Age at which segments are dropped, for topics without their own value; -1 is no limit.'
const ROLL = 'Age at which a segment is closed, for topics without their own value.'

/** The broker configs that are defaults of topic configs in Kafka. */
const topicRows: readonly Row[] = [...topicConfigs, ...inertTopicConfigs].flatMap(row => {
  if (row.broker === null) return []
  const documentation = 'doc' in row ? row.doc : "It has no effect here and has Kafka's default."
  return [ofTopics(row.broker, row.type, row.name, documentation)]
})

const rows: readonly Row[] = [
  ...topicRows,
  ofSetting('broker.id', 'int', 'broker.id'),
  ofSetting('node.id', 'int', 'broker.id'),
  ofSetting('broker.rack', 'string', 'broker.rack', rack => rack),
  ofSetting('broker.session.timeout.ms', 'int', 'broker.expiry'),
  ofSettings('listeners', 'list', ['broker.host', 'broker.port', 'broker.listeners'], ({ settings }) =>
    kafkaEndpoints(settings).map(endpointText).join(','),
  ),
  ofSettings(
    'advertised.listeners',
    'list',
    ['broker.advertised-host', 'broker.advertised-port', 'broker.listeners'],
    ({ cluster, nodeId }) =>
      cluster
        .brokers()
        .find(({ id }) => id === nodeId)
        ?.endpoints.map(endpointText)
        .join(',') ?? null,
  ),
  ofSettings('log.dirs', 'list', ['storage.local.embedded.path'], ({ settings }) =>
    chooseEngine(settings).engine === 'embedded' ? settings.get('storage.local.embedded.path') : null,
  ),
  ofSetting('max.connections', 'int', 'broker.max-connections'),
  ofSetting('max.connections.per.ip', 'int', 'broker.max-connections-per-address'),
  ofSetting('connections.max.idle.ms', 'long', 'broker.idle-timeout'),
  ofSetting('socket.request.max.bytes', 'int', 'broker.max-request-bytes'),
  ofSetting('fetch.max.bytes', 'int', 'broker.fetch-max-bytes'),
  ofSetting('max.incremental.fetch.session.cache.slots', 'int', 'broker.fetch-session-cache-slots'),
  ofSetting('producer.id.expiration.ms', 'int', 'broker.producer-id-expiration'),
  ofSetting('group.initial.rebalance.delay.ms', 'int', 'broker.rebalance-delay'),
  ofSetting('group.min.session.timeout.ms', 'int', 'broker.group-min-session-timeout'),
  ofSetting('group.max.session.timeout.ms', 'int', 'broker.group-max-session-timeout'),
  ofSetting('group.max.size', 'int', 'broker.group-max-size'),
  ofSetting('offsets.retention.minutes', 'int', 'broker.offsets-retention', whole(MINUTE_MS)),
  ofSetting('offsets.retention.check.interval.ms', 'long', 'broker.offsets-retention-check-interval'),
  ofPattern(
    'num.partitions',
    'int',
    'partitions',
    'Number of partitions, if the request that creates the topic names none.',
    {
      given: ({ partitions }) => (partitions === null ? null : String(partitions)),
      fallback: '1',
    },
  ),
  ofPattern(
    'auto.create.topics.enable',
    'boolean',
    'auto-create',
    'Whether a topic of any name is created when a client first names it.',
    { given: ({ autoCreate }) => (autoCreate ? 'true' : null), fallback: 'false' },
  ),
  ofTopics('log.retention.ms', 'long', 'retention.ms', RETENTION),
  ofTopics('log.retention.minutes', 'int', 'retention.ms', RETENTION, whole(MINUTE_MS)),
  ofTopics('log.retention.hours', 'int', 'retention.ms', RETENTION, whole(HOUR_MS)),
  ofTopics('log.roll.ms', 'long', 'segment.ms', ROLL),
  ofTopics('log.roll.hours', 'int', 'segment.ms', ROLL, whole(HOUR_MS)),
  always(
    'default.replication.factor',
    'int',
    '1',
    'Number of replicas, if the request that creates the topic names none.',
  ),
  always('delete.topic.enable', 'boolean', 'true', 'Whether topics can be deleted.'),
  always('log.cleaner.enable', 'boolean', 'true', 'Whether the broker cleans compacted topics.'),
]

const byName: ReadonlyMap<string, Row> = new Map(rows.map(row => [row.name, row]))

/** Returns all rows as read-only configs, in no particular order. */
export function describeKafkaConfigs(rooms: KafkaConfigRooms): readonly ConfigEntry[] {
  const sources: Sources = { ...rooms, everyTopic: matchEveryTopic(rooms.settings) }
  return rows.map(({ name, type, documentation, ...row }) => {
    const value = row.value(sources)
    const synonyms = row.synonyms(sources)
    const source = synonyms.some(each => each.source === 'settings') ? 'settings' : 'default'
    return { name, value, source, isReadOnly: true, isSensitive: false, type, synonyms, documentation }
  })
}

/** Returns a sentence that names the settings behind a Kafka name; null for any other name. */
export function settingBehind(name: string): string | null {
  const row = byName.get(name)
  if (row === undefined) return null
  if (row.settings.length === 0) return `${name} has a fixed value in this broker.`
  return `${name} comes from ${row.settings.join(', ')}: a broker reads it when it starts.`
}

/** Formats an endpoint, for example PLAINTEXT://[::1]:9092. */
function endpointText({ name, host, port }: { readonly name: string; readonly host: string; readonly port: number }) {
  return `${name}://${host.includes(':') ? `[${host}]` : host}:${port}`
}
