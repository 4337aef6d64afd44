// The table of all topic configs. CreateTopics, DescribeConfigs, AlterConfigs, patterns and the reference page
// docs/reference/topic-configs.md are derived from it. There are three kinds of names. A row of `acting` is a config
// with an effect. A row of `inertTopicConfigs` is a Kafka config without an effect here: only Kafka's default value
// is accepted, so that no client is promised an effect that does not happen. Any other name is refused.

import { cut } from '../base/cut.ts'
import type { MergedPattern } from './patterns.ts'
import { checkRemoteConfigs } from './remote-configs.ts'
import type { Settings } from './settings.ts'
import { type Unit, unitOf } from './units.ts'

const LONG_MAX = '9223372036854775807'
const INT_MAX = 2 ** 31 - 1
const POLICY = 'cleanup.policy'
const REMOTE = 'remote.storage.enable'

/** The types of Kafka's ConfigDef.Type that topic configs have. */
export type TopicConfigType = 'boolean' | 'double' | 'int' | 'list' | 'long' | 'string'

interface Config<T> {
  readonly type: TopicConfigType
  /** Kafka's default as text. */
  readonly fallback: string
  readonly doc: string
  /** True for names that Kafka does not have. */
  readonly ours: boolean
  /** The broker config that Kafka names as the source of the default; null if it names none. */
  readonly broker: string | null
  /** Returns the value; undefined if the text is not valid. */
  readonly parse: (text: string) => T | undefined
  readonly takes: string
  /** The words of its grammar; null if it takes other values too. */
  readonly words: readonly string[] | null
  /** The reason why it has no effect, as a sentence; null if it has one. */
  readonly idle: string | null
  /** Returns the reason why this version does not take a well-formed value; null if it takes it. */
  readonly refuse: (value: T) => string | null
}

interface Extras<T> {
  readonly ours?: boolean
  readonly broker?: string
  readonly idle?: string | null
  readonly refuse?: (value: T) => string | null
}

function config<T>(
  type: TopicConfigType,
  takes: string,
  parse: (text: string) => T | undefined,
  words: readonly string[] | null = null,
) {
  const common = { type, takes, parse, words, ours: false, broker: null, idle: null, refuse: () => null }
  return (fallback: string, doc: string, extras: Extras<T> = {}): Config<T> =>
    Object.freeze({ ...common, fallback, doc, ...extras })
}

/** A decimal integer. A value beyond 2^53 becomes the nearest number; text beyond int64 is not valid. */
function whole(type: 'int' | 'long', min: number, max: number = type === 'int' ? INT_MAX : Number.POSITIVE_INFINITY) {
  const most = max === Number.POSITIVE_INFINITY ? LONG_MAX : String(max)
  return config(type, `an integer from ${min} to ${most}`, text => {
    if (!/^-?[0-9]{1,19}$/.test(text) || BigInt(text) > BigInt(most) || BigInt(text) < BigInt(min)) return undefined
    return Number(text)
  })
}

/** A decimal number from 0 to 1. */
function ratio() {
  return config('double', 'a number from 0 to 1', text => {
    const value = /^[0-9.]{1,100}(e-?[0-9]{1,2})?$/i.test(text) ? Number(text) : Number.NaN
    return value >= 0 && value <= 1 ? value : undefined
  })
}

function flag() {
  const parse = (text: string) => (text === 'true' ? true : text === 'false' ? false : undefined)
  return config('boolean', 'true or false', parse, ['true', 'false'])
}

function word<const T extends string>(...words: readonly T[]) {
  return config('string', `one of ${words.join(', ')}`, text => words.find(candidate => candidate === text), words)
}

/** Like flag(), but it has a third value without a word: null if it is not set. */
function optionalFlag() {
  const parse = (text: string) => (text === '' ? null : text === 'true' ? true : text === 'false' ? false : undefined)
  return config('boolean', 'true, false or nothing', parse, ['true', 'false'])
}

/** How the subject of a key or a value is found. */
export type SubjectNameStrategy = 'TopicName' | 'RecordName' | 'TopicRecordName'

/** The class of a client's subject name strategy, as Confluent's serializers name it; its value is the short name. */
function subjectNameStrategy() {
  const names: readonly SubjectNameStrategy[] = ['TopicName', 'RecordName', 'TopicRecordName']
  const classOf = (name: string) => `io.confluent.kafka.serializers.subject.${name}Strategy`
  const classes = names.map(classOf)
  const parse = (text: string) => names.find(name => classOf(name) === text)
  return config('string', `one of ${classes.join(', ')}`, parse, classes)
}

/** A comma-separated list of distinct words, kept as Kafka writes it. */
function words<const T extends string>(...known: readonly T[]) {
  const parse = (text: string) => {
    const parts = text.split(',').map(part => part.trim())
    const valid = parts.every((part, at) => known.includes(part as T) && parts.indexOf(part) === at)
    return valid ? (parts as T[]) : undefined
  }
  return config('list', `a list of distinct words out of ${known.join(', ')}`, parse, known)
}

const BY_TOPIC_NAME = 'io.confluent.kafka.serializers.subject.TopicNameStrategy'

const acting = {
  'cleanup.policy': words('delete', 'compact')(
    'delete',
    'delete drops segments that are older or larger than the retention. compact keeps the newest record of each key and drops the older ones. A topic may have both.',
    { broker: 'log.cleanup.policy' },
  ),
  'compression.type': word(
    'producer',
    'uncompressed',
    'gzip',
    'snappy',
    'lz4',
    'zstd',
  )(
    'producer',
    'Batches are served as the producer compressed them, so every value but producer is refused. storage.compression.type is the codec of the store.',
    {
      broker: 'compression.type',
      refuse: value =>
        value === 'producer' ? null : 'batches are kept as the producer sent them; it takes only producer',
    },
  ),
  'confluent.key.schema.validation': optionalFlag()(
    '',
    'Whether keys are checked against their schemas when they are produced. If it is not set, they are checked once their subject has a version. true: a key whose subject has none is refused too. false: no key is checked.',
    { ours: true },
  ),
  'confluent.key.subject.name.strategy': subjectNameStrategy()(
    BY_TOPIC_NAME,
    'How the subject of a key is found. TopicNameStrategy: the topic with -key. RecordNameStrategy: the name of the record type. TopicRecordNameStrategy: both, with a - between them.',
    { ours: true },
  ),
  'confluent.value.schema.validation': optionalFlag()(
    '',
    'Whether values are checked against their schemas when they are produced. If it is not set, they are checked once their subject has a version. true: a value whose subject has none is refused too. false: no value is checked.',
    { ours: true },
  ),
  'confluent.value.subject.name.strategy': subjectNameStrategy()(
    BY_TOPIC_NAME,
    'How the subject of a value is found. TopicNameStrategy: the topic with -value. RecordNameStrategy: the name of the record type. TopicRecordNameStrategy: both, with a - between them.',
    { ours: true },
  ),
  'delete.retention.ms': whole('long', 0)(
    '86400000',
    'Time for which a compacted topic keeps a tombstone (a record with a key and no value) after the first cleaning that found it to be the newest record of its key.',
    { broker: 'log.cleaner.delete.retention.ms' },
  ),
  'file.delete.delay.ms': whole('long', 0)(
    '60000',
    'Accepted and kept. No reader sees dropped data, and the store frees its room when it can; this changes neither.',
    { broker: 'log.segment.delete.delay.ms', idle: 'The store decides when it frees the room of dropped data.' },
  ),
  'local.retention.bytes': whole('long', -2)(
    '-2',
    'Bytes of a partition above which its oldest segments leave the local tier if the remote tier has them; -2 is retention.bytes. It has an effect only with remote.storage.enable.',
    { broker: 'log.local.retention.bytes' },
  ),
  'local.retention.ms': whole('long', -2)(
    '-2',
    'Age at which segments leave the local tier if the remote tier has them; -2 is retention.ms. It has an effect only with remote.storage.enable.',
    { broker: 'log.local.retention.ms' },
  ),
  'max.compaction.lag.ms': whole('long', 1)(
    LONG_MAX,
    `Time after which a record of a compacted topic is cleaned, however small the dirty part is; ${LONG_MAX} is no limit.`,
    { broker: 'log.cleaner.max.compaction.lag.ms' },
  ),
  'max.message.bytes': whole('int', 0)('1048588', 'Largest record batch, as it arrives, in bytes.', {
    broker: 'message.max.bytes',
  }),
  'message.timestamp.after.max.ms': whole('long', 0)(
    '3600000',
    "How far a record's timestamp may be after the broker's clock, in ms.",
    {
      broker: 'log.message.timestamp.after.max.ms',
    },
  ),
  'message.timestamp.before.max.ms': whole('long', 0)(
    LONG_MAX,
    `How far a record's timestamp may be before the broker's clock, in ms; ${LONG_MAX} is no limit.`,
    { broker: 'log.message.timestamp.before.max.ms' },
  ),
  'message.timestamp.type': word('CreateTime', 'LogAppendTime')(
    'CreateTime',
    "The clock of record timestamps: CreateTime is the producer's, LogAppendTime is the broker's.",
    { broker: 'log.message.timestamp.type' },
  ),
  'min.cleanable.dirty.ratio': ratio()(
    '0.5',
    'Share of a compacted log, by bytes, above which its uncleaned part is cleaned.',
    { broker: 'log.cleaner.min.cleanable.ratio' },
  ),
  'min.compaction.lag.ms': whole('long', 0)('0', 'Time for which a record of a compacted topic is not cleaned.', {
    broker: 'log.cleaner.min.compaction.lag.ms',
  }),
  'min.insync.replicas': whole('int', 1)(
    '1',
    'Accepted and kept. The store decides what an acknowledgement means, and this does not change it.',
    { broker: 'min.insync.replicas', idle: 'The store decides when a record is acknowledged.' },
  ),
  'offset.sequence.bits': whole('int', 0, 11)(
    '0',
    'If above 0, offsets follow the clock: milliseconds since 1970 shifted left by this many bits. If 0, offsets count up one by one from 0.',
    { ours: true },
  ),
  'remote.log.copy.disable': flag()(
    'false',
    'If true, the remote tier of the topic is only read: no further segments go there, and local data is kept until retention.ms or retention.bytes drops it.',
  ),
  'remote.log.delete.on.disable': flag()(
    'false',
    'Whether the table of the topic is dropped when remote.storage.enable becomes false. A topic whose remote.storage.enable becomes false without it is refused.',
  ),
  'remote.storage.enable': flag()(
    'false',
    'Whether sealed segments go to the remote tier, where Kafka clients and SQL engines read them. It requires svc.storage.remote.path and cleanup.policy=delete. A topic pattern does not enable it for compacted topics.',
  ),
  'retention.bytes': whole('long', -1)(
    '-1',
    'Bytes of a partition above which its oldest segments are dropped; -1 is no limit.',
    { broker: 'log.retention.bytes' },
  ),
  'retention.ms': whole('long', -1)('604800000', 'Age at which segments are dropped; -1 is no limit.'),
  'schema.validation.action': word('reject', 'count')(
    'reject',
    'The answer to records whose key or value is not valid. reject refuses their batch. count only counts them in svc_schema_registry_verdicts_total, to see what a check would refuse.',
    { ours: true },
  ),
  'segment.bytes': whole('int', 2 ** 20)(
    '1073741824',
    'Stored bytes at which the active segment is closed, exact to about 1 MiB. Old data is dropped in smaller parts, independent of this size.',
    { broker: 'log.segment.bytes' },
  ),
  'segment.ms': whole('long', 1)(
    '604800000',
    'Time after its first append at which the active segment is closed even when it is not full.',
  ),
  'storage.compression.type': word(
    'none',
    'gzip',
    'snappy',
    'lz4',
    'zstd',
  )(
    'none',
    'Codec that compresses batches in the store if they arrive uncompressed; fixed when the topic is created. Its default is svc.storage.local.compression.codec.',
    { ours: true },
  ),
}

/** A Kafka config without an effect here. */
export interface InertTopicConfig {
  readonly name: string
  readonly type: TopicConfigType
  /** The only value that it takes: Kafka's default. */
  readonly only: string
  readonly unit: Unit | null
  readonly choices: readonly string[]
  readonly broker: string | null
}

function inertConfig(name: string, type: TopicConfigType, only: string, broker: string | null): InertTopicConfig {
  return Object.freeze({ name, type, only, unit: unitOf(name), choices: Object.freeze([only]), broker })
}

/** Kafka's configs without an effect here, in order of name. */
export const inertTopicConfigs: readonly InertTopicConfig[] = Object.freeze([
  inertConfig('compression.gzip.level', 'int', '-1', 'compression.gzip.level'),
  inertConfig('compression.lz4.level', 'int', '9', 'compression.lz4.level'),
  inertConfig('compression.zstd.level', 'int', '3', 'compression.zstd.level'),
  inertConfig('flush.messages', 'long', LONG_MAX, 'log.flush.interval.messages'),
  inertConfig('flush.ms', 'long', LONG_MAX, null),
  inertConfig('follower.replication.throttled.replicas', 'list', '', null),
  inertConfig('index.interval.bytes', 'int', '4096', 'log.index.interval.bytes'),
  inertConfig('leader.replication.throttled.replicas', 'list', '', null),
  inertConfig('preallocate', 'boolean', 'false', 'log.preallocate'),
  inertConfig('segment.index.bytes', 'int', '10485760', 'log.index.size.max.bytes'),
  inertConfig('segment.jitter.ms', 'long', '0', null),
  inertConfig('unclean.leader.election.enable', 'boolean', 'false', 'unclean.leader.election.enable'),
])

const inertByName: ReadonlyMap<string, InertTopicConfig> = new Map(inertTopicConfigs.map(row => [row.name, row]))

type Acting = typeof acting
type CamelCase<S extends string> = S extends `${infer Head}.${infer Tail}` ? `${Head}${Capitalize<CamelCase<Tail>>}` : S
type ConfigValue<C> = C extends Config<infer T> ? T : never

/**
 * The configs of one topic as values: `retentionMs`, `maxMessageBytes` … Times in ms, sizes in bytes, -1 and -2 as
 * Kafka means them.
 */
export type TopicConfigs = { readonly [K in keyof Acting as CamelCase<K>]: ConfigValue<Acting[K]> }

export interface TopicConfigRow {
  readonly name: string
  readonly type: TopicConfigType
  readonly fallback: string
  readonly takes: string
  readonly unit: Unit | null
  /** The words that it takes, of a list the words of its items; null if it takes more than words. */
  readonly choices: readonly string[] | null
  /** The reason why it has no effect, as a sentence; null if it has one. */
  readonly idle: string | null
  readonly doc: string
  readonly ours: boolean
  readonly broker: string | null
}

/** The configs with an effect, in order of name. */
export const topicConfigs: readonly TopicConfigRow[] = Object.freeze(
  Object.entries(acting).map(([name, row]) => ({
    name,
    ...row,
    unit: unitOf(name),
    choices: row.words?.filter(word => checkTopicConfig(name, word) === null) ?? null,
  })),
)

function quote(text: string): string {
  return JSON.stringify(cut(text))
}

/** Returns the type of a known topic config, with or without an effect; null for any other name. */
export function typeOfTopicConfig(name: string): TopicConfigType | null {
  if (Object.hasOwn(acting, name)) return acting[name as keyof Acting].type
  return inertByName.get(name)?.type ?? null
}

/**
 * Returns the value as it is stored: Kafka ignores blanks around a boolean and the case of its letters, and here it is
 * always `true` or `false`. Other values stay as they are, also those that are not valid.
 */
export function storedTopicConfig(name: string, value: string): string {
  if (typeOfTopicConfig(name) !== 'boolean') return value
  const word = value.trim().toLowerCase()
  return word === 'true' || word === 'false' ? word : value
}

/** Returns the value of this topic config if neither the topic nor a setting gives one; '' for an unknown name. */
export function fallbackOf(name: string): string {
  if (Object.hasOwn(acting, name)) return acting[name as keyof Acting].fallback
  return inertByName.get(name)?.only ?? ''
}

/**
 * Returns the reason why this topic config is not allowed, as one sentence that names it; null if it is allowed. A
 * null value means "no override".
 */
export function checkTopicConfig(name: string, value: string | null): string | null {
  if (Object.hasOwn(acting, name)) {
    if (value === null) return null
    const row: Config<unknown> = acting[name as keyof Acting] as Config<unknown>
    const parsed = row.parse(value)
    if (parsed === undefined) return `${name}: got ${quote(value)}, takes ${row.takes}`
    const why = row.refuse(parsed)
    return why === null ? null : `${name}: got ${quote(value)}, but ${why}`
  }
  const inert = inertByName.get(name)
  if (inert !== undefined) {
    const { only } = inert
    if (value === null || value === only) return null
    return `${name}: got ${quote(value)}, but this config has no effect here and takes only Kafka's default, ${quote(only)}`
  }
  return unknownTopicConfig(name)
}

export function unknownTopicConfig(name: string): string {
  return `Unknown topic config name: ${cut(name)}`
}

/**
 * Returns the reason why these configs are not allowed: the first one that is wrong alone, or two that contradict
 * each other after patterns and defaults are applied. Null if they are allowed. `before` has the configs of a topic
 * that exists. The rules and words of the remote tier are those of Apache Kafka's LogConfig.
 */
export function checkTopicConfigs(
  explicit: Readonly<Record<string, string>>,
  pattern: MergedPattern | null,
  settings: Settings,
  before: Pick<TopicConfigs, 'remoteStorageEnable'> | null = null,
): string | null {
  for (const [name, value] of Object.entries(explicit)) {
    const why = checkTopicConfig(name, value)
    if (why !== null) return why
  }
  const resolved = resolveTopicConfigs(explicit, pattern, settings)
  const { minCompactionLagMs, maxCompactionLagMs } = resolved
  if (minCompactionLagMs > maxCompactionLagMs)
    return `min.compaction.lag.ms: got ${minCompactionLagMs}, takes at most max.compaction.lag.ms, which is ${maxCompactionLagMs}`
  const wasRemote = before?.remoteStorageEnable === true
  return checkRemoteConfigs(resolved, {
    isAsked: (explicit[REMOTE] ?? (wasRemote ? pattern?.configs[REMOTE] : undefined)) === 'true',
    hasTier: settings.get('storage.remote.path') !== null,
    wasRemote,
  })
}

/**
 * Returns the configs of a topic: its own overrides beat patterns, patterns beat defaults. Every given config must
 * have passed checkTopicConfig; if one did not (a stored override of a newer version), it throws a TypeError.
 */
export function resolveTopicConfigs(
  explicit: Readonly<Record<string, string>>,
  pattern: MergedPattern | null,
  settings: Settings,
): TopicConfigs {
  const given = pattern === null ? undefined : givenByPattern(pattern, explicit)
  const fallbacks: Readonly<Record<string, string>> = {
    'storage.compression.type': settings.get('storage.local.compression.codec'),
  }
  const resolved = Object.entries(acting).map(([name, row]) => {
    const text = own(explicit, name) ?? own(given, name) ?? own(fallbacks, name) ?? row.fallback
    const value = row.parse(text)
    if (value === undefined) throw new TypeError(`topic config ${name}: got ${quote(text)}, takes ${row.takes}`)
    return [camelCase(name), value] as const
  })
  return Object.freeze(Object.fromEntries(resolved)) as unknown as TopicConfigs
}

/**
 * Returns the configs that a pattern gives to a topic with these overrides. It does not enable the remote tier for a
 * compacted topic: a pattern for all topics is meant for those that can use it.
 */
export function givenByPattern(
  pattern: MergedPattern,
  explicit: Readonly<Record<string, string>>,
): MergedPattern['configs'] {
  const policy = own(explicit, POLICY) ?? own(pattern.configs, POLICY)
  if (own(pattern.configs, REMOTE) === undefined || policy === undefined || !hasCompaction(policy))
    return pattern.configs
  const { [REMOTE]: _, ...rest } = pattern.configs
  return rest
}

function hasCompaction(policy: string): boolean {
  return acting[POLICY].parse(policy)?.includes('compact') === true
}

function own(configs: Readonly<Record<string, string>> | undefined, name: string): string | undefined {
  return configs !== undefined && Object.hasOwn(configs, name) ? configs[name] : undefined
}

function camelCase(name: string): string {
  return name.replace(/\.([a-z])/g, (_, letter: string) => letter.toUpperCase())
}
