// Reads and writes the part of DER (X.690) that the messages of Kerberos need (RFC 4120, section 5.1): definite
// lengths and tags of one byte. It knows no message: messages.ts does.
//
// An element is tag, length, content. A length below 128 is one byte; else the first byte says how many follow:
//
//   30 05 ...          5 bytes of content
//   30 82 01 00 ...    256 bytes of content

import { Refused } from './refused.ts'

export const INTEGER = 0x02
export const BIT_STRING = 0x03
export const OCTET_STRING = 0x04
export const OBJECT_IDENTIFIER = 0x06
export const GENERALIZED_TIME = 0x18
export const GENERAL_STRING = 0x1b
export const SEQUENCE = 0x30
export const application = (number: number) => 0x60 | number
export const field = (number: number) => 0xa0 | number

/** The bytes of the longest length: no token is longer than 2 ** 24 bytes. */
const MOST_LENGTH_BYTES = 3

/** Reads the elements of some content, one after the other. Throws Refused if they are not what the caller expects. */
export class DerReader {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length
  }

  /** Returns everything that was not read. */
  rest(): Buffer {
    return this.#bytes.subarray(this.#at)
  }

  /** Returns the content of the next element, which must have this tag. */
  take(tag: number): Buffer {
    const content = this.takeIf(tag)
    if (content !== null) return content
    const found = this.isAtEnd ? 'its end' : `0x${hex(this.#bytes[this.#at]!)}`
    throw malformed(`DER tag 0x${hex(tag)} is expected, and ${found} was found`)
  }

  /** Returns the content of the next element; null if the element has another tag, or if there is no further one. */
  takeIf(tag: number): Buffer | null {
    if (this.#bytes[this.#at] !== tag) return null
    this.#at++
    const length = this.#takeLength()
    if (length > this.#bytes.length - this.#at) throw malformed('a DER element is longer than the bytes around it')
    this.#at += length
    return this.#bytes.subarray(this.#at - length, this.#at)
  }

  #takeLength(): number {
    const first = this.#takeByte()
    if (first < 0x80) return first
    const count = first & 0x7f
    if (count === 0 || count > MOST_LENGTH_BYTES) throw malformed('a DER length is indefinite or too large')
    let length = 0
    for (let at = 0; at < count; at++) length = length * 256 + this.#takeByte()
    return length
  }

  #takeByte(): number {
    const byte = this.#bytes[this.#at++]
    if (byte === undefined) throw malformed('it ends inside a DER element')
    return byte
  }
}

export function malformed(what: string): Refused {
  return new Refused(`malformed token: ${what}`)
}

function hex(byte: number): string {
  return byte.toString(16).padStart(2, '0')
}

/** Returns the value of an INTEGER of at most 5 bytes, which hold every Int32 and UInt32. */
export function integerOf(content: Buffer): number {
  if (content.length === 0 || content.length > 5) throw malformed(`a number has ${content.length} bytes`)
  return content.readIntBE(0, content.length)
}

/** Returns an element: its tag, its length and the parts of its content. */
export function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts)
  const head = [tag]
  if (content.length < 0x80) head.push(content.length)
  else {
    const length = []
    for (let rest = content.length; rest > 0; rest = Math.floor(rest / 256)) length.unshift(rest % 256)
    head.push(0x80 | length.length, ...length)
  }
  return Buffer.concat([Buffer.from(head), content])
}

/** Returns an INTEGER element of a number from 0 to 2 ** 32 - 1, in the fewest bytes. */
export function derInteger(value: number): Buffer {
  const bytes = Buffer.alloc(5)
  bytes.writeUIntBE(value, 0, 5)
  let from = 0
  while (from < 4 && bytes[from] === 0 && bytes[from + 1]! < 0x80) from++
  return der(INTEGER, bytes.subarray(from))
}
