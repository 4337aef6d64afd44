// Handles members that stay and members that leave: Heartbeat, LeaveGroup, the check of an OffsetCommit, and
// deadlines that have passed.

import { REBALANCE_IN_PROGRESS, type Refusal, UNKNOWN_MEMBER_ID } from '../../protocol/errors.ts'
import type { Decision, Now, Parked } from '../machine.ts'
import { lapse, removeMember } from './books.ts'
import { checkClaim, checkMember } from './claims.ts'
import { earliest, keepAlive } from './deadlines.ts'
import { answer, commit, draft } from './draft.ts'
import type { ClassicGroup } from './group.ts'
import { complete, completeIfAllJoined, listed, prepare, syncIsDue } from './rebalance.ts'
import type { Claim, Leaving, Left } from './requests.ts'

/** Handles Heartbeat at constant cost. Returns null, or the refusal that tells the member what to do. */
export function heartbeat(group: ClassicGroup, claim: Claim, now: Now): Refusal | null {
  const stranger = checkClaim(group, claim)
  if (stranger !== null) return stranger
  keepAlive(group, group.members.get(claim.memberId)!, now)
  return group.state === 'PreparingRebalance' ? REBALANCE_IN_PROGRESS : null
}

/**
 * Handles LeaveGroup. Answers with one row for each identity, in order. All leaving members cause only one rebalance.
 */
export function leave(
  group: ClassicGroup,
  leaving: readonly Leaving[],
  parked: Parked<readonly Left[]>,
  now: Now,
): Decision {
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
  if (gone.length > 0) commit(out)
  if (group.state === 'Stable' || group.state === 'CompletingRebalance') {
    if (gone.length > 0) prepare(group, `members left: ${listed(gone)}`, 0, now, out)
  } else if (group.state === 'PreparingRebalance' && group.firstJoin === null) {
    completeIfAllJoined(group, now, out)
  }
  answer(out, parked, rows)
  return out
}

/**
 * Returns null if the client may commit offsets, else the refusal. A commit of a member is a sign of life too. A
 * generation below zero without member id comes from a simple consumer or a tool, which may commit while the group is
 * empty.
 */
export function checkOffsetCommit(group: ClassicGroup, claim: Claim, now: Now): Refusal | null {
  if (claim.generation < 0 && group.state === 'Empty') return null
  if (claim.generation < 0 && claim.memberId === '' && claim.instanceId === null) return UNKNOWN_MEMBER_ID
  const stranger = checkClaim(group, claim)
  if (stranger !== null) return stranger
  // The member knows the generation but not its assignment yet: the partitions of its offsets may have moved.
  if (group.state === 'CompletingRebalance') return REBALANCE_IN_PROGRESS
  keepAlive(group, group.members.get(claim.memberId)!, now)
  return null
}

/** Ends every wait whose deadline has passed, and sets `wakeAtMs` again. */
export function expire(group: ClassicGroup, now: Now): Decision {
  const out = draft()
  for (const [memberId, lapsesAtMs] of group.promised) if (lapsesAtMs <= now.ms) lapse(group, memberId)

  const failed: string[] = []
  for (const member of group.members.values()) {
    if (member.deadlineMs > now.ms) continue
    // A member that waits for an answer cannot send heartbeats, so it stays. A new member does not stay, because its
    // client may have gone and joined again under another id.
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
