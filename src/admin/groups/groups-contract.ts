// The values that the verbs of consumer groups take and answer beyond contract.ts. No behaviour.

import type { SilentBroker } from '../../api/groups.ts'
import type { Refusal } from '../../protocol/errors.ts'
import type { GroupPosition, ListedGroup, PartitionReference, PartitionsOfTopic } from '../contract.ts'

/** A group, wherever it is coordinated. */
export interface ClusterGroup extends ListedGroup {
  readonly coordinatorId: number
}

export interface GroupsOfCluster {
  /** By group id, each once. */
  readonly groups: readonly ClusterGroup[]
  /** The groups of these brokers are missing. */
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
 * How far a group is behind. Lag counts the records that were not delivered. If that is unknown, it counts those that
 * were not committed.
 */
export interface GroupLag {
  readonly groupId: string
  /** A lower bound if some partitions are unknown; null when all are unknown. */
  readonly totalLag: number | null
  /** Of one partition. */
  readonly maxLag: number | null
  readonly partitionsWithUnknownLag: number
  readonly partitions: number
  /** Milliseconds since 1970; null when nothing was committed. */
  readonly lastCommitTimestampMs: number | null
}

/** Positions of a group. If both lists are empty: all positions of the group. */
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
  /** Why the reset cannot be applied at the moment; null when it can. */
  readonly blockedBy: Refusal | null
  /** Stands for the rows as they are shown; null while the reset is blocked. */
  readonly token: string | null
}
