// How many records the partitions hold that this broker led last, for the day on which the store is emptied. Then nobody is known
// to live, so that every broker gives up its leads before it learns that the topics are gone.

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

  /** This broker leads it no more. */
  leave(partition: Partition, topic: Topic): void {
    const left = this.#left.get(topic.id) ?? new Map<number, Left>()
    left.set(partition.index, { epoch: partition.leaderEpoch, records: recordsOf(partition, topic) })
    this.#left.set(topic.id, left)
  }

  forget(topicId: string): void {
    this.#left.delete(topicId)
  }

  /** Of this topic, whose partitions that are led here these are; what another broker has led since is that one's to count. */
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

/** Or at least: where offsets follow the clock they do not count records. */
function recordsOf({ logStartOffset, highWatermark }: Partition, { resolved }: Topic): number {
  const offsets = highWatermark - logStartOffset
  return resolved.offsetSequenceBits > 0 ? Math.min(offsets, 1) : offsets
}
