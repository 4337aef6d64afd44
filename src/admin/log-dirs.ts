// Says where partitions rest and how much room they take, and checks moves to another place. The size of a partition is
// the size of its batches as they were produced. The store keeps more than that (dead entries of its journal, its
// index), which the free room of the place accounts for.

import type { Cluster } from '../cluster/cluster.ts'
import type { CatalogueKeeper } from '../log/catalogue.ts'
import type { Logs } from '../log/logs.ts'
import {
  LOG_DIR_NOT_FOUND,
  REPLICA_NOT_AVAILABLE,
  type Refusal,
  UNKNOWN_TOPIC_OR_PARTITION,
} from '../protocol/errors.ts'
import type { LogDir, LogDirTopic, PartitionReference } from './contract.ts'
import { replicasOf } from './replicas.ts'

/**
 * The places of these partitions, or of all of them (null). Partitions that do not exist, or that this broker does not
 * lead, are left out. Throws what the store throws.
 */
export async function describeLogDirs(
  { catalogue, logs }: { readonly catalogue: CatalogueKeeper; readonly logs: Logs },
  wanted: readonly PartitionReference[] | null,
): Promise<readonly LogDir[]> {
  const space = await logs.space()
  const current = catalogue.current().topics
  const indexes = new Map<string, Set<number>>()
  if (wanted === null) {
    for (const { name, partitions } of current.values()) {
      indexes.set(name, new Set(Array.from({ length: partitions }, (_, i) => i)))
    }
  }
  for (const { topic, partition } of wanted ?? []) {
    indexes.set(topic, (indexes.get(topic) ?? new Set()).add(partition))
  }
  const topics = Array.from(indexes, ([name, asked]): LogDirTopic => {
    const topic = current.get(name)
    const partitions = [...asked].flatMap(partition => {
      const found = topic === undefined ? null : logs.partition(topic.id, partition)
      return found === null ? [] : [{ partition, sizeBytes: found.sizeBytes }]
    })
    return { name, partitions }
  })
  return [{ ...space, topics: topics.filter(topic => topic.partitions.length > 0) }]
}

export interface LogDirMove extends PartitionReference {
  /** Where the replica is to rest. */
  readonly place: string
}

/**
 * One outcome for each move, in order. Null: this broker has the replica, and it rests there already. LOG_DIR_NOT_FOUND
 * for another place, because a broker has only one; REPLICA_NOT_AVAILABLE where other brokers have the replicas. Throws
 * what the store throws.
 */
export async function checkLogDirs(
  rooms: {
    readonly catalogue: CatalogueKeeper
    readonly logs: Pick<Logs, 'space'>
    readonly cluster: Pick<Cluster, 'brokerId' | 'brokers' | 'leaderOf' | 'orderOf'>
  },
  moves: readonly LogDirMove[],
): Promise<readonly (Refusal | null)[]> {
  const { catalogue, logs, cluster } = rooms
  const space = await logs.space()
  if (catalogue.isShared) await catalogue.catchUp()
  const { topics } = catalogue.current()
  return moves.map(({ topic: name, partition, place }) => {
    if (place !== space.place) return LOG_DIR_NOT_FOUND
    const topic = topics.get(name)
    if (topic === undefined || partition < 0 || partition >= topic.partitions) return UNKNOWN_TOPIC_OR_PARTITION
    return replicasOf(cluster, topic, partition).ids.includes(cluster.brokerId) ? null : REPLICA_NOT_AVAILABLE
  })
}
