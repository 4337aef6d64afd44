// Idempotent producers, as the partitions that this broker leads remember them: by what a repeat is known.

import type { CatalogueKeeper } from '../log/catalogue.ts'
import type { Logs } from '../log/logs.ts'

export interface ProducerView {
  readonly topic: string
  readonly partition: number
  readonly producerId: number
  readonly epoch: number
  readonly lastSequence: number
  readonly lastOffset: number
  /** Milliseconds since 1970. */
  readonly lastAppendMs: number
}

/** Of the partitions of these topics that this broker leads, by topic, partition and id. */
export function listProducers(
  { catalogue, logs }: { readonly catalogue: CatalogueKeeper; readonly logs: Logs },
  isWanted: (topic: string) => boolean,
): readonly ProducerView[] {
  const found: ProducerView[] = []
  for (const { id, name, partitions } of catalogue.current().topics.values()) {
    if (!isWanted(name)) continue
    for (let partition = 0; partition < partitions; partition++) {
      for (const [producerId, producer] of logs.partition(id, partition)?.state.producers ?? []) {
        const { lastSequence, lastOffset } = producer.batches.at(-1)!
        const { epoch, lastAppendMs } = producer
        found.push({ topic: name, partition, producerId, epoch, lastSequence, lastOffset, lastAppendMs })
      }
    }
  }
  return found
}
