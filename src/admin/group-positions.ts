// Where groups are in the partitions that they read, set beside the logs. Of a group that this broker coordinates most is known;
// of another one what it committed, as it rests in the store, and what its members own, but not what was delivered to them:
// that is in the memory of its coordinator alone, and only of partitions that it leads too (docs/decisions/0031).

import { takingTurns } from '../base/clock.ts'
import type { Groups } from '../coordinator/groups.ts'
import { loadOffsets, type StoredOffsets } from '../coordinator/stored-offsets.ts'
import { isRefusal } from '../protocol/errors.ts'
import type { Store } from '../store/store.ts'
import { describeElsewhere } from './cluster-groups.ts'
import type { CommittedPosition, GroupPosition } from './contract.ts'
import type { GroupMember } from './groups-contract.ts'
import { PeerUnavailable } from './peers.ts'
import { type Bounds, boundsOf, type Place, type ReachRooms } from './reach.ts'

export interface PositionRooms extends ReachRooms {
  readonly groups: Groups
  readonly store: Store
}

/** The work between two turns of others: a fraction of what a produce request takes. */
const TURN_MS = 0.2

/** What is known of a group in one partition, before the log is looked at. */
interface Known extends Place {
  readonly memberId: string | null
  readonly deliveredOffset: number | null
  readonly committed: CommittedPosition | null
}

/**
 * Where each of these groups is in every partition that it has committed or that a member owns, by topic and partition; empty for
 * a group that does not exist. Throws what the store throws.
 */
export async function describePositions(
  rooms: PositionRooms,
  groupIds: readonly string[],
): Promise<ReadonlyMap<string, readonly GroupPosition[]>> {
  const { cluster } = rooms
  const [here, elsewhere] = [true, false].map(isHere =>
    groupIds.filter(id => (cluster.coordinatorOf(id) === cluster.brokerId) === isHere),
  ) as [string[], string[]]
  const members = await membersElsewhere(rooms, elsewhere)
  const turn = takingTurns(rooms.clock, TURN_MS)
  const known = new Map<string, readonly Known[]>()
  await Promise.all(elsewhere.map(async id => known.set(id, await knownElsewhere(rooms, id, members.get(id) ?? []))))
  for (const id of here) {
    known.set(id, await knownHere(rooms, id))
    await turn()
  }
  const endsOf = await lookAtLogs(rooms, [...known.values()].flat())
  const positions = new Map<string, readonly GroupPosition[]>()
  for (const id of groupIds) {
    await turn()
    const found = known.get(id)!.map(each => positionOf(each, endsOf))
    positions.set(id, found.sort(byTopicAndPartition))
  }
  return positions
}

async function knownHere(rooms: PositionRooms, groupId: string): Promise<readonly Known[]> {
  const { error, topics } = await rooms.groups.fetchOffsets({ groupId, topics: null })
  // A group that moves, or is being loaded: the store knows what was committed.
  if (error !== null) return knownElsewhere(rooms, groupId, [])
  const committed = new Map(
    topics.map(({ topicId, offsets }) => [topicId, new Map(offsets.map(each => [each.partition, each]))]),
  )
  const owned = rooms.groups.deliveries.ofGroup(groupId).map(({ topicId, partition, memberId, nextOffset }) => ({
    topicId,
    partition,
    memberId,
    deliveredOffset: nextOffset < 0 ? null : nextOffset,
  }))
  return together(rooms, committed, owned)
}

async function knownElsewhere(
  rooms: PositionRooms,
  groupId: string,
  members: readonly GroupMember[],
): Promise<readonly Known[]> {
  const { topics: byName } = rooms.catalogue.current()
  const owned = members.flatMap(({ memberId, assignment }) =>
    assignment.flatMap(({ topic, partitions }) => {
      const found = byName.get(topic)
      if (found === undefined) return []
      const existing = partitions.filter(partition => partition >= 0 && partition < found.partitions)
      return existing.map(partition => ({ topicId: found.id, partition, memberId, deliveredOffset: null }))
    }),
  )
  return together(rooms, await loadOffsets(rooms.store, groupId), owned)
}

interface OwnedPartition {
  readonly topicId: string
  readonly partition: number
  readonly memberId: string
  readonly deliveredOffset: number | null
}

function together(
  { catalogue }: Pick<PositionRooms, 'catalogue'>,
  committed: StoredOffsets,
  owned: readonly OwnedPartition[],
): readonly Known[] {
  const { topicsById } = catalogue.current()
  const known: Known[] = []
  const byPlace = new Places<OwnedPartition>()
  for (const each of owned) {
    // Of several members that own it, as some assignors have it, one stands for all.
    if (byPlace.get(each.topicId, each.partition) !== undefined) continue
    byPlace.set(each.topicId, each.partition, each)
    const topic = topicsById.get(each.topicId)
    if (topic === undefined || committed.get(each.topicId)?.has(each.partition)) continue
    const { partition, memberId, deliveredOffset } = each
    known.push({ topic, partition, memberId, deliveredOffset, committed: null })
  }
  for (const [topicId, partitions] of committed) {
    const topic = topicsById.get(topicId)
    if (topic === undefined) continue
    for (const [partition, offset] of partitions) {
      const { memberId = null, deliveredOffset = null } = byPlace.get(topicId, partition) ?? {}
      known.push({ topic, partition, memberId, deliveredOffset, committed: offset })
    }
  }
  return known
}

/** Where a partition begins and ends; null where nobody could say. */
type EndsOf = (topicId: string, partition: number) => Bounds | null

/** One look at each log, whoever reads it. */
async function lookAtLogs(rooms: ReachRooms, places: readonly Place[]): Promise<EndsOf> {
  const indexes = new Places<number>()
  const distinct: Place[] = []
  for (const place of places) {
    if (indexes.get(place.topic.id, place.partition) !== undefined) continue
    indexes.set(place.topic.id, place.partition, distinct.length)
    distinct.push(place)
  }
  const bounds = await boundsOf(rooms, distinct)
  return (topicId, partition) => {
    const found = bounds[indexes.get(topicId, partition)!]!
    return isRefusal(found) ? null : found
  }
}

/** Something for each partition. There are thousands, so that a text as the key of each would be most of the work. */
class Places<T> {
  readonly #byTopic = new Map<string, Map<number, T>>()

  get(topicId: string, partition: number): T | undefined {
    return this.#byTopic.get(topicId)?.get(partition)
  }

  set(topicId: string, partition: number, value: T): void {
    const known = this.#byTopic.get(topicId)
    if (known === undefined) this.#byTopic.set(topicId, new Map([[partition, value]]))
    else known.set(partition, value)
  }
}

export function keyOf(topicId: string, partition: number): string {
  return `${partition}:${topicId}`
}

function positionOf({ topic, partition, memberId, deliveredOffset, committed }: Known, endsOf: EndsOf): GroupPosition {
  const ends = endsOf(topic.id, partition)
  const nextOffset = Math.max(committed?.offset ?? -1, deliveredOffset ?? -1)
  const lag = ends === null || nextOffset < 0 ? null : Math.max(0, ends.end - Math.max(nextOffset, ends.start))
  const endOffset = ends?.end ?? null
  return { topic: topic.name, topicId: topic.id, partition, memberId, committed, deliveredOffset, endOffset, lag }
}

/** Nobody, where the coordinator does not answer: then only what was committed is known. */
async function membersElsewhere(
  rooms: PositionRooms,
  groupIds: readonly string[],
): Promise<ReadonlyMap<string, readonly GroupMember[]>> {
  const byCoordinator = Map.groupBy(groupIds, id => rooms.cluster.coordinatorOf(id))
  const members = new Map<string, readonly GroupMember[]>()
  await Promise.all(
    [...byCoordinator].map(async ([coordinatorId, ids]) => {
      try {
        for (const [id, view] of await describeElsewhere(rooms, coordinatorId, ids))
          if (!isRefusal(view)) members.set(id, view.members)
      } catch (error) {
        if (!(error instanceof PeerUnavailable)) throw error
      }
    }),
  )
  return members
}

function byTopicAndPartition(one: GroupPosition, other: GroupPosition): number {
  if (one.topic === other.topic) return one.partition - other.partition
  return one.topic < other.topic ? -1 : 1
}
