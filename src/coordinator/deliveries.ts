// How far each partition has been delivered to the member that owns it. A fetch names no group: it counts for the group
// whose member has the same client id and address and owns the partition. Where two groups have such a member nobody can
// tell whose fetch it was, and neither is credited. Kept in memory only: after a restart, and for a new owner, it is
// unknown until the owner fetches. It does not look into records, and decides nothing.
//
//   client id ─▶ address ─▶ topic id ─▶ partition ─▶ the shares in it         (for fetches)
//   group id ─▶ topic id ─▶ partition ─▶ its share                            (for those who ask)

/** One partition that a member owns. */
export interface Owned {
  readonly memberId: string
  readonly clientId: string
  readonly clientHost: string
  readonly topicId: string
  readonly partition: number
}

interface Share extends Owned {
  /** The offset after the last that was delivered; -1 while unknown. */
  nextOffset: number
}

type ByPartition<T> = Map<string, Map<number, T>>

/** What one client owns. */
export type Reader = ReadonlyMap<string, ReadonlyMap<number, readonly Share[]>>

export interface Deliveries {
  /** Null for whoever owns nothing, which one look-up tells of most. */
  reader(clientId: string, address: string): Reader | null
  /**
   * What the members of a group own from here on, each partition once. What was delivered to a member that keeps its
   * partition stays known. False when it is more than may be kept: then nothing is known of the group.
   */
  assign(groupId: string, owned: readonly Owned[]): boolean
  forget(groupId: string): void
  /** Everything that members of the group own. */
  ofGroup(groupId: string): readonly Readonly<Share>[]
}

/**
 * An answer to this reader: `nextOffset` is the one after the last that it holds, or the one that was asked for if it
 * holds none.
 */
export function credit(reader: Reader, topicId: string, partition: number, nextOffset: number): void {
  const shares = reader.get(topicId)?.get(partition)
  if (shares?.length === 1) shares[0]!.nextOffset = nextOffset
}

export function openDeliveries(maxShares: number): Deliveries {
  const clients = new Map<string, Map<string, ByPartition<Share[]>>>()
  const groups = new Map<string, ByPartition<Share>>()
  let count = 0

  function enter(share: Share): void {
    const addresses = getOr(clients, share.clientId, () => new Map())
    const owned = getOr(addresses, share.clientHost, () => new Map())
    const shares = getOr(
      getOr(owned, share.topicId, () => new Map<number, Share[]>()),
      share.partition,
      () => [],
    )
    shares.push(share)
    if (shares.length > 1) for (const each of shares) each.nextOffset = -1
  }

  function leave(share: Share): void {
    const addresses = clients.get(share.clientId)!
    const owned = addresses.get(share.clientHost)!
    const partitions = owned.get(share.topicId)!
    const shares = partitions.get(share.partition)!
    shares.splice(shares.indexOf(share), 1)
    if (shares.length === 0) partitions.delete(share.partition)
    if (partitions.size === 0) owned.delete(share.topicId)
    if (owned.size === 0) addresses.delete(share.clientHost)
    if (addresses.size === 0) clients.delete(share.clientId)
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
    reader: (clientId, address) => clients.get(clientId)?.get(address) ?? null,

    assign(groupId, owned) {
      const before = groups.get(groupId)
      forget(groupId)
      if (count + owned.length > maxShares) return false
      if (owned.length === 0) return true
      const after: ByPartition<Share> = new Map()
      groups.set(groupId, after)
      count += owned.length
      for (const one of owned) {
        const kept = before?.get(one.topicId)?.get(one.partition)
        const share = { ...one, nextOffset: kept?.memberId === one.memberId ? kept.nextOffset : -1 }
        getOr(after, one.topicId, () => new Map<number, Share>()).set(one.partition, share)
        enter(share)
      }
      return true
    },

    forget,
    ofGroup: sharesOf,
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
