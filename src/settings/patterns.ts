// Topic patterns: what the entries of svc.topics say together about one topic name. Entries are read top to bottom and
// merged field by field; the first that sets a field wins. What the values mean is in topic-configs.ts.

import { parseGlob } from './glob.ts'
import { fieldName, fullKey, type Settings, type TopicPattern } from './settings.ts'

/** What all matching patterns say together. */
export interface MergedPattern {
  /** False when no pattern matches or none says. */
  readonly autoCreate: boolean
  /** Null when no pattern says. */
  readonly partitions: number | null
  /** Topic configs by their Kafka names, as text, for what the patterns say. */
  readonly configs: Readonly<Record<string, string>>
  /** For each of these configs the setting that says so: `svc.topics[2].retention`. */
  readonly keys: Readonly<Record<string, string>>
}

type ConfigField = Exclude<keyof TopicPattern, 'name' | 'autoCreate' | 'partitions'>

/** Which topic config each field of a pattern sets. */
const patternConfigs: Readonly<Record<ConfigField, string>> = Object.freeze({
  offsetSequenceBits: 'offset.sequence.bits',
  compression: 'storage.compression.type',
  remoteStorageEnabled: 'remote.storage.enable',
  cleanupPolicy: 'cleanup.policy',
  retention: 'retention.ms',
  retentionBytes: 'retention.bytes',
  localRetention: 'local.retention.ms',
  localRetentionBytes: 'local.retention.bytes',
  segmentMs: 'segment.ms',
  segmentBytes: 'segment.bytes',
  maxMessageBytes: 'max.message.bytes',
  messageTimestampType: 'message.timestamp.type',
})

/** What the patterns say about this topic name. Never null: a name that nothing matches gets an empty answer. */
export function matchPattern(settings: Settings, topicName: string): MergedPattern {
  const matching = [...settings.get('topics').entries()].filter(([, { name }]) => parseGlob(name)?.matches(topicName))
  const configs: Record<string, string> = {}
  const keys: Record<string, string> = {}
  for (const [at, pattern] of matching) {
    for (const [field, config] of Object.entries(patternConfigs)) {
      const value = pattern[field as ConfigField]
      if (value === null || config in configs) continue
      configs[config] = String(value)
      keys[config] = `${fullKey('topics')}[${at}].${fieldName(field)}`
    }
  }
  const patterns = matching.map(([, pattern]) => pattern)
  return Object.freeze({
    autoCreate: patterns.find(pattern => pattern.autoCreate !== null)?.autoCreate ?? false,
    partitions: patterns.find(pattern => pattern.partitions !== null)?.partitions ?? null,
    configs: Object.freeze(configs),
    keys: Object.freeze(keys),
  })
}
