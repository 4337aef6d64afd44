// Describes and changes the configs of topics, brokers and loggers. The rules are those of Apache Kafka's
// ConfigAdminManager, ConfigurationControlManager and ConfigHelper. A change of a topic config is durable before it
// is answered, and takes effect at once. The level of a logger lasts until the process ends. A broker reads its
// settings when it starts, and they cannot change while it runs. Groups and client metrics have no configs here, so
// every config name is refused for them.

import { cut } from '../base/cut.ts'
import { type CatalogueKeeper, type NewTopic, type Topic, unreadableTopic } from '../log/catalogue.ts'
import {
  because,
  INVALID_CONFIG,
  INVALID_REQUEST,
  INVALID_TOPIC_EXCEPTION,
  isRefusal,
  type Refusal,
  UNKNOWN_TOPIC_ID,
  UNKNOWN_TOPIC_OR_PARTITION,
} from '../protocol/errors.ts'
import { checkTopicName } from '../protocol/names.ts'
import { type MergedPattern, matchPattern } from '../settings/patterns.ts'
import { fullKey, type Key, keys, type Setting, type Settings, settingsTable } from '../settings/settings.ts'
import {
  checkTopicConfigs,
  fallbackOf,
  givenByPattern,
  inertTopicConfigs,
  storedTopicConfig,
  topicConfigs,
  typeOfTopicConfig,
  unknownTopicConfig,
} from '../settings/topic-configs.ts'
import type { Logger } from '../telemetry/logger.ts'
import type {
  ConfigChange,
  ConfigEdit,
  ConfigEntry,
  ConfigResource,
  ConfigResourceType,
  ConfigSynonym,
  ConfigType,
  TopicConfigEntry,
} from './contract.ts'
import { checkExpected } from './expected-topic.ts'
import { describeKafkaConfigs, type KafkaConfigRooms, settingBehind } from './kafka-configs.ts'
import { levelObjection, listLoggers, setLevels } from './loggers.ts'
import { checkRemoteTopic, type RemoteTopicRooms } from './remote-topics.ts'

export interface ConfigRooms extends KafkaConfigRooms {
  readonly catalogue: CatalogueKeeper
  readonly cluster: KafkaConfigRooms['cluster'] & RemoteTopicRooms['cluster']
  readonly remoteTier?: RemoteTopicRooms['remoteTier']
  readonly logger: Logger
}

/** The config that is fixed when a topic is created. */
const PINNED = 'storage.compression.type'
/** The setting that is its default. */
const CODEC = 'storage.local.compression.codec'

/** Returns all configs of the resource, sorted by name, or the reason why it has no configs. */
export function describeConfigs(rooms: ConfigRooms, { type, name }: ConfigResource): readonly ConfigEntry[] | Refusal {
  switch (type) {
    case 'topic': {
      const topic = findTopic(rooms, name)
      return isRefusal(topic) ? topic : describeTopicConfigs(topic, rooms.settings)
    }
    case 'broker':
      // An empty name stands for the dynamic configs of all brokers. Ketch has no such configs.
      if (name === '') return []
      return checkBroker(rooms, 'Broker id', name) ?? describeSettings(rooms)
    case 'broker-logger':
      if (name === '') return because(INVALID_REQUEST, 'Broker id must not be empty')
      return checkBroker(rooms, 'Broker id', name) ?? describeLoggers(rooms.logger)
    case 'client-metrics':
      return name === '' ? because(INVALID_REQUEST, 'Client metrics subscription name must not be empty') : []
    case 'group':
      return name === '' ? because(INVALID_REQUEST, 'Group name must not be empty') : []
  }
}

/** Returns the resources of these types that have configs. */
export function listConfigResources(
  { catalogue, nodeId }: ConfigRooms,
  types: ReadonlySet<ConfigResourceType>,
): readonly ConfigResource[] {
  const resources: ConfigResource[] = []
  if (types.has('broker-logger')) resources.push({ type: 'broker-logger', name: String(nodeId) })
  if (types.has('broker')) resources.push({ type: 'broker', name: String(nodeId) })
  if (types.has('topic')) {
    for (const name of catalogue.current().topics.keys()) resources.push({ type: 'topic', name })
  }
  return resources
}

/**
 * Resolves to one outcome for each change, in order: null, or the reason why no part of it was made. With
 * `validateOnly` it checks the changes and makes none of them. Throws what the store throws; some topics of the
 * request may have changed then.
 */
export async function alterConfigs(
  rooms: ConfigRooms,
  changes: readonly ConfigChange[],
  { validateOnly }: { readonly validateOnly: boolean },
): Promise<readonly (Refusal | null)[]> {
  if (rooms.catalogue.isShared) await rooms.catalogue.catchUp()
  const counts = new Map<string, number>()
  for (const { resource } of changes) counts.set(keyOf(resource), (counts.get(keyOf(resource)) ?? 0) + 1)
  const outcomes: (Refusal | null)[] = []
  /** The changes of topics by topic id, each with the index of its outcome. */
  const wanted = new Map<string, { readonly at: number; readonly change: ConfigChange }>()
  for (const [at, change] of changes.entries()) {
    const { type, name } = change.resource
    let outcome: Refusal | null =
      counts.get(keyOf(change.resource))! > 1
        ? because(INVALID_REQUEST, 'Each resource must appear at most once.')
        : checkEdits(change.edits)
    if (outcome === null && type === 'topic') {
      const topic = findTopic(rooms, name)
      const edited = isRefusal(topic) ? topic : editTopic(rooms, topic, change)
      if (isRefusal(edited)) outcome = edited
      else wanted.set((topic as Topic).id, { at, change })
    } else if (outcome === null) outcome = alterOther(rooms, change, validateOnly)
    outcomes.push(outcome)
  }
  if (wanted.size > 0) {
    const decide = (topic: Topic) => {
      const configs = editTopic(rooms, topic, wanted.get(topic.id)!.change)
      return isRefusal(configs) ? configs : { configs }
    }
    const answers = await rooms.catalogue.change([...wanted.keys()], decide, { validateOnly })
    for (const [i, { at, change }] of [...wanted.values()].entries()) {
      const answer = answers[i]!
      if (!isRefusal(answer)) continue
      outcomes[at] = answer.code === UNKNOWN_TOPIC_ID.code ? unknownTopic(change.resource.name) : answer
    }
  }
  return outcomes
}

function alterOther(rooms: ConfigRooms, change: ConfigChange, validateOnly: boolean): Refusal | null {
  const { resource, edits, isWhole } = change
  const [first] = edits
  switch (resource.type) {
    case 'broker':
      return (resource.name === '' ? null : checkBroker(rooms, 'Node id', resource.name)) ?? checkSettingEdits(edits)
    case 'broker-logger':
      if (isWhole) return because(INVALID_REQUEST, 'The levels of loggers can only be changed one by one.')
      return checkBroker(rooms, 'Node id', resource.name) ?? alterLevels(rooms.logger, edits, validateOnly)
    case 'client-metrics':
      if (resource.name === '') return because(INVALID_REQUEST, "Subscription name can't be empty")
      if (first === undefined) return null
      return because(INVALID_REQUEST, `Unknown client metrics configuration: ${cut(first.name)}`)
    default:
      if (resource.name === '') return because(INVALID_REQUEST, 'Default group resources are not allowed.')
      if (first === undefined) return null
      return because(INVALID_CONFIG, `Unknown group config name: ${cut(first.name)}`)
  }
}

function keyOf({ type, name }: ConfigResource): string {
  return `${type}:${name}`
}

function checkEdits(edits: readonly ConfigEdit[]): Refusal | null {
  if (new Set(edits.map(edit => edit.name)).size < edits.length) {
    return because(INVALID_REQUEST, 'Error due to duplicate config keys')
  }
  const nulls = edits.filter(edit => edit.value === null && edit.operation !== 'delete').map(edit => cut(edit.name))
  if (nulls.length === 0) return null
  return because(INVALID_REQUEST, `Null value not supported for : ${nulls.slice(0, 10).join(', ')}`)
}

function checkBroker({ nodeId }: ConfigRooms, what: string, name: string): Refusal | null {
  if (!/^[+-]?[0-9]{1,10}$/.test(name)) {
    return because(INVALID_REQUEST, `${what} must be an integer, but it is: ${cut(name)}`)
  }
  if (Number(name) === nodeId) return null
  return because(INVALID_REQUEST, `Unexpected broker id, expected ${nodeId}, but received ${name}`)
}

// Topics.

function findTopic({ catalogue }: ConfigRooms, name: string): Topic | Refusal {
  if (name === '') return because(INVALID_REQUEST, 'Default topic resources are not allowed.')
  const why = checkTopicName(name)
  if (why !== null) return because(INVALID_TOPIC_EXCEPTION, `Topic name is invalid: ${cut(why)}`)
  const { topics, unreadable } = catalogue.current()
  return topics.get(name) ?? (unreadable.has(name) ? unreadableTopic(name) : unknownTopic(name))
}

function unknownTopic(name: string): Refusal {
  return because(UNKNOWN_TOPIC_OR_PARTITION, `The topic '${name}' does not exist.`)
}

/** Returns the overrides that the topic has after the change, or a refusal. */
export function editTopic(
  rooms: ConfigRooms,
  topic: Topic,
  { edits, isWhole, expected }: ConfigChange,
): Topic['configs'] | Refusal {
  const changed = checkExpected(topic, expected)
  if (changed !== null) return changed
  const { settings } = rooms
  const pattern = matchPattern(settings, topic.name)
  const configs: Record<string, string> = isWhole ? {} : { ...topic.configs }
  for (const { name, operation, value } of edits) {
    const type = typeOfTopicConfig(name)
    if (type === null) return because(INVALID_CONFIG, unknownTopicConfig(name))
    if (operation === 'set') configs[name] = storedTopicConfig(name, value!)
    else if (operation === 'delete') delete configs[name]
    else if (type !== 'list') {
      const what = operation.toUpperCase()
      return because(INVALID_CONFIG, `Can't ${what} to key ${name} because its type is not LIST.`)
    } else configs[name] = editList(configs[name] ?? pattern.configs[name] ?? fallbackOf(name), operation, value!)
  }
  const wrong = checkTopicConfigs(configs, pattern, settings, topic.resolved)
  if (wrong !== null) return because(INVALID_CONFIG, wrong)
  const old = checkRemoteTopic(rooms, topic.name, configs, topic)
  if (old !== null) return old
  const pinned = topic.pinned[PINNED]!
  const isDeleted = edits.some(({ name, operation }) => name === PINNED && operation === 'delete')
  if ((isDeleted && PINNED in topic.configs) || (configs[PINNED] ?? pinned) !== pinned) {
    return because(INVALID_CONFIG, `${PINNED}: it is ${pinned}, and fixed when the topic is created`)
  }
  // Some tools send all configs of a topic again. They leave out the configs that cannot be set.
  const own = topic.configs[PINNED]
  return own === undefined ? configs : { ...configs, [PINNED]: own }
}

function editList(current: string, operation: 'append' | 'subtract', value: string): string {
  const parts = current.split(',').filter(part => part !== '')
  const given = value.split(',')
  if (operation === 'subtract') return parts.filter(part => !given.includes(part)).join(',')
  return [...new Set([...parts, ...given])].join(',')
}

/** Returns all configs of a topic with their values and sources, sorted by name. */
export function describeTopicConfigs(
  topic: NewTopic & { readonly pinned?: Topic['pinned'] },
  settings: Settings,
): readonly TopicConfigEntry[] {
  const pattern = matchPattern(settings, topic.name)
  const merged = { ...pattern, configs: givenByPattern(pattern, topic.configs) }
  const entries = topicConfigs.map(({ name, type, unit, choices, idle: because, fallback, doc, broker }) => {
    const synonyms: ConfigSynonym[] = []
    const own = topic.configs[name]
    if (own !== undefined) synonyms.push({ name, value: own, source: 'topic' })
    if (name === PINNED) synonyms.push(pinnedSynonym(topic, merged, settings))
    else {
      const value = merged.configs[name]
      if (value !== undefined) synonyms.push({ name: merged.fields[name]!.key, value, source: 'settings' })
      if (broker !== null) synonyms.push({ name: broker, value: fallback, source: 'default' })
    }
    const { value, source } = synonyms[0] ?? { value: fallback, source: 'default' as const }
    const { origin, pattern } = source === 'settings' ? giverOf(name, value, merged, settings) : NO_GIVER
    return {
      ...{ name, value, source, origin, pattern, unit, choices, type, synonyms, because },
      ...{ isReadOnly: name === PINNED, isSensitive: false, documentation: doc },
    }
  })
  const inert = inertTopicConfigs.map(({ name, type, only, unit, choices, broker }) => {
    const synonyms: ConfigSynonym[] = []
    if (topic.configs[name] !== undefined) synonyms.push({ name, value: only, source: 'topic' })
    if (broker !== null) synonyms.push({ name: broker, value: only, source: 'default' })
    const source = synonyms[0]?.source ?? 'default'
    return {
      ...{ name, value: only, source, ...NO_GIVER, unit, choices, type, synonyms, because: INERT },
      ...{ isReadOnly: false, isSensitive: false, documentation: INERT },
    }
  })
  return [...entries, ...inert].sort(byName)
}

const INERT = "It has no effect here and takes only Kafka's default."

type Giver = Pick<TopicConfigEntry, 'origin' | 'pattern'>

const NO_GIVER: Giver = Object.freeze({ origin: null, pattern: null })

/**
 * Returns the pattern or the setting that gives this value. The codec of a topic was fixed when the topic was created;
 * if the settings have changed since, none of them gives it.
 */
function giverOf(name: string, value: string | null, { configs, fields }: MergedPattern, settings: Settings): Giver {
  const field = fields[name]
  if (field !== undefined)
    return configs[name] === value
      ? { origin: `${field.key} (name ${field.pattern}), ${field.origin}`, pattern: field.pattern }
      : NO_GIVER
  const given = settings.get(CODEC) === value
  return given ? { origin: `${fullKey(CODEC)}, ${settings.origin(CODEC)}`, pattern: null } : NO_GIVER
}

/**
 * Returns the codec of the topic with its source. The codec was fixed when the topic was created, even if the
 * settings have changed since. If the topic has an override, returns the value that the topic would have without the
 * override.
 */
function pinnedSynonym(
  { pinned, configs }: { readonly pinned?: Topic['pinned']; readonly configs: Topic['configs'] },
  pattern: MergedPattern,
  settings: Settings,
): ConfigSynonym {
  const fixed = PINNED in configs ? undefined : pinned?.[PINNED]
  const value = fixed ?? pattern.configs[PINNED] ?? settings.get(CODEC)
  const field = pattern.fields[PINNED]
  const isGiven = field !== undefined || settings.isSet(CODEC)
  return { name: field?.key ?? fullKey(CODEC), value, source: isGiven ? 'settings' : 'default' }
}

function byName(one: { readonly name: string }, other: { readonly name: string }): number {
  return one.name < other.name ? -1 : 1
}

// Brokers: the settings, read at the start and fixed from then on.

const TYPES: Readonly<Record<string, ConfigType>> = Object.freeze({
  boolean: 'boolean',
  integer: 'int',
  port: 'int',
  secret: 'password',
})

function typeOf({ shape }: Setting<unknown>): ConfigType {
  return shape.kind === 'one' ? (TYPES[shape.type.name] ?? 'string') : 'list'
}

/** Returns all settings, and Kafka's names for some of them, sorted by name. */
function describeSettings(rooms: ConfigRooms): readonly ConfigEntry[] {
  const entries = keys.map(key => describeSetting(rooms.settings, key))
  return [...entries, ...describeKafkaConfigs(rooms)].sort(byName)
}

function describeSetting(settings: Settings, key: Key): ConfigEntry {
  const row = settingsTable[key]
  const name = fullKey(key)
  const type = typeOf(row)
  const isSensitive = type === 'password'
  const current = settings.get(key)
  const shown = type === 'int' ? String(current) : settings.show(key)
  const value = isSensitive || current === null ? null : shown
  const source = settings.isSet(key) ? 'settings' : 'default'
  const synonyms: ConfigSynonym[] = current === null ? [] : [{ name, value, source }]
  const fallback = row.fallback()
  if (source === 'settings' && fallback !== null) {
    const text = type === 'int' ? String(fallback) : row.fallbackText
    synonyms.push({ name, value: isSensitive ? null : text, source: 'default' })
  }
  const documentation = row.notYet === undefined ? row.doc : `${row.doc} Not in this version: ${row.notYet}.`
  return { name, value, source, isReadOnly: true, isSensitive, type, synonyms, documentation }
}

/**
 * `kafka-reassign-partitions --verify` deletes these configs when no replica moves any longer. No replica ever moves
 * here, so these configs are never set.
 */
const THROTTLES = [
  ...['leader.replication.throttled.rate', 'follower.replication.throttled.rate'],
  'replica.alter.log.dirs.io.max.bytes.per.second',
]

/**
 * Returns why the edits are refused, or null. No setting can change while the broker runs, so an edit that sets a
 * value is refused. A deletion passes and changes nothing.
 */
function checkSettingEdits(all: readonly ConfigEdit[]): Refusal | null {
  const edits = all.filter(({ name, operation }) => operation !== 'delete' || !THROTTLES.includes(name))
  const names = new Set(keys.map(fullKey))
  const unknown = edits.find(({ name }) => !names.has(name) && settingBehind(name) === null)
  if (unknown !== undefined) return because(INVALID_CONFIG, `Unknown config name: ${cut(unknown.name)}`)
  const changed = edits.filter(edit => edit.operation !== 'delete').map(edit => edit.name)
  if (changed.length === 0) return null
  const named = changed.slice(0, 10)
  const reasons = named.flatMap(name => settingBehind(name) ?? [])
  const refusal = `Cannot update these configs dynamically: Set(${named.join(', ')})`
  return because(INVALID_REQUEST, reasons.length === 0 ? refusal : `${refusal}. ${reasons.join(' ')}`)
}

// Loggers.

function describeLoggers(logger: Logger): readonly ConfigEntry[] {
  return listLoggers(logger).map(({ name, level }) => ({
    name,
    value: level,
    source: 'logger' as const,
    isReadOnly: false,
    isSensitive: false,
    type: 'string' as const,
    synonyms: [],
    documentation: 'The lowest level that this logger and the loggers under it write, until the process ends.',
  }))
}

function alterLevels(logger: Logger, edits: readonly ConfigEdit[], validateOnly: boolean): Refusal | null {
  for (const { name, operation, value } of edits) {
    if (operation === 'append' || operation === 'subtract') {
      const what = operation.toUpperCase()
      return because(INVALID_REQUEST, `${what} operation is not allowed for the BROKER_LOGGER resource`)
    }
    const objection = levelObjection(logger, name, operation === 'delete' ? null : value!)
    if (objection !== null) return objection
  }
  if (validateOnly) return null
  setLevels(
    logger,
    edits.map(({ name, operation, value }) => ({ name, level: operation === 'delete' ? null : value! })),
  )
  return null
}
