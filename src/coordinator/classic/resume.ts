// Continues a group after it was loaded from the store.

import type { Decision, Now } from '../machine.ts'
import { enrol } from './books.ts'
import { joinUntil, keepAlive } from './deadlines.ts'
import { draft } from './draft.ts'
import { type ClassicGroup, emptyGroup, type GroupRules, rebalanceTimeout, type StoredGroup } from './group.ts'
import { awaitSyncs, prepare } from './rebalance.ts'

/**
 * Returns the loaded group, ready to continue: no request waits for an answer, every member has a new session, and an
 * unfinished rebalance has its full time again.
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

/** Rebalances a group that was loaded with too many members: the last members to join again are refused. */
export function trim(group: ClassicGroup, rules: GroupRules, now: Now): Decision {
  const out = draft()
  const { size } = group.members
  if (size > rules.maxSize && (group.state === 'Stable' || group.state === 'CompletingRebalance')) {
    prepare(group, `loaded with ${size} members, at most ${rules.maxSize} are allowed`, 0, now, out)
  }
  return out
}
