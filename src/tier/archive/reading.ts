// One read: it goes over the parts from an offset on and collects batches. It runs as far as memory allows without
// waiting, and says what it needs next. The caller decides when that is fetched.

import type { DecoderThreads } from '../columns/decoder-thread.ts'
import type { RestoredBatch } from '../columns/restore.ts'
import { type Archived, covers } from '../iceberg/ranges.ts'
import { loadPart } from './load-part.ts'
import type { OpenFiles } from './open-files.ts'
import type { Part } from './part.ts'
import type { PartCache } from './part-cache.ts'
import { checkLost, locate, mergeBatches, type PartAt, tableAbsent } from './spots.ts'
import type { KnownTable } from './tables.ts'

export interface ReadAsk {
  readonly partition: number
  readonly offset: number
  readonly maxBytes: number
  readonly minOneBatch: boolean
  readonly until: number
}

export interface ReadRooms {
  readonly files: OpenFiles
  readonly cache: PartCache
  readonly decoders: DecoderThreads
  /** A reader has used parts: these many were in memory, and for these many it had to wait. */
  readonly onParts: (hits: number, misses: number) => void
}

export type Progress =
  | {
      readonly kind: 'done'
      readonly batches: readonly Uint8Array[]
      readonly bytes: number
      readonly next: number
      /** Frees the memory of the batches, as far as no other reader has it. A second call does nothing. */
      readonly release: () => void
    }
  /** Nothing is at the offset or above it, in this version of the table. */
  | { readonly kind: 'none' }
  /** The next batch comes behind offsets that were not archived when this version was committed. */
  | { readonly kind: 'gap' }
  | {
      readonly kind: 'need'
      readonly fetch: () => Promise<unknown>
      /** Others fetch it already. */
      readonly isOnItsWay: boolean
    }

/** A read that has this much does not wait for more. */
const ENOUGH_BYTES = 256 * 1024

export class Reading {
  readonly #rooms: ReadRooms
  readonly #known: KnownTable
  readonly #ask: ReadAsk
  /** Parts that this read has waited for. The cache may have dropped them since. */
  readonly #fetched = new Map<string, Part>()
  readonly #batches: Uint8Array[] = []
  #bytes = 0
  #position: number
  #skipsGap = false
  #misses = 0

  constructor(rooms: ReadRooms, known: KnownTable, ask: ReadAsk) {
    this.#rooms = rooms
    this.#known = known
    this.#ask = ask
    this.#position = ask.offset
  }

  /** Lets the read go over offsets that were never archived. */
  skipGap(): void {
    this.#skipsGap = true
  }

  /** Runs until the read has its answer or needs something. Throws FileTrouble or DamagedTable. */
  run(): Progress {
    const { loaded } = this.#known
    if (loaded === null) throw tableAbsent()
    const { partition, until } = this.#ask
    checkLost(loaded, partition)
    for (;;) {
      const located = locate(this.#rooms.files, loaded, partition, this.#position, until)
      if (located.kind === 'none') return this.#answer('none')
      if (located.kind === 'open') return this.#need(located.open, false)
      const { spot } = located
      const found = spot.parts.map(part => this.#inMemory(part))
      if (!isWhole(found)) {
        const isOnItsWay = spot.parts.every(({ key }, i) => found[i] !== undefined || this.#rooms.cache.isLoading(key))
        return this.#need(() => Promise.all(spot.parts.map(part => this.#fetch(part))), isOnItsWay)
      }
      const batches = mergeBatches(
        spot,
        found.map(part => part.batches),
      )
      const stop = this.#take(batches, loaded.archived)
      if (stop !== null) return this.#answer(stop)
      this.#position = Math.max(this.#position, spot.horizon + 1)
    }
  }

  /** Releases all parts that no answer has. The read must not go on. */
  end(): void {
    for (const part of this.#fetched.values()) part.release()
    this.#fetched.clear()
  }

  /** Fetches until the read has its answer. */
  async finish(): Promise<Progress & { readonly kind: 'done' | 'none' | 'gap' }> {
    for (;;) {
      const progress = this.run()
      if (progress.kind !== 'need') return progress
      try {
        await progress.fetch()
      } catch (error) {
        // The next read begins at the damage and says so. This one has batches to give.
        if (this.#batches.length === 0) throw error
        return this.#answer('full')
      }
    }
  }

  /** Takes batches that belong to the answer. Returns why the read ends; null if it goes on. */
  #take(batches: readonly RestoredBatch[], archived: Archived): 'full' | 'gap' | 'none' | null {
    const { partition, maxBytes, minOneBatch, until } = this.#ask
    for (const { baseOffset, lastOffset, bytes } of batches) {
      if (lastOffset < this.#position) continue
      if (lastOffset >= until) return 'none'
      const isGap = baseOffset > this.#position && !covers(archived, partition, [this.#position, baseOffset])
      if (isGap && !this.#skipsGap) return 'gap'
      const mustFit = this.#batches.length > 0 || !minOneBatch
      if (mustFit && this.#bytes + bytes.length > maxBytes) return 'full'
      this.#batches.push(bytes)
      this.#bytes += bytes.length
      this.#position = lastOffset + 1
    }
    return null
  }

  #answer(why: 'full' | 'gap' | 'none'): Progress & { readonly kind: 'done' | 'none' | 'gap' } {
    if (this.#batches.length === 0 && why !== 'full') return { kind: why }
    this.#rooms.onParts(this.#fetched.size - this.#misses, this.#misses)
    const parts = [...this.#fetched.values()]
    this.#fetched.clear()
    const release = () => {
      for (const part of parts.splice(0)) part.release()
    }
    return { kind: 'done', batches: this.#batches, bytes: this.#bytes, next: this.#position, release }
  }

  #need(fetch: () => Promise<unknown>, isOnItsWay: boolean): Progress {
    if (this.#bytes >= Math.min(this.#ask.maxBytes, ENOUGH_BYTES) && this.#batches.length > 0)
      return this.#answer('full')
    return { kind: 'need', fetch, isOnItsWay }
  }

  #inMemory({ key }: PartAt): Part | undefined {
    const fetched = this.#fetched.get(key)
    if (fetched !== undefined) return fetched
    const found = this.#rooms.cache.use(key)
    // The read keeps what it has seen, because it may look at the same spot twice.
    if (found !== undefined) this.#fetched.set(key, found)
    return found
  }

  async #fetch(part: PartAt): Promise<void> {
    const { cache, decoders } = this.#rooms
    if (this.#inMemory(part) !== undefined) return
    this.#misses++
    this.#fetched.set(part.key, await (cache.wait(part.key) ?? loadPart(cache, decoders, part)))
  }
}

function isWhole(parts: (Part | undefined)[]): parts is Part[] {
  return !parts.includes(undefined)
}
