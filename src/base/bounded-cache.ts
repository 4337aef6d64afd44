// A map that forgets the values that were not used for the longest time, so that all together stay below a number of
// bytes.

export class BoundedCache<Key, Value> {
  readonly #mostBytes: number
  readonly #bytesOf: (value: Value) => number
  /** In the order of their last use. */
  readonly #kept = new Map<Key, { readonly value: Value; readonly bytes: number }>()
  #bytes = 0

  constructor(mostBytes: number, bytesOf: (value: Value) => number) {
    this.#mostBytes = mostBytes
    this.#bytesOf = bytesOf
  }

  get size(): number {
    return this.#kept.size
  }

  get bytes(): number {
    return this.#bytes
  }

  keys(): IterableIterator<Key> {
    return this.#kept.keys()
  }

  /** Does not count as a use. */
  peek(key: Key): Value | undefined {
    return this.#kept.get(key)?.value
  }

  get(key: Key): Value | undefined {
    const found = this.#kept.get(key)
    if (found === undefined) return undefined
    this.#kept.delete(key)
    this.#kept.set(key, found)
    return found.value
  }

  /** A value that is larger than the whole cache is not kept. */
  set(key: Key, value: Value): void {
    this.delete(key)
    const bytes = this.#bytesOf(value)
    if (bytes > this.#mostBytes) return
    this.#kept.set(key, { value, bytes })
    this.#bytes += bytes
    for (const oldest of this.#kept.keys()) {
      if (this.#bytes <= this.#mostBytes) return
      this.delete(oldest)
    }
  }

  delete(key: Key): void {
    const found = this.#kept.get(key)
    if (found === undefined) return
    this.#bytes -= found.bytes
    this.#kept.delete(key)
  }

  clear(): void {
    this.#kept.clear()
    this.#bytes = 0
  }
}
