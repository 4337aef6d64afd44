// Memory that goes to a thread or comes from one. Memory that is handed over is gone here, and a store may share its
// own with other readers, so it gets copies.

/** Returns copies of byte strings, in their order, as views of one piece of memory. */
export function copied(parts: readonly Uint8Array[]): {
  readonly views: readonly Uint8Array[]
  readonly memory: ArrayBuffer
} {
  const memory = new ArrayBuffer(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  const views = parts.map(bytes => {
    const view = new Uint8Array(memory, at, bytes.length)
    view.set(bytes)
    at += bytes.length
    return view
  })
  return { views, memory }
}

/** Returns the memory of these bytes, each piece once. */
export function memoryOf(all: readonly Uint8Array[]): ArrayBuffer[] {
  return [...new Set(all.map(({ buffer }) => buffer as ArrayBuffer))]
}

/** Frees the memory of bytes at once, instead of at the next garbage collection. It must belong to nothing else. */
export function release(all: readonly Uint8Array[]): void {
  for (const buffer of memoryOf(all)) if (buffer.byteLength > 0) buffer.transfer(0)
}
