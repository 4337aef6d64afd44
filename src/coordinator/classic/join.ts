// JoinGroup: a member enters or re-enters the group.

import { assert } from '../../base/assert.ts'
import {
  because,
  FENCED_INSTANCE_ID,
  GROUP_MAX_SIZE_REACHED,
  INCONSISTENT_GROUP_PROTOCOL,
  INVALID_REQUEST,
  INVALID_SESSION_TIMEOUT,
  MEMBER_ID_REQUIRED,
  REBALANCE_IN_PROGRESS,
  type Refusal,
  UNKNOWN_MEMBER_ID,
} from '../../protocol/errors.ts'
import type { Decision, Now, Parked } from '../machine.ts'
import {
  checkFits,
  countProtocols,
  enrol,
  growthBy,
  kept,
  lapse,
  promise,
  releaseJoin,
  releaseSync,
  removeMember,
  sizeOf,
  strike,
} from './books.ts'
import { checkMember } from './claims.ts'
import { subscribedTopics } from './consumer-metadata.ts'
import { joinUntil, keepAlive, wakeBy } from './deadlines.ts'
import { answer, commit, type Draft, draft } from './draft.ts'
import { type ClassicGroup, type GroupRules, type Member, metadataOf } from './group.ts'
import { completeIfAllJoined, joined, rebalance, selectProtocol } from './rebalance.ts'
import { type JoinReply, type JoinRequest, NO_BYTES, type Protocol, refuseJoin, refuseSync } from './requests.ts'

const bounds = Object.freeze({
  /** A new member is removed if its first join is not answered within this time (Kafka: five minutes). */
  newMemberJoinTimeoutMs: 300_000,
  protocolsOfMember: 256,
  /**
   * Characters of an instance id, a protocol type, or a protocol's name. They fit into every version of every answer.
   */
  charactersOfName: 1_000,
  /** Names, ids and metadata of one member. */
  bytesOfMember: 1024 * 1024,
  /** Names, ids and metadata of all members together. */
  bytesOfMembers: 32 * 1024 * 1024,
})

/**
 * Handles JoinGroup. `newMemberId` is used if the request has no member id. Answers at once with MEMBER_ID_REQUIRED,
 * UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, INCONSISTENT_GROUP_PROTOCOL, INVALID_SESSION_TIMEOUT,
 * GROUP_MAX_SIZE_REACHED, INVALID_REQUEST or the current generation. Otherwise answers when the rebalance ends.
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
    answer(out, parked, refuseJoin(error, memberId))
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
    // The limit was lowered: the first members to join again stay.
    removeMember(group, memberId, out)
    if (group.firstJoin === null) completeIfAllJoined(group, now, out)
    return refuse(fullGroup(rules), '')
  }
  const same = sameProtocols(member.protocols, request.protocols)
  const settled = group.state === 'CompletingRebalance' || (group.state === 'Stable' && group.leader !== memberId)
  if (settled && same) {
    // The member may have missed the answer to its join. The generation has not changed, so it gets the same answer
    // again.
    keepAlive(group, member, now)
    answer(out, parked, joined(group, member, false))
    return out
  }
  // The leader may rejoin for reasons that no metadata shows, for example a new partition of a topic.
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

/** Returns whether the request has a protocol that every member supports. */
function supportsProtocols(group: ClassicGroup, { protocolType, protocols }: JoinRequest): boolean {
  if (group.state === 'Empty') return protocolType !== '' && protocols.length > 0
  return (
    protocolType === group.protocolType &&
    protocols.some(({ name }) => (group.supporters.get(name) ?? 0) === group.members.size)
  )
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

/**
 * Handles a static member that returns with a new id (KIP-345). Its old id is fenced, and the member keeps its
 * assignment.
 */
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
  commit(out)
  const reply = joined(group, member, request.canSkipAssignment && group.leader === newId)
  // A leader that does not know skipAssignment must not assign, because a stable group would not use its assignments.
  // So the answer names the id of the previous leader, which is not the new id of this member.
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
