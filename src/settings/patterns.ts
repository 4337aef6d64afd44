// Topic patterns: what the entries of svc.topics say together about one topic name. Entries are read top to bottom and
// merged field by field; the first that sets a field wins. What the values mean is in topic-configs.ts.

import { parseGlob } from './glob.ts'
import type { Settings, TopicPattern } from './settings.ts'

/** What all matching patterns say together. */
export interface MergedPattern {
  /** False when no pattern matches or none says. */
  readonly autoCreate: boolean
  /** Null when no pattern says. */
  readonly partitions: number | null
  /** Topic configs by their Kafka names, as text, for what the patterns say. */
  readonly configs: Readonly<Record<string, string>>
}

type ConfigField = Exclude<keyof TopicPattern, 'name' | 'autoCreate' | 'partitions'>

/** Which topic config each field of a pattern sets. */
export const patternConfigs: Readonly<Record<ConfigField, string>> = Object.freeze({
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

/** The topic configs that one pattern alone sets. */
export function configsOf(pattern: TopicPattern): Readonly<Record<string, string>> {
  const set = Object.entries(patternConfigs).flatMap(([field, config]) => {
    const value = pattern[field as ConfigField]
    return value === null ? [] : [[config, String(value)] as const]
  })
  return Object.fromEntries(set)
}

/** What the patterns say about this topic name. Never null: a name that nothing matches gets an empty answer. */
export function matchPattern(settings: Settings, topicName: string): MergedPattern {
  const matching = settings.get('topics').filter(pattern => parseGlob(pattern.name)?.matches(topicName))
  return Object.freeze({
    autoCreate: matching.find(pattern => pattern.autoCreate !== null)?.autoCreate ?? false,
    partitions: matching.find(pattern => pattern.partitions !== null)?.partitions ?? null,
    // Later spreads win, so the first pattern goes last.
    configs: Object.freeze(Object.assign({}, ...matching.map(configsOf).reverse()) as Record<string, string>),
  })
}
