// The next read of a reader that lags behind, made before the reader asks. A client that works on one answer before it
// asks for the next lets the disk rest meanwhile, and then waits for it. A reader that asks twice, and the second time
// where the first answer ended, will probably go on. From then on its next read is made at once, and kept until the
// reader asks for exactly that.
//
// Each result is handed out once. There is one budget for all: when it is used up, nothing is read ahead. A result that
// no reader asks for is dropped after a while. It knows neither partitions nor stores.

import type { Clock } from '../base/clock.ts'

/** Memory for read-ahead results that no reader has taken yet, of all partitions together. */
export const AHEAD_BYTES = 32 << 20
/** A result is kept this long for the reader that is expected. */
export const KEEP_MS = 5_000
/** Places where a reader is expected; above this number the oldest is forgotten. */
const MOST_PLACES = 10_000

/** The parts of a result that this file uses. */
export interface Found {
  readonly batches: readonly Uint8Array[]
}

/** The places where a reader is expected. */
interface Place<T extends Found> {
  readonly maxBytes: number
  readonly sinceMs: number
  /** Null if nothing is read ahead: the reader has asked only once, or there was no memory. */
  found: T | Promise<T | null> | null
  /** The bytes that it takes of the budget; during the read, the most that it may take. */
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

  /** Bytes that are in use or reserved. */
  get bytes(): number {
    return this.#bytes
  }

  /** A reader got an answer and may go on here, with the same limit. */
  expect(key: string, maxBytes: number): void {
    if (this.#places.has(key)) return
    this.#add(key, { maxBytes, sinceMs: this.#clock.monotonic(), found: null, reservedBytes: 0 })
  }

  /**
   * A reader will continue here: reads this many bytes after this turn, together with other reads, and keeps the
   * result. A read without a useful result returns null; it does not throw.
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
    // The reader that has taken it gets the error, and a reader that comes later reads for itself.
    found.then(keep, () => keep(null))
  }

  /**
   * The result of the read ahead, which belongs to the caller from now on. Undefined if no reader was expected here;
   * null if there is no result, or it was read with another limit.
   */
  take(key: string, maxBytes: number): T | Promise<T | null> | null | undefined {
    const place = this.#places.get(key)
    if (place === undefined) return undefined
    this.#drop(key, place)
    return place.maxBytes === maxBytes ? place.found : null
  }

  #add(key: string, place: Place<T>): void {
    // At the end of the order, among the newest.
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

  /** Gives the memory of the place back to the budget. */
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

  /** Drops the results that no reader has asked for, as long as there are any. */
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
