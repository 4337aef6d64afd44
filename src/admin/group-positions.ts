// Where groups are in the partitions that they read, set beside the logs. Of a group that this broker coordinates most is known;
// of another one what it committed, as it rests in the store, and what its members own, but not what was delivered to them:
// that is in the memory of its coordinator alone, and only of partitions that it leads too (docs/decisions/0031).

import { type Turns, takingTurns } from '../base/clock.ts'
import type { StoredOffsets } from '../coordinator/group-record.ts'
import type { Groups } from '../coordinator/groups.ts'
import { loadOffsets } from '../coordinator/stored-offsets.ts'
import { isRefusal } from '../protocol/errors.ts'
import type { Store } from '../store/store.ts'
import { describeElsewhere } from './cluster-groups.ts'
import type { CommittedPosition, GroupPosition } from './contract.ts'
import type { GroupMember } from './groups-contract.ts'
import { PeerUnavailable } from './peers.ts'
import { type Bounds, boundsHere, boundsOf, type Place, type ReachRooms } from './reach.ts'

export interface PositionRooms extends ReachRooms {
  readonly groups: Groups
  readonly store: Store
}

/** The work between two turns of others: a fraction of what a produce request takes. */
export const TURN_MS = 0.2

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
  const positions = new Map<string, GroupPosition[]>(groupIds.map(id => [id, []]))
  await visitPositions(rooms, groupIds, takingTurns(rooms.clock, TURN_MS), (groupId, known, ends) => {
    positions.get(groupId)!.push(positionOf(known, ends))
  })
  for (const found of positions.values()) found.sort(byTopicAndPartition)
  return positions
}

/** Takes what is known of a group in one partition, and where the log begins and ends; null: nobody can say. */
type Visit = (groupId: string, known: Known, ends: Bounds | null) => void

/** Calls `visit` for each position of these groups, in no order. Throws what the store throws. */
export async function visitPositions(
  rooms: PositionRooms,
  groupIds: readonly string[],
  turn: Turns,
  visit: Visit,
): Promise<void> {
  const { cluster } = rooms
  /** They are asked for together. */
  const ledElsewhere: { readonly groupId: string; readonly known: Known }[] = []
  const take = (groupId: string, positions: readonly Known[]) => {
    for (const known of positions) {
      const ends = boundsHere(rooms, known)
      if (ends === null) ledElsewhere.push({ groupId, known })
      else visit(groupId, known, isRefusal(ends) ? null : ends)
    }
  }
  const isHere = (id: string) => cluster.coordinatorOf(id) === cluster.brokerId
  const elsewhere = groupIds.filter(id => !isHere(id))
  const members = await membersElsewhere(rooms, elsewhere)
  await Promise.all(elsewhere.map(async id => take(id, await knownElsewhere(rooms, id, members.get(id) ?? []))))
  for (const id of groupIds) {
    if (!isHere(id)) continue
    take(id, await knownHere(rooms, id))
    const others = turn()
    if (others !== undefined) await others
  }
  if (ledElsewhere.length === 0) return
  const places = ledElsewhere.map(({ known }) => known)
  const bounds = await boundsOf(rooms, places)
  for (const [at, { groupId, known }] of ledElsewhere.entries()) {
    const ends = bounds[at]!
    visit(groupId, known, isRefusal(ends) ? null : ends)
  }
}

async function knownHere(rooms: PositionRooms, groupId: string): Promise<readonly Known[]> {
  const known = await rooms.groups.readOffsets(groupId, committed => {
    const owned = rooms.groups.deliveries.ofGroup(groupId).map(({ topicId, partition, memberId, nextOffset }) => ({
      topicId,
      partition,
      memberId,
      deliveredOffset: nextOffset < 0 ? null : nextOffset,
    }))
    return together(rooms, committed, owned)
  })
  // A group that moves, or is being loaded: the store knows what was committed.
  return isRefusal(known) ? knownElsewhere(rooms, groupId, []) : known
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

const NOBODYS: Partial<OwnedPartition> = Object.freeze({})

function together(
  { catalogue }: Pick<PositionRooms, 'catalogue'>,
  committed: StoredOffsets,
  owned: readonly OwnedPartition[],
): readonly Known[] {
  const { topicsById } = catalogue.current()
  const known: Known[] = []
  // There are thousands, so that a text as the key of each would be most of the work.
  const owners = new Map<string, Map<number, OwnedPartition>>()
  for (const each of owned) {
    const ofTopic = owners.get(each.topicId) ?? new Map<number, OwnedPartition>()
    // Of several members that own it, as some assignors have it, one stands for all.
    if (ofTopic.has(each.partition)) continue
    owners.set(each.topicId, ofTopic.set(each.partition, each))
    const topic = topicsById.get(each.topicId)
    if (topic === undefined || committed.get(each.topicId)?.has(each.partition)) continue
    const { partition, memberId, deliveredOffset } = each
    known.push({ topic, partition, memberId, deliveredOffset, committed: null })
  }
  committed.forEach((partitions, topicId) => {
    const topic = topicsById.get(topicId)
    if (topic === undefined) return
    const ofTopic = owners.get(topicId)
    partitions.forEach((offset, partition) => {
      const { memberId = null, deliveredOffset = null } = ofTopic?.get(partition) ?? NOBODYS
      known.push({ topic, partition, memberId, deliveredOffset, committed: offset })
    })
  })
  return known
}

export function keyOf(topicId: string, partition: number): string {
  return `${partition}:${topicId}`
}

function positionOf(known: Known, ends: Bounds | null): GroupPosition {
  const { topic, partition, memberId, deliveredOffset, committed } = known
  const lag = positionLag(known, ends)
  const endOffset = ends?.end ?? null
  return { topic: topic.name, topicId: topic.id, partition, memberId, committed, deliveredOffset, endOffset, lag }
}

/** Null: unknown. */
export function positionLag({ topic, deliveredOffset, committed }: Known, ends: Bounds | null): number | null {
  const nextOffset = Math.max(committed?.offset ?? -1, deliveredOffset ?? -1)
  if (ends === null || nextOffset < 0) return null
  const offsets = Math.max(0, ends.end - Math.max(nextOffset, ends.start))
  // Where offsets follow the clock they do not count records: none are left, or nobody can say how many.
  return offsets > 0 && topic.resolved.offsetSequenceBits > 0 ? null : offsets
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
