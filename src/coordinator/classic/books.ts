// The books of a group. Each change of its members goes through this file, so that its counters, its indexes and its
// counted memory always agree with its members. No function here begins or ends a rebalance.

import { because, GROUP_MAX_SIZE_REACHED, type Refusal, UNKNOWN_MEMBER_ID } from '../../protocol/errors.ts'
import type { Parked } from '../machine.ts'
import { answer, type Draft } from './draft.ts'
import { type ClassicGroup, type GroupRules, isInUse, type Member } from './group.ts'
import { type JoinReply, type JoinRequest, type Protocol, refuseJoin, refuseSync, type SyncReply } from './requests.ts'

/** Memory beside the bytes that clients send, measured on Node 24 and rounded up. */
const costs = Object.freeze({
  /** A group with members or promised ids: its maps, its timer. */
  group: 4_096,
  /** A member with its waiting request. */
  member: 2_048,
  /** A promised id. */
  promise: 512,
})

export function enrol(group: ClassicGroup, member: Member): void {
  if (member.instanceId !== null) group.staticMembers.set(member.instanceId, member.id)
  counted(group, costOf(member), () => group.members.set(member.id, member))
  group.leader ??= member.id
  group.bytes += sizeOf(member)
  if (member.parkedJoin !== null) group.parkedJoins++
  countProtocols(group, member.protocols, 1)
}

export function strike(group: ClassicGroup, member: Member): void {
  counted(group, -costOf(member), () => group.members.delete(member.id))
  if (member.instanceId !== null) group.staticMembers.delete(member.instanceId)
  group.bytes -= sizeOf(member)
  if (member.parkedJoin !== null) group.parkedJoins--
  countProtocols(group, member.protocols, -1)
}

/** Removes a member in any phase. Its waiting request is answered with UNKNOWN_MEMBER_ID. */
export function removeMember(group: ClassicGroup, memberId: string, out: Draft): void {
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

export function promise(group: ClassicGroup, memberId: string, lapsesAtMs: number): void {
  counted(group, costs.promise + memberId.length, () => group.promised.set(memberId, lapsesAtMs))
}

/** Withdraws a promise. Returns whether the promise existed. */
export function lapse(group: ClassicGroup, memberId: string): boolean {
  if (!group.promised.has(memberId)) return false
  return counted(group, -costs.promise - memberId.length, () => group.promised.delete(memberId))
}

export function assign(group: ClassicGroup, member: Member, assignment: Uint8Array): void {
  group.heldBytes += assignment.byteLength - member.assignment.byteLength
  member.assignment = exact(assignment)
}

export function parkSync(group: ClassicGroup, member: Member, parked: Parked<SyncReply>, waitingBytes: number): void {
  member.parkedSync = parked
  member.waitingBytes = waitingBytes
  group.heldBytes += waitingBytes
}

export function hasSynced(group: ClassicGroup, memberId: string): void {
  if (group.pendingSync.delete(memberId) && group.pendingSync.size === 0) {
    group.syncDeadlineMs = Number.POSITIVE_INFINITY
  }
}

export function releaseJoin(group: ClassicGroup, member: Member, reply: JoinReply, out: Draft): void {
  if (member.parkedJoin === null) return
  answer(out, member.parkedJoin, reply)
  member.parkedJoin = null
  group.parkedJoins--
}

export function releaseSync(group: ClassicGroup, member: Member, reply: SyncReply, out: Draft): void {
  if (member.parkedSync === null) return
  group.heldBytes -= member.waitingBytes
  member.waitingBytes = 0
  answer(out, member.parkedSync, reply)
  member.parkedSync = null
}

/**
 * Returns null, or GROUP_MAX_SIZE_REACHED if there is no memory for the growth. A group that takes no more memory
 * than before is never refused, even if the loaded groups exceed the limit.
 */
export function checkFits(growthBytes: number, { leftBytes }: Pick<GroupRules, 'leftBytes'>): Refusal | null {
  if (growthBytes <= 0 || growthBytes <= leftBytes) return null
  return because(GROUP_MAX_SIZE_REACHED, 'The groups of this broker have reached svc.broker.groups-max-bytes together.')
}

/** Returns the bytes that a join adds to the group. A promised id already counts with its future member. */
export function growthBy(group: ClassicGroup, request: JoinRequest): number {
  const { memberId, instanceId } = request
  const replaced = memberId === '' && instanceId !== null ? group.staticMembers.get(instanceId) : undefined
  const before = group.members.get(replaced ?? memberId)
  if (before !== undefined) return sizeOf(request) - sizeOf(before)
  const first = isInUse(group) ? 0 : costs.group
  return first + costs.member + costs.promise + sizeOf(request)
}

export function sizeOf(member: {
  readonly clientId: string
  readonly instanceId: string | null
  readonly protocols: readonly Protocol[]
}): number {
  let bytes = member.clientId.length + (member.instanceId?.length ?? 0)
  for (const { name, metadata } of member.protocols) bytes += name.length + metadata.byteLength
  return bytes
}

export function kept(protocols: readonly Protocol[]): readonly Protocol[] {
  return protocols.map(({ name, metadata }) => ({ name, metadata: exact(metadata) }))
}

export function countProtocols(group: ClassicGroup, protocols: readonly Protocol[], by: 1 | -1): void {
  for (const name of new Set(protocols.map(protocol => protocol.name))) {
    const count = (group.supporters.get(name) ?? 0) + by
    if (count === 0) group.supporters.delete(name)
    else group.supporters.set(name, count)
  }
}

/**
 * Copies bytes that stay in memory into a buffer of their own size, because a small slice keeps its whole slab in
 * memory.
 */
function exact(bytes: Uint8Array): Uint8Array {
  if (bytes.buffer.byteLength === bytes.byteLength) return bytes
  const own = Buffer.allocUnsafeSlow(bytes.byteLength)
  own.set(bytes)
  return own
}

/** Returns the memory of a member, in bytes. */
function costOf(member: Member): number {
  const { id, clientHost, assignment, waitingBytes } = member
  return costs.member + id.length + clientHost.length + sizeOf(member) + assignment.byteLength + waitingBytes
}

/** Returns the fixed cost of a group, without its members and promises. */
function costOfGroup(group: ClassicGroup): number {
  return isInUse(group) ? costs.group : 0
}

/** Changes the members or promises of the group, and counts the memory that the change takes or gives back. */
function counted<T>(group: ClassicGroup, bytes: number, change: () => T): T {
  const before = costOfGroup(group)
  const result = change()
  group.heldBytes += bytes + costOfGroup(group) - before
  return result
}
