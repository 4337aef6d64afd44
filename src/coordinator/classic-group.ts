// The classic consumer group protocol (JoinGroup, SyncGroup, Heartbeat, LeaveGroup) as a state machine: what a group
// does with one request or one moment, decided synchronously from the group's value, the request and the time, and
// nothing else. It is deliberately not a place for promises, timers, the store or ids of its own making:
// group-runtime.ts gives it those, commits what a decision changed, and only then gives the answers that it names.
//
//                  first member joins               everybody (re)joined, or time is up
//      ┌───────┐ ──────────────────▶ ┌────────────────────┐ ──────────────▶ ┌─────────────────────┐
//      │ Empty │                     │ PreparingRebalance │                 │ CompletingRebalance │
//      └───────┘ ◀────────────────── └────────────────────┘ ◀────────────── └─────────────────────┘
//                  nobody is left         ▲                  join, leave,               │ the leader
//                                         │ join, leave,     expiry, sync               │ has sent the
//                                         │ expiry           timeout                    ▼ assignments
//                                         └────────────────────────────────────── ┌────────┐
//                                                                                 │ Stable │
//                                                                                 └────────┘
//
// Dead, Kafka's fifth state, is the absence of a value here: a group that was dropped has no state to decide upon.
//
// The generation rises by one each time PreparingRebalance ends. `svc.broker.rebalance-delay` maps to Kafka's
// `group.initial.rebalance.delay.ms`: the first rebalance of a group that was empty waits that long after the last member
// that arrives, up to the first member's rebalance timeout. A group that has members rebalances as soon as all of them
// have rejoined, or when the longest of their rebalance timeouts has passed.
//
// Differences from Apache Kafka, all of them bounds or courtesies:
// - the first rebalance ends one delay after the last arrival (Kafka waits in whole delays, so up to two);
// - a static member that comes back with other subscribed topics causes a rebalance (Kafka looks at the protocol only);
// - a request that a newer one of the same member replaces is answered REBALANCE_IN_PROGRESS, Kafka never answers it;
// - an assignment for somebody who is not a member is refused with UNKNOWN_MEMBER_ID, Kafka drops it silently;
// - members, protocols and bytes are bounded (`bounds` below), and so is what all groups of a broker take together.

import { assert } from '../base/assert.ts'
import {
  because,
  FENCED_INSTANCE_ID,
  GROUP_MAX_SIZE_REACHED,
  ILLEGAL_GENERATION,
  INCONSISTENT_GROUP_PROTOCOL,
  INVALID_REQUEST,
  INVALID_SESSION_TIMEOUT,
  MEMBER_ID_REQUIRED,
  NON_EMPTY_GROUP,
  REBALANCE_IN_PROGRESS,
  type Refusal,
  UNKNOWN_MEMBER_ID,
} from '../protocol/errors.ts'
import { subscribedTopics } from './consumer-metadata.ts'

const bounds = Object.freeze({
  /** A new member that was never answered is given up after this (Kafka: five minutes). */
  newMemberJoinTimeoutMs: 300_000,
  protocolsOfMember: 256,
  /** Characters of an instance id, a protocol type, a protocol's name: every version of every answer can hold them. */
  charactersOfName: 1_000,
  /** Names, ids and metadata of one member. */
  bytesOfMember: 1024 * 1024,
  /** The same of all members together. */
  bytesOfMembers: 32 * 1024 * 1024,
  /** All assignments of one generation. */
  bytesOfAssignments: 16 * 1024 * 1024,
})

/** Memory that is held beside what clients say, measured on Node 24 and rounded up. */
const costs = Object.freeze({
  /** A group that somebody is in or was promised to be in: its maps, its timer. */
  group: 4_096,
  /** A member with the request that waits in its name. */
  member: 2_048,
  /** An id that was handed out. */
  promise: 512,
})

/** What the settings say of groups. */
export interface GroupRules {
  /** `broker.rebalance-delay` */
  readonly firstJoinDelayMs: number
  /** `broker.group-min-session-timeout` and `broker.group-max-session-timeout` */
  readonly minSessionTimeoutMs: number
  readonly maxSessionTimeoutMs: number
  /** `broker.group-max-size`: members and promised member ids together. */
  readonly maxSize: number
  /** Bytes that all groups of this broker together may still take; below 0 where more was loaded than fits. */
  readonly leftBytes: number
}

export type GroupState = 'Empty' | 'PreparingRebalance' | 'CompletingRebalance' | 'Stable'

/** The two times a decision may need: `ms` for durations (Clock.monotonic), `wallMs` for stamps that are stored. */
export interface Now {
  readonly ms: number
  readonly wallMs: number
}

/** A request that waits for its answer. The machine carries it about; only the runtime settles it. */
export interface Parked<Reply> {
  settle(reply: Reply): void
}

interface Protocol {
  readonly name: string
  /** Kept as it is: not a view of a request's frame, which would stay in memory as long as the group. */
  readonly metadata: Uint8Array
}

interface Member {
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
  /** Bytes of assignments in the sync that waits; a follower's are held by its request and never read. */
  waitingBytes: number
  /** True until its first join has been answered: such a member cannot send heartbeats yet. */
  isNew: boolean
  deadlineMs: number
}

/** One group. The runtime owns it; only the functions of this file change it. */
export interface ClassicGroup {
  state: GroupState
  /** When it came into this state (wall clock). */
  stateSinceMs: number
  generation: number
  /** Null until somebody joined: a group of simple consumers, which only commit offsets. */
  protocolType: string | null
  protocolName: string | null
  leader: string | null
  /** By member id, in the order of joining. */
  readonly members: Map<string, Member>
  /** Member id by instance id. */
  readonly staticMembers: Map<string, string>
  /** Ids that were handed out with MEMBER_ID_REQUIRED and when they lapse. */
  readonly promised: Map<string, number>
  /** Members that have not sent SyncGroup in this generation. */
  readonly pendingSync: Set<string>
  /** How many members list a protocol. */
  readonly supporters: Map<string, number>
  /** How many members wait for their JoinGroup answer. */
  parkedJoins: number
  /** Names, ids and metadata of the members. */
  bytes: number
  /** Memory that all of it takes; 0 for a group without members and promised ids. */
  heldBytes: number
  /** When PreparingRebalance ends at the latest; Infinity outside of it. */
  joinDeadlineMs: number
  /** Set during the first rebalance of a group that was empty. */
  firstJoin: { readonly delayMs: number; readonly untilMs: number } | null
  /** When members that have not synced are given up; Infinity when all have. */
  syncDeadlineMs: number
  /** No deadline lies before this. It may be too early, never too late. */
  wakeAtMs: number
}

export interface JoinRequest {
  readonly groupId: string
  /** Empty when the client has none yet. */
  readonly memberId: string
  readonly instanceId: string | null
  readonly clientId: string
  readonly clientHost: string
  readonly sessionTimeoutMs: number
  readonly rebalanceTimeoutMs: number
  readonly protocolType: string
  readonly protocols: readonly Protocol[]
  /** The client's words (KIP-800); null when it gave none. */
  readonly reason: string | null
  /** A dynamic member without id is told one and has to come back with it (JoinGroup 4, KIP-394). */
  readonly memberIdRequired: boolean
  /** The client understands skipAssignment (JoinGroup 9, KIP-814). */
  readonly canSkipAssignment: boolean
}

interface JoinedMember {
  readonly memberId: string
  readonly instanceId: string | null
  readonly metadata: Uint8Array
}

export interface JoinReply {
  readonly error: Refusal | null
  readonly memberId: string
  readonly generation: number
  readonly protocolType: string | null
  readonly protocolName: string | null
  readonly leader: string
  readonly skipAssignment: boolean
  /** All members, for the leader only. */
  readonly members: readonly JoinedMember[]
}

export interface SyncRequest {
  readonly groupId: string
  readonly generation: number
  readonly memberId: string
  readonly instanceId: string | null
  /** Null when the client did not say (before SyncGroup 5, KIP-559). */
  readonly protocolType: string | null
  readonly protocolName: string | null
  readonly assignments: readonly { readonly memberId: string; readonly assignment: Uint8Array }[]
}

export interface SyncReply {
  readonly error: Refusal | null
  readonly protocolType: string | null
  readonly protocolName: string | null
  readonly assignment: Uint8Array
}

/** Who somebody says they are, and of which generation. */
export interface Claim {
  readonly memberId: string
  readonly instanceId: string | null
  readonly generation: number
}

export interface Leaving {
  /** Empty to name a static member by its instance id alone. */
  readonly memberId: string
  readonly instanceId: string | null
  readonly reason: string | null
}

export interface Left {
  readonly memberId: string
  readonly instanceId: string | null
  readonly error: Refusal | null
}

type Answer =
  | { readonly parked: Parked<JoinReply>; readonly reply: JoinReply }
  | { readonly parked: Parked<SyncReply>; readonly reply: SyncReply }

/** What follows from a request or a moment. Answers are given after the commit, if there is one. */
export interface Decision {
  readonly answers: readonly Answer[]
  /** What is stored of the group has changed. */
  readonly commit: boolean
  /** A rebalance has come to its end: the assignments are known. */
  readonly rebalanced: boolean
  /** Sentences for the logger. */
  readonly notes: readonly string[]
}

const NO_BYTES = new Uint8Array(0)

interface Draft extends Decision {
  readonly answers: Answer[]
  readonly notes: string[]
  commit: boolean
  rebalanced: boolean
}

const draft = (): Draft => ({ answers: [], notes: [], commit: false, rebalanced: false })

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

/** What holds for a group as a whole, apart from how far a rebalance has come. */
type GroupHead = Readonly<
  Pick<ClassicGroup, 'state' | 'stateSinceMs' | 'generation' | 'protocolType' | 'protocolName' | 'leader'>
>

/** What is stored of a group: all that its members need to go on after a restart. */
export interface StoredGroup extends GroupHead {
  readonly members: readonly StoredMember[]
}

type StoredMember = Pick<
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

/**
 * The group as it goes on after it was loaded: nobody waits for an answer, every member has a fresh session, and an
 * unfinished rebalance has all of its time again.
 */
export function resume(stored: StoredGroup, now: Now): ClassicGroup {
  const group = emptyGroup(now)
  for (const member of stored.members) {
    enrol(group, { ...member, parkedJoin: null, parkedSync: null, waitingBytes: 0, isNew: false, deadlineMs: 0 })
  }
  for (const member of group.members.values()) keepAlive(group, member, now)
  group.state = stored.state
  group.stateSinceMs = stored.stateSinceMs
  group.generation = stored.generation
  group.protocolType = stored.protocolType
  group.protocolName = stored.protocolName
  group.leader = stored.leader
  if (group.state === 'PreparingRebalance') joinUntil(group, now.ms + rebalanceTimeout(group))
  if (group.state === 'CompletingRebalance') awaitSyncs(group, now)
  return group
}

/** The longest rebalance timeout of the members; 0 without members. */
export function rebalanceTimeout(group: ClassicGroup): number {
  let longest = 0
  for (const member of group.members.values()) longest = Math.max(longest, member.rebalanceTimeoutMs)
  return longest
}

/** A reply that only refuses. Clients read the member id of it. */
export function refuseJoin(error: Refusal, memberId: string): JoinReply {
  return {
    error,
    memberId,
    generation: -1,
    protocolType: null,
    protocolName: null,
    leader: '',
    skipAssignment: false,
    members: [],
  }
}

export function refuseSync(error: Refusal): SyncReply {
  return { error, protocolType: null, protocolName: null, assignment: NO_BYTES }
}

/**
 * JoinGroup. `newMemberId` is used when the request has no member id. Answers at once with MEMBER_ID_REQUIRED,
 * UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, INCONSISTENT_GROUP_PROTOCOL, INVALID_SESSION_TIMEOUT, GROUP_MAX_SIZE_REACHED,
 * INVALID_REQUEST or the current generation; otherwise when the rebalance ends.
 */
export function join(
  group: ClassicGroup,
  request: JoinRequest,
  parked: Parked<JoinReply>,
  newMemberId: string,
  rules: GroupRules,
  now: Now,
): Decision {
  const out = draft()
  const refuse = (error: Refusal, memberId = request.memberId): Decision => {
    out.answers.push({ parked, reply: refuseJoin(error, memberId) })
    return out
  }
  const unfit = checkJoin(group, request, rules)
  if (unfit !== null) return refuse(unfit)

  const { memberId, instanceId } = request
  const why = request.reason === null || request.reason === '' ? '' : `; its words: ${request.reason.slice(0, 255)}`
  if (memberId === '') {
    const replaced = instanceId === null ? undefined : group.staticMembers.get(instanceId)
    if (replaced !== undefined) {
      replaceStaticMember(group, request, parked, replaced, newMemberId, rules, now, out)
      return out
    }
    if (group.members.size + group.promised.size >= rules.maxSize) {
      return refuse(fullGroup(rules))
    }
    if (instanceId === null && request.memberIdRequired) {
      promise(group, newMemberId, now.ms + request.sessionTimeoutMs)
      wakeBy(group, now.ms + request.sessionTimeoutMs)
      return refuse(MEMBER_ID_REQUIRED, newMemberId)
    }
    addMember(group, request, parked, newMemberId, now)
    rebalance(group, `member ${newMemberId} joins${why}`, rules.firstJoinDelayMs, now, out)
    return out
  }

  if (group.promised.has(memberId)) {
    if (instanceId !== null) return refuse(UNKNOWN_MEMBER_ID)
    lapse(group, memberId)
    addMember(group, request, parked, memberId, now)
    rebalance(group, `member ${memberId} joins${why}`, rules.firstJoinDelayMs, now, out)
    return out
  }

  const stranger = checkMember(group, memberId, instanceId)
  if (stranger !== null) return refuse(stranger)
  const member = group.members.get(memberId)
  assert(member !== undefined, 'checkMember passes only members')
  if (group.state === 'PreparingRebalance' && member.parkedJoin === null && group.parkedJoins >= rules.maxSize) {
    // The limit was lowered: those who join again first stay.
    removeMember(group, memberId, out)
    if (group.firstJoin === null) completeIfAllJoined(group, now, out)
    return refuse(fullGroup(rules), '')
  }
  const same = sameProtocols(member.protocols, request.protocols)
  const settled = group.state === 'CompletingRebalance' || (group.state === 'Stable' && group.leader !== memberId)
  if (settled && same) {
    // It may have missed the answer to its join: the generation stands, so it is told again.
    keepAlive(group, member, now)
    out.answers.push({ parked, reply: joined(group, member, false) })
    return out
  }
  // The leader may rejoin for reasons that no metadata shows, a new partition of a topic for example.
  updateMember(group, member, request, parked, out)
  rebalance(
    group,
    `member ${memberId} rejoins${same ? '' : ' with other metadata'}${why}`,
    rules.firstJoinDelayMs,
    now,
    out,
  )
  return out
}

/**
 * SyncGroup. The leader's brings the assignments, everybody's is answered with their own. Refuses with
 * UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION, INCONSISTENT_GROUP_PROTOCOL, REBALANCE_IN_PROGRESS,
 * GROUP_MAX_SIZE_REACHED or INVALID_REQUEST.
 */
export function sync(
  group: ClassicGroup,
  request: SyncRequest,
  parked: Parked<SyncReply>,
  rules: Pick<GroupRules, 'leftBytes'>,
  now: Now,
): Decision {
  const out = draft()
  const refuse = (error: Refusal): Decision => {
    out.answers.push({ parked, reply: refuseSync(error) })
    return out
  }
  const stranger = checkClaim(group, request)
  if (stranger !== null) return refuse(stranger)
  if (
    (request.protocolType !== null && request.protocolType !== group.protocolType) ||
    (request.protocolName !== null && request.protocolName !== group.protocolName)
  ) {
    return refuse(INCONSISTENT_GROUP_PROTOCOL)
  }
  const member = group.members.get(request.memberId)
  assert(member !== undefined, 'checkClaim passes only members')
  if (group.state === 'PreparingRebalance') return refuse(REBALANCE_IN_PROGRESS)
  if (group.state === 'Stable') {
    hasSynced(group, member.id)
    keepAlive(group, member, now)
    out.answers.push({ parked, reply: assigned(group, member) })
    return out
  }

  const isLeader = group.leader === member.id
  const unfit = isLeader ? checkAssignments(group, request, rules) : checkFits(bytesIn(request), rules)
  if (unfit !== null) return refuse(unfit)
  releaseSync(group, member, refuseSync(REBALANCE_IN_PROGRESS), out)
  parkSync(group, member, parked, isLeader ? 0 : bytesIn(request))
  hasSynced(group, member.id)
  if (!isLeader) return out

  for (const each of group.members.values()) assign(group, each, NO_BYTES)
  for (const { memberId, assignment } of request.assignments) assign(group, group.members.get(memberId)!, assignment)
  become(group, 'Stable', now)
  out.commit = true
  out.rebalanced = true
  out.notes.push(`generation ${group.generation} is stable with ${group.members.size} members`)
  for (const each of group.members.values()) {
    if (each.parkedSync === null) continue
    releaseSync(group, each, assigned(group, each), out)
    keepAlive(group, each, now)
  }
  return out
}

/** Heartbeat. Null when all is well; otherwise the refusal that tells the member what to do. Constant cost. */
export function heartbeat(group: ClassicGroup, claim: Claim, now: Now): Refusal | null {
  const stranger = checkClaim(group, claim)
  if (stranger !== null) return stranger
  keepAlive(group, group.members.get(claim.memberId)!, now)
  return group.state === 'PreparingRebalance' ? REBALANCE_IN_PROGRESS : null
}

/** LeaveGroup: one row for each identity, in their order, and one rebalance for all of them. */
export function leave(
  group: ClassicGroup,
  leaving: readonly Leaving[],
  now: Now,
): { readonly rows: readonly Left[]; readonly decision: Decision } {
  const out = draft()
  const gone: string[] = []
  const rows = leaving.map(({ memberId, instanceId, reason }): Left => {
    if (memberId !== '' && lapse(group, memberId)) return { memberId, instanceId, error: null }
    const id = memberId === '' && instanceId !== null ? group.staticMembers.get(instanceId) : memberId
    const error = id === undefined ? UNKNOWN_MEMBER_ID : checkMember(group, id, instanceId)
    if (id === undefined || error !== null) return { memberId, instanceId, error }
    removeMember(group, id, out)
    gone.push(reason === null || reason === '' ? id : `${id} (its words: ${reason.slice(0, 255)})`)
    return { memberId, instanceId, error: null }
  })
  if (gone.length > 0) out.commit = true
  if (group.state === 'Stable' || group.state === 'CompletingRebalance') {
    if (gone.length > 0) prepare(group, `members left: ${listed(gone)}`, 0, now, out)
  } else if (group.state === 'PreparingRebalance' && group.firstJoin === null) {
    completeIfAllJoined(group, now, out)
  }
  return { rows, decision: out }
}

/**
 * Whether these offsets may be committed, and a sign of life. A generation below zero without member id is a simple
 * consumer or a tool, and may commit while the group is empty.
 */
export function checkOffsetCommit(group: ClassicGroup, claim: Claim, now: Now): Refusal | null {
  if (claim.generation < 0 && group.state === 'Empty') return null
  if (claim.generation < 0 && claim.memberId === '' && claim.instanceId === null) return UNKNOWN_MEMBER_ID
  const stranger = checkClaim(group, claim)
  if (stranger !== null) return stranger
  // The member knows the generation but not yet its assignment: what it commits is of partitions that may have moved.
  if (group.state === 'CompletingRebalance') return REBALANCE_IN_PROGRESS
  keepAlive(group, group.members.get(claim.memberId)!, now)
  return null
}

/** What has fallen due. Sets `wakeAtMs` anew. */
export function expire(group: ClassicGroup, now: Now): Decision {
  const out = draft()
  for (const [memberId, lapsesAtMs] of group.promised) if (lapsesAtMs <= now.ms) lapse(group, memberId)

  const failed: string[] = []
  for (const member of group.members.values()) {
    if (member.deadlineMs > now.ms) continue
    // Whoever waits for an answer of ours cannot send heartbeats; a new member is given up even so, since its client
    // may have gone and will have joined again under another id.
    if (!member.isNew && (member.parkedJoin !== null || member.parkedSync !== null)) keepAlive(group, member, now)
    else failed.push(member.id)
  }
  for (const memberId of failed) removeMember(group, memberId, out)
  if (failed.length > 0 && (group.state === 'Stable' || group.state === 'CompletingRebalance')) {
    prepare(group, `sessions expired: ${listed(failed)}`, 0, now, out)
  } else if (group.state === 'PreparingRebalance' && group.firstJoin === null) {
    completeIfAllJoined(group, now, out)
  }

  if (group.joinDeadlineMs <= now.ms) complete(group, now, out)
  if (group.syncDeadlineMs <= now.ms) syncIsDue(group, now, out)
  group.wakeAtMs = earliest(group)
  return out
}

/** A group that was loaded with more members than may be: a rebalance in which the last to join again are refused. */
export function trim(group: ClassicGroup, rules: GroupRules, now: Now): Decision {
  const out = draft()
  const { size } = group.members
  if (size > rules.maxSize && (group.state === 'Stable' || group.state === 'CompletingRebalance')) {
    prepare(group, `loaded with ${size} members, at most ${rules.maxSize} are allowed`, 0, now, out)
  }
  return out
}

/**
 * Which topics the members subscribe to, as a question to ask of a topic's name. A group whose members are consumers but
 * do not say is taken to read every topic; a group of another sort is not known to read any.
 */
export function subscriptionOf(group: ClassicGroup): (topicName: string) => boolean {
  if (group.protocolType !== 'consumer') return () => false
  const all = new Set<string>()
  for (const member of group.members.values()) {
    const topics = group.protocolName === null ? null : subscribedTopics(metadataOf(group, member))
    if (topics === null) return () => true
    for (const topic of topics) all.add(topic)
  }
  return topicName => all.has(topicName)
}

/**
 * Since when a committed offset has been out of use (KIP-211): since the group is empty, or since it was committed where
 * nobody ever joined or the group goes on without the topic. Null while the offset cannot be said to be out of use.
 */
export function idleSinceMs(group: ClassicGroup, commitTimestampMs: number): number | null {
  if (group.protocolType === null) return commitTimestampMs
  if (group.state === 'Empty') return group.stateSinceMs
  return group.state === 'Stable' && group.protocolType === 'consumer' ? commitTimestampMs : null
}

/** Null, or why the group cannot be deleted: NON_EMPTY_GROUP. */
export function checkDelete(group: ClassicGroup): Refusal | null {
  return group.state === 'Empty' ? null : NON_EMPTY_GROUP
}

/** Null, or why no offset of the group can be deleted: NON_EMPTY_GROUP, for members whose topics nobody here knows. */
export function checkOffsetDelete(group: ClassicGroup): Refusal | null {
  return group.state === 'Empty' || group.protocolType === 'consumer' ? null : NON_EMPTY_GROUP
}

export interface GroupDescription extends GroupHead {
  /** In the order of joining. */
  readonly members: readonly MemberDescription[]
}

export interface MemberDescription {
  readonly memberId: string
  readonly instanceId: string | null
  readonly clientId: string
  readonly clientHost: string
  /** What it told the leader; empty unless the group is stable. */
  readonly metadata: Uint8Array
  /** What it was told to read; empty unless the group is stable. */
  readonly assignment: Uint8Array
}

export function describe(group: ClassicGroup): GroupDescription {
  const { state, stateSinceMs, generation, protocolType, protocolName, leader } = group
  const isStable = state === 'Stable'
  const members = Array.from(group.members.values(), member => ({
    memberId: member.id,
    instanceId: member.instanceId,
    clientId: member.clientId,
    clientHost: member.clientHost,
    metadata: isStable ? metadataOf(group, member) : NO_BYTES,
    assignment: isStable ? member.assignment : NO_BYTES,
  }))
  return { state, stateSinceMs, generation, protocolType, protocolName, leader, members }
}

/** Whether somebody is a member or has been promised to become one. */
export function isInUse(group: ClassicGroup): boolean {
  return group.members.size > 0 || group.promised.size > 0
}

/** What `resume` needs. A view of the group: encode it before the group goes on. */
export function toStore(group: ClassicGroup): StoredGroup {
  return { ...group, members: [...group.members.values()] }
}

// ---- checks

function checkJoin(group: ClassicGroup, request: JoinRequest, rules: GroupRules): Refusal | null {
  const { sessionTimeoutMs } = request
  const { minSessionTimeoutMs, maxSessionTimeoutMs } = rules
  if (sessionTimeoutMs < minSessionTimeoutMs || sessionTimeoutMs > maxSessionTimeoutMs) {
    return because(
      INVALID_SESSION_TIMEOUT,
      `The session timeout is ${sessionTimeoutMs} ms, it must be between ${minSessionTimeoutMs} and ${maxSessionTimeoutMs} ms.`,
    )
  }
  if (request.protocols.length > bounds.protocolsOfMember) {
    return because(INVALID_REQUEST, `A member lists at most ${bounds.protocolsOfMember} protocols.`)
  }
  const names = [request.instanceId ?? '', request.protocolType, ...request.protocols.map(({ name }) => name)]
  if (names.some(name => name.length > bounds.charactersOfName)) {
    return because(
      INVALID_REQUEST,
      `Instance ids and names of protocols have at most ${bounds.charactersOfName} characters.`,
    )
  }
  const bytes = sizeOf(request)
  if (bytes > bounds.bytesOfMember) {
    return because(INVALID_REQUEST, `Ids and metadata of one member are at most ${bounds.bytesOfMember} bytes.`)
  }
  const before = group.members.get(request.memberId)
  if (group.bytes - (before === undefined ? 0 : sizeOf(before)) + bytes > bounds.bytesOfMembers) {
    return because(GROUP_MAX_SIZE_REACHED, `Metadata of one group is at most ${bounds.bytesOfMembers} bytes.`)
  }
  const full = checkFits(growthBy(group, request), rules)
  if (full !== null) return full
  return supportsProtocols(group, request) ? null : INCONSISTENT_GROUP_PROTOCOL
}

function fullGroup({ maxSize }: GroupRules): Refusal {
  return because(GROUP_MAX_SIZE_REACHED, `A group has at most ${maxSize} members.`)
}

/** At least one of the protocols must be known to every member, as they stand now. */
function supportsProtocols(group: ClassicGroup, { protocolType, protocols }: JoinRequest): boolean {
  if (group.state === 'Empty') return protocolType !== '' && protocols.length > 0
  return (
    protocolType === group.protocolType &&
    protocols.some(({ name }) => (group.supporters.get(name) ?? 0) === group.members.size)
  )
}

function checkMember(group: ClassicGroup, memberId: string, instanceId: string | null): Refusal | null {
  if (instanceId !== null) {
    const current = group.staticMembers.get(instanceId)
    if (current === undefined) return UNKNOWN_MEMBER_ID
    if (current !== memberId) return FENCED_INSTANCE_ID
  }
  return group.members.has(memberId) ? null : UNKNOWN_MEMBER_ID
}

function checkClaim(group: ClassicGroup, claim: Claim): Refusal | null {
  const stranger = checkMember(group, claim.memberId, claim.instanceId)
  if (stranger !== null) return stranger
  return claim.generation === group.generation ? null : ILLEGAL_GENERATION
}

/** A group that takes no more than before goes on, however much was loaded. */
function checkFits(growthBytes: number, { leftBytes }: Pick<GroupRules, 'leftBytes'>): Refusal | null {
  if (growthBytes <= 0 || growthBytes <= leftBytes) return null
  return because(GROUP_MAX_SIZE_REACHED, 'All groups of this broker hold svc.broker.groups-max-bytes together.')
}

/** The bytes that a join adds to the group, with the member that a promise is for. */
function growthBy(group: ClassicGroup, request: JoinRequest): number {
  const { memberId, instanceId } = request
  const replaced = memberId === '' && instanceId !== null ? group.staticMembers.get(instanceId) : undefined
  const before = group.members.get(replaced ?? memberId)
  if (before !== undefined) return sizeOf(request) - sizeOf(before)
  const first = isInUse(group) ? 0 : costs.group
  return first + costs.member + costs.promise + sizeOf(request)
}

function bytesIn({ assignments }: SyncRequest): number {
  return assignments.reduce((sum, { memberId, assignment }) => sum + memberId.length + assignment.byteLength, 0)
}

function checkAssignments(
  group: ClassicGroup,
  { assignments }: SyncRequest,
  rules: Pick<GroupRules, 'leftBytes'>,
): Refusal | null {
  let bytes = 0
  for (const { memberId, assignment } of assignments) {
    if (!group.members.has(memberId)) {
      return because(UNKNOWN_MEMBER_ID, 'The assignments name somebody who is not a member of this generation.')
    }
    bytes += assignment.byteLength
  }
  let before = 0
  for (const member of group.members.values()) before += member.assignment.byteLength
  if (bytes <= bounds.bytesOfAssignments) return checkFits(bytes - before, rules)
  return because(INVALID_REQUEST, `The assignments of one generation are at most ${bounds.bytesOfAssignments} bytes.`)
}

// ---- members

function sizeOf(member: {
  readonly clientId: string
  readonly instanceId: string | null
  readonly protocols: readonly Protocol[]
}): number {
  let bytes = member.clientId.length + (member.instanceId?.length ?? 0)
  for (const { name, metadata } of member.protocols) bytes += name.length + metadata.byteLength
  return bytes
}

function sameProtocols(one: readonly Protocol[], other: readonly Protocol[]): boolean {
  return (
    one.length === other.length &&
    one.every(
      ({ name, metadata }, index) =>
        name === other[index]!.name && Buffer.compare(metadata, other[index]!.metadata) === 0,
    )
  )
}

function countProtocols(group: ClassicGroup, protocols: readonly Protocol[], by: 1 | -1): void {
  for (const name of new Set(protocols.map(protocol => protocol.name))) {
    const count = (group.supporters.get(name) ?? 0) + by
    if (count === 0) group.supporters.delete(name)
    else group.supporters.set(name, count)
  }
}

/** Small copies lie in slabs that they keep alive whole: what stays gets memory of its own size. */
function exact(bytes: Uint8Array): Uint8Array {
  if (bytes.buffer.byteLength === bytes.byteLength) return bytes
  const own = Buffer.allocUnsafeSlow(bytes.byteLength)
  own.set(bytes)
  return own
}

function kept(protocols: readonly Protocol[]): readonly Protocol[] {
  return protocols.map(({ name, metadata }) => ({ name, metadata: exact(metadata) }))
}

/** Memory that a member takes. */
function costOf(member: Member): number {
  const { id, clientHost, assignment, waitingBytes } = member
  return costs.member + id.length + clientHost.length + sizeOf(member) + assignment.byteLength + waitingBytes
}

/** Beside what its members and promises take. */
function costOfGroup(group: ClassicGroup): number {
  return isInUse(group) ? costs.group : 0
}

/** Changes who is in the group, and counts what that takes or gives back. */
function counted<T>(group: ClassicGroup, bytes: number, change: () => T): T {
  const before = costOfGroup(group)
  const result = change()
  group.heldBytes += bytes + costOfGroup(group) - before
  return result
}

function promise(group: ClassicGroup, memberId: string, lapsesAtMs: number): void {
  counted(group, costs.promise + memberId.length, () => group.promised.set(memberId, lapsesAtMs))
}

/** Whether the id was promised to anybody. */
function lapse(group: ClassicGroup, memberId: string): boolean {
  if (!group.promised.has(memberId)) return false
  return counted(group, -costs.promise - memberId.length, () => group.promised.delete(memberId))
}

function assign(group: ClassicGroup, member: Member, assignment: Uint8Array): void {
  group.heldBytes += assignment.byteLength - member.assignment.byteLength
  member.assignment = exact(assignment)
}

function parkSync(group: ClassicGroup, member: Member, parked: Parked<SyncReply>, waitingBytes: number): void {
  member.parkedSync = parked
  member.waitingBytes = waitingBytes
  group.heldBytes += waitingBytes
}

function enrol(group: ClassicGroup, member: Member): void {
  if (member.instanceId !== null) group.staticMembers.set(member.instanceId, member.id)
  counted(group, costOf(member), () => group.members.set(member.id, member))
  group.leader ??= member.id
  group.bytes += sizeOf(member)
  if (member.parkedJoin !== null) group.parkedJoins++
  countProtocols(group, member.protocols, 1)
}

function strike(group: ClassicGroup, member: Member): void {
  counted(group, -costOf(member), () => group.members.delete(member.id))
  if (member.instanceId !== null) group.staticMembers.delete(member.instanceId)
  group.bytes -= sizeOf(member)
  if (member.parkedJoin !== null) group.parkedJoins--
  countProtocols(group, member.protocols, -1)
}

function addMember(
  group: ClassicGroup,
  request: JoinRequest,
  parked: Parked<JoinReply>,
  memberId: string,
  now: Now,
): void {
  if (group.members.size === 0) group.protocolType = request.protocolType
  if (group.firstJoin !== null) joinUntil(group, Math.min(now.ms + group.firstJoin.delayMs, group.firstJoin.untilMs))
  const member: Member = {
    id: memberId,
    instanceId: request.instanceId,
    clientId: request.clientId,
    clientHost: request.clientHost,
    rebalanceTimeoutMs: request.rebalanceTimeoutMs,
    sessionTimeoutMs: request.sessionTimeoutMs,
    protocols: kept(request.protocols),
    assignment: NO_BYTES,
    parkedJoin: parked,
    parkedSync: null,
    waitingBytes: 0,
    isNew: true,
    deadlineMs: now.ms + bounds.newMemberJoinTimeoutMs,
  }
  enrol(group, member)
  wakeBy(group, member.deadlineMs)
}

function updateMember(
  group: ClassicGroup,
  member: Member,
  request: JoinRequest,
  parked: Parked<JoinReply>,
  out: Draft,
): void {
  const before = sizeOf(member)
  countProtocols(group, member.protocols, -1)
  member.protocols = kept(request.protocols)
  countProtocols(group, member.protocols, 1)
  const growth = sizeOf(member) - before
  group.bytes += growth
  group.heldBytes += growth
  member.rebalanceTimeoutMs = request.rebalanceTimeoutMs
  member.sessionTimeoutMs = request.sessionTimeoutMs
  releaseJoin(group, member, refuseJoin(REBALANCE_IN_PROGRESS, member.id), out)
  member.parkedJoin = parked
  group.parkedJoins++
}

/** Removes a member, wherever it is in the protocol; whoever waits in its name learns that it is not known any more. */
function removeMember(group: ClassicGroup, memberId: string, out: Draft): void {
  const member = group.members.get(memberId)
  if (member === undefined) return
  releaseJoin(group, member, refuseJoin(UNKNOWN_MEMBER_ID, ''), out)
  releaseSync(group, member, refuseSync(UNKNOWN_MEMBER_ID), out)
  strike(group, member)
  hasSynced(group, memberId)
  if (group.leader === memberId) {
    const next = group.members.keys().next()
    group.leader = next.done === true ? null : next.value
  }
}

/** A static member is back under a new id (KIP-345): the old id is fenced, place and assignment stay. */
function replaceStaticMember(
  group: ClassicGroup,
  request: JoinRequest,
  parked: Parked<JoinReply>,
  oldId: string,
  newId: string,
  rules: GroupRules,
  now: Now,
  out: Draft,
): void {
  const old = group.members.get(oldId)
  assert(old !== undefined, 'a static member is a member')
  const leaderBefore = group.leader
  const topicsBefore = topicsOf(group, old)
  releaseJoin(group, old, refuseJoin(FENCED_INSTANCE_ID, oldId), out)
  releaseSync(group, old, refuseSync(FENCED_INSTANCE_ID), out)
  strike(group, old)
  const { clientId, clientHost } = request
  const member: Member = { ...old, id: newId, clientId, clientHost, isNew: false }
  enrol(group, member)
  if (leaderBefore === oldId) group.leader = newId
  if (group.pendingSync.delete(oldId)) group.pendingSync.add(newId)
  updateMember(group, member, request, parked, out)
  keepAlive(group, member, now)

  const who = `static member ${request.instanceId} is back as ${newId}`
  const unchanged =
    group.state === 'Stable' &&
    selectProtocol(group) === group.protocolName &&
    sameTopics(topicsBefore, topicsOf(group, member))
  if (!unchanged) {
    rebalance(group, who, rules.firstJoinDelayMs, now, out)
    return
  }
  out.notes.push(`${who}; its assignment stays`)
  out.commit = true
  const reply = joined(group, member, request.canSkipAssignment && group.leader === newId)
  // A leader that does not know skipAssignment must not assign, since a stable group would not hand it out: it is told
  // that somebody else leads.
  releaseJoin(
    group,
    member,
    request.canSkipAssignment ? reply : { ...reply, leader: leaderBefore ?? '', members: [] },
    out,
  )
}

function topicsOf(group: ClassicGroup, member: Member): ReadonlySet<string> | null {
  if (group.protocolType !== 'consumer' || group.protocolName === null) return null
  return subscribedTopics(metadataOf(group, member))
}

function sameTopics(one: ReadonlySet<string> | null, other: ReadonlySet<string> | null): boolean {
  if (one === null || other === null) return one === other
  return one.size === other.size && [...one].every(topic => other.has(topic))
}

function metadataOf(group: ClassicGroup, member: Member): Uint8Array {
  return member.protocols.find(protocol => protocol.name === group.protocolName)?.metadata ?? NO_BYTES
}

/** Each member votes for the first of its protocols that all know; ties go to the one that was voted for first. */
function selectProtocol(group: ClassicGroup): string {
  const votes = new Map<string, number>()
  for (const member of group.members.values()) {
    const vote = member.protocols.find(({ name }) => group.supporters.get(name) === group.members.size)
    assert(vote !== undefined, 'every accepted list shares a protocol with all members')
    votes.set(vote.name, (votes.get(vote.name) ?? 0) + 1)
  }
  let chosen = ''
  for (const [name, count] of votes) if (count > (votes.get(chosen) ?? 0)) chosen = name
  return chosen
}

// ---- answers

function joined(group: ClassicGroup, member: Member, skipAssignment: boolean): JoinReply {
  const members =
    group.leader === member.id
      ? Array.from(group.members.values(), each => ({
          memberId: each.id,
          instanceId: each.instanceId,
          metadata: metadataOf(group, each),
        }))
      : []
  return {
    error: null,
    memberId: member.id,
    generation: group.generation,
    protocolType: group.protocolType,
    protocolName: group.protocolName,
    leader: group.leader ?? '',
    skipAssignment,
    members,
  }
}

function assigned(group: ClassicGroup, member: Member): SyncReply {
  return {
    error: null,
    protocolType: group.protocolType,
    protocolName: group.protocolName,
    assignment: member.assignment,
  }
}

function releaseJoin(group: ClassicGroup, member: Member, reply: JoinReply, out: Draft): void {
  if (member.parkedJoin === null) return
  out.answers.push({ parked: member.parkedJoin, reply })
  member.parkedJoin = null
  group.parkedJoins--
}

function releaseSync(group: ClassicGroup, member: Member, reply: SyncReply, out: Draft): void {
  if (member.parkedSync === null) return
  group.heldBytes -= member.waitingBytes
  member.waitingBytes = 0
  out.answers.push({ parked: member.parkedSync, reply })
  member.parkedSync = null
}

// ---- rebalances

function become(group: ClassicGroup, state: GroupState, now: Now): void {
  group.state = state
  group.stateSinceMs = now.wallMs
}

const hasAllJoined = (group: ClassicGroup): boolean =>
  group.parkedJoins === group.members.size && group.promised.size === 0

/** Begins a rebalance, or takes the one that is under way further. */
function rebalance(group: ClassicGroup, reason: string, firstJoinDelayMs: number, now: Now, out: Draft): void {
  if (group.state !== 'PreparingRebalance') prepare(group, reason, firstJoinDelayMs, now, out)
  else if (group.firstJoin === null) completeIfAllJoined(group, now, out)
}

function prepare(group: ClassicGroup, reason: string, firstJoinDelayMs: number, now: Now, out: Draft): void {
  if (group.state === 'CompletingRebalance') {
    for (const member of group.members.values()) {
      assign(group, member, NO_BYTES)
      if (member.parkedSync !== null) keepAlive(group, member, now)
      releaseSync(group, member, refuseSync(REBALANCE_IN_PROGRESS), out)
    }
  }
  group.pendingSync.clear()
  group.syncDeadlineMs = Number.POSITIVE_INFINITY
  const wasEmpty = group.state === 'Empty'
  become(group, 'PreparingRebalance', now)
  out.notes.push(`rebalance after generation ${group.generation}: ${reason}`)
  if (wasEmpty) {
    const longestMs = Math.max(firstJoinDelayMs, rebalanceTimeout(group))
    group.firstJoin = { delayMs: firstJoinDelayMs, untilMs: now.ms + longestMs }
    joinUntil(group, now.ms + firstJoinDelayMs)
  } else if (hasAllJoined(group)) {
    complete(group, now, out)
  } else {
    joinUntil(group, now.ms + rebalanceTimeout(group))
  }
}

function completeIfAllJoined(group: ClassicGroup, now: Now, out: Draft): void {
  if (hasAllJoined(group)) complete(group, now, out)
}

/** Ends the join phase: whoever has not rejoined is out, static members excepted, and a new generation begins. */
function complete(group: ClassicGroup, now: Now, out: Draft): void {
  const missing = [...group.members.values()].filter(member => member.parkedJoin === null)
  for (const member of missing) if (member.instanceId === null) removeMember(group, member.id, out)

  if (group.members.size > 0) {
    const leader = group.leader === null ? undefined : group.members.get(group.leader)
    if (leader === undefined || leader.parkedJoin === null) {
      const next = [...group.members.values()].find(member => member.parkedJoin !== null)
      if (next === undefined) {
        // Only static members are left and none of them is here: their sessions decide.
        joinUntil(group, now.ms + rebalanceTimeout(group))
        return
      }
      group.leader = next.id
    }
  }

  group.joinDeadlineMs = Number.POSITIVE_INFINITY
  group.firstJoin = null
  group.generation++
  out.commit = true
  if (group.members.size === 0) {
    group.protocolName = null
    become(group, 'Empty', now)
    out.notes.push(`generation ${group.generation} is empty`)
    return
  }
  group.protocolName = selectProtocol(group)
  become(group, 'CompletingRebalance', now)
  out.notes.push(
    `generation ${group.generation} begins with ${group.members.size} members, protocol ${group.protocolName}, leader ${group.leader}`,
  )
  for (const member of group.members.values()) {
    releaseJoin(group, member, joined(group, member, false), out)
    member.isNew = false
    keepAlive(group, member, now)
  }
  awaitSyncs(group, now)
}

function awaitSyncs(group: ClassicGroup, now: Now): void {
  for (const memberId of group.members.keys()) group.pendingSync.add(memberId)
  group.syncDeadlineMs = now.ms + rebalanceTimeout(group)
  wakeBy(group, group.syncDeadlineMs)
}

function hasSynced(group: ClassicGroup, memberId: string): void {
  if (group.pendingSync.delete(memberId) && group.pendingSync.size === 0) {
    group.syncDeadlineMs = Number.POSITIVE_INFINITY
  }
}

/** Members that joined and never synced hold their partitions without working on them: they are out. */
function syncIsDue(group: ClassicGroup, now: Now, out: Draft): void {
  const silent = [...group.pendingSync]
  for (const memberId of silent) removeMember(group, memberId, out)
  prepare(group, `members did not sync in time: ${listed(silent)}`, 0, now, out)
}

/** Some of them by name, for a line of the log. */
function listed(ids: readonly string[]): string {
  const shown = ids.slice(0, 5).join(', ')
  return ids.length > 5 ? `${shown} and ${ids.length - 5} more` : shown
}

// ---- deadlines

function wakeBy(group: ClassicGroup, atMs: number): void {
  if (atMs < group.wakeAtMs) group.wakeAtMs = atMs
}

function keepAlive(group: ClassicGroup, member: Member, now: Now): void {
  member.deadlineMs = now.ms + member.sessionTimeoutMs
  wakeBy(group, member.deadlineMs)
}

function joinUntil(group: ClassicGroup, atMs: number): void {
  group.joinDeadlineMs = atMs
  wakeBy(group, atMs)
}

function earliest(group: ClassicGroup): number {
  let at = Math.min(group.joinDeadlineMs, group.syncDeadlineMs)
  for (const lapsesAtMs of group.promised.values()) at = Math.min(at, lapsesAtMs)
  for (const member of group.members.values()) at = Math.min(at, member.deadlineMs)
  return at
}
