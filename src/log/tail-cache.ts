// Keeps the newest batches of every partition in memory, under one byte budget for the whole broker. Consumers that
// keep up never need the store. The oldest batches of all partitions are evicted first. The cache does not know which
// batches readers may see (the high watermark). Reads of old data never fill it.

import type { Batch } from '../store/store.ts'
import { Fifo } from './fifo.ts'

/** The memory of an entry without its bytes: the Batch, its Buffer, its ArrayBuffer and two places in queues. */
const ENTRY_BYTES = 256

export class TailCache {
  readonly #budgetBytes: number
  #bytes = 0
  /** The tail of each entry, oldest first. A tail evicts its own entries in order, so knowing the tail is enough. */
  readonly #order = new Fifo<Tail>()
  /** The number of places in the order whose entries were already dropped by their tails. */
  #dropped = 0

  constructor(budgetBytes: number) {
    this.#budgetBytes = budgetBytes
  }

  /** The number of places in the order, including those of dropped entries. */
  get places(): number {
    return this.#order.length
  }

  /** The bytes that the entries keep alive, at most the budget. */
  get bytes(): number {
    return this.#bytes
  }

  /** Returns the part of the cache for a partition. It begins empty at `end` and has every later batch. */
  tail(end: number): Tail {
    return new Tail(this, end)
  }

  /** Called by a tail for each entry that it adds. */
  admit(tail: Tail, costBytes: number): void {
    this.#bytes += costBytes
    this.#order.push(tail)
    while (this.#bytes > this.#budgetBytes) {
      const oldest = this.#order.shift()!
      if (oldest.forgo()) this.#dropped--
      else this.#bytes -= oldest.evict()
    }
  }

  /**
   * Called by a tail that drops entries itself. Their places are removed when they are more than half of all places.
   */
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
  /** The number of places in the cache's order whose entries this tail has already dropped. */
  #dropped = 0

  constructor(cache: TailCache, end: number) {
    this.#cache = cache
    this.#coversFrom = end
  }

  /** The tail has every batch from this offset on. */
  get coversFrom(): number {
    return this.#coversFrom
  }

  get length(): number {
    return this.#entries.length
  }

  /** Adds the batch that follows the newest one. */
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

  /** Drops all entries. The tail then has every batch from `end` on. */
  reset(end: number): void {
    let freed = 0
    for (let i = 0; i < this.#entries.length; i++) freed += costOf(this.#entries.at(i)!)
    const dropped = this.#entries.length
    this.#dropped += dropped
    this.#entries.clear()
    this.#coversFrom = end
    this.#cache.release(freed, dropped)
  }

  /** Drops the entries that begin below an offset, because the log has other batches there. */
  dropBelow(offset: number): void {
    if (offset <= this.#coversFrom) return
    let freed = 0
    let dropped = 0
    for (let first = this.#entries.at(0); first !== undefined && first.baseOffset < offset; ) {
      freed += costOf(first)
      dropped++
      this.#coversFrom = first.nextOffset
      this.#entries.shift()
      first = this.#entries.at(0)
    }
    this.#coversFrom = Math.max(this.#coversFrom, offset)
    this.#dropped += dropped
    this.#cache.release(freed, dropped)
  }

  /**
   * Removes the tail's oldest place in the cache's order if the tail has already dropped the entry of that place.
   * Returns whether it did.
   */
  forgo(): boolean {
    if (this.#dropped === 0) return false
    this.#dropped--
    return true
  }

  /** Drops the oldest entry for the cache and returns the bytes that this frees. */
  evict(): number {
    const oldest = this.#entries.shift()!
    this.#coversFrom = oldest.nextOffset
    return costOf(oldest)
  }

  /** Returns the position of the first entry that reaches beyond `offset`; `length` if there is no such entry. */
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

/**
 * Returns the batch, in bytes of its own if it is less than half of its frame. A small batch would keep its whole frame
 * in memory.
 */
function ownBytes(batch: Batch): Batch {
  const { bytes } = batch
  if (bytes.length * 2 >= bytes.buffer.byteLength) return batch
  const copy = Buffer.allocUnsafeSlow(bytes.length)
  copy.set(bytes)
  return { ...batch, bytes: copy }
}
