// Refuses records without a key for compacted topics, as Kafka's LogValidator does: compaction would drop them. So
// every batch for such a topic is opened before it enters the log, through unpacking.ts with its limits. A batch is
// refused as a whole. This file does not know which topics are compacted.

import type { Patience } from '../base/patience.ts'
import { because, INVALID_RECORD, isRefusal, type RecordError, type Refusal } from '../protocol/errors.ts'
import { type BatchView, InvalidRecords, payloadOf, RecordWalk } from '../protocol/records.ts'
import type { Unpacking } from './unpacking.ts'

/** The most records that a refusal names. A batch of a few hundred bytes can have millions of them. */
const MOST_NAMED = 100

/**
 * Resolves with the refusal of a batch that has a record without a key, or whose records cannot be read; null if every
 * record has a key. Returns the result at once if the batch is not compressed. `partition` is for the messages.
 */
export function checkKeys(
  batch: BatchView,
  partition: string,
  unpacking: Unpacking,
  patience: Patience,
): Refusal | null | Promise<Refusal | null> {
  const check = new KeyCheck(partition)
  if (batch.compression !== 'none') return throughUnpacking(batch, check, unpacking, patience)
  try {
    const walk = new RecordWalk(batch, payloadOf(batch))
    while (walk.next()) check.take(walk)
    return check.refusal()
  } catch (error) {
    return check.unreadable(error)
  }
}

async function throughUnpacking(
  batch: BatchView,
  check: KeyCheck,
  unpacking: Unpacking,
  patience: Patience,
): Promise<Refusal | null> {
  try {
    const looked = await unpacking.look(batch, unpacking.looker(patience), async ({ walk, step }) => {
      for (;;) {
        const others = step()
        if (others !== undefined) await others
        if (!walk.next()) return null
        check.take(walk)
      }
    })
    return isRefusal(looked) ? looked : check.refusal()
  } catch (error) {
    return check.unreadable(error)
  }
}

class KeyCheck {
  readonly #partition: string
  readonly #named: RecordError[] = []
  #records = 0
  #keyless = 0

  constructor(partition: string) {
    this.#partition = partition
  }

  take(walk: RecordWalk): void {
    const batchIndex = this.#records++
    if (walk.key() !== null) {
      // The cleaner must be able to read every record later.
      walk.hasValue()
      return
    }
    if (++this.#keyless > MOST_NAMED) return
    const batchIndexErrorMessage = `Compacted topic cannot accept message without key in topic partition ${this.#partition}.`
    this.#named.push({ batchIndex, batchIndexErrorMessage })
  }

  refusal(): Refusal | null {
    if (this.#keyless === 0) return null
    const [first] = this.#named
    const message = `${this.#keyless} of ${this.#records} records have no key, the first one is record ${first!.batchIndex} of the batch. Compacted topic cannot accept message without key in topic partition ${this.#partition}.`
    return { ...because(INVALID_RECORD, message), recordErrors: this.#named }
  }

  unreadable(error: unknown): Refusal {
    if (!(error instanceof InvalidRecords)) throw error
    const reason = `The records of a batch for the compacted topic partition ${this.#partition} cannot be read`
    return because(INVALID_RECORD, `${reason}: ${error.message}.`)
  }
}
