// How a group goes from one generation to the next. Each rebalance has two phases: the members join again, then the
// leader sends the assignments.
//
//                  first member joins               all members (re)joined, or time is up
//      ┌───────┐ ──────────────────▶ ┌────────────────────┐ ──────────────▶ ┌─────────────────────┐
//      │ Empty │                     │ PreparingRebalance │                 │ CompletingRebalance │
//      └───────┘ ◀────────────────── └────────────────────┘ ◀────────────── └─────────────────────┘
//                  no member is left      ▲                  join, leave,               │ the leader
//                                         │ join, leave,     expiry, sync               │ has sent the
//                                         │ expiry           timeout                    ▼ assignments
//                                         └────────────────────────────────────── ┌────────┐
//                                                                                 │ Stable │
//                                                                                 └────────┘
//
// Kafka's fifth state, Dead, does not exist here: a group that was dropped has no state.
//
// The generation rises by one each time PreparingRebalance ends. `svc.broker.rebalance-delay` maps to Kafka's
// `group.initial.rebalance.delay.ms`: the first rebalance of a group that was empty waits this long after the last
// member that arrives, up to the first member's rebalance timeout. A group that has members rebalances as soon as all
// of them have rejoined, or when the longest of their rebalance timeouts has passed.

import { assert } from '../../base/assert.ts'
import { REBALANCE_IN_PROGRESS } from '../../protocol/errors.ts'
import type { Now } from '../machine.ts'
import { assign, releaseJoin, releaseSync, removeMember } from './books.ts'
import { joinUntil, keepAlive, wakeBy } from './deadlines.ts'
import { commit, type Draft } from './draft.ts'
import { type ClassicGroup, type GroupState, type Member, metadataOf, rebalanceTimeout } from './group.ts'
import { type JoinReply, NO_BYTES, refuseSync } from './requests.ts'

/** Begins a rebalance, or continues the one in progress. */
export function rebalance(group: ClassicGroup, reason: string, firstJoinDelayMs: number, now: Now, out: Draft): void {
  if (group.state !== 'PreparingRebalance') prepare(group, reason, firstJoinDelayMs, now, out)
  else if (group.firstJoin === null) completeIfAllJoined(group, now, out)
}

export function prepare(group: ClassicGroup, reason: string, firstJoinDelayMs: number, now: Now, out: Draft): void {
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

export function completeIfAllJoined(group: ClassicGroup, now: Now, out: Draft): void {
  if (hasAllJoined(group)) complete(group, now, out)
}

/** Ends the join phase: dynamic members that have not rejoined are removed, and a new generation begins. */
export function complete(group: ClassicGroup, now: Now, out: Draft): void {
  const missing = [...group.members.values()].filter(member => member.parkedJoin === null)
  for (const member of missing) if (member.instanceId === null) removeMember(group, member.id, out)

  if (group.members.size > 0) {
    const leader = group.leader === null ? undefined : group.members.get(group.leader)
    if (leader === undefined || leader.parkedJoin === null) {
      const next = [...group.members.values()].find(member => member.parkedJoin !== null)
      if (next === undefined) {
        // Only static members are left, and none of them has rejoined: their session timeouts decide.
        joinUntil(group, now.ms + rebalanceTimeout(group))
        return
      }
      group.leader = next.id
    }
  }

  group.joinDeadlineMs = Number.POSITIVE_INFINITY
  group.firstJoin = null
  group.generation++
  commit(out)
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

const hasAllJoined = (group: ClassicGroup): boolean =>
  group.parkedJoins === group.members.size && group.promised.size === 0

export function become(group: ClassicGroup, state: GroupState, now: Now): void {
  group.state = state
  group.stateSinceMs = now.wallMs
}

export function awaitSyncs(group: ClassicGroup, now: Now): void {
  for (const memberId of group.members.keys()) group.pendingSync.add(memberId)
  group.syncDeadlineMs = now.ms + rebalanceTimeout(group)
  wakeBy(group, group.syncDeadlineMs)
}

/** Removes members that joined and did not sync, because they would own partitions without reading them. */
export function syncIsDue(group: ClassicGroup, now: Now, out: Draft): void {
  const silent = [...group.pendingSync]
  for (const memberId of silent) removeMember(group, memberId, out)
  prepare(group, `members did not sync in time: ${listed(silent)}`, 0, now, out)
}

/**
 * Returns the protocol with the most votes. Each member votes for the first of its protocols that all members know.
 * If votes are equal, the earliest vote wins.
 */
export function selectProtocol(group: ClassicGroup): string {
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

export function joined(group: ClassicGroup, member: Member, skipAssignment: boolean): JoinReply {
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

/** Lists the first ids, for a log line. */
export function listed(ids: readonly string[]): string {
  const shown = ids.slice(0, 5).join(', ')
  return ids.length > 5 ? `${shown} and ${ids.length - 5} more` : shown
}
