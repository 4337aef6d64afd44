// First batches of idempotent producers that were refused and will be sent again. A leader accepts any first sequence
// of an unknown producer (KIP-360), and producers send several batches without waiting. When the first batch is refused
// for a passing reason, the second may arrive a moment later, after the reason has passed. The leader would accept it
// as the first one, and the real first batch, sent again, would be out of order for good. So refused batches are
// remembered, and their successors are refused until they have been sent again. A known producer does not need this,
// because the leader sees the gap. A partition is named by its stream, or by the name in the request if the topic is
// still unknown.

import type { Clock } from '../base/clock.ts'
import { because, OUT_OF_ORDER_SEQUENCE_NUMBER, type Refusal } from '../protocol/errors.ts'
import type { BatchView } from '../protocol/records.ts'
import type { StreamId } from '../store/store.ts'

/** A partition under every name that a refused batch may have used for it. */
interface Place {
  readonly stream: StreamId
  /** The form of partitionName. */
  readonly name: string
}

type Sequenced = Pick<BatchView, 'producerId' | 'producerEpoch' | 'baseSequence'>

interface Refused {
  readonly epoch: number
  /** The lowest sequence that was refused. */
  readonly baseSequence: number
  readonly atMs: number
}

/** After this time, batches that were in flight when the first was refused have arrived, or never will. */
const KEPT_MS = 300_000
/** Beyond this many the oldest are forgotten: a producer that gives up sends nothing more. */
const MOST = 10_000

export class RefusedBatches {
  readonly #clock: Clock
  /** Oldest first. */
  readonly #refused = new Map<string, Refused>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * Remembers a batch that was answered with this refusal. If the producer will send the batch again, no later batch
   * may be accepted first.
   * `place` is the stream, or the name if the stream is unknown.
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

  /** The refusal of a batch that must not be the first of an unknown producer; null if the batch may be accepted. */
  check({ stream, name }: Place, batch: Sequenced): Refusal | null {
    if (this.#refused.size === 0) return null
    this.#prune()
    const known = this.#before(stream, batch) ?? this.#before(name, batch)
    if (known === null) return null
    return because(
      OUT_OF_ORDER_SEQUENCE_NUMBER,
      `Producer ${batch.producerId} sent sequence ${batch.baseSequence}, but its batch ${known.baseSequence} was refused and has not been sent again.`,
    )
  }

  /** Forgets a refused batch, because the log has accepted it. */
  taken({ stream, name }: Place, batch: Sequenced): void {
    if (this.#refused.size === 0) return
    this.#refused.delete(keyOf(stream, batch))
    this.#refused.delete(keyOf(name, batch))
  }

  /** The refused batch that must come before this one. */
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

/** For people too. The form is unambiguous: a stream has a colon, and no topic name has one. */
export function partitionName(topicName: string, index: number): string {
  return `${topicName}-${index}`
}

function keyOf(place: string, { producerId }: Sequenced): string {
  return `${place}:${producerId}`
}

/** Sequences wrap around to 0. */
function follows(baseSequence: number, refused: Refused): boolean {
  const distance = (baseSequence - refused.baseSequence + 2 ** 31) % 2 ** 31
  return distance > 0 && distance < 2 ** 30
}
