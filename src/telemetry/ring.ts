// Keeps the newest numbers of a series in a typed array. The array grows up to its capacity. After that each new number
// replaces the oldest one.

const FIRST_ROOM = 32

export class Ring {
  readonly #capacity: number
  #values: Float64Array
  /** The index of the oldest number. */
  #from = 0
  #length = 0

  constructor(capacity: number) {
    this.#capacity = Math.max(1, capacity)
    this.#values = new Float64Array(Math.min(FIRST_ROOM, this.#capacity))
  }

  get length(): number {
    return this.#length
  }

  push(value: number): void {
    if (this.#length === this.#values.length && this.#length < this.#capacity) this.#grow()
    const room = this.#values.length
    if (this.#length < room) this.#values[(this.#from + this.#length++) % room] = value
    else {
      this.#values[this.#from] = value
      this.#from = (this.#from + 1) % room
    }
  }

  /** Returns the number of this age; 0 is the newest. NaN if the ring has no number that old. */
  back(age: number): number {
    if (age >= this.#length) return Number.NaN
    return this.#values[(this.#from + this.#length - 1 - age) % this.#values.length]!
  }

  #grow(): void {
    const wider = new Float64Array(Math.min(this.#values.length * 2, this.#capacity))
    for (let i = 0; i < this.#length; i++) wider[i] = this.#values[(this.#from + i) % this.#values.length]!
    this.#values = wider
    this.#from = 0
  }
}
