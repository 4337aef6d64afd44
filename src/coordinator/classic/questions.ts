// Reads the state of a group without changing it: for operators, for the retention of offsets, and for deletions.

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
 * Returns a function that says whether any member subscribes to a topic name. Consumers whose subscription cannot be
 * read count as subscribers of every topic. Members of another protocol type subscribe to no topic.
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
 * Returns the time since which a committed offset has been out of use (KIP-211). In an empty group this is the time
 * when it became empty. In a group that never had a member, and for a topic that a stable group no longer reads, it
 * is the time of the commit. Returns null while the offset may be in use.
 */
export function idleSinceMs(group: ClassicGroup, commitTimestampMs: number): number | null {
  if (group.protocolType === null) return commitTimestampMs
  if (group.state === 'Empty') return group.stateSinceMs
  return group.state === 'Stable' && group.protocolType === 'consumer' ? commitTimestampMs : null
}

/** Returns null, or NON_EMPTY_GROUP if the group cannot be deleted. */
export function checkDelete(group: ClassicGroup): Refusal | null {
  return group.state === 'Empty' ? null : NON_EMPTY_GROUP
}

/**
 * Returns null, or NON_EMPTY_GROUP if the members are not consumers. The broker does not know their topics, so no
 * offset can be deleted.
 */
export function checkOffsetDelete(group: ClassicGroup): Refusal | null {
  return group.state === 'Empty' || group.protocolType === 'consumer' ? null : NON_EMPTY_GROUP
}
