// Refuses records without a key for compacted topics, as Kafka's LogValidator does: compaction would drop them. So
// every batch for such a topic is opened before it enters the log, through unpacking.ts with its limits. A batch is
// refused as a whole. This file does not know which topics are compacted.

import { because, INVALID_RECORD, type RecordError, type Refusal } from '../protocol/errors.ts'
import type { RecordWalk } from '../protocol/records.ts'
import type { BatchJudge } from './judge.ts'
import type { Look } from './unpacking.ts'

/** The most records that a refusal names. A batch of a few hundred bytes can have millions of them. */
const MOST_NAMED = 100

/** Refuses a batch that has a record without a key. `partition` is for the messages. */
export class KeyCheck implements BatchJudge {
  readonly #partition: string
  readonly #named: RecordError[] = []
  #records = 0
  #keyless = 0

  constructor(partition: string) {
    this.#partition = partition
  }

  look(look: Look): Promise<void> | undefined {
    const others = this.#go(look)
    return others === undefined ? undefined : this.#goAfter(others, look)
  }

  /** Goes on to the end of the records, or returns the turn of others that must pass before it can. */
  #go({ walk, step }: Look): Promise<void> | undefined {
    while (walk.next()) {
      this.#take(walk)
      const others = step()
      if (others !== undefined) return others
    }
    return undefined
  }

  async #goAfter(first: Promise<void>, look: Look): Promise<void> {
    for (let others: Promise<void> | undefined = first; others !== undefined; others = this.#go(look)) await others
  }

  #take(walk: RecordWalk): void {
    const batchIndex = this.#records++
    if (walk.hasKey()) {
      // The cleaner must be able to read every record later.
      walk.hasValue()
      return
    }
    if (++this.#keyless > MOST_NAMED) return
    const batchIndexErrorMessage = `Compacted topic cannot accept message without key in topic partition ${this.#partition}.`
    this.#named.push({ batchIndex, batchIndexErrorMessage })
  }

  verdict(): Refusal | null {
    if (this.#keyless === 0) return null
    const [first] = this.#named
    const message = `${this.#keyless} of ${this.#records} records have no key, the first one is record ${first!.batchIndex} of the batch. Compacted topic cannot accept message without key in topic partition ${this.#partition}.`
    return { ...because(INVALID_RECORD, message), recordErrors: this.#named }
  }
}
