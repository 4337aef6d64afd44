// Makes the Avro bytes of a value from the JSON text that `decode` shows. In a union a value may also stand without the
// name of its branch, if exactly one branch fits. Fields that the text leaves out get their default.

import { type Fault, MOST_LEVELS } from '../format.ts'
import { InvalidJson, isObject, type Json, JsonNumber, type JsonObject, readJson } from '../json-text.ts'
import { ByteSink } from './byte-sink.ts'
import { type AvroProgram, KINDS } from './program.ts'
import { clipped, kindOf } from './words.ts'

/** A level of Avro is up to two of JSON: a union and the value in it. */
const MOST_JSON_LEVELS = 2 * MOST_LEVELS + 8

/**
 * Looks at values, for each character of the text and for defaults, before the text counts as hostile: values without
 * the names of their branches, in unions in each other, can fit in more ways than can be tried.
 */
const LOOKS_PER_CHARACTER = 4
const MORE_LOOKS = 100_000

/** Returns the bytes, or why the text is no value of the schema. `mostBytes`: of the result. */
export function encodeAvro(program: AvroProgram, text: string, mostBytes: number): Buffer | Fault {
  try {
    const encoder = new Encoder(program, mostBytes, MORE_LOOKS + text.length * LOOKS_PER_CHARACTER)
    return encoder.bytes(readJson(text, MOST_JSON_LEVELS))
  } catch (error) {
    if (error instanceof InvalidJson) return { reason: 'bad-value', message: `it is no JSON: ${error.message}` }
    if (error instanceof Unfit) return { reason: error.reason, message: error.message }
    throw error
  }
}

/** The value does not fit its type. It is thrown but is no Error: unions try their branches, and a stack costs more. */
class Unfit {
  readonly reason: Fault['reason']
  readonly message: string
  constructor(reason: Fault['reason'], message: string) {
    this.reason = reason
    this.message = message
  }
}

class Encoder {
  readonly #nodes: Int32Array
  readonly #texts: readonly string[]
  readonly #sink: ByteSink
  readonly #mostBytes: number
  #looks: number
  /** Within a default, in which unions are written without the names of their branches. */
  #inDefault = false

  constructor({ nodes, texts }: AvroProgram, mostBytes: number, looks: number) {
    this.#nodes = nodes
    this.#texts = texts
    this.#mostBytes = mostBytes
    this.#sink = new ByteSink()
    this.#looks = looks
  }

  bytes(value: Json): Buffer {
    // The walker counts a record at the top as no level.
    this.#value(0, value, '', this.#nodes[0] === KINDS.record ? 0 : 1)
    if (this.#sink.length > this.#mostBytes) this.#tooLong('')
    return this.#sink.since(0)
  }

  /** `path`: the value's place in the JSON text, a JSON pointer. */
  #value(node: number, value: Json, path: string, level: number): void {
    this.#look(path)
    if (this.#sink.length > this.#mostBytes) this.#tooLong(path)
    const kind = this.#nodes[node]!
    switch (kind) {
      case KINDS.null:
        if (value !== null) this.#expected(path, 'null', value)
        return
      case KINDS.boolean:
        if (typeof value !== 'boolean') this.#expected(path, 'true or false', value)
        this.#sink.byte(value === true ? 1 : 0)
        return
      case KINDS.int:
      case KINDS.long: {
        const bits = kind === KINDS.int ? 32 : 64
        const integer = integerOf(value, bits)
        if (integer === null) this.#expected(path, `an integer of ${bits} bits`, value)
        this.#sink.long(integer!)
        return
      }
      case KINDS.float:
      case KINDS.double: {
        const number = floatingOf(value)
        if (number === null) this.#expected(path, 'a number', value)
        kind === KINDS.float ? this.#sink.float(number!) : this.#sink.double(number!)
        return
      }
      case KINDS.bytes:
      case KINDS.fixed: {
        if (!isOctets(value)) this.#expected(path, 'a string of characters up to U+00FF, one for each byte', value)
        const size = this.#nodes[node + 2]!
        if (kind === KINDS.bytes) this.#sink.long(value.length)
        else if (value.length !== size) this.#unfit(path, `${size} bytes for the fixed, not ${value.length}`)
        this.#sink.bytes(Buffer.from(value, 'latin1'))
        return
      }
      case KINDS.string:
        if (typeof value !== 'string') this.#expected(path, 'a string', value)
        this.#sink.text(value)
        return
      case KINDS.enum:
        this.#enum(node, value, path)
        return
      case KINDS.array:
        if (!Array.isArray(value)) this.#expected(path, 'an array', value)
        this.#enter(path, level)
        if (value.length > 0) this.#sink.long(value.length)
        for (const [i, item] of value.entries()) this.#value(this.#nodes[node + 1]!, item, `${path}/${i}`, level + 1)
        this.#sink.long(0)
        return
      case KINDS.map:
        if (!isObject(value)) this.#expected(path, 'an object', value)
        this.#enter(path, level)
        if (value.size > 0) this.#sink.long(value.size)
        for (const [name, item] of value) {
          this.#sink.text(name)
          this.#value(this.#nodes[node + 1]!, item, `${path}/${name}`, level + 1)
        }
        this.#sink.long(0)
        return
      case KINDS.union:
        this.#union(node, value, path, level)
        return
      default:
        if (!isObject(value)) this.#expected(path, `an object for ${this.#texts[this.#nodes[node + 1]!]}`, value)
        this.#enter(path, level)
        this.#record(node, value, path, level)
        return
    }
  }

  #enum(node: number, value: Json, path: string): void {
    const count = this.#nodes[node + 2]!
    for (let i = 0; i < count; i++)
      if (value === this.#texts[this.#nodes[node + 3 + i]!]) {
        this.#sink.long(i)
        return
      }
    this.#expected(path, `a symbol of ${this.#texts[this.#nodes[node + 1]!]}`, value)
  }

  #record(node: number, value: JsonObject, path: string, level: number): void {
    const count = this.#nodes[node + 2]!
    let found = 0
    for (let i = 0, field = node + 3; i < count; i++, field += 3) {
      const name = this.#texts[this.#nodes[field]!]!
      const type = this.#nodes[field + 1]!
      const member = value.get(name)
      if (member !== undefined) {
        found++
        this.#value(type, member, `${path}/${name}`, level + 1)
        continue
      }
      const byDefault = this.#nodes[field + 2]!
      if (byDefault < 0) this.#unfit(path, `the field "${name}", which has no default`)
      this.#default(type, readJson(this.#texts[byDefault]!, MOST_JSON_LEVELS), `${path}/${name}`, level + 1)
    }
    if (found === value.size) return
    const known = new Set(Array.from({ length: count }, (_, i) => this.#texts[this.#nodes[node + 3 + 3 * i]!]))
    const unknown = [...value.keys()].find(name => !known.has(name))
    this.#unfit(path, `only fields of ${this.#texts[this.#nodes[node + 1]!]}, not "${unknown}"`)
  }

  #default(node: number, value: Json, path: string, level: number): void {
    const outer = this.#inDefault
    this.#inDefault = true
    try {
      this.#value(node, value, path, level)
    } finally {
      this.#inDefault = outer
    }
  }

  #union(node: number, value: Json, path: string, level: number): void {
    const count = this.#nodes[node + 1]!
    const only = !this.#inDefault && isObject(value) && value.size === 1 ? [...value][0]! : null
    for (let i = 0; only !== null && i < count; i++) {
      if (only[0] !== this.#branchName(node, i)) continue
      this.#sink.long(i)
      this.#value(this.#nodes[node + 2 + 2 * i]!, only[1], `${path}/${only[0]}`, level)
      return
    }
    let fitting: Buffer | null = null
    for (let i = 0; i < count; i++) {
      const bytes = this.#branch(node, i, value, level)
      if (bytes === null) continue
      if (fitting !== null)
        this.#unfit(path, `the name of the branch, as in {"${this.#branchName(node, i)}": …}: several branches fit`)
      fitting = bytes
      // A default never names its branch: the first one that fits holds it.
      if (this.#inDefault) break
    }
    if (fitting === null) this.#expected(path, `a value of ${this.#branches(node)}`, value)
    this.#sink.bytes(fitting!)
  }

  /** The bytes of the value as the branch `i`, null if it does not fit. */
  #branch(node: number, i: number, value: Json, level: number): Buffer | null {
    if (!mayBe(this.#nodes[this.#nodes[node + 2 + 2 * i]!]!, value)) return null
    const before = this.#sink.length
    try {
      this.#sink.long(i)
      this.#value(this.#nodes[node + 2 + 2 * i]!, value, '', level)
      return this.#sink.since(before)
    } catch (error) {
      if (error instanceof Unfit && error.reason === 'bad-value') return null
      throw error
    } finally {
      this.#sink.back(before)
    }
  }

  #branchName(node: number, branch: number): string {
    return this.#texts[this.#nodes[node + 3 + 2 * branch]!]!
  }

  #branches(node: number): string {
    const names = Array.from({ length: Math.min(this.#nodes[node + 1]!, 8) }, (_, i) => this.#branchName(node, i))
    return `a branch of the union (${names.join(', ')}${this.#nodes[node + 1]! > 8 ? ', …' : ''})`
  }

  #look(path: string): void {
    if (--this.#looks < 0) this.#unfit(path, 'a value with fewer ways to read its unions', 'too-slow')
  }

  #expected(path: string, what: string, value: Json): never {
    const shown = value instanceof JsonNumber ? value.text.slice(0, 40) : kindOf(value)
    this.#unfit(path, `${what}, not ${typeof value === 'string' ? JSON.stringify(value.slice(0, 40)) : shown}`)
  }

  #enter(path: string, level: number): void {
    if (level > MOST_LEVELS) this.#unfit(path, `at most ${MOST_LEVELS} levels`, 'too-deep')
  }

  #tooLong(path: string): never {
    this.#unfit(path, `at most ${this.#mostBytes} bytes`, 'too-many-elements')
  }

  #unfit(path: string, expected: string, reason: Fault['reason'] = 'bad-value'): never {
    throw new Unfit(
      reason,
      `${path === '' ? 'at the top' : `at ${path.slice(0, 300)}`}: expected ${clipped(expected, 500)}`,
    )
  }
}

/** Whether JSON of this form can be a value of the kind. It saves most attempts at the branches of a union. */
function mayBe(kind: number, value: Json): boolean {
  if (value === null) return kind === KINDS.null
  if (typeof value === 'boolean') return kind === KINDS.boolean
  if (value instanceof JsonNumber) return kind >= KINDS.int && kind <= KINDS.double
  if (typeof value === 'string') return (kind >= KINDS.float && kind <= KINDS.string) || kind >= KINDS.enum
  return isObject(value) ? kind === KINDS.map || kind === KINDS.record : kind === KINDS.array
}

function integerOf(value: Json, bits: number): bigint | null {
  if (!(value instanceof JsonNumber) || !value.isInteger || value.text.length > 20) return null
  const integer = BigInt(value.text)
  return BigInt.asIntN(bits, integer) === integer ? integer : null
}

function floatingOf(value: Json): number | null {
  if (value instanceof JsonNumber) return Number(value.text)
  return value === 'NaN' || value === 'Infinity' || value === '-Infinity' ? Number(value) : null
}

const isOctets = (value: Json): value is string => typeof value === 'string' && !/[\u0100-\uffff]/.test(value)
