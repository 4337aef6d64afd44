// Shows an Avro value as JSON text for people and for `encode`: Avro's JSON encoding (Avro 1.12 specification, "JSON
// Encoding"), with longs as exact digits, bytes as ISO-8859-1 with escapes, and null, NaN and the infinities of a float
// as strings. The walker has judged the bytes before, therefore nothing is checked again but depth and length.

import { type Fault, MOST_LEVELS } from '../format.ts'
import { floatText, quoted } from './java-text.ts'
import { type AvroProgram, KINDS } from './program.ts'
import { AvroWalker } from './walker.ts'

/** Returns the JSON text of the value that ends exactly at `to`. `mostBytes`: of the text, in UTF-8. */
export function decodeAvro(
  program: AvroProgram,
  bytes: Uint8Array,
  from: number,
  to: number,
  mostBytes: number,
): string | Fault {
  const walker = new AvroWalker(program)
  walker.begin(bytes, from, to)
  const fault = walker.run(Number.POSITIVE_INFINITY)
  if (fault !== null && fault !== 'more') return fault
  const decoder = new Decoder(program, bytes, from, mostBytes)
  try {
    return decoder.text()
  } catch (error) {
    if (error instanceof Stopped) return error.fault
    throw error
  }
}

/** Ends the recursion. */
class Stopped extends Error {
  readonly fault: Fault
  constructor(fault: Fault) {
    super(fault.message)
    this.fault = fault
  }
}

class Decoder {
  readonly #nodes: Int32Array
  readonly #texts: readonly string[]
  readonly #bytes: Buffer
  readonly #from: number
  readonly #mostBytes: number
  #parts: string[] = []
  #length = 0
  #at: number

  constructor({ nodes, texts }: AvroProgram, bytes: Uint8Array, from: number, mostBytes: number) {
    this.#nodes = nodes
    this.#texts = texts
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.#from = from
    this.#at = from
    this.#mostBytes = mostBytes
  }

  text(): string {
    // The walker counts a record at the top as no level.
    this.#value(0, this.#nodes[0] === KINDS.record ? 0 : 1)
    return this.#parts.join('')
  }

  #value(node: number, level: number): void {
    const kind = this.#nodes[node]!
    if (level > MOST_LEVELS && (kind === KINDS.array || kind === KINDS.map || kind === KINDS.record))
      this.#stop('too-deep', `more than ${MOST_LEVELS} levels`)
    switch (kind) {
      case KINDS.null:
        this.#add('null')
        return
      case KINDS.boolean:
        this.#add(this.#bytes[this.#at++] === 1 ? 'true' : 'false')
        return
      case KINDS.int:
      case KINDS.long:
        this.#add(String(this.#long()))
        return
      case KINDS.float:
        this.#at += 4
        this.#add(floating(this.#bytes.readFloatLE(this.#at - 4), value => Number(floatText(value))))
        return
      case KINDS.double:
        this.#at += 8
        this.#add(floating(this.#bytes.readDoubleLE(this.#at - 8), value => value))
        return
      case KINDS.bytes:
        this.#octets(Number(this.#long()))
        return
      case KINDS.fixed:
        this.#octets(this.#nodes[node + 2]!)
        return
      case KINDS.string:
        this.#string()
        return
      case KINDS.enum:
        this.#add(quoted(this.#texts[this.#nodes[node + 3 + Number(this.#long())]!]!))
        return
      case KINDS.array:
        this.#items('[', ']', () => this.#value(this.#nodes[node + 1]!, level + 1))
        return
      case KINDS.map:
        this.#items('{', '}', () => {
          this.#string()
          this.#add(':')
          this.#value(this.#nodes[node + 1]!, level + 1)
        })
        return
      case KINDS.union:
        this.#union(node, level)
        return
      default:
        this.#record(node, level)
        return
    }
  }

  #union(node: number, level: number): void {
    const branch = node + 2 + 2 * Number(this.#long())
    const type = this.#nodes[branch]!
    if (this.#nodes[type] === KINDS.null) {
      this.#add('null')
      return
    }
    this.#add(`{${quoted(this.#texts[this.#nodes[branch + 1]!]!)}:`)
    this.#value(type, level)
    this.#add('}')
  }

  #record(node: number, level: number): void {
    const count = this.#nodes[node + 2]!
    this.#add('{')
    for (let i = 0, field = node + 3; i < count; i++, field += 3) {
      this.#add(`${i === 0 ? '' : ','}${quoted(this.#texts[this.#nodes[field]!]!)}:`)
      this.#value(this.#nodes[field + 1]!, level + 1)
    }
    this.#add('}')
  }

  #items(open: string, close: string, item: () => void): void {
    this.#add(open)
    let first = true
    for (let count = this.#long(); count !== 0; count = this.#long()) {
      // The size of the block in bytes follows.
      if (count < 0) this.#long()
      for (let left = Math.abs(Number(count)); left > 0; left--) {
        if (!first) this.#add(',')
        first = false
        item()
      }
    }
    this.#add(close)
  }

  #string(): void {
    const length = Number(this.#long())
    this.#reserve(length)
    this.#at += length
    this.#add(quoted(this.#bytes.toString('utf8', this.#at - length, this.#at)))
  }

  #octets(length: number): void {
    this.#reserve(length)
    this.#at += length
    this.#add(octetText(this.#bytes.toString('latin1', this.#at - length, this.#at)))
  }

  #long(): number | bigint {
    let value = 0
    for (let i = 0; i < 4; i++) {
      const byte = this.#bytes[this.#at++]!
      value |= (byte & 0x7f) << (7 * i)
      if (byte < 0x80) return (value >>> 1) ^ -(value & 1)
    }
    let big = BigInt(value)
    for (let shift = 28n; ; shift += 7n) {
      const byte = this.#bytes[this.#at++]!
      big |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) break
    }
    const signed = BigInt.asIntN(64, (big >> 1n) ^ -(big & 1n))
    return Number.isSafeInteger(Number(signed)) ? Number(signed) : signed
  }

  /** Stops before a text is made that would be too long. */
  #reserve(bytes: number): void {
    if (this.#length + bytes > this.#mostBytes)
      this.#stop('too-many-elements', `the value as JSON is longer than ${this.#mostBytes} bytes`)
  }

  #add(text: string): void {
    const bytes = text.length < 64 ? text.length : Buffer.byteLength(text)
    this.#reserve(bytes)
    this.#length += bytes
    this.#parts.push(text)
  }

  #stop(reason: Fault['reason'], what: string): never {
    throw new Stopped({ reason, message: `at byte ${this.#at - this.#from}: ${what}` })
  }
}

function floating(value: number, shortest: (value: number) => number): string {
  if (!Number.isFinite(value)) return `"${value}"`
  return Object.is(value, -0) ? '-0.0' : String(shortest(value))
}

/** Bytes as a JSON string: a character for each, with escapes for those that are not printable ASCII. */
function octetText(text: string): string {
  return quoted(text).replace(/[\u007f-\u00ff]/g, byte => `\\u00${byte.charCodeAt(0).toString(16).padStart(2, '0')}`)
}
