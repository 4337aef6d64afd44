// The shape of a judge: it looks at produced records before they get offsets, and can refuse their batch. The schema
// registry is one (broker.ts supplies it). Kafka's Produce, the admin API and what other brokers forward all go through
// Partition.append, so they are judged alike. judging.ts asks, and the lane waits for the verdict. This file knows no
// schemas.

import type { Patience } from '../base/patience.ts'
import type { Refusal } from '../protocol/errors.ts'
import type { BatchView } from '../protocol/records.ts'
import type { Topic } from './catalogue.ts'
import type { Look } from './unpacking.ts'

export interface Judge {
  /**
   * Returns the judge of one batch for this topic; null if nothing of the topic is judged. Called once for each batch
   * that arrives, also for repeats, so it must cost no more than a look-up. Must not throw.
   */
  of(topic: Topic, batch: BatchView): BatchJudge | null
}

/** The result of a verdict that needs one more look at the records, for example with schemas that had to be loaded. */
export const AGAIN = 'again'

/**
 * Judges one batch: `look` is called, then `verdict`, and both again for as long as the verdict is AGAIN. Neither is
 * called again if the batch meets another writer, or if its outcome is unknown and it is appended again. A batch that
 * repeats a stored one gets the answer of the original, whatever the verdict is. Both may throw InvalidRecords, which
 * refuses the batch for good, and failures of the store, after which the client sends the batch again.
 */
export interface BatchJudge {
  /**
   * Goes over the records, from the first one on. It calls `look.step()` before each record and each header, and
   * `look.turn()` before longer work, and waits for nothing else: the records may hold memory that all requests of the
   * broker share. Without a turn to wait for it must return undefined and no promise. Views of the records are empty
   * afterwards.
   */
  look(look: Look): Promise<void> | undefined
  /**
   * Returns null if the batch may be appended, else the refusal of the whole batch, usually INVALID_RECORD with
   * `recordErrors`. It may wait for threads or for the store, but not for ever: later batches of the partition wait
   * behind it. Its result no longer counts when the patience is over.
   */
  verdict(patience: Patience): Verdict | Promise<Verdict>
  /** Called once, when neither of the two will be called again. */
  end?(): void
}

export type Verdict = Refusal | null | typeof AGAIN

/** Returns a judge that asks the first one and, if it has no objection, the second. They share the first look. */
export function bothOf(first: BatchJudge, second: BatchJudge): BatchJudge {
  return new BothJudges(first, second)
}

class BothJudges implements BatchJudge {
  readonly #first: BatchJudge
  readonly #second: BatchJudge
  /** The judges that still look. */
  #isFirstDone = false
  #isSecondDone = false

  constructor(first: BatchJudge, second: BatchJudge) {
    this.#first = first
    this.#second = second
  }

  look(look: Look): Promise<void> | undefined {
    const secondLook = () => (this.#isSecondDone ? undefined : this.#second.look({ ...look, walk: look.again() }))
    if (this.#isFirstDone) return secondLook()
    const looked = this.#first.look(look)
    return looked instanceof Promise ? looked.then(secondLook) : secondLook()
  }

  verdict(patience: Patience): Verdict | Promise<Verdict> {
    if (this.#isFirstDone) return this.#second.verdict(patience)
    const found = this.#first.verdict(patience)
    return found instanceof Promise ? found.then(each => this.#after(each, patience)) : this.#after(found, patience)
  }

  end(): void {
    this.#first.end?.()
    this.#second.end?.()
  }

  #after(found: Verdict, patience: Patience): Verdict | Promise<Verdict> {
    // The second one has seen all records, and is asked once the first one has no objection.
    this.#isSecondDone = found === AGAIN
    if (found !== null) return found
    this.#isFirstDone = true
    return this.#second.verdict(patience)
  }
}
