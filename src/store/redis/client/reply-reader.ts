// Decodes replies of Redis (RESP 2) from chunks of bytes that begin and end anywhere. Its values do not refer to the
// chunks. It allocates memory for bytes that have arrived, and not for all bytes that a length announces.
//
//   +OK\r\n        text              $5\r\nhello\r\n    bytes              *2\r\n ... ...    as many replies
//   -ERR no\r\n    an error reply    $-1\r\n, *-1\r\n   null               :42\r\n           a number
//
// A reply consists of lines, and of bytes whose length a line announces. Those bytes end with an empty line.

import { RedisError } from './redis-error.ts'
import { COLON, CR, DOLLAR, LF, MINUS, NINE, PLUS, STAR, ZERO } from './resp.ts'

/** A number beyond 2^53 becomes the nearest double. */
export type AnyReply = null | number | string | Buffer | RedisError | readonly AnyReply[]

/** Thrown if the bytes are not a valid reply. The bytes after them can no longer be understood. */
export class MalformedReply extends Error {
  override readonly name = 'MalformedReply'
}

/**
 * The most bytes of a line, for example of a text or an error. Redis cuts the parts of a command that it repeats in
 * an error to 128 bytes.
 */
const LONGEST_LINE = 64 * 1024
/** The most bytes of a bulk string: the default of `proto-max-bulk-len`. */
const LONGEST_BULK = 512 * 1024 * 1024
const MOST_ELEMENTS = 2 ** 31 - 1
/** The most levels of nested arrays. The broker needs four: EXEC, XRANGE, an entry, its fields. */
const DEEPEST = 32
/** The bytes that are allocated for an announced length at once. For more memory, as many bytes must have arrived. */
const TRUSTED_BYTES = 1024 * 1024
/**
 * The most bytes that V8 stores inside the object. That costs much less than separate memory and a call to copy the
 * bytes.
 */
const ON_HEAP_BYTES = 64
/** The length of a 64-bit number in characters, with its sign. */
const LONGEST_NUMBER = 20
const EXACT_DIGITS = 15

/** An array that is not complete. */
interface OpenArray {
  readonly items: AnyReply[]
  missing: number
  readonly depth: number
  readonly outer: OpenArray | null
}

export class ReplyReader {
  readonly #onReply: (reply: AnyReply) => void
  #array: OpenArray | null = null
  /**
   * The buffer for the bytes that a line has announced, and the number of bytes that have arrived. The buffer grows
   * up to the announced length.
   */
  #bulk: Buffer | null = null
  #bulkLength = 0
  #filled = 0
  /** The bytes of a line that has not ended yet. */
  #held: Buffer[] = []
  #heldBytes = 0

  /** `onReply` is called with every reply as soon as it is complete. */
  constructor(onReply: (reply: AnyReply) => void) {
    this.#onReply = onReply
  }

  /**
   * Takes the next bytes: the first `end` bytes of the chunk. Throws MalformedReply; after that it must not be called
   * again.
   */
  push(chunk: Buffer, end = chunk.length): void {
    let at = 0
    while (at < end) {
      if (this.#bulk !== null && this.#filled < this.#bulkLength) {
        at = this.#fill(this.#bulk, chunk, at, end)
        continue
      }
      let lineEnd = at
      while (lineEnd < end && chunk[lineEnd] !== LF) lineEnd++
      const isEnded = lineEnd < end
      if (isEnded) lineEnd++
      if (this.#heldBytes + lineEnd - at >= LONGEST_LINE)
        throw new MalformedReply(`a line is longer than ${LONGEST_LINE} bytes`)
      if (!isEnded) {
        this.#hold(chunk, at, lineEnd)
      } else if (this.#heldBytes === 0) {
        this.#line(chunk, at, lineEnd)
      } else {
        this.#hold(chunk, at, lineEnd)
        const line = Buffer.concat(this.#held)
        this.#held = []
        this.#heldBytes = 0
        this.#line(line, 0, line.length)
      }
      at = lineEnd
    }
  }

  #hold(chunk: Buffer, from: number, to: number): void {
    this.#held.push(Buffer.from(chunk.subarray(from, to)))
    this.#heldBytes += to - from
  }

  #fill(bulk: Buffer, chunk: Buffer, from: number, end: number): number {
    const count = Math.min(end - from, this.#bulkLength - this.#filled)
    const needed = this.#filled + count
    let target = bulk
    if (needed > bulk.length) {
      target = Buffer.allocUnsafeSlow(Math.min(this.#bulkLength, Math.max(needed, 2 * bulk.length)))
      bulk.copy(target, 0, 0, this.#filled)
      this.#bulk = target
    }
    if (count > ON_HEAP_BYTES) chunk.copy(target, this.#filled, from, from + count)
    else for (let at = 0; at < count; at++) target[this.#filled + at] = chunk[from + at]!
    this.#filled = needed
    return from + count
  }

  /** Takes one line with its \r\n. */
  #line(bytes: Buffer, from: number, to: number): void {
    const end = to - 2
    if (end < from || bytes[end] !== CR) throw new MalformedReply('a line does not end with \\r\\n')
    if (this.#bulk !== null) this.#endBulk(this.#bulk, end - from)
    else if (bytes[from] === PLUS) this.#found(textIn(bytes, from + 1, end))
    else if (bytes[from] === MINUS) this.#found(new RedisError(bytes.toString('utf8', from + 1, end)))
    else if (bytes[from] === COLON) this.#found(numberIn(bytes, from + 1, end))
    else if (bytes[from] === DOLLAR) this.#beginBulk(numberIn(bytes, from + 1, end))
    else if (bytes[from] === STAR) this.#beginArray(numberIn(bytes, from + 1, end))
    else throw new MalformedReply(`a line begins with ${shown(bytes, from, end)}`)
  }

  #beginBulk(length: number): void {
    if (length < -1 || length > LONGEST_BULK) throw new MalformedReply(`a bulk string has ${length} bytes`)
    if (length === -1) {
      this.#found(null)
      return
    }
    // The bytes get separate memory, so that a caller that keeps them keeps no other bytes.
    this.#bulk =
      length <= ON_HEAP_BYTES ? Buffer.alloc(length) : Buffer.allocUnsafeSlow(Math.min(length, TRUSTED_BYTES))
    this.#bulkLength = length
    this.#filled = 0
  }

  #endBulk(bulk: Buffer, surplus: number): void {
    if (surplus > 0) throw new MalformedReply(`${this.#bulkLength} bytes were announced, and more came`)
    this.#bulk = null
    this.#found(bulk)
  }

  #beginArray(count: number): void {
    if (count < -1 || count > MOST_ELEMENTS) throw new MalformedReply(`an array has ${count} elements`)
    if (count <= 0) {
      this.#found(count === 0 ? [] : null)
      return
    }
    const outer = this.#array
    const depth = outer === null ? 1 : outer.depth + 1
    if (depth > DEEPEST) throw new MalformedReply(`arrays are nested more than ${DEEPEST} deep`)
    this.#array = { items: [], missing: count, depth, outer }
  }

  #found(reply: AnyReply): void {
    let found = reply
    for (let array = this.#array; array !== null; array = array.outer) {
      array.items.push(found)
      if (--array.missing > 0) {
        this.#array = array
        return
      }
      found = array.items
    }
    this.#array = null
    this.#onReply(found)
  }
}

/** Returns the text of a line. Two texts are very frequent and need no decoding. */
function textIn(bytes: Buffer, from: number, end: number): string {
  if (isText(bytes, from, end, 'QUEUED')) return 'QUEUED'
  if (isText(bytes, from, end, 'OK')) return 'OK'
  return bytes.toString('utf8', from, end)
}

function isText(bytes: Buffer, from: number, end: number, text: string): boolean {
  if (end - from !== text.length) return false
  for (let at = 0; at < text.length; at++) if (bytes[from + at] !== text.charCodeAt(at)) return false
  return true
}

function numberIn(bytes: Buffer, from: number, end: number): number {
  const isNegative = bytes[from] === MINUS
  const first = isNegative ? from + 1 : from
  let value = 0
  let at = first
  for (; at < end; at++) {
    const digit = bytes[at]!
    if (digit < ZERO || digit > NINE) break
    value = 10 * value + digit - ZERO
  }
  if (at < end || at === first || end - from > LONGEST_NUMBER)
    throw new MalformedReply(`${shown(bytes, from, end)} stands for a number`)
  // A sum of more digits would be rounded at each step.
  if (at - first > EXACT_DIGITS) value = Number(bytes.toString('latin1', first, end))
  return isNegative ? 0 - value : value
}

/** Returns the beginning of the bytes as text, short enough for an error message. */
function shown(bytes: Buffer, from: number, end: number): string {
  return JSON.stringify(bytes.toString('latin1', from, Math.min(end, from + 24)))
}
