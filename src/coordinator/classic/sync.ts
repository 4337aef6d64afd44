// SyncGroup: the leader sends the assignments, and each member gets its own.

import { assert } from '../../base/assert.ts'
import {
  because,
  INCONSISTENT_GROUP_PROTOCOL,
  INVALID_REQUEST,
  REBALANCE_IN_PROGRESS,
  type Refusal,
  UNKNOWN_MEMBER_ID,
} from '../../protocol/errors.ts'
import type { Decision, Now, Parked } from '../machine.ts'
import { assign, checkFits, hasSynced, parkSync, releaseSync } from './books.ts'
import { checkClaim } from './claims.ts'
import { keepAlive } from './deadlines.ts'
import { answer, commit, draft } from './draft.ts'
import type { ClassicGroup, GroupRules, Member } from './group.ts'
import { become } from './rebalance.ts'
import { NO_BYTES, refuseSync, type SyncReply, type SyncRequest } from './requests.ts'

/** The most bytes of all assignments of one generation. */
const MAX_ASSIGNMENT_BYTES = 16 * 1024 * 1024

interface SyncDecision extends Decision {
  /** True if the rebalance has ended, because the assignments are known. */
  readonly isRebalanced?: true
}

/**
 * Handles SyncGroup. The leader's request contains the assignments, and each member gets its own. Refuses with
 * UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION, INCONSISTENT_GROUP_PROTOCOL, REBALANCE_IN_PROGRESS,
 * GROUP_MAX_SIZE_REACHED or INVALID_REQUEST.
 */
export function sync(
  group: ClassicGroup,
  request: SyncRequest,
  parked: Parked<SyncReply>,
  rules: Pick<GroupRules, 'leftBytes'>,
  now: Now,
): SyncDecision {
  const out = draft()
  const refuse = (error: Refusal): SyncDecision => {
    answer(out, parked, refuseSync(error))
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
    answer(out, parked, assigned(group, member))
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
  commit(out)
  out.notes.push(`generation ${group.generation} is stable with ${group.members.size} members`)
  for (const each of group.members.values()) {
    if (each.parkedSync === null) continue
    releaseSync(group, each, assigned(group, each), out)
    keepAlive(group, each, now)
  }
  return { ...out, isRebalanced: true }
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
      return because(UNKNOWN_MEMBER_ID, 'The assignments name a member that is not in this generation.')
    }
    bytes += assignment.byteLength
  }
  let before = 0
  for (const member of group.members.values()) before += member.assignment.byteLength
  if (bytes <= MAX_ASSIGNMENT_BYTES) return checkFits(bytes - before, rules)
  return because(INVALID_REQUEST, `The assignments of one generation are at most ${MAX_ASSIGNMENT_BYTES} bytes.`)
}

function assigned(group: ClassicGroup, member: Member): SyncReply {
  return {
    error: null,
    protocolType: group.protocolType,
    protocolName: group.protocolName,
    assignment: member.assignment,
  }
}
