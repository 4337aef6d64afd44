// To whom partitions are delivered: which client owns which partition, in the groups that this broker coordinates. A
// fetch names no group, so that only the client id and the address connect it to a member. How far a client has read is
// known to the broker that leads the partition (read-positions.ts). In memory only; it decides nothing.
//
//   client id ─▶ address ─▶ topic id ─▶ partition ─▶ the shares in it         (for leaders)
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
  /** Since when the member owns it, on Clock.monotonic(). */
  readonly sinceMs: number
}

type ByPartition<T> = Map<string, Map<number, T>>

export interface Deliveries {
  /**
   * From now on the members of a group own these partitions, each once. A member that keeps a partition has owned it
   * since before. False when there are more partitions than may be kept: then the group is not tracked.
   */
  assign(groupId: string, owned: readonly Owned[]): boolean
  forget(groupId: string): void
  /** Every partition that members of the group own. */
  ofGroup(groupId: string): readonly Share[]
  /**
   * The number of groups in which a member with this client id and address owns the partition. Above one, no broker can
   * tell for which group the client reads.
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
