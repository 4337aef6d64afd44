// What the operator's verbs take and answer, in words of ours: the doors (Kafka handlers, HTTP, MCP, command line) and the
// console translate to and from these. No behaviour.

import type { Refusal } from '../protocol/errors.ts'

export interface NewTopicRequest {
  readonly name: string
  /** -1: what the topic patterns say, else 1. */
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
 * Who gave a config its value: the topic itself, the settings (patterns among them), nobody, or, for the level of a logger,
 * the broker as it runs.
 */
export type ConfigSource = 'topic' | 'settings' | 'default' | 'logger'

export type ConfigType = 'boolean' | 'double' | 'int' | 'list' | 'long' | 'password' | 'string'

/** One value that a config has or would have, and under which name somebody says so. */
export interface ConfigSynonym {
  readonly name: string
  readonly value: string | null
  readonly source: ConfigSource
}

export interface ConfigEntry {
  readonly name: string
  /** Null when it is not set, and always for secrets. */
  readonly value: string | null
  readonly source: ConfigSource
  readonly isReadOnly: boolean
  readonly isSensitive: boolean
  readonly type: ConfigType
  /** What could give the value, the one that does first. */
  readonly synonyms: readonly ConfigSynonym[]
  /** One or two sentences for people. */
  readonly documentation: string
}

/** What has configs. */
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
  /** Not looked at to delete. */
  readonly value: string | null
}

export interface ConfigChange {
  readonly resource: ConfigResource
  /** True: what is not named loses its override. */
  readonly isWhole: boolean
  readonly edits: readonly ConfigEdit[]
}

export interface CreatedTopic {
  /** All zero when the topic was only validated. */
  readonly topicId: string
  readonly partitions: number
  readonly replicationFactor: number
  /** Every config of the topic, by name. */
  readonly configs: readonly ConfigEntry[]
}

export interface NewPartitionsRequest {
  readonly name: string
  /** Partitions in all, those that are there included. */
  readonly count: number
  /** Null: the broker decides. Otherwise the brokers of each new partition. */
  readonly assignments: readonly (readonly number[])[] | null
}

/** Names a topic by one of the two; the other is null. */
export interface TopicReference {
  readonly name: string | null
  readonly topicId: string | null
}

/** What came of one topic of a request. */
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
  /** Records below it go; -1 is the high watermark. */
  readonly offset: number
}

/** One place where partitions rest. */
export interface LogDir {
  readonly place: string
  /** -1: the place has no size. */
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

/** Empty lists let everything through; upper and lower case are the same. */
export interface GroupFilter {
  /** Empty, PreparingRebalance, CompletingRebalance, Stable. */
  readonly states: readonly string[]
  readonly types: readonly string[]
}

export interface ListedGroup {
  readonly groupId: string
  readonly type: string
  readonly state: string
  /** `consumer` for consumers; empty where nobody ever joined. */
  readonly protocolType: string
}

export interface GroupOutcome<T> {
  readonly groupId: string
  readonly result: T | Refusal
}

/** Where a group is in one partition. */
export interface GroupPosition {
  readonly topic: string
  readonly topicId: string
  readonly partition: number
  /** The member that owns the partition. */
  readonly memberId: string | null
  readonly committed: CommittedPosition | null
  /** The offset after the last that was delivered to that member; null while unknown. */
  readonly deliveredOffset: number | null
  /** The high watermark; null while the log cannot be read. */
  readonly endOffset: number | null
  /** Records that were not delivered and not committed; null while that cannot be said. */
  readonly lag: number | null
}

export interface CommittedPosition {
  readonly offset: number
  /** -1 when the client did not say. */
  readonly leaderEpoch: number
  readonly metadata: string
  /** Milliseconds since 1970. */
  readonly commitTimestampMs: number
  /** When the client wants it forgotten, milliseconds since 1970; -1 leaves that to the settings. */
  readonly expireAtMs: number
}

export interface PartitionsOfTopic {
  readonly topic: string
  readonly partitions: readonly number[]
}

export interface OffsetDeletion {
  readonly topic: string
  /** Null: the group has no position there, whether it had one or not. */
  readonly partitions: readonly { readonly partition: number; readonly result: Refusal | null }[]
}
