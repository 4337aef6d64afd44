// Restored parts of data files, bounded by their bytes. Parts on their way count as much as those that are here, so
// that many readers at once take no more memory than one. The part that no reader has used for longest goes first, but
// parts that were read ahead stay for their readers as long as others can go. It knows nothing of files.

import { assert } from '../../base/assert.ts'
import type { Clock } from '../../base/clock.ts'
import type { RestoredBatch } from '../columns/restore.ts'
import { Part } from './part.ts'
import { Closed } from './read-queue.ts'

interface Held {
  readonly part: Part
  /** When it came, on Clock.monotonic(). */
  readonly sinceMs: number
  /** It was read ahead, and no reader has come yet. */
  isAhead: boolean
}

interface Loading {
  /** Resolves with the part, for those who were counted before. */
  readonly part: Promise<Part>
  /** The readers that wait for it. */
  readers: number
}

interface Waiting {
  readonly bytes: number
  readonly admit: PromiseWithResolvers<void>
}

export interface Load {
  /** About the memory that the work and its result take. */
  readonly bytes: number
  /** Resolves with batches whose memory belongs to the cache from then on. */
  readonly work: () => Promise<readonly RestoredBatch[]>
}

/** Parts that were read ahead take at most this share of the memory. */
const AHEAD_SHARE = 0.75
/** A part that was read ahead is kept this long for its reader. Then it is a part like others. */
const KEEP_AHEAD_MS = 5_000

export class PartCache {
  readonly #clock: Clock
  readonly #limit: number
  /** The one that was used last stands last. */
  readonly #held = new Map<string, Held>()
  readonly #loading = new Map<string, Loading>()
  readonly #waiting: Waiting[] = []
  #heldBytes = 0
  #reservedBytes = 0
  #aheadBytes = 0
  #isClosed = false

  /** In bytes. A part that is larger than the limit is loaded alone. */
  constructor(clock: Clock, limit: number) {
    this.#clock = clock
    assert(limit >= 0, `a cache has a limit of at least 0 bytes, got ${limit}`)
    this.#limit = limit
  }

  /** The memory of the parts that are here and on their way. */
  get bytes(): number {
    return this.#heldBytes + this.#reservedBytes
  }

  has(key: string): boolean {
    return this.#held.has(key) || this.#loading.has(key)
  }

  isLoading(key: string): boolean {
    return this.#loading.has(key)
  }

  /** Returns a part for a reader, who must release it; undefined if it is not here. */
  use(key: string): Part | undefined {
    const held = this.#held.get(key)
    if (held === undefined) return undefined
    this.#endAhead(held)
    this.#held.delete(key)
    this.#held.set(key, held)
    return held.part.use()
  }

  /** Resolves with a part that is on its way for a reader, who must release it; undefined if it is not on its way. */
  wait(key: string): Promise<Part> | undefined {
    const loading = this.#loading.get(key)
    if (loading === undefined) return undefined
    loading.readers++
    return loading.part
  }

  /** Says whether a part of this size can be read ahead without taking memory from readers. */
  hasRoomAhead(bytes: number): boolean {
    const beforeMs = this.#clock.monotonic() - KEEP_AHEAD_MS
    for (const held of this.#held.values()) if (held.sinceMs < beforeMs) this.#endAhead(held)
    if (this.#isClosed || this.#waiting.length > 0 || this.#aheadBytes + bytes > this.#limit * AHEAD_SHARE) return false
    return this.#reservedBytes + this.#aheadBytes + bytes <= this.#limit
  }

  /**
   * Loads a part that is neither here nor on its way, for a reader, who must release it. If the work fails, nothing is
   * kept.
   */
  load(key: string, load: Load): Promise<Part> {
    return this.#begin(key, load, false)
  }

  /** Loads such a part before its reader comes. */
  async loadAhead(key: string, load: Load): Promise<void> {
    await this.#begin(key, load, true)
  }

  close(): void {
    this.#isClosed = true
    for (const { admit } of this.#waiting.splice(0)) admit.reject(new Closed())
    for (const [key, held] of this.#held) this.#drop(key, held)
  }

  #begin(key: string, load: Load, isAhead: boolean): Promise<Part> {
    assert(!this.has(key), `part ${key} is here or on its way`)
    const { promise, resolve } = Promise.withResolvers<Part>()
    const loading: Loading = { part: promise, readers: isAhead ? 0 : 1 }
    this.#loading.set(key, loading)
    resolve(this.#load(key, load, isAhead, loading))
    return promise
  }

  async #load(key: string, { bytes, work }: Load, isAhead: boolean, loading: Loading): Promise<Part> {
    // Parts that were read ahead count from the beginning, so that many at once do not pass their share.
    if (isAhead) this.#aheadBytes += bytes
    let isReserved = false
    try {
      await this.#reserve(bytes)
      isReserved = true
      const batches = await work()
      const part = new Part(batches, loading.readers + (this.#isClosed ? 0 : 1))
      if (!this.#isClosed) this.#hold(key, part, isAhead)
      return part
    } finally {
      this.#loading.delete(key)
      if (isAhead) this.#aheadBytes -= bytes
      if (isReserved) this.#reservedBytes -= bytes
      this.#admit()
    }
  }

  #hold(key: string, part: Part, isAhead: boolean): void {
    this.#held.set(key, { part, isAhead, sinceMs: this.#clock.monotonic() })
    this.#heldBytes += part.bytes
    if (isAhead) this.#aheadBytes += part.bytes
  }

  async #reserve(bytes: number): Promise<void> {
    if (this.#isClosed) throw new Closed()
    if (this.#waiting.length === 0 && this.#makeRoom(bytes)) {
      this.#reservedBytes += bytes
      return
    }
    const admit = Promise.withResolvers<void>()
    this.#waiting.push({ bytes, admit })
    await admit.promise
  }

  #admit(): void {
    // A part can be larger than its estimate.
    this.#makeRoom(0)
    for (let next = this.#waiting[0]; next !== undefined && this.#makeRoom(next.bytes); next = this.#waiting[0]) {
      this.#waiting.shift()
      this.#reservedBytes += next.bytes
      next.admit.resolve()
    }
  }

  /** Drops parts until there is room. A part that is alone always has room. */
  #makeRoom(bytes: number): boolean {
    const isFull = () => this.bytes + bytes > this.#limit
    for (const mayDropAhead of [false, true])
      for (const [key, held] of this.#held) {
        if (!isFull()) return true
        if (mayDropAhead || !held.isAhead) this.#drop(key, held)
      }
    return !isFull() || this.#reservedBytes === 0
  }

  #drop(key: string, held: Held): void {
    this.#held.delete(key)
    this.#heldBytes -= held.part.bytes
    this.#endAhead(held)
    held.part.release()
  }

  #endAhead(held: Held): void {
    if (held.isAhead) this.#aheadBytes -= held.part.bytes
    held.isAhead = false
  }
}
