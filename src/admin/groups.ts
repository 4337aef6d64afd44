// Lists, describes and deletes consumer groups and their offsets. Names of topics become ids here, and positions are set
// beside the logs that they are in; what a group is and what may be done to it when is the coordinator's business.

import type { GroupDescription } from '../coordinator/classic-group.ts'
import type { Groups } from '../coordinator/groups.ts'
import type { CatalogueKeeper, Topic } from '../log/catalogue.ts'
import type { Logs } from '../log/logs.ts'
import { isRefusal, type Refusal, UNKNOWN_TOPIC_OR_PARTITION } from '../protocol/errors.ts'
import type {
  GroupFilter,
  GroupOutcome,
  GroupPosition,
  ListedGroup,
  OffsetDeletion,
  PartitionsOfTopic,
} from './contract.ts'

export interface GroupRooms {
  readonly catalogue: CatalogueKeeper
  readonly groups: Groups
  readonly logs: Logs
}

/** The only type of group there is. */
const CLASSIC = 'classic'

/** All groups that the filter lets through. COORDINATOR_LOAD_IN_PROGRESS while one of them is being loaded. */
export function listGroups(
  { groups }: Pick<GroupRooms, 'groups'>,
  { states, types }: GroupFilter,
): readonly ListedGroup[] | Refusal {
  const listed = groups.list()
  if (isRefusal(listed)) return listed
  const wanted = new Set(states.map(state => state.trim().toLowerCase()))
  if (types.length > 0 && !types.some(type => type.toLowerCase() === CLASSIC)) return []
  return listed
    .filter(({ state }) => wanted.size === 0 || wanted.has(state.toLowerCase()))
    .map(({ groupId, state, protocolType }) => ({ groupId, type: CLASSIC, state, protocolType: protocolType ?? '' }))
}

/** One outcome for each group, in order; GROUP_ID_NOT_FOUND. */
export async function describeGroups(
  { groups }: Pick<GroupRooms, 'groups'>,
  groupIds: readonly string[],
): Promise<readonly GroupOutcome<GroupDescription>[]> {
  return Promise.all(groupIds.map(async groupId => ({ groupId, result: await groups.describe(groupId) })))
}

/**
 * Where the group is in every partition that it has committed or that a member owns, by topic and partition; empty for a
 * group that does not exist. Refuses as OffsetFetch does.
 */
export async function describePositions(
  rooms: GroupRooms,
  groupId: string,
): Promise<readonly GroupPosition[] | Refusal> {
  const { error, topics } = await rooms.groups.fetchOffsets({ groupId, topics: null })
  if (error !== null) return error
  const { topicsById } = rooms.catalogue.current()
  const positions = new Map<string, GroupPosition>()
  for (const { topicId, partition, memberId, nextOffset } of rooms.groups.deliveries.ofGroup(groupId)) {
    const topic = topicsById.get(topicId)
    if (topic === undefined) continue
    const deliveredOffset = nextOffset < 0 ? null : nextOffset
    positions.set(keyOf(topicId, partition), positionIn(rooms, topic, partition, { memberId, deliveredOffset }))
  }
  for (const { topicId, offsets } of topics) {
    const topic = topicsById.get(topicId)
    if (topic === undefined) continue
    for (const { partition, ...committed } of offsets) {
      const owned = positions.get(keyOf(topicId, partition))
      const { memberId = null, deliveredOffset = null } = owned ?? {}
      const known = { memberId, deliveredOffset, committed }
      positions.set(keyOf(topicId, partition), positionIn(rooms, topic, partition, known))
    }
  }
  return [...positions.values()].sort(byTopicAndPartition)
}

function keyOf(topicId: string, partition: number): string {
  return `${partition}:${topicId}`
}

function positionIn(
  { logs }: GroupRooms,
  topic: Topic,
  partition: number,
  known: Pick<GroupPosition, 'memberId' | 'deliveredOffset'> & Partial<Pick<GroupPosition, 'committed'>>,
): GroupPosition {
  const log = logs.partition(topic.id, partition)
  const isReadable = log !== null && log.refusal === null
  const committed = known.committed ?? null
  const nextOffset = Math.max(committed?.offset ?? -1, known.deliveredOffset ?? -1)
  return {
    topic: topic.name,
    topicId: topic.id,
    partition,
    memberId: known.memberId,
    committed,
    deliveredOffset: known.deliveredOffset,
    endOffset: isReadable ? log.highWatermark : null,
    lag:
      isReadable && nextOffset >= 0 ? Math.max(0, log.highWatermark - Math.max(nextOffset, log.logStartOffset)) : null,
  }
}

function byTopicAndPartition(one: GroupPosition, other: GroupPosition): number {
  if (one.topic === other.topic) return one.partition - other.partition
  return one.topic < other.topic ? -1 : 1
}

/** Deletes empty groups with their offsets. One outcome for each group, in order; NON_EMPTY_GROUP, GROUP_ID_NOT_FOUND. */
export async function deleteGroups(
  { groups }: Pick<GroupRooms, 'groups'>,
  groupIds: readonly string[],
): Promise<readonly GroupOutcome<null>[]> {
  return Promise.all(groupIds.map(async groupId => ({ groupId, result: await groups.remove(groupId) })))
}

/**
 * Deletes positions of a group. One outcome for each partition, in order: GROUP_SUBSCRIBED_TO_TOPIC,
 * UNKNOWN_TOPIC_OR_PARTITION. For the group as a whole NON_EMPTY_GROUP (members who are no consumers), GROUP_ID_NOT_FOUND
 * or INVALID_GROUP_ID.
 */
export async function deleteOffsets(
  { groups, catalogue }: Pick<GroupRooms, 'groups' | 'catalogue'>,
  groupId: string,
  topics: readonly PartitionsOfTopic[],
): Promise<readonly OffsetDeletion[] | Refusal> {
  const known = topics.map(({ topic, partitions }) => {
    const found = catalogue.current().topics.get(topic)
    return {
      topicId: found?.id ?? null,
      partitions: partitions.filter(index => index >= 0 && index < (found?.partitions ?? 0)),
    }
  })
  const asked = known.flatMap(({ topicId, partitions }) =>
    topicId === null || partitions.length === 0 ? [] : [{ topicId, partitions }],
  )
  const { error, topics: refusals } = await groups.deleteOffsets(groupId, asked)
  if (error !== null) return error
  const byTopic = new Map(asked.map(({ topicId }, index) => [topicId, refusals[index]!]))
  return topics.map(({ topic, partitions }, at) => {
    const { topicId, partitions: existing } = known[at]!
    const exists = new Set(existing)
    const resultOf = (partition: number) =>
      exists.has(partition) ? byTopic.get(topicId!)! : UNKNOWN_TOPIC_OR_PARTITION
    return { topic, partitions: partitions.map(partition => ({ partition, result: resultOf(partition) })) }
  })
}
