// The number of records in the partitions that this broker led last. It is for the day on which the store is emptied:
// then no broker is known to live, so every broker gives up its leads before it learns that the topics are gone.

import type { Topic } from './catalogue.ts'
import type { Leadership } from './leadership.ts'
import type { Partition } from './partition.ts'

interface Left {
  readonly epoch: number
  readonly records: number
}

export class Holdings {
  readonly #leadership: Leadership
  /** By topic id and partition index. */
  readonly #left = new Map<string, Map<number, Left>>()

  constructor(leadership: Leadership) {
    this.#leadership = leadership
  }

  /** This broker no longer leads it. */
  leave(partition: Partition, topic: Topic): void {
    const left = this.#left.get(topic.id) ?? new Map<number, Left>()
    left.set(partition.index, { epoch: partition.leaderEpoch, records: recordsOf(partition, topic) })
    this.#left.set(topic.id, left)
  }

  forget(topicId: string): void {
    this.#left.delete(topicId)
  }

  /**
   * For this topic, whose partitions led here are given; partitions that another broker has led since are counted by
   * that broker.
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

/** The number of records, or a lower bound if offsets follow the clock: then offsets do not count records. */
function recordsOf({ logStartOffset, highWatermark }: Partition, { resolved }: Topic): number {
  const offsets = highWatermark - logStartOffset
  return resolved.offsetSequenceBits > 0 ? Math.min(offsets, 1) : offsets
}
