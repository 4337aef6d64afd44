// Lists, describes and deletes the consumer groups that this broker coordinates, and their offsets. It turns names of
// topics into ids. The coordinator decides which changes a group allows and when. cluster-groups.ts covers the whole
// cluster, positions.ts the positions in partitions.

import { aFewAtATime } from '../../base/a-few.ts'
import type { Clock } from '../../base/clock.ts'
import type { GroupDescription } from '../../coordinator/classic/questions.ts'
import type { Groups } from '../../coordinator/groups.ts'
import type { CatalogueKeeper } from '../../log/catalogue.ts'
import { isRefusal, type Refusal, UNKNOWN_TOPIC_OR_PARTITION } from '../../protocol/errors.ts'
import type { GroupFilter, GroupOutcome, ListedGroup, OffsetDeletion, PartitionsOfTopic } from '../contract.ts'

export interface GroupRooms {
  readonly catalogue: CatalogueKeeper
  readonly groups: Groups
}

/** The only type of group that this version has. */
const CLASSIC = 'classic'

/** Returns all groups that the filter lets through, or COORDINATOR_LOAD_IN_PROGRESS while a group is being loaded. */
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

/** Resolves to one outcome for each group, in order: its description, or GROUP_ID_NOT_FOUND. */
export async function describeGroups(
  { groups, clock }: Pick<GroupRooms, 'groups'> & { readonly clock: Clock },
  groupIds: readonly string[],
): Promise<readonly GroupOutcome<GroupDescription>[]> {
  return aFewAtATime(clock, groupIds, async groupId => ({ groupId, result: await groups.describe(groupId) }))
}

/**
 * Deletes empty groups with their offsets. Resolves to one outcome for each group, in order: null, NON_EMPTY_GROUP or
 * GROUP_ID_NOT_FOUND.
 */
export async function deleteGroups(
  { groups, clock }: Pick<GroupRooms, 'groups'> & { readonly clock: Clock },
  groupIds: readonly string[],
): Promise<readonly GroupOutcome<null>[]> {
  return aFewAtATime(clock, groupIds, async groupId => ({ groupId, result: await groups.remove(groupId) }))
}

/**
 * Deletes committed offsets of a group. Resolves to one outcome for each partition, in order: null,
 * GROUP_SUBSCRIBED_TO_TOPIC or UNKNOWN_TOPIC_OR_PARTITION. Resolves to one refusal for the whole group if it is
 * NON_EMPTY_GROUP (the members are not consumers), GROUP_ID_NOT_FOUND or INVALID_GROUP_ID.
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
