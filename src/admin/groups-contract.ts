// What the verbs of consumer groups take and answer beyond contract.ts. No behaviour.

import type { Refusal } from '../protocol/errors.ts'
import type { GroupPosition, ListedGroup, PartitionReference, PartitionsOfTopic } from './contract.ts'

/** A group, wherever it is coordinated. */
export interface ClusterGroup extends ListedGroup {
  readonly coordinatorId: number
}

/** A broker that could not say what it coordinates. */
export interface SilentBroker {
  readonly brokerId: number
  /** A sentence for people. */
  readonly reason: string
}

export interface GroupsOfCluster {
  /** By group id, each once. */
  readonly groups: readonly ClusterGroup[]
  /** Their groups are missing. */
  readonly silent: readonly SilentBroker[]
}

export interface GroupMember {
  readonly memberId: string
  readonly instanceId: string | null
  readonly clientId: string
  readonly clientHost: string
  /** What it reads; empty while the group rebalances, and for members that are no consumers. */
  readonly assignment: readonly PartitionsOfTopic[]
}

export interface GroupView extends ClusterGroup {
  /** The protocol that the members agreed upon, such as `range`; null unless the group is stable. */
  readonly protocolName: string | null
  readonly members: readonly GroupMember[]
}

/** How far a group is behind. Lag counts what was not delivered; where that is not known what was committed stands in. */
export interface GroupLag {
  readonly groupId: string
  /** A lower bound where partitions are unknown; null when nothing is known of any. */
  readonly totalLag: number | null
  /** Of one partition. */
  readonly maxLag: number | null
  readonly partitionsWithUnknownLag: number
  readonly partitions: number
  /** Milliseconds since 1970; null when nothing was committed. */
  readonly lastCommitTimestampMs: number | null
}

/** Which positions of a group. Both empty: all that it has. */
export interface ResetScope {
  /** With all their partitions. */
  readonly topics: readonly string[]
  readonly partitions: readonly PartitionReference[]
}

/** `clear` forgets the offset: consumers begin where their own auto.offset.reset says. */
export type ResetTarget =
  | { readonly to: 'clear' | 'earliest' | 'latest' }
  | { readonly to: 'offset'; readonly offset: number }
  | { readonly to: 'timestamp'; readonly timestampMs: number }

export interface ResetRequest {
  readonly groupId: string
  readonly scope: ResetScope
  readonly target: ResetTarget
}

export interface ResetRow
  extends Pick<
    GroupPosition,
    'topic' | 'topicId' | 'partition' | 'committed' | 'deliveredOffset' | 'memberId' | 'endOffset'
  > {
  /** Null: the offset is forgotten. */
  readonly newOffset: number | null
}

export interface ResetPreview {
  readonly rows: readonly ResetRow[]
  /** Why it cannot be applied as things are; null when it can. */
  readonly blockedBy: Refusal | null
  /** Stands for the rows as they are here; null while blocked. */
  readonly token: string | null
}
