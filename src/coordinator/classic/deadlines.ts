// The deadlines of a group and its members. `wakeAtMs` of the group is never later than the first of them.

import type { Now } from '../machine.ts'
import type { ClassicGroup, Member } from './group.ts'

export function wakeBy(group: ClassicGroup, atMs: number): void {
  if (atMs < group.wakeAtMs) group.wakeAtMs = atMs
}

export function keepAlive(group: ClassicGroup, member: Member, now: Now): void {
  member.deadlineMs = now.ms + member.sessionTimeoutMs
  wakeBy(group, member.deadlineMs)
}

export function joinUntil(group: ClassicGroup, atMs: number): void {
  group.joinDeadlineMs = atMs
  wakeBy(group, atMs)
}

export function earliest(group: ClassicGroup): number {
  let at = Math.min(group.joinDeadlineMs, group.syncDeadlineMs)
  for (const lapsesAtMs of group.promised.values()) at = Math.min(at, lapsesAtMs)
  for (const member of group.members.values()) at = Math.min(at, member.deadlineMs)
  return at
}
