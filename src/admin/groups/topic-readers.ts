// Finds the consumer groups that read a topic: those with committed offsets in it, or with a member that reads it.

import type { SilentBroker } from '../../api/groups.ts'
import { type ClusterGroupRooms, listGroupsOfCluster } from './cluster-groups.ts'
import { groupLags } from './lag.ts'
import type { PositionRooms } from './positions.ts'

export interface TopicReaders {
  /** The ids of the groups, sorted. */
  readonly groups: readonly string[]
  /** Brokers that did not tell which groups they coordinate. */
  readonly silent: readonly SilentBroker[]
}

/** Resolves to the groups of the whole cluster that read the topic with this id. Throws what the store throws. */
export async function readersOfTopic(rooms: ClusterGroupRooms & PositionRooms, topicId: string): Promise<TopicReaders> {
  const { groups, silent } = await listGroupsOfCluster(rooms, { states: [], types: [] })
  const ids = groups.map(({ groupId }) => groupId)
  const reading: string[] = []
  let at = 0
  for await (const { topicLag } of groupLags(rooms, ids, topicId)) {
    const id = ids[at++]!
    if (topicLag !== null) reading.push(id)
  }
  return { groups: reading, silent }
}
