// The newest batches of every partition, in memory, under one byte budget for the whole broker: consumers that keep up
// never touch the store. Evicts oldest first across partitions. Does not know what may be shown (the high watermark)
// and is never filled by reads of old data.

import type { Batch } from '../store/store.ts'
import { Fifo } from './fifo.ts'

/** The memory of an entry without its bytes: the Batch, its Buffer, its ArrayBuffer and two places in queues. */
const ENTRY_BYTES = 256

export class TailCache {
  readonly #budgetBytes: number
  #bytes = 0
  /** The tail of each entry, oldest first. A tail evicts in its own order, so the tail is enough. */
  readonly #order = new Fifo<Tail>()
  /** Places in the order whose entries their tails have dropped already. */
  #dropped = 0

  constructor(budgetBytes: number) {
    this.#budgetBytes = budgetBytes
  }

  /** How many entries are remembered, dropped ones included. */
  get places(): number {
    return this.#order.length
  }

  /** The bytes that the entries keep alive, at most the budget. */
  get bytes(): number {
    return this.#bytes
  }

  /** A partition's part of the cache. It begins empty at `end` and has every later batch. */
  tail(end: number): Tail {
    return new Tail(this, end)
  }

  /** Called by a tail for each entry that it takes in. */
  admit(tail: Tail, costBytes: number): void {
    this.#bytes += costBytes
    this.#order.push(tail)
    while (this.#bytes > this.#budgetBytes) {
      const oldest = this.#order.shift()!
      if (oldest.forgo()) this.#dropped--
      else this.#bytes -= oldest.evict()
    }
  }

  /** Called by a tail that drops entries by itself. Their places are removed when they are more than half of all. */
  release(costBytes: number, entries: number): void {
    this.#bytes -= costBytes
    this.#dropped += entries
    if (this.#dropped * 2 <= this.#order.length) return
    for (let left = this.#order.length; left > 0; left--) {
      const tail = this.#order.shift()!
      if (!tail.forgo()) this.#order.push(tail)
    }
    this.#dropped = 0
  }

  fits(costBytes: number): boolean {
    return costBytes <= this.#budgetBytes
  }
}

export class Tail {
  readonly #cache: TailCache
  readonly #entries = new Fifo<Batch>()
  #coversFrom: number
  /** Places in the cache's order whose entries this tail has dropped already. */
  #dropped = 0

  constructor(cache: TailCache, end: number) {
    this.#cache = cache
    this.#coversFrom = end
  }

  /** From this offset on the tail holds everything. */
  get coversFrom(): number {
    return this.#coversFrom
  }

  get length(): number {
    return this.#entries.length
  }

  /** Takes in the batch that follows the newest one. */
  add(batch: Batch): void {
    const kept = ownBytes(batch)
    const cost = costOf(kept)
    if (!this.#cache.fits(cost)) {
      this.reset(batch.nextOffset)
      return
    }
    this.#entries.push(kept)
    this.#cache.admit(this, cost)
  }

  /** Forgets everything; the tail is complete from `end` on. */
  reset(end: number): void {
    let freed = 0
    for (let i = 0; i < this.#entries.length; i++) freed += costOf(this.#entries.at(i)!)
    const dropped = this.#entries.length
    this.#dropped += dropped
    this.#entries.clear()
    this.#coversFrom = end
    this.#cache.release(freed, dropped)
  }

  /**
   * Whether the tail's oldest place in the cache's order belongs to an entry that it has dropped; this removes the
   * place.
   */
  forgo(): boolean {
    if (this.#dropped === 0) return false
    this.#dropped--
    return true
  }

  /** Drops the oldest entry for the cache and returns what that frees. */
  evict(): number {
    const oldest = this.#entries.shift()!
    this.#coversFrom = oldest.nextOffset
    return costOf(oldest)
  }

  /** The position of the first entry that reaches beyond `offset`; `length` if there is no such entry. */
  position(offset: number): number {
    let low = 0
    let high = this.#entries.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#entries.at(middle)!.nextOffset > offset) high = middle
      else low = middle + 1
    }
    return low
  }

  at(position: number): Batch | undefined {
    return this.#entries.at(position)
  }
}

function costOf(batch: Batch): number {
  return batch.bytes.buffer.byteLength + ENTRY_BYTES
}

/** A small batch keeps its whole frame alive, so one that is less than half of it is copied out. */
function ownBytes(batch: Batch): Batch {
  const { bytes } = batch
  if (bytes.length * 2 >= bytes.buffer.byteLength) return batch
  const copy = Buffer.allocUnsafeSlow(bytes.length)
  copy.set(bytes)
  return { ...batch, bytes: copy }
}
