// Memory that the journal is read into, used again once whoever asked has said that nobody looks at what was read any more.
// New memory costs more than what is read into it: the system has to clear its pages, the collector to find out that
// they are free. Who says nothing keeps what was lent to them, and the collector finds it as it finds everything else.

/** Smaller reads have memory of their own: the allocator has theirs at hand. */
const LEAST_BYTES = 64 << 10
/** So have longer ones: they are few. */
const MOST_BYTES = 1 << 20
/** Memory that is kept for reads to come. */
const KEPT_BYTES = 16 << 20

/** Memory for one read. */
export interface Loan {
  readonly bytes: Buffer
  /** One more looks at what is read. */
  hold(): void
  /** One of those that held it looks no more: after the last one it is overwritten. */
  release(): void
}

export class ReadMemory {
  /** By size, a power of two. */
  readonly #free = new Map<number, ArrayBuffer[]>()
  #keptBytes = 0

  /** So many bytes, which nobody holds yet. */
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
