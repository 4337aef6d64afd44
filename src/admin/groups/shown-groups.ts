// Consumer groups of the whole cluster as the admin API shows them: a page of the list, one group, and its lag.

import {
  type DescribedGroup,
  type GroupList,
  type GroupListQuery,
  type LagOfGroup,
  LISTED_TOPICS,
  type ListedGroup,
} from '../../api/groups.ts'
import type { Cluster } from '../../cluster/cluster.ts'
import { because, GROUP_ID_NOT_FOUND, isRefusal, type Refusal } from '../../protocol/errors.ts'
import type { GroupPosition } from '../contract.ts'
import { type Declined, misplaced } from '../declined.ts'
import { pageOf, searchFor } from '../paging.ts'
import { findTopic } from '../reach.ts'
import { type ClusterGroupRooms, countMembers, describeGroupsOfCluster, listGroupsOfCluster } from './cluster-groups.ts'
import type { ClusterGroup, GroupLag, GroupReading, GroupView } from './groups-contract.ts'
import { groupLags, lagOf } from './lag.ts'
import { describePositions, type PositionRooms } from './positions.ts'

export type ShownGroupRooms = PositionRooms &
  ClusterGroupRooms & {
    readonly cluster: Pick<Cluster, 'brokerId' | 'brokers' | 'coordinatorOf'> & PositionRooms['cluster']
  }

/**
 * Resolves to a page of the groups, and to the brokers whose groups are missing. With a topic, only the groups that
 * read it. Throws what the store throws.
 */
export async function listGroupPage(
  rooms: ShownGroupRooms,
  query: GroupListQuery,
): Promise<GroupList | Refusal | Declined> {
  const topic = query.topic === undefined ? null : await findTopic(rooms, query.topic)
  if (isRefusal(topic)) return topic
  if (topic === null && query.sort === 'topicLag.totalLag') return misplaced('sort', 'by topicLag.totalLag needs topic')
  const states = query.state.split(',').filter(state => state.trim() !== '')
  const { groups, silent } = await listGroupsOfCluster(rooms, { states, types: [] })
  const isWanted = searchFor(query.q)
  const found = groups.filter(({ groupId }) => isWanted(groupId))
  const idOf = ({ groupId }: ClusterGroup) => groupId
  const lagsOf = async (some: readonly ClusterGroup[]): Promise<ReadonlyMap<string, GroupReading>> =>
    new Map(
      await Array.fromAsync(
        groupLags(rooms, some.map(idOf), topic?.id),
        reading => [reading.lag.groupId, reading] as const,
      ),
    )
  const allLags = topic !== null || query.sort === 'lag.totalLag' ? await lagsOf(found) : null
  const wanted = topic === null ? found : found.filter(({ groupId }) => allLags!.get(groupId)!.topicLag !== null)
  const sortBy = {
    groupId: idOf,
    state: ({ state }: ClusterGroup) => state,
    'lag.totalLag': ({ groupId }: ClusterGroup) => allLags?.get(groupId)?.lag.totalLag ?? null,
    'topicLag.totalLag': ({ groupId }: ClusterGroup) => allLags?.get(groupId)?.topicLag?.totalLag ?? null,
  }[query.sort]
  const page = pageOf(wanted, query, sortBy, idOf)
  const [lags, members] = await Promise.all([allLags ?? lagsOf(page), countMembers(rooms, page)])
  return {
    groups: page.map((group): ListedGroup => {
      const { lag, topics, topicLag } = lags.get(group.groupId)!
      return {
        ...group,
        members: members.get(group.groupId) ?? null,
        lag: shownLag(lag),
        topics: topics.slice(0, LISTED_TOPICS),
        topicCount: topics.length,
        topicLag: topicLag === null ? null : shownLag(topicLag),
      }
    }),
    total: wanted.length,
    unavailableBrokers: [...silent],
  }
}

/** Resolves to one group with its members and positions. Throws what the store throws, and PeerUnavailable. */
export async function showGroup(rooms: ShownGroupRooms, groupId: string): Promise<DescribedGroup | Refusal> {
  const view = await viewOf(rooms, groupId)
  if (isRefusal(view)) return view
  const positions = (await describePositions(rooms, [groupId])).get(groupId)!
  const endpoint = rooms.cluster.brokers().find(({ id }) => id === view.coordinatorId)?.endpoints[0]
  return {
    ...view,
    coordinator: endpoint === undefined ? null : { id: view.coordinatorId, host: endpoint.host, port: endpoint.port },
    members: view.members.map(({ clientHost, assignment, ...member }) => ({
      ...member,
      assignment: assignment.map(({ topic, partitions }) => ({ topic, partitions: [...partitions] })),
      host: clientHost,
    })),
    lag: shownLag(lagOf(groupId, positions)),
    positions: positions.map(shownPosition),
  }
}

/** Resolves to the lag of one group in each partition. Throws what the store throws, and PeerUnavailable. */
export async function showGroupLag(rooms: ShownGroupRooms, groupId: string): Promise<LagOfGroup | Refusal> {
  const view = await viewOf(rooms, groupId)
  if (isRefusal(view)) return view
  const positions = (await describePositions(rooms, [groupId])).get(groupId)!
  return { groupId, lag: shownLag(lagOf(groupId, positions)), positions: positions.map(shownPosition) }
}

/** Resolves to the view of one group. A refusal names it. */
export async function viewOf(rooms: ClusterGroupRooms, groupId: string): Promise<GroupView | Refusal> {
  const view = (await describeGroupsOfCluster(rooms, [groupId])).get(groupId) ?? GROUP_ID_NOT_FOUND
  return isRefusal(view) ? namingGroup(view, groupId) : view
}

/** Returns the refusal with the name of the group, which Kafka's own text does not contain. */
export function namingGroup(refusal: Refusal, groupId: string): Refusal {
  if (refusal.code !== GROUP_ID_NOT_FOUND.code) return refusal
  return because(refusal, `There is no group '${groupId}'.`)
}

export function shownLag({ groupId: _, lastCommitTimestampMs, ...lag }: GroupLag): ListedGroup['lag'] {
  return { ...lag, lastCommitTimestamp: lastCommitTimestampMs }
}

export function shownPosition({ topicId: _, committed, ...position }: GroupPosition): LagOfGroup['positions'][number] {
  return { ...position, ...shownCommitted(committed) }
}

export function shownCommitted(committed: GroupPosition['committed']) {
  return {
    committedOffset: committed?.offset ?? null,
    commitTimestamp: committed?.commitTimestampMs ?? null,
    metadata: committed?.metadata ?? null,
  }
}
