// Batches on their way to an encoder thread. They are copied, because the store overwrites its memory or shares it.
// The thread gives the memory of the copy back, for the next batches: new memory has to be cleared first, and it ends
// in another thread than it began.

/** Memory of this size is used again. */
export const HANDED_BYTES = 1024 * 1024
/** The most pieces of memory that wait for their next use. */
const MOST_KEPT = 32

/** Batches in memory of their own, one behind the other. */
export interface Handed {
  readonly memory: ArrayBuffer
  readonly lengths: readonly number[]
  /** Of all batches. */
  readonly bytes: number
}

export class HandedMemory {
  readonly #free: ArrayBuffer[] = []

  copy(batches: readonly Uint8Array[]): Handed {
    const lengths = batches.map(({ length }) => length)
    const bytes = lengths.reduce((sum, length) => sum + length, 0)
    const memory = bytes > HANDED_BYTES ? new ArrayBuffer(bytes) : (this.#free.pop() ?? new ArrayBuffer(HANDED_BYTES))
    const to = new Uint8Array(memory)
    let at = 0
    for (const batch of batches) {
      to.set(batch, at)
      at += batch.length
    }
    return { memory, lengths, bytes }
  }

  /** Takes memory back. */
  keep(memory: ArrayBuffer): void {
    if (memory.byteLength === HANDED_BYTES && this.#free.length < MOST_KEPT) this.#free.push(memory)
  }
}

/** Returns the batches as views. */
export function batchesIn({ memory, lengths }: Handed): Uint8Array[] {
  let at = 0
  return lengths.map(length => {
    at += length
    return new Uint8Array(memory, at - length, length)
  })
}
