// Payloads as proto3 JSON (protobuf.dev/programming-guides/json), for those who read them: 64-bit integers are
// strings, bytes are base64, enums are names, and fields that are not in the payload are left out.

import type { Fault } from '../format.ts'
import * as known from './known-values.ts'
import type { ProgramField, ProgramMessage, ProtobufProgram } from './program.ts'
import type { MessageValue, Value } from './read-values.ts'
import { isMessage, readMessage, TooLarge } from './read-values.ts'
import { walkerOf } from './walker.ts'

/** More than any payload takes. */
const ALL_STEPS = 2 ** 30

/**
 * `fields` shows messages like Timestamp by their fields, as any other one: so descriptors.ts reads and writes
 * options.
 */
export type JsonForm = 'proto3' | 'fields'

/** The JSON text of at most `mostBytes` characters. `message` is a number of the program (messageAt). */
export function decode(
  program: ProtobufProgram,
  message: number,
  bytes: Uint8Array,
  from: number,
  to: number,
  mostBytes: number,
  form: JsonForm = 'proto3',
): string | Fault {
  const walker = walkerOf(program, message)
  walker.begin(bytes, from, to)
  const fault = walker.run(ALL_STEPS)
  if (fault !== null && fault !== 'more') return fault
  try {
    const value = readMessage(program, message, bytes, { from, to }, mostBytes)
    const printer = new Printer(program, mostBytes, form)
    printer.message(value)
    return printer.text()
  } catch (error) {
    if (!(error instanceof TooLarge)) throw error
    return { reason: 'too-many-elements', message: `its JSON has more than ${mostBytes} characters` }
  }
}

class Printer {
  readonly #program: ProtobufProgram
  readonly #byName: ReadonlyMap<string, number>
  readonly #parts: string[] = []
  #left: number
  readonly #form: JsonForm
  #anys = 0

  constructor(program: ProtobufProgram, most: number, form: JsonForm) {
    this.#program = program
    this.#form = form
    this.#left = most
    this.#byName = new Map(program.messages.map(({ fullName }, number) => [fullName, number]))
  }

  text(): string {
    return this.#parts.join('')
  }

  message(value: MessageValue): void {
    const type = this.#type(value)
    const special =
      this.#form === 'proto3' && type.fullName.startsWith('google.protobuf.') && this.#special(value, type)
    if (!special) this.#object(value, type, '')
  }

  #put(text: string): void {
    this.#left -= text.length
    if (this.#left < 0) throw new TooLarge()
    this.#parts.push(text)
  }

  #type(value: MessageValue): ProgramMessage {
    return this.#program.messages[value.message] ?? { fullName: '', fields: [], nested: [] }
  }

  /** `first` is a member that stands before the fields. */
  #object(value: MessageValue, type: ProgramMessage, first: string): void {
    this.#put(`{${first}`)
    let isFirst = first === ''
    for (const field of type.fields) {
      const found = value.fields.get(field.number)
      if (found === undefined) continue
      this.#put(`${isFirst ? '' : ','}${JSON.stringify(field.jsonName)}:`)
      isFirst = false
      if (!Array.isArray(found)) this.#value(field, found)
      else if (field.isMap) this.#map(found)
      else this.#list(field, found)
    }
    this.#put('}')
  }

  #list(field: ProgramField, values: readonly Value[]): void {
    this.#put('[')
    for (const [index, value] of values.entries()) {
      if (index > 0) this.#put(',')
      this.#value(field, value)
    }
    this.#put(']')
  }

  /** The last entry of a key wins. An entry without a key or a value has their defaults. */
  #map(entries: readonly Value[]): void {
    const byKey = new Map<string, MessageValue>()
    for (const entry of entries)
      if (isMessage(entry)) byKey.set(String(entry.fields.get(1) ?? this.#default(entry, 1)), entry)
    this.#put('{')
    let isFirst = true
    for (const [key, entry] of byKey) {
      this.#put(`${isFirst ? '' : ','}${JSON.stringify(key)}:`)
      isFirst = false
      const field = this.#type(entry).fields.find(({ number }) => number === 2)
      if (field === undefined) throw new TypeError('the entry of a map has no value field')
      const value = entry.fields.get(2)
      this.#value(field, value === undefined || Array.isArray(value) ? this.#default(entry, 2) : value)
    }
    this.#put('}')
  }

  #default(entry: MessageValue, number: number): Value {
    const field = this.#type(entry).fields.find(candidate => candidate.number === number)
    switch (field?.type) {
      case 'string':
        return ''
      case 'bytes':
        return new Uint8Array(0)
      case 'bool':
        return false
      case 'message':
        return { message: field.of, fields: new Map() }
      case 'int64':
      case 'uint64':
      case 'sint64':
      case 'fixed64':
      case 'sfixed64':
        return 0n
      case 'enum':
        return this.#program.enums[field.of]?.names.keys().next().value ?? 0
      default:
        return 0
    }
  }

  #value(field: ProgramField, value: Value): void {
    if (isMessage(value)) this.message(value)
    else this.#put(this.#scalar(field, value))
  }

  #scalar(field: ProgramField, value: Exclude<Value, MessageValue>): string {
    if (typeof value === 'bigint') return `"${value}"`
    if (typeof value === 'string') return JSON.stringify(value)
    if (value instanceof Uint8Array) {
      return `"${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64')}"`
    }
    if (typeof value === 'boolean') return String(value)
    if (field.type === 'enum') return this.#enum(field, value)
    return field.type === 'float' ? numberText(value, shortFloat(value)) : numberText(value, JSON.stringify(value))
  }

  #enum(field: ProgramField, value: number): string {
    const type = this.#program.enums[field.of]
    if (type?.fullName === known.NULL_VALUE) return 'null'
    const name = type?.names.get(value)
    return name === undefined ? String(value) : JSON.stringify(name)
  }

  /** Prints messages that have a form of their own; false if the value has none in this message. */
  #special(value: MessageValue, type: ProgramMessage): boolean {
    if (known.isWrapper(type.fullName)) {
      const field = type.fields[0]
      const found = value.fields.get(1)
      if (field === undefined) return false
      this.#value(field, found === undefined || Array.isArray(found) ? this.#default(value, 1) : found)
      return true
    }
    const text = specialText(value, type)
    if (text !== null) {
      this.#put(JSON.stringify(text))
      return true
    }
    if (type.fullName === known.STRUCT) this.#structMembers(value)
    else if (type.fullName === known.LIST_VALUE) this.#listMembers(value, type)
    else if (type.fullName === known.VALUE) this.#anyJson(value, type)
    else if (type.fullName === known.ANY) return this.#any(value)
    else return false
    return true
  }

  #structMembers(value: MessageValue): void {
    const fields = value.fields.get(1)
    this.#map(Array.isArray(fields) ? fields : [])
  }

  #listMembers(value: MessageValue, type: ProgramMessage): void {
    const values = value.fields.get(1)
    const field = type.fields[0]
    if (field === undefined) return
    this.#list(field, Array.isArray(values) ? values : [])
  }

  #anyJson(value: MessageValue, type: ProgramMessage): void {
    const field = type.fields.find(({ number }) => value.fields.has(number))
    const found = field === undefined ? undefined : value.fields.get(field.number)
    if (field === undefined || found === undefined || Array.isArray(found)) this.#put('null')
    else this.#value(field, found)
  }

  /** With its fields if the schema has the type; else as the object that it is. */
  #any(value: MessageValue): boolean {
    const url = value.fields.get(1)
    const body = value.fields.get(2) ?? new Uint8Array(0)
    if (typeof url !== 'string' || !(body instanceof Uint8Array)) return false
    const number = this.#byName.get(url.slice(url.lastIndexOf('/') + 1))
    if (number === undefined || this.#anys > 32) return false
    const walker = walkerOf(this.#program, number)
    walker.begin(body, 0, body.length)
    if (walker.run(ALL_STEPS) !== null) return false
    const inner = readMessage(this.#program, number, body, { from: 0, to: body.length }, this.#left)
    const type = this.#type(inner)
    this.#anys++
    const first = `"@type":${JSON.stringify(url)}`
    if (known.isSpecial(type.fullName)) {
      this.#put(`{${first},"value":`)
      this.message(inner)
      this.#put('}')
    } else this.#object(inner, type, first)
    this.#anys--
    return true
  }
}

/** Times, durations and field masks; null if the values have no such text. */
function specialText(value: MessageValue, type: ProgramMessage): string | null {
  if (type.fullName === known.FIELD_MASK) {
    const paths = value.fields.get(1)
    return known.maskText(Array.isArray(paths) ? paths.map(String) : [])
  }
  if (type.fullName !== known.TIMESTAMP && type.fullName !== known.DURATION) return null
  const seconds = BigInt(String(value.fields.get(1) ?? 0))
  const nanos = Number(value.fields.get(2) ?? 0)
  return type.fullName === known.TIMESTAMP ? known.timestampText(seconds, nanos) : known.durationText(seconds, nanos)
}

function numberText(value: number, text: string): string {
  if (Number.isNaN(value)) return '"NaN"'
  if (!Number.isFinite(value)) return value > 0 ? '"Infinity"' : '"-Infinity"'
  return Object.is(value, -0) ? '-0' : text
}

/** The shortest text that is the same float. */
function shortFloat(value: number): string {
  for (let digits = 6; digits < 9; digits++) {
    const text = value.toPrecision(digits)
    if (Math.fround(Number(text)) === value) return String(Number(text))
  }
  return String(Number(value.toPrecision(9)))
}
