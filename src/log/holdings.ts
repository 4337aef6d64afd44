// Counts the records in the partitions that this broker led last. The count is needed when the store is emptied: then
// no broker is known to be alive, so every broker gives up its partitions before it learns that the topics are gone.

import type { Topic } from './catalogue.ts'
import type { Leadership } from './leadership.ts'
import type { Partition } from './partition.ts'

interface Left {
  readonly epoch: number
  readonly records: number
}

export class Holdings {
  readonly #leadership: Leadership
  /** The partitions that this broker gave up, by topic id and partition index. */
  readonly #left = new Map<string, Map<number, Left>>()

  constructor(leadership: Leadership) {
    this.#leadership = leadership
  }

  /** Notes that this broker no longer leads the partition. */
  leave(partition: Partition, topic: Topic): void {
    const left = this.#left.get(topic.id) ?? new Map<number, Left>()
    left.set(partition.index, { epoch: partition.leaderEpoch, records: recordsOf(partition, topic) })
    this.#left.set(topic.id, left)
  }

  forget(topicId: string): void {
    this.#left.delete(topicId)
  }

  /**
   * Returns the number of records of this topic in the partitions that this broker led last. `led` has the partitions
   * that it still leads. A partition that another broker has led since is counted by that broker.
   */
  of(topic: Topic, led: readonly (Partition | null)[]): number {
    let records = 0
    for (const partition of led) if (partition !== null) records += recordsOf(partition, topic)
    for (const [index, left] of this.#left.get(topic.id) ?? []) {
      const isLedHere = (led[index] ?? null) !== null
      if (!isLedHere && this.#leadership.epochOf(topic.id, index) <= left.epoch) records += left.records
    }
    return records
  }
}

/**
 * Returns the number of records. If offsets follow the clock, they do not count records, and the result is a lower
 * bound.
 */
function recordsOf({ localStartOffset, highWatermark }: Partition, { resolved }: Topic): number {
  // The records below the local start are in the archive, and the store cannot lose them.
  const offsets = highWatermark - localStartOffset
  return resolved.offsetSequenceBits > 0 ? Math.min(offsets, 1) : offsets
}
