// Which brokers are shown as the replicas of a partition, and which may be asked for. The store holds the one log; a
// replica here is a broker that would lead it. The room cluster/ decides which broker leads; this file only tells it.
//
//   assigned by hand   the list as it was given
//   otherwise          the first `factor` in the order in which they would lead, of those that live and those that
//                      lived when the topic was made
//
// Where none of the list lives, the last place shows the broker that leads instead: the leader is always a replica in
// sync, and there are always as many replicas as were asked for.

import type { Cluster } from '../cluster/cluster.ts'
import { type Placement, SINGLE, type Topic } from '../log/catalogue.ts'
import { because, INVALID_REPLICA_ASSIGNMENT, INVALID_REPLICATION_FACTOR, type Refusal } from '../protocol/errors.ts'

export interface Replicas {
  /** -1: the partition has no leader. */
  readonly leaderId: number
  /** The broker that leads first comes first; the leader is always in the list. */
  readonly ids: readonly number[]
  /** Those of them that live. */
  readonly inSync: readonly number[]
}

type Brokers = Pick<Cluster, 'brokers' | 'leaderOf' | 'orderOf'>

export function replicasOf(cluster: Brokers, { id, placement }: Topic, partition: number): Replicas {
  const leaderId = cluster.leaderOf(id, partition)
  const assigned = placement.assigned[partition]
  if (placement.factor === 1 && assigned === undefined) {
    const ids = leaderId < 0 ? [] : [leaderId]
    return { leaderId, ids, inSync: ids }
  }
  const list = assigned ?? cluster.orderOf(id, partition, placement.brokers).slice(0, placement.factor)
  const ids = leaderId < 0 || list.includes(leaderId) ? list : [...list.slice(0, -1), leaderId]
  return { leaderId, ids, inSync: ids.filter(each => cluster.brokers().some(broker => broker.id === each)) }
}

/** How many replicas the topic has, as Kafka counts them: those of its first partition. */
export function factorOf({ factor, assigned }: Placement): number {
  return assigned[0]?.length ?? factor
}

/** The placement of a new topic; -1 is 1, as Kafka's `default.replication.factor` is. INVALID_REPLICATION_FACTOR. */
export function placeByFactor(cluster: Brokers, factor: number): Placement | Refusal {
  if (factor <= 1) return SINGLE
  const brokers = cluster.brokers().map(({ id }) => id)
  if (factor > brokers.length) {
    return because(
      INVALID_REPLICATION_FACTOR,
      `Unable to replicate the partition ${factor} time(s): The target replication factor of ${factor} cannot be reached because only ` +
        `${brokers.length} broker(s) are registered.`,
    )
  }
  return { factor, brokers, assigned: {} }
}

/**
 * The placement with these brokers for these partitions; other partitions keep theirs. Once all of the `partitions`
 * have assigned brokers, later partitions have as many replicas as the first.
 */
export function withAssigned(
  cluster: Brokers,
  partitions: number,
  { factor, brokers, assigned }: Placement,
  more: Placement['assigned'],
): Placement {
  const all = { ...assigned, ...more }
  if (Object.keys(all).length < partitions) return { factor, brokers, assigned: all }
  const { length } = all[0]!
  const living = cluster.brokers().map(({ id }) => id)
  return { factor: length, brokers: length === 1 ? [] : living, assigned: all }
}

/** Null when the brokers can be the replicas of a partition: they live, or are `others`. INVALID_REPLICA_ASSIGNMENT. */
export function checkReplicas(
  cluster: Brokers,
  brokerIds: readonly number[],
  others: readonly number[] = [],
): Refusal | null {
  const includes = 'The manual partition assignment includes'
  if (brokerIds.length === 0) return because(INVALID_REPLICA_ASSIGNMENT, `${includes} an empty replica list.`)
  const known = new Set([...cluster.brokers().map(({ id }) => id), ...others])
  const stranger = brokerIds.find(id => !known.has(id))
  if (stranger !== undefined) {
    const message = `${includes} broker ${stranger}, but no such broker is registered.`
    return because(INVALID_REPLICA_ASSIGNMENT, message)
  }
  const again = brokerIds.find((id, at) => brokerIds.indexOf(id) < at)
  if (again === undefined) return null
  return because(INVALID_REPLICA_ASSIGNMENT, `${includes} the broker ${again} more than once.`)
}

/** Null when there are as many as the partitions before have. INVALID_REPLICA_ASSIGNMENT. */
export function checkSize({ length }: readonly number[], before: number): Refusal | null {
  if (length === before) return null
  return because(
    INVALID_REPLICA_ASSIGNMENT,
    `The manual partition assignment includes a partition with ${length} replica(s), but this is not consistent with previous partitions, ` +
      `which have ${before} replica(s).`,
  )
}
