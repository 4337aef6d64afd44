// Bytes of Avro values, one after the other.

export class ByteSink {
  #bytes = Buffer.allocUnsafe(256)
  #length = 0

  get length(): number {
    return this.#length
  }

  /** Forgets everything behind `length`. */
  back(length: number): void {
    this.#length = length
  }

  /** A copy of everything behind `length`. */
  since(length: number): Buffer {
    return Buffer.from(this.#bytes.subarray(length, this.#length))
  }

  byte(byte: number): void {
    this.#room(1)
    this.#bytes[this.#length++] = byte
  }

  /** A zigzag varint. */
  long(value: number | bigint): void {
    let left = BigInt.asUintN(64, (BigInt(value) << 1n) ^ (BigInt(value) >> 63n))
    for (; left > 0x7fn; left >>= 7n) this.byte(Number(left & 0x7fn) | 0x80)
    this.byte(Number(left))
  }

  float(value: number): void {
    this.#room(4)
    this.#length = this.#bytes.writeFloatLE(value, this.#length)
  }

  double(value: number): void {
    this.#room(8)
    this.#length = this.#bytes.writeDoubleLE(value, this.#length)
  }

  /** A string in UTF-8, with its length. */
  text(text: string): void {
    const length = Buffer.byteLength(text)
    this.long(length)
    this.#room(length)
    this.#length += this.#bytes.write(text, this.#length)
  }

  bytes(bytes: Uint8Array): void {
    this.#room(bytes.length)
    this.#bytes.set(bytes, this.#length)
    this.#length += bytes.length
  }

  #room(bytes: number): void {
    if (this.#length + bytes <= this.#bytes.length) return
    const larger = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.#length + bytes))
    larger.set(this.#bytes.subarray(0, this.#length))
    this.#bytes = larger
  }
}
