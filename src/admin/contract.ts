// Types of the parameters and results of the operator's verbs, in Ketch's own words. The doors (Kafka handlers, HTTP,
// agent tools) translate to and from these types. This file has no behaviour.

import type { ShownConfig } from '../api/topics.ts'
import type { Refusal } from '../protocol/errors.ts'
import type { ExpectedTopic } from './expected-topic.ts'

export interface NewTopicRequest {
  readonly name: string
  /** -1: the number in the topic patterns, else 1. */
  readonly partitions: number
  /** -1: the default, which is 1. */
  readonly replicationFactor: number
  /** Empty: the broker decides. Otherwise one for each partition, and the two numbers above are -1. */
  readonly assignments: readonly PartitionAssignment[]
  readonly configs: readonly ConfigOverride[]
}

export interface PartitionAssignment {
  readonly partition: number
  readonly brokerIds: readonly number[]
}

export interface ConfigOverride {
  readonly name: string
  readonly value: string | null
}

/**
 * The source of a config's value: the topic itself, the settings (patterns among them), the default, or, for the level
 * of a logger, the running broker.
 */
export type ConfigSource = ShownConfig['source']

export type ConfigType = ShownConfig['type']

/** One value that a config has or would have, with the name of the setting or config that gives it. */
export interface ConfigSynonym {
  readonly name: string
  readonly value: string | null
  readonly source: ConfigSource
}

type CommonFields = 'name' | 'value' | 'source' | 'type' | 'isReadOnly' | 'isSensitive' | 'documentation'

/** `value` is null when it is not set, and always for secrets; `documentation` is one or two sentences for people. */
export interface ConfigEntry extends Readonly<Pick<ShownConfig, CommonFields>> {
  /** Every source that could give the value. The source that gives it comes first. */
  readonly synonyms: readonly ConfigSynonym[]
}

/** A config of a topic, with the fields that only the admin API shows. */
export interface TopicConfigEntry
  extends ConfigEntry,
    Readonly<Pick<ShownConfig, 'origin' | 'pattern' | 'unit' | 'because'>> {
  readonly choices: readonly string[] | null
}

/** The types of resources that have configs. */
export type ConfigResourceType = 'topic' | 'broker' | 'broker-logger' | 'client-metrics' | 'group'

export interface ConfigResource {
  readonly type: ConfigResourceType
  /** A topic's or a group's name, a broker's id; '' is every broker of the cluster. */
  readonly name: string
}

export interface ConfigEdit {
  readonly name: string
  /** `append` and `subtract` add to and take from a list. */
  readonly operation: 'set' | 'delete' | 'append' | 'subtract'
  /** Ignored by `delete`. */
  readonly value: string | null
}

export interface ConfigChange {
  readonly resource: ConfigResource
  /** The topic as it was shown; another one is not changed. */
  readonly expected?: ExpectedTopic | undefined
  /** True: every config that the change does not name loses its override. */
  readonly isWhole: boolean
  readonly edits: readonly ConfigEdit[]
}

export interface CreatedTopic {
  /** All zero when the topic was only validated. */
  readonly topicId: string
  readonly partitions: number
  readonly replicationFactor: number
  /** Every config of the topic, by name. */
  readonly configs: readonly TopicConfigEntry[]
}

export interface NewPartitionsRequest {
  readonly name: string
  /** The topic as it was shown; another one is not changed. */
  readonly expected?: ExpectedTopic | undefined
  /** The number of partitions afterwards, not the number of new ones. */
  readonly count: number
  /** Null: the broker decides. Otherwise the brokers of each new partition. */
  readonly assignments: readonly (readonly number[])[] | null
}

/** Names a topic by its name or by its id. The other field is null. */
export interface TopicReference {
  readonly name: string | null
  readonly topicId: string | null
}

/** The result for one topic of a request. */
export interface TopicOutcome<T> {
  readonly name: string
  readonly result: T | Refusal
}

/** A partition as requests name it. */
export interface PartitionReference {
  readonly topic: string
  readonly partition: number
}

export interface DeleteRecordsRequest extends PartitionReference {
  /** The records below this offset are deleted; -1 stands for the high watermark. */
  readonly offset: number
}

/** One place where partitions are stored. */
export interface LogDir {
  readonly place: string
  /** -1 if the place has no size limit. */
  readonly totalBytes: number
  readonly usableBytes: number
  readonly topics: readonly LogDirTopic[]
}

export interface LogDirTopic {
  readonly name: string
  readonly partitions: readonly { readonly partition: number; readonly sizeBytes: number }[]
}

export interface DeletedTopic {
  readonly name: string
  readonly topicId: string
}

export interface DeleteOutcome {
  readonly topic: TopicReference
  readonly result: DeletedTopic | Refusal
}

/** An empty list lets every group through; case does not matter. */
export interface GroupFilter {
  /** Empty, PreparingRebalance, CompletingRebalance, Stable. */
  readonly states: readonly string[]
  readonly types: readonly string[]
}

export interface ListedGroup {
  readonly groupId: string
  readonly type: string
  readonly state: string
  /** `consumer` for consumers; empty if no member ever joined. */
  readonly protocolType: string
}

export interface GroupOutcome<T> {
  readonly groupId: string
  readonly result: T | Refusal
}

/** The position of a group in one partition. */
export interface GroupPosition {
  readonly topic: string
  readonly topicId: string
  readonly partition: number
  /** The member that owns the partition. */
  readonly memberId: string | null
  readonly committed: CommittedPosition | null
  /** The offset after the last record that was delivered to that member; null while it is unknown. */
  readonly deliveredOffset: number | null
  /** The first offset of the log; null while the log cannot be read. */
  readonly startOffset: number | null
  /** The high watermark; null while the log cannot be read. */
  readonly endOffset: number | null
  /** Records that were neither delivered nor committed; null while that is unknown. */
  readonly lag: number | null
}

export interface CommittedPosition {
  readonly offset: number
  /** -1 if the client sent no leader epoch. */
  readonly leaderEpoch: number
  readonly metadata: string
  /** Milliseconds since 1970. */
  readonly commitTimestampMs: number
  /**
   * When the offset expires, in milliseconds since 1970, if the client asked for a time; -1 if the settings decide.
   */
  readonly expireAtMs: number
}

export interface PartitionsOfTopic {
  readonly topic: string
  readonly partitions: readonly number[]
}

export interface OffsetDeletion {
  readonly topic: string
  /** `result` is null if the group has no position in the partition after the deletion. */
  readonly partitions: readonly { readonly partition: number; readonly result: Refusal | null }[]
}
