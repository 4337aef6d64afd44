// Knows which client owns which partition, in the groups that this broker coordinates. A fetch names no group, so
// only the client id and the address connect it to a member. The leader of a partition knows how far a client has
// read (read-positions.ts). The data is only in memory, and nothing is decided by it.
//
//   client id ─▶ address ─▶ topic id ─▶ partition ─▶ number of groups         (for leaders)
//   group id ─▶ topic id ─▶ partition ─▶ its share                            (for operators)

import type { Clock } from '../base/clock.ts'

/** One partition that a member owns. */
export interface Owned {
  readonly memberId: string
  readonly clientId: string
  readonly clientHost: string
  readonly topicId: string
  readonly partition: number
}

export interface Share extends Owned {
  /** When the member became the owner, on Clock.monotonic(). */
  readonly sinceMs: number
}

type ByPartition<T> = Map<string, Map<number, T>>

export interface Deliveries {
  /**
   * Replaces the partitions that the members of a group own; each partition occurs once. A member that keeps a
   * partition keeps its `sinceMs`. Returns false if there are more partitions than the limit; then the group is not
   * tracked.
   */
  assign(groupId: string, owned: readonly Owned[]): boolean
  forget(groupId: string): void
  /** Returns every partition that members of the group own. */
  ofGroup(groupId: string): readonly Share[]
  /**
   * Returns the number of groups in which a member with this client id and address owns the partition. If it is above
   * one, no broker can tell for which group the client reads.
   */
  countOwners(clientId: string, clientHost: string, topicId: string, partition: number): number
}

export function openDeliveries(maxShares: number, clock: Pick<Clock, 'monotonic'>): Deliveries {
  const clients = new Map<string, Map<string, ByPartition<number>>>()
  const groups = new Map<string, ByPartition<Share>>()
  let count = 0

  function enter({ clientId, clientHost, topicId, partition }: Share): void {
    const addresses = getOr(clients, clientId, () => new Map())
    const owned = getOr(addresses, clientHost, () => new Map())
    const owners = getOr(owned, topicId, () => new Map<number, number>())
    owners.set(partition, (owners.get(partition) ?? 0) + 1)
  }

  function leave({ clientId, clientHost, topicId, partition }: Share): void {
    const addresses = clients.get(clientId)!
    const owned = addresses.get(clientHost)!
    const owners = owned.get(topicId)!
    const left = owners.get(partition)! - 1
    if (left > 0) owners.set(partition, left)
    else owners.delete(partition)
    if (owners.size === 0) owned.delete(topicId)
    if (owned.size === 0) addresses.delete(clientHost)
    if (addresses.size === 0) clients.delete(clientId)
  }

  function forget(groupId: string): void {
    const shares = sharesOf(groupId)
    for (const share of shares) leave(share)
    count -= shares.length
    groups.delete(groupId)
  }

  function sharesOf(groupId: string): Share[] {
    return [...(groups.get(groupId)?.values() ?? [])].flatMap(partitions => [...partitions.values()])
  }

  return {
    assign(groupId, owned) {
      const before = groups.get(groupId)
      forget(groupId)
      if (count + owned.length > maxShares) return false
      if (owned.length === 0) return true
      const after: ByPartition<Share> = new Map()
      groups.set(groupId, after)
      count += owned.length
      const nowMs = clock.monotonic()
      for (const one of owned) {
        const kept = before?.get(one.topicId)?.get(one.partition)
        const share = { ...one, sinceMs: kept?.memberId === one.memberId ? kept.sinceMs : nowMs }
        getOr(after, one.topicId, () => new Map<number, Share>()).set(one.partition, share)
        enter(share)
      }
      return true
    },

    forget,
    ofGroup: sharesOf,
    countOwners: (clientId, clientHost, topicId, partition) =>
      clients.get(clientId)?.get(clientHost)?.get(topicId)?.get(partition) ?? 0,
  }
}

function getOr<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  let value = map.get(key)
  if (value === undefined) {
    value = make()
    map.set(key, value)
  }
  return value
}
