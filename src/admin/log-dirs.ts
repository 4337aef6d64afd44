// Describes the place where this broker stores partitions and the sizes of the partitions, and checks moves to
// another place. The size of a partition is the size of its batches as they were produced. The store needs more space
// than that (dead entries of its journal, its index). `usableBytes` takes that space into account.

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
 * Resolves to the place and the sizes of these partitions, or of all partitions (null). Partitions that do not exist,
 * or that this broker does not lead, are left out. Throws what the store throws.
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
  /** The place that the replica should move to. */
  readonly place: string
}

/**
 * Resolves to one outcome for each move, in order: null if this broker has the replica, which then already is in this
 * place; LOG_DIR_NOT_FOUND for another place, because a broker has only one; REPLICA_NOT_AVAILABLE if only other
 * brokers have replicas; UNKNOWN_TOPIC_OR_PARTITION. Throws what the store throws.
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
