// Reads ahead for readers that lag behind. A client that processes one answer before it sends the next request leaves
// the disk idle meanwhile, and then waits for the disk. If the second read of a reader begins where its first answer
// ended, the reader will probably continue. From then on its next read is made at once. The result is kept until the
// reader asks for exactly this range.
//
// Each result is handed out once. All results share one budget of memory. When it is used up, nothing is read ahead. A
// result that no reader asks for is dropped after a while. This file knows neither partitions nor stores.

import type { Clock } from '../base/clock.ts'

/** The most memory for read-ahead results that no reader has taken yet, in bytes, over all partitions. */
export const AHEAD_BYTES = 32 << 20
/** How long a result is kept for the expected reader. */
export const KEEP_MS = 5_000
/** The most positions at which a reader is expected. Above this number the oldest one is forgotten. */
const MOST_PLACES = 10_000

/** The parts of a result that this file uses. */
export interface Found {
  readonly batches: readonly Uint8Array[]
}

/** A position at which a reader is expected. */
interface Place<T extends Found> {
  readonly maxBytes: number
  readonly sinceMs: number
  /** Null if nothing is read ahead: the reader has asked only once, or there was no memory. */
  found: T | Promise<T | null> | null
  /** The bytes of the budget that a read in progress reserves: the most that it may return. 0 at any other time. */
  reservedBytes: number
}

export class ReadAhead<T extends Found> {
  readonly #clock: Clock
  /** The oldest first. */
  readonly #places = new Map<string, Place<T>>()
  /** The number of results that use each piece of memory: reads that were made together share memory. */
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

  /** Notes that a reader got an answer and may continue at this position, with the same limit. */
  expect(key: string, maxBytes: number): void {
    if (this.#places.has(key)) return
    this.#add(key, { maxBytes, sinceMs: this.#clock.monotonic(), found: null, reservedBytes: 0 })
  }

  /**
   * Starts a read for a reader that will continue here, and keeps its result. The read runs after this turn, together
   * with other reads, and returns at most maxBytes. `load` resolves with null if there is no useful result.
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
    // A reader that has taken the promise gets the error. A later reader reads for itself.
    found.then(keep, () => keep(null))
  }

  /**
   * Returns the result of the read ahead, which belongs to the caller from now on. Undefined if no reader was expected
   * here. Null if there is no result, or if it was read with another limit.
   */
  take(key: string, maxBytes: number): T | Promise<T | null> | null | undefined {
    const place = this.#places.get(key)
    if (place === undefined) return undefined
    this.#drop(key, place)
    return place.maxBytes === maxBytes ? place.found : null
  }

  /** Drops the results at these positions, because the log has other batches there. */
  forget(isConcerned: (key: string) => boolean): void {
    for (const [key, place] of this.#places) if (isConcerned(key)) this.#drop(key, place)
  }

  #add(key: string, place: Place<T>): void {
    // Moves the position to the end of the order, among the newest.
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

  /** Gives the memory of the position back to the budget. */
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

  /** Drops the positions that no reader has asked for, and repeats this while there are positions. */
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
