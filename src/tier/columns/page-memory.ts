// The memory of the finished pages of one column chunk. They lie behind each other as in the file, in slabs: a slab is
// one part of the file, and its memory goes back to the system when that part is written. Hundreds of pages with
// memory of their own would leave gaps in the heap of the allocator, which it keeps.

import { release } from '../../base/copied.ts'

/**
 * The allocator takes pieces of this size from the system and gives them back (scripts/node24.mjs). The system counts
 * of them only what was written.
 */
export const SLAB_BYTES = 4 * 1024 * 1024
/** Less is copied when the chunk is closed, and the slab is used again. */
const LENT_BYTES = 1024 * 1024

/** The bytes of a closed chunk. */
export interface ChunkBytes {
  readonly parts: readonly Uint8Array[]
  /** The memory of the parts is used again for the next chunk. Otherwise each part has its own. */
  readonly isLent: boolean
}

/** For chunks that have one page, or two. */
export const SMALL_SLAB_BYTES = 64 * 1024

interface Slab {
  readonly bytes: Uint8Array
  used: number
}

export class PageMemory {
  readonly #slabBytes: number
  #slabs: Slab[] = []
  #bytes = 0

  constructor(slabBytes = SLAB_BYTES) {
    this.#slabBytes = slabBytes
  }

  /** Of all pages. */
  get bytes(): number {
    return this.#bytes
  }

  /** Returns memory for the next page. */
  add(bytes: number): Uint8Array {
    let slab = this.#slabs.at(-1)
    if (slab === undefined || slab.used + bytes > slab.bytes.length) {
      slab = { bytes: new Uint8Array(Math.max(this.#slabBytes, bytes)), used: 0 }
      this.#slabs.push(slab)
    }
    const from = slab.used
    slab.used += bytes
    this.#bytes += bytes
    return slab.bytes.subarray(from, slab.used)
  }

  /** Returns the pages, and is empty then. Lent parts must be copied before the next page is added. */
  take(): ChunkBytes {
    const slabs = this.#slabs
    const parts = slabs.map(({ bytes, used }) => bytes.subarray(0, used))
    const isLent = this.#bytes <= LENT_BYTES && slabs.length <= 1
    if (isLent) for (const slab of slabs) slab.used = 0
    else this.#slabs = []
    this.#bytes = 0
    return { parts, isLent }
  }

  /** Frees the memory that was lent. */
  end(): void {
    release(this.#slabs.map(({ bytes }) => bytes))
    this.#slabs = []
  }
}
