// A queue over one array: push at the end, shift at the front, look up by position, all in constant time on average.
// Array.shift moves all elements of a long array. This queue moves them only when half of the array is unused.

/** With fewer unused elements than this, moving is not worth it. */
const FEW = 32

export class Fifo<T> {
  #items: (T | undefined)[] = []
  #head = 0

  get length(): number {
    return this.#items.length - this.#head
  }

  push(item: T): void {
    this.#items.push(item)
  }

  /** Returns the item that is `position` items behind the front; undefined beyond the end. */
  at(position: number): T | undefined {
    return this.#items[this.#head + position]
  }

  shift(): T | undefined {
    if (this.#head === this.#items.length) return undefined
    const item = this.#items[this.#head]
    this.#items[this.#head++] = undefined
    if (this.#head === this.#items.length) this.clear()
    else if (this.#head >= FEW && this.#head * 2 >= this.#items.length) {
      this.#items = this.#items.slice(this.#head)
      this.#head = 0
    }
    return item
  }

  /** Puts items before the front and keeps their order. Takes time in proportion to the whole queue. */
  unshift(items: readonly T[]): void {
    this.#items = [...items, ...this.#items.slice(this.#head)]
    this.#head = 0
  }

  clear(): void {
    this.#items = []
    this.#head = 0
  }
}
