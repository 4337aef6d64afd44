// A classic consumer group (JoinGroup, SyncGroup, Heartbeat, LeaveGroup) as a value: its members and the progress of
// its rebalance. The other files of this folder change it. Their events take the group, a request (unless a deadline
// has passed) and the time, and return a decision (draft.ts). rebalance.ts draws the states. Promises, timers and the
// store are not here: live-document.ts has them.
//
// Differences from Apache Kafka, all of them bounds or courtesies:
// - the first rebalance ends one delay after the last arrival (Kafka waits in whole delays, so up to two);
// - a static member that comes back with other subscribed topics causes a rebalance (Kafka looks at the protocol only);
// - if a newer request of a member replaces its waiting one, the old one gets REBALANCE_IN_PROGRESS (Kafka: no answer);
// - an assignment for a client that is not a member is refused with UNKNOWN_MEMBER_ID, Kafka drops it silently;
// - members, protocols and bytes are bounded (join.ts, sync.ts), and so is the memory of all groups together.

import type { Now, Parked } from '../machine.ts'
import { type JoinReply, NO_BYTES, type Protocol, type SyncReply } from './requests.ts'

/** The settings of groups. */
export interface GroupRules {
  /** `broker.rebalance-delay` */
  readonly firstJoinDelayMs: number
  /** `broker.group-min-session-timeout` and `broker.group-max-session-timeout` */
  readonly minSessionTimeoutMs: number
  readonly maxSessionTimeoutMs: number
  /** `broker.group-max-size`: members and promised member ids together. */
  readonly maxSize: number
  /** Bytes that all groups of this broker together may still take; negative if the loaded groups exceed the limit. */
  readonly leftBytes: number
}

export type GroupState = 'Empty' | 'PreparingRebalance' | 'CompletingRebalance' | 'Stable'

export interface Member {
  readonly id: string
  /** Null for a dynamic member. */
  readonly instanceId: string | null
  readonly clientId: string
  readonly clientHost: string
  rebalanceTimeoutMs: number
  sessionTimeoutMs: number
  /** In the member's order of preference. */
  protocols: readonly Protocol[]
  assignment: Uint8Array
  parkedJoin: Parked<JoinReply> | null
  parkedSync: Parked<SyncReply> | null
  /** Bytes of the assignments in the waiting SyncGroup request of a follower. The broker does not read them. */
  waitingBytes: number
  /** True until its first join has been answered: such a member cannot send heartbeats yet. */
  isNew: boolean
  deadlineMs: number
}

/** One group. Only the functions of this folder change it. */
export interface ClassicGroup {
  state: GroupState
  /** When it entered this state (wall clock). */
  stateSinceMs: number
  generation: number
  /** Null until the first member joins: a group of simple consumers, which only commit offsets. */
  protocolType: string | null
  protocolName: string | null
  leader: string | null
  /** By member id, in the order of joining. */
  readonly members: Map<string, Member>
  /** Member id by instance id. */
  readonly staticMembers: Map<string, string>
  /** Ids that were handed out with MEMBER_ID_REQUIRED, and when they expire. */
  readonly promised: Map<string, number>
  /** Members that have not sent SyncGroup in this generation. */
  readonly pendingSync: Set<string>
  /** How many members list a protocol. */
  readonly supporters: Map<string, number>
  /** How many members wait for their JoinGroup answer. */
  parkedJoins: number
  /** Names, ids and metadata of the members. */
  bytes: number
  /** The memory that the group takes; 0 without members and promised ids. */
  heldBytes: number
  /** When PreparingRebalance ends at the latest; Infinity outside of it. */
  joinDeadlineMs: number
  /** Set during the first rebalance of a group that was empty. */
  firstJoin: { readonly delayMs: number; readonly untilMs: number } | null
  /** When members that have not synced are removed; Infinity when all have synced. */
  syncDeadlineMs: number
  /** No deadline is before this time. The time may be too early, but never too late. */
  wakeAtMs: number
}

export function emptyGroup(now: Now): ClassicGroup {
  return {
    state: 'Empty',
    stateSinceMs: now.wallMs,
    generation: 0,
    protocolType: null,
    protocolName: null,
    leader: null,
    members: new Map(),
    staticMembers: new Map(),
    promised: new Map(),
    pendingSync: new Set(),
    supporters: new Map(),
    parkedJoins: 0,
    bytes: 0,
    heldBytes: 0,
    joinDeadlineMs: Number.POSITIVE_INFINITY,
    firstJoin: null,
    syncDeadlineMs: Number.POSITIVE_INFINITY,
    wakeAtMs: Number.POSITIVE_INFINITY,
  }
}

/** The head of a group: its stored values without the members and without the progress of a rebalance. */
export type GroupHead = Readonly<
  Pick<ClassicGroup, 'state' | 'stateSinceMs' | 'generation' | 'protocolType' | 'protocolName' | 'leader'>
>

/** The stored part of a group: everything that its members need to continue after a restart. */
export interface StoredGroup extends GroupHead {
  readonly members: readonly StoredMember[]
}

export type StoredMember = Pick<
  Member,
  | 'id'
  | 'instanceId'
  | 'clientId'
  | 'clientHost'
  | 'rebalanceTimeoutMs'
  | 'sessionTimeoutMs'
  | 'protocols'
  | 'assignment'
>

/** Returns the stored part as a view of the group. The caller must encode it before the group changes. */
export function toStore(group: ClassicGroup): StoredGroup {
  return { ...group, members: [...group.members.values()] }
}

/** Returns whether the group has members or promised ids. */
export function isInUse(group: ClassicGroup): boolean {
  return group.members.size > 0 || group.promised.size > 0
}

/** Returns the longest rebalance timeout of the members in milliseconds; 0 without members. */
export function rebalanceTimeout(group: ClassicGroup): number {
  let longest = 0
  for (const member of group.members.values()) longest = Math.max(longest, member.rebalanceTimeoutMs)
  return longest
}

export function metadataOf(group: ClassicGroup, member: Member): Uint8Array {
  return member.protocols.find(protocol => protocol.name === group.protocolName)?.metadata ?? NO_BYTES
}
