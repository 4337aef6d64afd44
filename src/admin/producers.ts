// Lists the idempotent producers that the partitions of this broker remember. A partition uses them to recognise a
// repeated batch.

import type { CatalogueKeeper } from '../log/catalogue.ts'
import type { Logs } from '../log/logs.ts'
import type { Partition } from '../log/partition.ts'

/** A producer as one partition knows it. */
export interface KnownProducer {
  readonly producerId: number
  readonly epoch: number
  readonly lastSequence: number
  readonly lastOffset: number
  /** Milliseconds since 1970. */
  readonly lastAppendMs: number
}

export interface ProducerView extends KnownProducer {
  readonly topic: string
  readonly partition: number
}

/** Returns the producers of one partition. The producer that wrote last comes last. */
export function producersOf({ state }: Pick<Partition, 'state'>): readonly KnownProducer[] {
  return Array.from(state.producers, ([producerId, { epoch, lastAppendMs, batches }]) => {
    const { lastSequence, lastOffset } = batches.at(-1)!
    return { producerId, epoch, lastSequence, lastOffset, lastAppendMs }
  })
}

/** Returns the producers of all partitions that this broker leads in the wanted topics, by topic and partition. */
export function listProducers(
  { catalogue, logs }: { readonly catalogue: CatalogueKeeper; readonly logs: Logs },
  isWanted: (topic: string) => boolean,
): readonly ProducerView[] {
  const found: ProducerView[] = []
  for (const { id, name, partitions } of catalogue.current().topics.values()) {
    if (!isWanted(name)) continue
    for (let partition = 0; partition < partitions; partition++) {
      const led = logs.partition(id, partition)
      if (led === null) continue
      for (const producer of producersOf(led)) found.push({ topic: name, partition, ...producer })
    }
  }
  return found
}
