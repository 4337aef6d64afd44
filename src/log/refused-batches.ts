// Remembers first batches of idempotent producers that were refused and will be sent again. A leader accepts any first
// sequence of an unknown producer (KIP-360), and producers send several batches without waiting. If the first batch is
// refused for a temporary reason, the second one may arrive after the reason has passed. The leader would accept the
// second one as the first. Then the real first batch, sent again, would be out of order for good. So the broker refuses
// the successors of a refused batch until that batch has been sent again. A known producer does not need this, because
// the leader sees the gap. A partition is named by its stream, or by the name in the request if the topic is still
// unknown.

import type { Clock } from '../base/clock.ts'
import { because, OUT_OF_ORDER_SEQUENCE_NUMBER, type Refusal } from '../protocol/errors.ts'
import type { BatchView } from '../protocol/records.ts'
import type { StreamId } from '../store/store.ts'

/** The two names under which a refused batch of a partition may be remembered. */
interface Place {
  readonly stream: StreamId
  /** In the form that partitionName returns. */
  readonly name: string
}

type Sequenced = Pick<BatchView, 'producerId' | 'producerEpoch' | 'baseSequence'>

interface Refused {
  readonly epoch: number
  /** The lowest sequence that was refused. */
  readonly baseSequence: number
  readonly atMs: number
}

/** How long a refused batch is remembered. By then the batches that were in flight have arrived, or never will. */
const KEPT_MS = 300_000
/**
 * The most refused batches that are remembered. Beyond it the oldest are forgotten. A producer that has given up sends
 * nothing more.
 */
const MOST = 10_000

export class RefusedBatches {
  readonly #clock: Clock
  /** Oldest first. */
  readonly #refused = new Map<string, Refused>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * Remembers a batch that was answered with this refusal, if the producer will send it again. Until then no later
   * batch of the producer may be accepted. `place` is the stream, or the name of the partition if the stream is
   * unknown.
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

  /**
   * Returns the refusal of a batch that must not be the first of an unknown producer; null if the batch may be
   * accepted.
   */
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

  /**
   * Forgets a refused batch if it is this one: it was sent again and is refused for good, so the producer goes on
   * without it.
   */
  givenUp({ stream, name }: Place, batch: Sequenced): void {
    if (this.#refused.size === 0) return
    for (const place of [stream, name]) {
      const key = keyOf(place, batch)
      const known = this.#refused.get(key)
      const isThis = known?.epoch === batch.producerEpoch && known.baseSequence === batch.baseSequence
      if (isThis) this.#refused.delete(key)
    }
  }

  /** Returns the refused batch that must come before this one, or null. */
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

/**
 * Returns the name of a partition, which is also used in messages. It differs from every stream: a stream has a colon,
 * and a topic name has none.
 */
export function partitionName(topicName: string, index: number): string {
  return `${topicName}-${index}`
}

function keyOf(place: string, { producerId }: Sequenced): string {
  return `${place}:${producerId}`
}

/** Returns whether the sequence comes after the refused one. Sequences wrap around to 0. */
function follows(baseSequence: number, refused: Refused): boolean {
  const distance = (baseSequence - refused.baseSequence + 2 ** 31) % 2 ** 31
  return distance > 0 && distance < 2 ** 30
}
