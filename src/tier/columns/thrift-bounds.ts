// Walks over a struct of the Thrift compact protocol, in which Parquet has its footer, its page index and the headers
// of its pages, before hyparquet reads it. hyparquet believes each length and count: a few bytes could make it take
// gigabytes, read a number for hours, or leave the bytes. This walk takes no memory.
//
//   struct  (header type | id delta << 4, [id varint], value)* 00
//   list    header type | count << 4, [count varint], values     a count of 15 comes as a varint
//   binary  length varint, bytes

const STOP = 0
const TYPE = { true: 1, false: 2, byte: 3, i16: 4, i32: 5, i64: 6, double: 7, binary: 8, list: 9, struct: 12 } as const

/** The footer has five levels; statistics of other kinds a few more. */
const MOST_DEPTH = 32
/** Values in the footer of a file with 2,000 row groups of 30 columns. Each one takes some 50 bytes of memory. */
const MOST_VALUES = 4_000_000

/** Returns the end of the struct. Throws an Error if it does not fit into the bytes or has too many values. */
export function endOfStruct(bytes: Uint8Array, at: number): number {
  return new Walk(bytes, at).struct(0)
}

class Walk {
  readonly #bytes: Uint8Array
  #at: number
  #values = 0

  constructor(bytes: Uint8Array, at: number) {
    this.#bytes = bytes
    this.#at = at
  }

  struct(depth: number): number {
    if (depth > MOST_DEPTH) throw new Error(`more than ${MOST_DEPTH} structs and lists are inside of each other`)
    for (;;) {
      const header = this.#byte()
      const type = header & 0x0f
      if (type === STOP) return this.#at
      if (header >> 4 === 0) this.#varint()
      // A boolean in a struct is its type.
      if (type !== TYPE.true && type !== TYPE.false) this.#value(type, depth)
      if (++this.#values > MOST_VALUES) throw new Error(`it has more than ${MOST_VALUES} values`)
    }
  }

  #value(type: number, depth: number): void {
    switch (type) {
      case TYPE.true:
      case TYPE.false:
      case TYPE.byte:
        this.#skip(1)
        return
      case TYPE.i16:
      case TYPE.i32:
      case TYPE.i64:
        this.#varint()
        return
      case TYPE.double:
        this.#skip(8)
        return
      case TYPE.binary:
        this.#skip(this.#varint())
        return
      case TYPE.list:
        this.#list(depth + 1)
        return
      case TYPE.struct:
        this.struct(depth + 1)
        return
      default:
        throw new Error(`a value has the unknown type ${type}`)
    }
  }

  #list(depth: number): void {
    if (depth > MOST_DEPTH) throw new Error(`more than ${MOST_DEPTH} structs and lists are inside of each other`)
    const header = this.#byte()
    const count = header >> 4 === 15 ? this.#varint() : header >> 4
    // Each value takes a byte at least.
    if (count > this.#bytes.length - this.#at) throw new Error(`a list of ${count} values does not fit`)
    this.#values += count
    if (this.#values > MOST_VALUES) throw new Error(`it has more than ${MOST_VALUES} values`)
    for (let left = count; left > 0; left--) this.#value(header & 0x0f, depth)
  }

  #byte(): number {
    if (this.#at >= this.#bytes.length) throw new Error('the bytes end inside of a value')
    return this.#bytes[this.#at++]!
  }

  #skip(length: number): void {
    if (length > this.#bytes.length - this.#at) throw new Error(`a value of ${length} bytes does not fit`)
    this.#at += length
  }

  /** Numbers have up to 64 bits. Beyond 2^53 the result is about right, which is enough for a length. */
  #varint(): number {
    let value = 0
    for (let i = 0; i < 10; i++) {
      const byte = this.#byte()
      value += (byte & 0x7f) * 2 ** (7 * i)
      if (byte < 0x80) return value
    }
    throw new Error('a number has more than ten bytes')
  }
}
