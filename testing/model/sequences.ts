// The sequences of an idempotent producer in one partition: which of its batches are remembered, and the verdict on
// its next batch (KIP-98, KIP-360). It is written from Kafka's rules and shares no code with src/log/producers.ts, so
// that it does not repeat a mistake of that file.

import { INVALID_PRODUCER_EPOCH, OUT_OF_ORDER_SEQUENCE_NUMBER } from '../../src/protocol/errors.ts'

/** The producer of a batch, and the sequence of its first record. */
export interface Origin {
  readonly producerId: number
  readonly epoch: number
  readonly sequence: number
}

export type Verdict =
  | { readonly kind: 'next' }
  | { readonly kind: 'repeat'; readonly baseOffset: number }
  | { readonly kind: 'refused'; readonly code: number }

interface Remembered {
  readonly first: number
  readonly last: number
  readonly baseOffset: number
}

const REMEMBERED = 5
const SEQUENCES = 2 ** 31

export class Sequences {
  #epoch = -1
  /** The oldest first. */
  #batches: readonly Remembered[] = []

  verdict({ epoch, sequence }: Origin, records: number): Verdict {
    const newest = this.#batches.at(-1)
    if (newest === undefined) return { kind: 'next' }
    if (epoch < this.#epoch) return { kind: 'refused', code: INVALID_PRODUCER_EPOCH.code }
    const isNext = sequence === (epoch > this.#epoch ? 0 : (newest.last + 1) % SEQUENCES)
    const last = lastOf(sequence, records)
    const original = this.#batches.find(batch => batch.first === sequence && batch.last === last)
    if (epoch === this.#epoch && original !== undefined) return { kind: 'repeat', baseOffset: original.baseOffset }
    return isNext ? { kind: 'next' } : { kind: 'refused', code: OUT_OF_ORDER_SEQUENCE_NUMBER.code }
  }

  add({ epoch, sequence }: Origin, records: number, baseOffset: number): void {
    const kept = epoch === this.#epoch ? this.#batches.slice(1 - REMEMBERED) : []
    this.#epoch = epoch
    this.#batches = [...kept, { first: sequence, last: lastOf(sequence, records), baseOffset }]
  }

  get epoch(): number {
    return this.#epoch
  }

  /** The next sequence; null before the first batch. */
  get next(): number | null {
    const newest = this.#batches.at(-1)
    return newest === undefined ? null : (newest.last + 1) % SEQUENCES
  }
}

function lastOf(sequence: number, records: number): number {
  return (sequence + records - 1) % SEQUENCES
}
