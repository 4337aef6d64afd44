// Lists, describes and deletes consumer groups of the whole cluster. For groups of this broker it uses groups.ts. For
// all other groups it sends requests of the Kafka protocol to their coordinators.

import type { SilentBroker } from '../../api/groups.ts'
import type { Cluster } from '../../cluster/cluster.ts'
import { type Peers, PeerUnavailable } from '../../cluster/peers.ts'
import { assignedPartitions } from '../../coordinator/classic/consumer-metadata.ts'
import type { GroupDescription } from '../../coordinator/classic/questions.ts'
import type { Groups } from '../../coordinator/groups.ts'
import type { CatalogueKeeper } from '../../log/catalogue.ts'
import {
  because,
  COORDINATOR_NOT_AVAILABLE,
  errorOf,
  isRefusal,
  NONE,
  type Refusal,
  UNKNOWN_SERVER_ERROR,
} from '../../protocol/errors.ts'
import { deleteGroups as deleteGroupsApi } from '../../protocol/messages/delete-groups.ts'
import { describeGroups as describeGroupsApi } from '../../protocol/messages/describe-groups.ts'
import { listGroups as listGroupsApi } from '../../protocol/messages/list-groups.ts'
import { offsetDelete } from '../../protocol/messages/offset-delete.ts'
import type { GroupFilter, OffsetDeletion, PartitionsOfTopic } from '../contract.ts'
import { deleteOffsets, listGroups } from './groups.ts'
import type { ClusterGroup, GroupMember, GroupsOfCluster, GroupView } from './groups-contract.ts'

export interface ClusterGroupRooms {
  readonly groups: Groups
  readonly catalogue: CatalogueKeeper
  readonly cluster: Pick<Cluster, 'brokerId' | 'brokers' | 'coordinatorOf'>
  readonly peers: Peers
}

const LIST_GROUPS_VERSION = 5
const DESCRIBE_GROUPS_VERSION = 6
const DELETE_GROUPS_VERSION = 2
const OFFSET_DELETE_VERSION = 0

/**
 * Resolves to all groups that the filter lets through. If a broker does not return its groups, the result names that
 * broker and has the groups of the other brokers.
 */
export async function listGroupsOfCluster(rooms: ClusterGroupRooms, filter: GroupFilter): Promise<GroupsOfCluster> {
  const { cluster, peers } = rooms
  const silent: SilentBroker[] = []
  const found = new Map<string, ClusterGroup>()
  const take = (group: ClusterGroup) => {
    // While a group moves, two brokers may name it.
    if (!found.has(group.groupId) || cluster.coordinatorOf(group.groupId) === group.coordinatorId)
      found.set(group.groupId, group)
  }
  const fail = (brokerId: number, { message }: Pick<Refusal, 'message'>) =>
    void silent.push({ brokerId, reason: message })

  async function ask(brokerId: number): Promise<void> {
    const body = { statesFilter: filter.states, typesFilter: filter.types }
    const { errorCode, groups } = await peers.ask(brokerId, listGroupsApi, LIST_GROUPS_VERSION, body)
    if (errorCode !== NONE) return fail(brokerId, refusalOf(errorCode))
    for (const { groupId, groupState, groupType, protocolType } of groups)
      take({ groupId, state: groupState, type: groupType, protocolType, coordinatorId: brokerId })
  }

  const listed = listGroups(rooms, filter)
  if (isRefusal(listed)) fail(cluster.brokerId, listed)
  else for (const group of listed) take({ ...group, coordinatorId: cluster.brokerId })
  const others = cluster.brokers().filter(({ id, endpoints }) => id !== cluster.brokerId && endpoints.length > 0)
  await Promise.all(
    others.map(async ({ id }) => {
      try {
        await ask(id)
      } catch (error) {
        if (!(error instanceof PeerUnavailable)) throw error
        fail(id, error)
      }
    }),
  )
  const groups = [...found.values()].sort((one, other) => (one.groupId < other.groupId ? -1 : 1))
  return { groups, silent: silent.sort((one, other) => one.brokerId - other.brokerId) }
}

/**
 * Resolves to one view or refusal for each group id: GROUP_ID_NOT_FOUND, or COORDINATOR_NOT_AVAILABLE while no broker
 * lives. Throws PeerUnavailable.
 */
export async function describeGroupsOfCluster(
  rooms: ClusterGroupRooms,
  groupIds: readonly string[],
): Promise<ReadonlyMap<string, GroupView | Refusal>> {
  const { cluster, groups } = rooms
  const byCoordinator = Map.groupBy(groupIds, id => cluster.coordinatorOf(id))
  const views = await Promise.all(
    [...byCoordinator].map(async ([coordinatorId, ids]) => {
      if (coordinatorId < 0) return new Map(ids.map(id => [id, COORDINATOR_NOT_AVAILABLE]))
      if (coordinatorId !== cluster.brokerId) return await describeElsewhere(rooms, coordinatorId, ids)
      const described = ids.map(async id => [id, viewOf(id, await groups.describe(id), coordinatorId)] as const)
      return new Map(await Promise.all(described))
    }),
  )
  return new Map(views.flatMap(each => [...each]))
}

/** Describes groups that another broker coordinates. */
async function describeElsewhere(
  { peers }: Pick<ClusterGroupRooms, 'peers'>,
  coordinatorId: number,
  groupIds: readonly string[],
): Promise<ReadonlyMap<string, GroupView | Refusal>> {
  const body = { groups: groupIds, includeAuthorizedOperations: false }
  const answer = await peers.ask(coordinatorId, describeGroupsApi, DESCRIBE_GROUPS_VERSION, body)
  return new Map(
    answer.groups.map((each): [string, GroupView | Refusal] => {
      const { groupId, errorCode, errorMessage, groupState, protocolType, protocolData, members } = each
      if (errorCode !== NONE) return [groupId, refusalOf(errorCode, errorMessage)]
      const view: GroupView = {
        groupId,
        type: 'classic',
        state: groupState,
        protocolType,
        protocolName: protocolData === '' ? null : protocolData,
        coordinatorId,
        members: members.map(({ memberId, groupInstanceId, clientId, clientHost, memberAssignment }) => ({
          memberId,
          instanceId: groupInstanceId,
          clientId,
          clientHost: clientHost.replace(/^\//, ''),
          assignment: assignmentOf(protocolType, memberAssignment),
        })),
      }
      return [groupId, view]
    }),
  )
}

/** Resolves to the number of members by group id. Groups whose coordinator does not answer are left out. */
export async function countMembers(
  rooms: ClusterGroupRooms,
  groups: readonly Pick<ClusterGroup, 'groupId' | 'coordinatorId'>[],
): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>()
  const byCoordinator = Map.groupBy(groups, ({ coordinatorId }) => coordinatorId)
  await Promise.all(
    [...byCoordinator.values()].map(async some => {
      try {
        const ids = some.map(({ groupId }) => groupId)
        for (const [id, view] of await describeGroupsOfCluster(rooms, ids))
          if (!isRefusal(view)) counts.set(id, view.members.length)
      } catch (error) {
        if (!(error instanceof PeerUnavailable)) throw error
      }
    }),
  )
  return counts
}

/**
 * Deletes an empty group with its offsets. Resolves to null, NON_EMPTY_GROUP, GROUP_ID_NOT_FOUND, or
 * COORDINATOR_NOT_AVAILABLE while no broker lives. Throws PeerUnavailable.
 */
export async function deleteGroupOfCluster(rooms: ClusterGroupRooms, groupId: string): Promise<Refusal | null> {
  const { cluster, peers } = rooms
  const coordinatorId = cluster.coordinatorOf(groupId)
  if (coordinatorId < 0) return COORDINATOR_NOT_AVAILABLE
  if (coordinatorId === cluster.brokerId) return await rooms.groups.remove(groupId)
  const body = { groupsNames: [groupId] }
  const { results } = await peers.ask(coordinatorId, deleteGroupsApi, DELETE_GROUPS_VERSION, body)
  const errorCode = results[0]?.errorCode ?? UNKNOWN_SERVER_ERROR.code
  return errorCode === NONE ? null : refusalOf(errorCode)
}

/**
 * Does the same as deleteOffsets of groups.ts, for any group. COORDINATOR_NOT_AVAILABLE while no broker lives. Throws
 * PeerUnavailable.
 */
export async function deleteOffsetsOfCluster(
  rooms: ClusterGroupRooms,
  groupId: string,
  topics: readonly PartitionsOfTopic[],
): Promise<readonly OffsetDeletion[] | Refusal> {
  const { cluster, peers } = rooms
  const coordinatorId = cluster.coordinatorOf(groupId)
  if (coordinatorId < 0) return COORDINATOR_NOT_AVAILABLE
  if (coordinatorId === cluster.brokerId) return await deleteOffsets(rooms, groupId, topics)
  const answer = await peers.ask(coordinatorId, offsetDelete, OFFSET_DELETE_VERSION, {
    groupId,
    topics: topics.map(({ topic, partitions }) => ({
      name: topic,
      partitions: partitions.map(partition => ({ partitionIndex: partition })),
    })),
  })
  if (answer.errorCode !== NONE) return refusalOf(answer.errorCode)
  return answer.topics.map(({ name, partitions }) => ({
    topic: name,
    partitions: partitions.map(({ partitionIndex, errorCode }) => ({
      partition: partitionIndex,
      result: errorCode === NONE ? null : refusalOf(errorCode),
    })),
  }))
}

function viewOf(groupId: string, described: GroupDescription | Refusal, coordinatorId: number): GroupView | Refusal {
  if (isRefusal(described)) return described
  const { state, protocolType, protocolName, members } = described
  return {
    groupId,
    type: 'classic',
    state,
    protocolType: protocolType ?? '',
    protocolName: state === 'Stable' ? protocolName : null,
    coordinatorId,
    members: members.map(({ memberId, instanceId, clientId, clientHost, assignment }) => ({
      memberId,
      instanceId,
      clientId,
      clientHost,
      assignment: assignmentOf(protocolType, assignment),
    })),
  }
}

function assignmentOf(protocolType: string | null, assignment: Uint8Array): GroupMember['assignment'] {
  const assigned = protocolType === 'consumer' ? assignedPartitions(assignment) : null
  return Array.from(assigned ?? [], ([topic, partitions]) => ({ topic, partitions }))
}

function refusalOf(errorCode: number, message: string | null = null): Refusal {
  const refusal = errorOf(errorCode) ?? UNKNOWN_SERVER_ERROR
  return message === null ? refusal : because(refusal, message)
}
