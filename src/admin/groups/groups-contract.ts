// Types of the parameters and results of the verbs on consumer groups, beyond contract.ts. This file has no
// behaviour.

import type { SilentBroker } from '../../api/groups.ts'
import type { Refusal } from '../../protocol/errors.ts'
import type { GroupPosition, ListedGroup, PartitionReference, PartitionsOfTopic } from '../contract.ts'

/** A group of the cluster, with the broker that coordinates it. */
export interface ClusterGroup extends ListedGroup {
  readonly coordinatorId: number
}

export interface GroupsOfCluster {
  /** Sorted by group id. Each group occurs once. */
  readonly groups: readonly ClusterGroup[]
  /** Brokers that did not return their groups. */
  readonly silent: readonly SilentBroker[]
}

export interface GroupMember {
  readonly memberId: string
  readonly instanceId: string | null
  readonly clientId: string
  readonly clientHost: string
  /** The partitions that it reads; empty while the group rebalances, and for members that are not consumers. */
  readonly assignment: readonly PartitionsOfTopic[]
}

export interface GroupView extends ClusterGroup {
  /** The protocol that the members agreed upon, such as `range`; null unless the group is stable. */
  readonly protocolName: string | null
  readonly members: readonly GroupMember[]
}

/**
 * The lag of a group. Lag counts the records that were not delivered. If that number is unknown, it counts the
 * records that were not committed.
 */
export interface GroupLag {
  readonly groupId: string
  /** A lower bound if some partitions are unknown; null when all are unknown. */
  readonly totalLag: number | null
  /** The largest known lag of one partition; null when all are unknown. */
  readonly maxLag: number | null
  readonly partitionsWithUnknownLag: number
  readonly partitions: number
  /** Milliseconds since 1970; null when nothing was committed. */
  readonly lastCommitTimestampMs: number | null
}

/** The lag of a group, with the topics in which it has a position. */
export interface GroupReading {
  readonly lag: GroupLag
  /** The names of the topics, sorted. */
  readonly topics: readonly string[]
  /** The lag in the requested topic alone; null if the group has no position in it, or if no topic was requested. */
  readonly topicLag: GroupLag | null
}

/** The partitions whose offsets are reset. If both lists are empty, the reset covers all positions of the group. */
export interface ResetScope {
  /** The reset covers all partitions of these topics. */
  readonly topics: readonly string[]
  readonly partitions: readonly PartitionReference[]
}

/** `clear` deletes the offset. Consumers then start where their own auto.offset.reset says. */
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
    'topic' | 'topicId' | 'partition' | 'committed' | 'deliveredOffset' | 'memberId' | 'startOffset' | 'endOffset'
  > {
  /** Null: the offset is deleted. */
  readonly newOffset: number | null
}

export interface ResetPreview {
  readonly rows: readonly ResetRow[]
  /** Why the reset cannot be applied at the moment; null when it can. */
  readonly blockedBy: Refusal | null
  /** The token that applies exactly these rows; null while the reset is blocked. */
  readonly token: string | null
}
