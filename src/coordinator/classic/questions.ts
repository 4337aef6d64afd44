// Questions that a group answers without a change: for operators, for the retention of offsets, and for deletions.

import { NON_EMPTY_GROUP, type Refusal } from '../../protocol/errors.ts'
import { subscribedTopics } from './consumer-metadata.ts'
import { type ClassicGroup, type GroupHead, metadataOf } from './group.ts'
import { NO_BYTES } from './requests.ts'

export interface GroupDescription extends GroupHead {
  /** In the order of joining. */
  readonly members: readonly MemberDescription[]
}

export interface MemberDescription {
  readonly memberId: string
  readonly instanceId: string | null
  readonly clientId: string
  readonly clientHost: string
  /** The metadata that the member sent; empty unless the group is stable. */
  readonly metadata: Uint8Array
  /** The assignment that the member got; empty unless the group is stable. */
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

/**
 * Whether any member subscribes to the topic of this name. Consumers that do not say what they read count as
 * subscribers of every topic; members of another protocol type count as subscribers of none.
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
 * The time since which a committed offset has been out of use (KIP-211). In a group that became empty it is the time
 * when that happened. In a group without a first member, and for a topic that a stable group no longer reads, it is the
 * time of the commit. Null while the offset may be in use.
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

/** Null, or NON_EMPTY_GROUP for members whose topics this broker does not know: no offset can be deleted then. */
export function checkOffsetDelete(group: ClassicGroup): Refusal | null {
  return group.state === 'Empty' || group.protocolType === 'consumer' ? null : NON_EMPTY_GROUP
}
