// A buffer that is written from its end to its beginning. So the length of a message is known when the bytes of its
// fields are written, and stands before them without a copy.

import type { WIRE } from './tables.ts'

const FIRST_SIZE = 1024

export class BackwardsBuffer {
  #bytes = Buffer.alloc(FIRST_SIZE)
  /** Where the written bytes begin. */
  #at = FIRST_SIZE
  readonly #most: number

  constructor(most: number) {
    this.#most = most
  }

  /** Bytes that are written. */
  get size(): number {
    return this.#bytes.length - this.#at
  }

  /** True if more bytes are written than allowed. */
  get isTooLarge(): boolean {
    return this.size > this.#most
  }

  result(): Uint8Array {
    return Uint8Array.from(this.#bytes.subarray(this.#at))
  }

  bytes(bytes: Uint8Array): void {
    this.#make(bytes.length)
    this.#bytes.set(bytes, this.#at)
  }

  /** `value` is a whole number from 0 to 2^53. */
  varint(value: number): void {
    this.varint64(BigInt(value))
  }

  /** Negative numbers take ten bytes. */
  varint64(value: bigint): void {
    let rest = BigInt.asUintN(64, value)
    const bytes: number[] = []
    while (rest > 127n) {
      bytes.push(Number(rest & 127n) | 128)
      rest >>= 7n
    }
    bytes.push(Number(rest))
    this.bytes(Uint8Array.from(bytes))
  }

  float(value: number): void {
    this.#make(4)
    this.#bytes.writeFloatLE(value, this.#at)
  }

  double(value: number): void {
    this.#make(8)
    this.#bytes.writeDoubleLE(value, this.#at)
  }

  fixed32(value: number): void {
    this.#make(4)
    this.#bytes.writeInt32LE(value | 0, this.#at)
  }

  fixed64(value: bigint): void {
    this.#make(8)
    this.#bytes.writeBigInt64LE(BigInt.asIntN(64, value), this.#at)
  }

  tag(number: number, wire: (typeof WIRE)[keyof typeof WIRE]): void {
    this.varint(number * 8 + wire)
  }

  #make(size: number): void {
    if (size > this.#at) {
      const written = this.size
      const larger = Buffer.alloc(Math.max(this.#bytes.length * 2, written + size + FIRST_SIZE))
      larger.set(this.#bytes.subarray(this.#at), larger.length - written)
      this.#bytes = larger
      this.#at = larger.length - written
    }
    this.#at -= size
  }
}
