// Finds the positions of groups in the partitions that they read, and the start and end of the logs. Every broker
// finds the same result: the committed offsets are in the store, delivered.ts finds the owner of a partition and its
// delivered position, and the leader of a log knows its start and end.

import type { Turns } from '../../base/clock.ts'
import type { StoredOffsets } from '../../coordinator/offsets/offset-record.ts'
import { loadOffsets } from '../../coordinator/offsets/stored-offsets.ts'
import { isRefusal } from '../../protocol/errors.ts'
import type { Store } from '../../store/store.ts'
import type { CommittedPosition, GroupPosition } from '../contract.ts'
import { type Bounds, boundsHere, boundsOf, type Place, type ReachRooms } from '../reach.ts'
import { shortTurns } from '../short-turns.ts'
import { type DeliveredRooms, type DeliveredShare, deliveredTo } from './delivered.ts'

export interface PositionRooms extends ReachRooms, DeliveredRooms {
  readonly cluster: ReachRooms['cluster']
  readonly logs: ReachRooms['logs']
  readonly store: Store
}

/** The position of a group in one partition, without the start and end of the log. */
interface Known extends Place {
  readonly memberId: string | null
  readonly deliveredOffset: number | null
  readonly committed: CommittedPosition | null
}

/**
 * Resolves to the positions of each of these groups, sorted by topic and partition. A group has a position in every
 * partition with a committed offset or with an owner. The list is empty for a group that does not exist. Throws what
 * the store throws.
 */
export async function describePositions(
  rooms: PositionRooms,
  groupIds: readonly string[],
): Promise<ReadonlyMap<string, readonly GroupPosition[]>> {
  const positions = new Map<string, GroupPosition[]>(groupIds.map(id => [id, []]))
  await visitPositions(rooms, groupIds, shortTurns(rooms.clock), (groupId, known, ends) => {
    positions.get(groupId)!.push(positionOf(known, ends))
  })
  for (const found of positions.values()) found.sort(byTopicAndPartition)
  return positions
}

/**
 * Gets the position of a group in one partition. `ends` is the start and end of the log; null if its leader does not
 * answer.
 */
type Visit = (groupId: string, known: Known, ends: Bounds | null) => void

/** Calls `visit` for each position of these groups, in no order. Throws what the store throws. */
export async function visitPositions(
  rooms: PositionRooms,
  groupIds: readonly string[],
  turn: Turns,
  visit: Visit,
): Promise<void> {
  const { cluster } = rooms
  /** Positions in partitions that other brokers lead. Their bounds are requested together. */
  const ledElsewhere: { readonly groupId: string; readonly known: Known }[] = []
  const take = (groupId: string, positions: readonly Known[]) => {
    for (const known of positions) {
      const ends = boundsHere(rooms, known)
      if (ends === null) ledElsewhere.push({ groupId, known })
      else visit(groupId, known, isRefusal(ends) ? null : ends)
    }
  }
  const isHere = (id: string) => cluster.coordinatorOf(id) === cluster.brokerId
  const owned = Map.groupBy(await deliveredTo(rooms, groupIds, turn), ({ groupId }) => groupId)
  const ownedBy = (id: string) => owned.get(id) ?? []
  const elsewhere = groupIds.filter(id => !isHere(id))
  await Promise.all(elsewhere.map(async id => take(id, await knownInStore(rooms, id, ownedBy(id)))))
  for (const id of groupIds) {
    if (!isHere(id)) continue
    take(id, await knownHere(rooms, id, ownedBy(id)))
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

async function knownHere(
  rooms: PositionRooms,
  groupId: string,
  owned: readonly DeliveredShare[],
): Promise<readonly Known[]> {
  const known = await rooms.groups.readOffsets(groupId, committed => together(rooms, committed, owned))
  // While a group moves or is loaded, the store knows its committed offsets.
  return isRefusal(known) ? knownInStore(rooms, groupId, owned) : known
}

async function knownInStore(
  rooms: PositionRooms,
  groupId: string,
  owned: readonly DeliveredShare[],
): Promise<readonly Known[]> {
  return together(rooms, await loadOffsets(rooms.store, groupId), owned)
}

const UNOWNED: Partial<DeliveredShare> = Object.freeze({})

function together(
  { catalogue }: Pick<PositionRooms, 'catalogue'>,
  committed: StoredOffsets,
  owned: readonly DeliveredShare[],
): readonly Known[] {
  const { topicsById } = catalogue.current()
  const known: Known[] = []
  // The maps are nested: to build a text as the key of each of thousands of partitions would be most of the work.
  const owners = new Map<string, Map<number, DeliveredShare>>()
  for (const each of owned) {
    const ofTopic = owners.get(each.topicId) ?? new Map<number, DeliveredShare>()
    // Some assignors give a partition to several members; one of them stands for all.
    if (ofTopic.has(each.partition)) continue
    owners.set(each.topicId, ofTopic.set(each.partition, each))
    const topic = topicsById.get(each.topicId)
    if (topic === undefined || committed.get(each.topicId)?.has(each.partition)) continue
    const { partition, memberId, nextOffset } = each
    known.push({ topic, partition, memberId, deliveredOffset: nextOffset, committed: null })
  }
  committed.forEach((partitions, topicId) => {
    const topic = topicsById.get(topicId)
    if (topic === undefined) return
    const ofTopic = owners.get(topicId)
    partitions.forEach((offset, partition) => {
      const { memberId = null, nextOffset: deliveredOffset = null } = ofTopic?.get(partition) ?? UNOWNED
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
  const place = { topic: topic.name, topicId: topic.id, partition }
  const bounds = { startOffset: ends?.start ?? null, endOffset: ends?.end ?? null }
  return { ...place, memberId, committed, deliveredOffset, ...bounds, lag }
}

/** Returns the lag in records; null if it is unknown. */
export function positionLag({ topic, deliveredOffset, committed }: Known, ends: Bounds | null): number | null {
  const nextOffset = Math.max(committed?.offset ?? -1, deliveredOffset ?? -1)
  if (ends === null || nextOffset < 0) return null
  const offsets = Math.max(0, ends.end - Math.max(nextOffset, ends.start))
  // Offsets that follow the clock do not count records: either no record is left, or the number is unknown.
  return offsets > 0 && topic.resolved.offsetSequenceBits > 0 ? null : offsets
}

function byTopicAndPartition(one: GroupPosition, other: GroupPosition): number {
  if (one.topic === other.topic) return one.partition - other.partition
  return one.topic < other.topic ? -1 : 1
}
