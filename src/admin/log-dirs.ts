// Says where partitions rest and how much room they take. A partition's size is that of its batches as they were produced;
// what the store keeps beside them (its journal's dead entries, its index) is in what the place has left.

import type { CatalogueKeeper } from '../log/catalogue.ts'
import type { Logs } from '../log/logs.ts'
import type { LogDir, LogDirTopic, PartitionReference } from './contract.ts'

/** The places of these partitions, or of all of them (null); what does not exist is left out. Throws what the store throws. */
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
