// Finds how far partitions were delivered to the members of groups. Every broker finds the same result
// (docs/decisions/0031). The coordinator of a group knows which member owns a partition. The leader of a partition
// knows how far a client with that id and address has read. All brokers are asked, not only the leader, because a
// member of another group may have the same client id and address and own the partition too. Then no broker can tell
// for which group the client reads. While a broker does not answer, delivered positions are unknown.

import type { Clock, Turns } from '../../base/clock.ts'
import type { Cluster } from '../../cluster/cluster.ts'
import { type Peers, PeerUnavailable } from '../../cluster/peers.ts'
import type { Groups } from '../../coordinator/groups.ts'
import type { ReadPositions } from '../../coordinator/read-positions.ts'
import type { Logs } from '../../log/logs.ts'
import { describeDeliveries } from '../../protocol/messages/describe-deliveries.ts'

export interface DeliveredRooms {
  readonly cluster: Pick<Cluster, 'brokerId' | 'brokers' | 'coordinatorOf' | 'leaderOf'>
  readonly peers: Peers
  readonly groups: Groups
  readonly readPositions: ReadPositions
  readonly logs: Pick<Logs, 'partition'>
  readonly clock: Clock
}

/** One partition that a member of a group owns. */
export interface DeliveredShare {
  readonly groupId: string
  readonly memberId: string
  readonly topicId: string
  readonly partition: number
  /** The offset after the last delivered record; null if it is unknown. */
  readonly nextOffset: number | null
}

/** A partition that a member owns, with the client id and the address of its fetches. */
interface OwnedShare extends Omit<DeliveredShare, 'nextOffset'>, ReaderOfPartition {
  /** How long the member had owned it when the coordinator answered. */
  readonly ownedMs: number
}

export interface ReaderOfPartition {
  readonly clientId: string
  readonly clientHost: string
  readonly topicId: string
  readonly partition: number
}

/** One broker's part of the answer. */
export interface DeliveryHere {
  /**
   * The number of groups of this coordinator in which a member with this client id and address owns the partition.
   */
  readonly owners: number
  /** Null if the broker does not lead the partition, or does not know the position. */
  readonly position: { readonly nextOffset: number; readonly agoMs: number } | null
}

const DESCRIBE_DELIVERIES_VERSION = 0

/** The most partitions in one request. A broker does no other work while it answers the request. */
const ASKED_AT_ONCE = 2_000

/**
 * Resolves to all partitions that members of these groups own. Groups whose coordinator does not answer are left out.
 */
export async function deliveredTo(
  rooms: DeliveredRooms,
  groupIds: readonly string[],
  turn: Turns,
): Promise<readonly DeliveredShare[]> {
  const { cluster, clock } = rooms
  const askedAtMs = clock.monotonic()
  const shares = await ownedIn(rooms, groupIds, turn)
  if (shares.length === 0) return []
  const asking = cluster.brokers().filter(({ id, endpoints }) => id !== cluster.brokerId && endpoints.length > 0)
  const answers = await Promise.all(asking.map(({ id }) => askReaders(rooms, id, shares)))
  const byBroker = new Map(answers.map((answer, i) => [asking[i]!.id, answer]))
  const isWhole = answers.every(answer => answer !== null)
  const delivered: DeliveredShare[] = []
  for (const [i, { groupId, memberId, topicId, partition, ...share }] of shares.entries()) {
    const here = deliveryHere(rooms, { ...share, topicId, partition })
    const owners = answers.reduce((sum, answer) => sum + (answer?.[i]?.owners ?? 0), here.owners)
    const leaderId = cluster.leaderOf(topicId, partition)
    const position = (leaderId === cluster.brokerId ? here : byBroker.get(leaderId)?.[i])?.position ?? null
    // If a client read the partition before the member owned it, it read for another member or another group. The two
    // durations were measured at different times after the request, so the elapsed time is added.
    const elapsedMs = clock.monotonic() - askedAtMs
    const isOwners = isWhole && owners === 1 && position !== null && position.agoMs <= share.ownedMs + elapsedMs
    delivered.push({ groupId, memberId, topicId, partition, nextOffset: isOwners ? position.nextOffset : null })
    const others = turn()
    if (others !== undefined) await others
  }
  return delivered
}

/** Returns the partitions that members of this group own; empty if this broker does not coordinate the group. */
export function ownedHere({ groups, clock }: Pick<DeliveredRooms, 'groups' | 'clock'>, groupId: string): OwnedShare[] {
  const nowMs = clock.monotonic()
  return groups.deliveries.ofGroup(groupId).map(({ sinceMs, ...share }) => {
    return { ...share, groupId, ownedMs: Math.ceil(nowMs - sinceMs) }
  })
}

/** Returns this broker's part of the answer. */
export function deliveryHere(
  { groups, readPositions, logs, clock }: Pick<DeliveredRooms, 'groups' | 'readPositions' | 'logs' | 'clock'>,
  { clientId, clientHost, topicId, partition }: ReaderOfPartition,
): DeliveryHere {
  const owners = groups.deliveries.countOwners(clientId, clientHost, topicId, partition)
  const isLed = logs.partition(topicId, partition) !== null
  const known = isLed ? readPositions.of(clientId, clientHost, topicId, partition) : null
  const position =
    known === null ? null : { nextOffset: known.nextOffset, agoMs: Math.floor(clock.monotonic() - known.atMs) }
  return { owners, position }
}

async function ownedIn(
  rooms: DeliveredRooms,
  groupIds: readonly string[],
  turn: Turns,
): Promise<readonly OwnedShare[]> {
  const byCoordinator = Map.groupBy(groupIds, id => rooms.cluster.coordinatorOf(id))
  const here = byCoordinator.get(rooms.cluster.brokerId) ?? []
  byCoordinator.delete(rooms.cluster.brokerId)
  const asked = [...byCoordinator].map(([coordinatorId, ids]) => askOwners(rooms, coordinatorId, ids))
  const owned: OwnedShare[][] = []
  for (const groupId of here) {
    owned.push(ownedHere(rooms, groupId))
    const others = turn()
    if (others !== undefined) await others
  }
  return [...owned, ...(await Promise.all(asked))].flat()
}

/** Resolves to the partitions that members own; empty if the coordinator does not answer. */
async function askOwners(
  { peers }: Pick<DeliveredRooms, 'peers'>,
  coordinatorId: number,
  groupIds: readonly string[],
): Promise<OwnedShare[]> {
  const body = { groups: groupIds, readers: [] }
  const answer = await answerOrNull(peers.ask(coordinatorId, describeDeliveries, DESCRIBE_DELIVERIES_VERSION, body))
  return (answer?.groups ?? []).flatMap(({ groupId, members }) =>
    members.flatMap(({ topics, ...member }) =>
      topics.flatMap(({ topicId, partitions }) =>
        partitions.map(({ partition, ownedMs }) => ({ ...member, groupId, topicId, partition, ownedMs })),
      ),
    ),
  )
}

/** Resolves to one answer for each reader, in order; null if the broker does not answer. */
async function askReaders(
  { peers }: Pick<DeliveredRooms, 'peers'>,
  brokerId: number,
  readers: readonly ReaderOfPartition[],
): Promise<readonly DeliveryHere[] | null> {
  const found = new Array<DeliveryHere>(readers.length)
  for (let from = 0; from < readers.length; from += ASKED_AT_ONCE) {
    const some = readers.slice(from, from + ASKED_AT_ONCE)
    const asked = byClient(some)
    const body = { groups: [], readers: asked.map(({ at: _, ...reader }) => reader) }
    const answer = await answerOrNull(peers.ask(brokerId, describeDeliveries, DESCRIBE_DELIVERIES_VERSION, body))
    if (answer === null) return null
    for (const [number, { at }] of asked.entries()) {
      const rows = answer.readers[number]?.topics.flatMap(({ partitions }) => partitions) ?? []
      for (const [row, index] of at.entries()) {
        const told = rows[row]
        if (told === undefined) return null
        const { owners, nextOffset, agoMs } = told
        found[from + index] = { owners, position: nextOffset < 0 ? null : { nextOffset, agoMs } }
      }
    }
  }
  return found
}

/**
 * Groups the readers by client and topic, as the message needs them. `at` has the index of each row of the client in
 * `readers`.
 */
function byClient(readers: readonly ReaderOfPartition[]) {
  const indexes = Map.groupBy(readers.keys(), i => JSON.stringify([readers[i]!.clientId, readers[i]!.clientHost]))
  return Array.from(indexes.values(), places => {
    const { clientId, clientHost } = readers[places[0]!]!
    const byTopic = [...Map.groupBy(places, i => readers[i]!.topicId)]
    const topics = byTopic.map(([topicId, some]) => ({ topicId, partitions: some.map(i => readers[i]!.partition) }))
    return { clientId, clientHost, topics, at: byTopic.flatMap(([, some]) => some) }
  })
}

/** Resolves to null if the other broker does not answer. */
async function answerOrNull<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer
  } catch (error) {
    if (!(error instanceof PeerUnavailable)) throw error
    return null
  }
}
