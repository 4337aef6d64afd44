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

/**
 * Judges one batch: `look` is called once, then `verdict` once. Neither is called again if the batch meets another
 * writer, or if its outcome is unknown and it is appended again. A batch that repeats a stored one gets the answer of
 * the original, whatever the verdict is. Both may throw InvalidRecords, which refuses the batch for good, and failures
 * of the store, after which the client sends the batch again.
 */
export interface BatchJudge {
  /**
   * Goes over the records. It calls `look.step()` before each record and each header, and `look.turn()` before longer
   * work, and waits for nothing else: the records may hold memory that all requests of the broker share. Without a turn
   * to wait for it must return undefined and no promise. Views of the records are empty afterwards.
   */
  look(look: Look): Promise<void> | undefined
  /**
   * Returns null if the batch may be appended, else the refusal of the whole batch, usually INVALID_RECORD with
   * `recordErrors`. It may wait for threads or for the store, but not for ever: later batches of the partition wait
   * behind it. Its result no longer counts when the patience is over.
   */
  verdict(patience: Patience): Refusal | null | Promise<Refusal | null>
}

/** Returns a judge that asks the first one and, if it has no objection, the second. They share one look. */
export function bothOf(first: BatchJudge, second: BatchJudge): BatchJudge {
  const secondLook = (look: Look) => second.look({ ...look, walk: look.again() })
  const secondVerdict = (patience: Patience, refusal: Refusal | null) => refusal ?? second.verdict(patience)
  return {
    look(look) {
      const looked = first.look(look)
      return looked instanceof Promise ? looked.then(() => secondLook(look)) : secondLook(look)
    },
    verdict(patience) {
      const found = first.verdict(patience)
      if (!(found instanceof Promise)) return secondVerdict(patience, found)
      return found.then(refusal => secondVerdict(patience, refusal))
    },
  }
}
