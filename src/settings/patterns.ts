// Topic patterns: merges the configs that the entries of svc.topics give to one topic name. Entries are read from top
// to bottom and merged field by field; the first entry that sets a field wins. topic-configs.ts defines the values.

import { parseGlob } from './glob.ts'
import { fieldName, fullKey, type Settings, type TopicPattern } from './settings.ts'

/** The field of a pattern that gives a topic config its value. */
export interface PatternField {
  /** `svc.topics[2].retention` */
  readonly key: string
  /** The name of the pattern: a glob. */
  readonly pattern: string
  /** The place where the field is written, as Settings.origin tells it. */
  readonly origin: string
}

/** The merged fields of all matching patterns. */
export interface MergedPattern {
  /** False if no pattern matches, or no matching pattern sets it. */
  readonly autoCreate: boolean
  /** Null when no pattern sets it. */
  readonly partitions: number | null
  /** Topic configs that the patterns set, by their Kafka names, as text. */
  readonly configs: Readonly<Record<string, string>>
  /** For each of these configs the field that gave its value. */
  readonly fields: Readonly<Record<string, PatternField>>
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

/** Returns the field of a pattern that sets this topic config, spelled as in the settings; null if no field does. */
export function fieldOfConfig(config: string): string | null {
  const found = Object.entries(patternConfigs).find(([, name]) => name === config)
  return found === undefined ? null : fieldName(found[0])
}

/** Returns the merged patterns for this topic name. A name that no pattern matches gets an empty result, never null. */
export function matchPattern(settings: Settings, topicName: string): MergedPattern {
  return merge(settings, glob => parseGlob(glob)?.matches(topicName) === true)
}

/** Returns the merged patterns that match every topic, such as `*`. */
export function matchEveryTopic(settings: Settings): MergedPattern {
  return merge(settings, glob => /^\*+$/.test(glob))
}

function merge(settings: Settings, isMatching: (glob: string) => boolean): MergedPattern {
  const matching = [...settings.get('topics').entries()].filter(([, { name }]) => isMatching(name))
  const configs: Record<string, string> = {}
  const fields: Record<string, PatternField> = {}
  for (const [at, pattern] of matching) {
    for (const [field, config] of Object.entries(patternConfigs)) {
      const value = pattern[field as ConfigField]
      if (value === null || config in configs) continue
      configs[config] = String(value)
      const part = `[${at}].${fieldName(field)}`
      fields[config] = {
        key: `${fullKey('topics')}${part}`,
        pattern: pattern.name,
        origin: settings.origin('topics', part),
      }
    }
  }
  const patterns = matching.map(([, pattern]) => pattern)
  return Object.freeze({
    autoCreate: patterns.find(pattern => pattern.autoCreate !== null)?.autoCreate ?? false,
    partitions: patterns.find(pattern => pattern.partitions !== null)?.partitions ?? null,
    configs: Object.freeze(configs),
    fields: Object.freeze(fields),
  })
}
