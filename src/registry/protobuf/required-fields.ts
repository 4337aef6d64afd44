// Which required fields of the open messages of a walk have come: one bit for each, in words that levels share.

import { MOST_LEVELS } from '../format.ts'
import type { ProtobufProgram } from './program.ts'

const BITS = 32

export class RequiredFields {
  readonly #counts: Int32Array
  /** Where the words of each level begin and end. */
  readonly #begins = new Int32Array(MOST_LEVELS)
  readonly #ends = new Int32Array(MOST_LEVELS)
  #words = new Uint32Array(16)

  constructor(program: ProtobufProgram) {
    this.#counts = program.requiredCounts
  }

  /** A message begins at this level; it is less than 0 if no fields of it are known. */
  open(level: number, message: number): void {
    const count = message < 0 ? 0 : (this.#counts[message] as number)
    const from = level === 0 ? 0 : (this.#ends[level - 1] as number)
    const to = from + Math.ceil(count / BITS)
    this.#begins[level] = from
    this.#ends[level] = to
    if (to > this.#words.length) {
      const larger = new Uint32Array(2 * to)
      larger.set(this.#words)
      this.#words = larger
    }
    if (to > from) this.#words.fill(0, from, to)
  }

  /** The field with this bit, counted from 1, has come. */
  mark(level: number, bit: number): void {
    const word = (this.#begins[level] as number) + ((bit - 1) >> 5)
    this.#words[word] = (this.#words[word] as number) | (1 << ((bit - 1) & 31))
  }

  /** The first field that has not come, counted from 0; -1 if all have. */
  missing(level: number, message: number): number {
    const count = message < 0 ? 0 : (this.#counts[message] as number)
    const from = this.#begins[level] as number
    for (let bit = 0; bit < count; bit++) {
      if (((this.#words[from + (bit >> 5)] as number) & (1 << (bit & 31))) === 0) return bit
    }
    return -1
  }
}
