// A map that forgets values that were not used for a long time, so that all together stay below a number of bytes.

interface Kept<Value> {
  readonly value: Value
  readonly bytes: number
  /** Since it was last considered for removal. */
  isUsed: boolean
}

export class BoundedCache<Key, Value> {
  readonly #mostBytes: number
  readonly #bytesOf: (value: Value) => number
  /** In the order in which they are considered for removal. A use only marks a value, because uses are frequent. */
  readonly #kept = new Map<Key, Kept<Value>>()
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

  has(key: Key): boolean {
    return this.#kept.has(key)
  }

  /** Does not count as a use. */
  peek(key: Key): Value | undefined {
    return this.#kept.get(key)?.value
  }

  get(key: Key): Value | undefined {
    const found = this.#kept.get(key)
    if (found === undefined) return undefined
    found.isUsed = true
    return found.value
  }

  /** A value that is larger than the whole cache is not kept. */
  set(key: Key, value: Value): void {
    this.delete(key)
    const bytes = this.#bytesOf(value)
    if (bytes > this.#mostBytes) return
    this.#kept.set(key, { value, bytes, isUsed: false })
    this.#bytes += bytes
    for (const [each, kept] of this.#kept) {
      if (this.#bytes <= this.#mostBytes) return
      // The new value was not used yet. While all others are in use it would be the one that goes, each time.
      if (each === key) continue
      this.#kept.delete(each)
      // A value that was used goes to the end, once, and is met again if nothing else makes room.
      if (kept.isUsed) this.#kept.set(each, Object.assign(kept, { isUsed: false }))
      else this.#bytes -= kept.bytes
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
