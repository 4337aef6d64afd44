// What a reader who lags behind asks for next, read before it asks: a client that works on one answer before it asks for the
// next lets the disk rest meanwhile, and then waits for it. Whoever asks twice, and the second time where the first answer
// ended, goes on, so from then on the read that comes next is made at once and kept until it is asked for, word for word.
//
// Each is handed out once. There is one budget for all of them: where it is used up nothing is read ahead, and what nobody
// has come for is dropped after a while. It knows neither partitions nor stores.

import type { Clock } from '../base/clock.ts'

/** Memory for what was read ahead and not asked for yet, of all partitions together. */
export const AHEAD_BYTES = 32 << 20
/** So long it is kept for whoever is expected to ask. */
export const KEEP_MS = 5_000
/** Places where somebody is expected; above this the oldest is forgotten. */
const MOST_PLACES = 10_000

/** What was found, as far as this file cares. */
export interface Found {
  readonly batches: readonly Uint8Array[]
}

/** Where a reader is expected. */
interface Place<T extends Found> {
  readonly maxBytes: number
  readonly sinceMs: number
  /** Null where nothing is read ahead: it would be the reader's second question, or there was no room. */
  found: T | Promise<T | null> | null
  /** What it takes of the budget, while it is read what it may take at most. */
  reservedBytes: number
}

export class ReadAhead<T extends Found> {
  readonly #clock: Clock
  /** The oldest first. */
  readonly #places = new Map<string, Place<T>>()
  /** How many places hold each piece of memory: reads that were made together share it. */
  readonly #holders = new Map<ArrayBufferLike, number>()
  #bytes = 0
  #due: (() => void)[] = []
  #isWatched = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** What is held or reserved. */
  get bytes(): number {
    return this.#bytes
  }

  /** Somebody was answered who may go on here, with the same limit. */
  expect(key: string, maxBytes: number): void {
    if (this.#places.has(key)) return
    this.#add(key, { maxBytes, sinceMs: this.#clock.monotonic(), found: null, reservedBytes: 0 })
  }

  /**
   * Somebody will go on here: makes the read of so many bytes after this turn, together with others, and keeps what it
   * finds. A read that finds nothing to keep answers null; it does not throw.
   */
  read(key: string, maxBytes: number, load: () => Promise<T | null>): void {
    const known = this.#places.get(key)
    if (known !== undefined && known.found !== null) return
    if (this.#bytes + maxBytes > AHEAD_BYTES) {
      this.expect(key, maxBytes)
      return
    }
    const found = new Promise<T | null>(resolve => {
      if (this.#due.push(() => resolve(load())) === 1) this.#clock.soon(() => this.#readDue())
    })
    const place: Place<T> = { maxBytes, sinceMs: this.#clock.monotonic(), found, reservedBytes: maxBytes }
    this.#bytes += maxBytes
    this.#add(key, place)
    const keep = (result: T | null) => {
      if (this.#places.get(key) !== place) return
      this.#release(place)
      place.found = result
      if (result !== null) this.#hold(result)
    }
    // Whoever has taken it hears of what went wrong, and whoever comes later reads for themselves.
    found.then(keep, () => keep(null))
  }

  /**
   * Whoever asks here was expected when this is not undefined. What was read ahead for them is theirs from now on; null when
   * there is nothing, or it was read with another limit.
   */
  take(key: string, maxBytes: number): T | Promise<T | null> | null | undefined {
    const place = this.#places.get(key)
    if (place === undefined) return undefined
    this.#drop(key, place)
    return place.maxBytes === maxBytes ? place.found : null
  }

  #add(key: string, place: Place<T>): void {
    // At the end of the order, where the newest are.
    this.#places.delete(key)
    this.#places.set(key, place)
    if (this.#places.size > MOST_PLACES) {
      const [oldest] = this.#places
      this.#drop(...oldest!)
    }
    this.#watch()
  }

  #readDue(): void {
    for (const read of this.#due.splice(0)) read()
  }

  #drop(key: string, place: Place<T>): void {
    this.#places.delete(key)
    this.#release(place)
  }

  /** Gives back what the place takes of the budget. */
  #release(place: Place<T>): void {
    this.#bytes -= place.reservedBytes
    place.reservedBytes = 0
    if (place.found === null || place.found instanceof Promise) return
    for (const memory of memoryOf(place.found)) {
      const others = this.#holders.get(memory)! - 1
      if (others > 0) this.#holders.set(memory, others)
      else {
        this.#holders.delete(memory)
        this.#bytes -= memory.byteLength
      }
    }
  }

  #hold(found: T): void {
    for (const memory of memoryOf(found)) {
      const others = this.#holders.get(memory) ?? 0
      if (others === 0) this.#bytes += memory.byteLength
      this.#holders.set(memory, others + 1)
    }
  }

  /** Drops what nobody has come for, as long as there is anything. */
  #watch(): void {
    if (this.#isWatched || this.#places.size === 0) return
    this.#isWatched = true
    this.#clock.timer(KEEP_MS, () => {
      this.#isWatched = false
      const before = this.#clock.monotonic() - KEEP_MS
      for (const [key, place] of this.#places) {
        if (place.sinceMs > before) break
        this.#drop(key, place)
      }
      this.#watch()
    })
  }
}

function memoryOf({ batches }: Found): ReadonlySet<ArrayBufferLike> {
  return new Set(batches.map(bytes => bytes.buffer))
}
