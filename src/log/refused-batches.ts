// First batches of idempotent producers that were refused and will come again. A leader takes whatever sequence a producer
// begins with that it does not know (KIP-360), and producers send several batches without waiting: when the first one is
// refused for a passing reason, the second may arrive a moment later, when the reason has passed. It would be taken for the
// beginning, and the first one, sent again, would be out of order for good. So what was refused is remembered, and what
// follows it is refused until it has come again. Whom a leader knows needs none of this: there a gap shows by itself.
// A partition is its stream here; of a topic that is not known yet it is what the request called it.

import type { Clock } from '../base/clock.ts'
import { because, OUT_OF_ORDER_SEQUENCE_NUMBER, type Refusal } from '../protocol/errors.ts'
import type { BatchView } from '../protocol/records.ts'
import type { StreamId } from '../store/store.ts'

/** A partition by all that it may have been called when a batch for it was refused. */
interface Place {
  readonly stream: StreamId
  /** As partitionName says it. */
  readonly name: string
}

type Sequenced = Pick<BatchView, 'producerId' | 'producerEpoch' | 'baseSequence'>

interface Refused {
  readonly epoch: number
  /** The lowest that was refused. */
  readonly baseSequence: number
  readonly atMs: number
}

/** What was under way when the first batch was refused has arrived by then, or never will. */
const KEPT_MS = 300_000
/** Oldest first to go: a producer that gives up sends nothing more. */
const MOST = 10_000

export class RefusedBatches {
  readonly #clock: Clock
  /** Oldest first. */
  readonly #refused = new Map<string, Refused>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * A batch is answered with this; where the producer is to send it again, nothing that follows it may be taken before. `place` is
   * the stream, or the name where the stream is not known.
   */
  note(place: string, batch: Sequenced, { retriable }: Refusal): void {
    if (batch.producerId < 0 || !retriable) return
    const key = keyOf(place, batch)
    const { producerEpoch: epoch, baseSequence } = batch
    const known = this.#refused.get(key)
    if (known !== undefined && (known.epoch > epoch || (known.epoch === epoch && follows(baseSequence, known)))) return
    this.#refused.delete(key)
    this.#refused.set(key, { epoch, baseSequence, atMs: this.#clock.monotonic() })
    this.#prune()
  }

  /** Why this batch of a producer that is not known may not be its first; null where it may. */
  check({ stream, name }: Place, batch: Sequenced): Refusal | null {
    if (this.#refused.size === 0) return null
    this.#prune()
    const known = this.#before(stream, batch) ?? this.#before(name, batch)
    if (known === null) return null
    return because(
      OUT_OF_ORDER_SEQUENCE_NUMBER,
      `Producer ${batch.producerId} sent sequence ${batch.baseSequence}, but its batch ${known.baseSequence} was refused and has not come again.`,
    )
  }

  /** The batch has its place in the log. */
  taken({ stream, name }: Place, batch: Sequenced): void {
    if (this.#refused.size === 0) return
    this.#refused.delete(keyOf(stream, batch))
    this.#refused.delete(keyOf(name, batch))
  }

  /** The refused batch that has to come before this one. */
  #before(place: string, batch: Sequenced): Refused | null {
    const known = this.#refused.get(keyOf(place, batch))
    return known?.epoch === batch.producerEpoch && follows(batch.baseSequence, known) ? known : null
  }

  #prune(): void {
    const oldestMs = this.#clock.monotonic() - KEPT_MS
    for (const [key, { atMs }] of this.#refused) {
      if (atMs > oldestMs && this.#refused.size <= MOST) return
      this.#refused.delete(key)
    }
  }
}

/** For people too. Nothing else is called so: a stream has a colon, and no topic's name has one. */
export function partitionName(topicName: string, index: number): string {
  return `${topicName}-${index}`
}

function keyOf(place: string, { producerId }: Sequenced): string {
  return `${place}:${producerId}`
}

/** Sequences run in a circle. */
function follows(baseSequence: number, refused: Refused): boolean {
  const distance = (baseSequence - refused.baseSequence + 2 ** 31) % 2 ** 31
  return distance > 0 && distance < 2 ** 30
}
