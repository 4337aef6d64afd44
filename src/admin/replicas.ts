// Says which brokers are shown as the replicas of a partition, and which brokers a request may name as replicas. The
// store has the only log of a partition. A replica here is a broker that may lead the partition. The room cluster/
// decides which broker leads.
//
//   assigned by hand   the list as it was given
//   otherwise          the first `factor` brokers in the order in which they would lead, among brokers that live and
//                      those that lived when the topic was created
//
// If the leader is not in the list, because no broker of the list lives, it replaces the last broker of the list. So
// the leader is always an in-sync replica, and the number of replicas is always the requested number.

import type { Cluster } from '../cluster/cluster.ts'
import { type Placement, SINGLE, type Topic } from '../log/catalogue.ts'
import { because, INVALID_REPLICA_ASSIGNMENT, INVALID_REPLICATION_FACTOR, type Refusal } from '../protocol/errors.ts'

export interface Replicas {
  /** -1: the partition has no leader. */
  readonly leaderId: number
  /** The broker that leads first comes first; the leader is always in the list. */
  readonly ids: readonly number[]
  /** The replicas whose brokers live. */
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

/** Returns how many replicas the topic has, as Kafka counts them: the number of replicas of its first partition. */
export function factorOf({ factor, assigned }: Placement): number {
  return assigned[0]?.length ?? factor
}

/**
 * Returns the placement of a new topic. A factor of -1 means 1, the value of Kafka's `default.replication.factor`.
 * Returns INVALID_REPLICATION_FACTOR if too few brokers live.
 */
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
 * Returns the placement with these brokers for these partitions; other partitions keep their brokers. If all
 * `partitions` then have assigned brokers, later partitions get as many replicas as the first partition.
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

/**
 * Returns null if the brokers can be the replicas of a partition: each of them lives or is one of `others`. Else
 * returns INVALID_REPLICA_ASSIGNMENT.
 */
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

/** Returns null if the list is as long as the lists of the partitions before, else INVALID_REPLICA_ASSIGNMENT. */
export function checkSize({ length }: readonly number[], before: number): Refusal | null {
  if (length === before) return null
  return because(
    INVALID_REPLICA_ASSIGNMENT,
    `The manual partition assignment includes a partition with ${length} replica(s), but this is not consistent with previous partitions, ` +
      `which have ${before} replica(s).`,
  )
}
