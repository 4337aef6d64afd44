// Memory for reads of the journal, reused after the caller has released it. New memory costs more than the read: the
// operating system must clear its pages, and the garbage collector must find out that they are free. If a caller does
// not release its memory, the collector frees it like any other object.

/**
 * The smallest read in bytes that uses this memory. Smaller reads get separate memory, which the allocator provides
 * quickly.
 */
const LEAST_BYTES = 64 << 10
/** The largest read in bytes that uses this memory. Larger reads are rare and get separate memory. */
const MOST_BYTES = 1 << 20
/** The most bytes of memory that are kept for later reads. */
const KEPT_BYTES = 16 << 20

/** Memory for one read. */
export interface Loan {
  readonly bytes: Buffer
  /** Tells that one more caller uses the bytes. */
  hold(): void
  /** Tells that one caller no longer uses the bytes. After the last one the memory may be overwritten. */
  release(): void
}

export class ReadMemory {
  /** The free memory by size, a power of two. */
  readonly #free = new Map<number, ArrayBuffer[]>()
  #keptBytes = 0

  /** Returns memory of this many bytes that no caller uses yet. */
  lend(length: number): Loan {
    if (length < LEAST_BYTES || length > MOST_BYTES) {
      // It has a separate ArrayBuffer: a batch that a caller keeps must not keep a shared pool in memory.
      return { bytes: Buffer.allocUnsafeSlow(length), hold() {}, release() {} }
    }
    const size = 2 ** Math.ceil(Math.log2(length))
    const memory = this.#take(size)
    let holders = 0
    return {
      bytes: Buffer.from(memory, 0, length),
      hold: () => void holders++,
      release: () => {
        if (--holders === 0) this.#keep(memory)
      },
    }
  }

  #take(size: number): ArrayBuffer {
    const memory = this.#free.get(size)?.pop()
    if (memory === undefined) return Buffer.allocUnsafeSlow(size).buffer
    this.#keptBytes -= size
    return memory
  }

  #keep(memory: ArrayBuffer): void {
    const size = memory.byteLength
    if (this.#keptBytes + size > KEPT_BYTES) return
    this.#keptBytes += size
    const kept = this.#free.get(size)
    if (kept === undefined) this.#free.set(size, [memory])
    else kept.push(memory)
  }
}
