// Memory for reads of the journal, reused after the caller has said that it no longer needs the bytes. Fresh memory
// costs more than the read: the system must clear its pages, and the collector must find out that they are free. A
// caller that never says so keeps its memory until the collector frees it, like any other object.

/** Smaller reads get memory of their own, which the allocator has at hand. */
const LEAST_BYTES = 64 << 10
/** Longer reads get memory of their own too: there are few. */
const MOST_BYTES = 1 << 20
/** Memory that is kept for reads to come. */
const KEPT_BYTES = 16 << 20

/** Memory for one read. */
export interface Loan {
  readonly bytes: Buffer
  /** One more caller looks at the bytes. */
  hold(): void
  /** One caller no longer looks at the bytes. After the last one the memory is overwritten. */
  release(): void
}

export class ReadMemory {
  /** By size, a power of two. */
  readonly #free = new Map<number, ArrayBuffer[]>()
  #keptBytes = 0

  /** This many bytes, which no caller holds yet. */
  lend(length: number): Loan {
    if (length < LEAST_BYTES || length > MOST_BYTES) {
      // An ArrayBuffer of its own: a kept batch must not pin a shared pool.
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
