// Copies for a thread. Memory that is handed over is gone here, and a store may share its own with other readers.

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
