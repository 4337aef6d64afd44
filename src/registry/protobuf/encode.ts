// Proto3 JSON to payloads: the reverse of decode.ts. It accepts the JSON names of fields and their names in the
// schema, and numbers as numbers or as strings.

import type { Fault } from '../format.ts'
import { MOST_LEVELS } from '../format.ts'
import { InvalidJson, type Json, JsonNumber, readJson } from '../json-text.ts'
import { BackwardsBuffer } from './backwards.ts'
import type { JsonForm } from './decode.ts'
import * as known from './known-values.ts'
import { bytesOf } from './literals.ts'
import type { ProgramField, ProgramMessage, ProtobufProgram } from './program.ts'
import * as scalars from './scalars.ts'
import { WIRE, wireType } from './tables.ts'

/** Returns the payload, or why the JSON does not fit the message. `message` is a number of the program (messageAt). */
export function encode(
  program: ProtobufProgram,
  message: number,
  json: string,
  mostBytes: number,
  form: JsonForm = 'proto3',
): Uint8Array | Fault {
  const encoder = new Encoder(program, mostBytes, form)
  try {
    return encoder.encode(message, readJson(json, MOST_LEVELS, { mayRepeat: false }))
  } catch (error) {
    if (!(error instanceof InvalidJson)) throw error
    return { reason: 'bad-value', message: error.message }
  }
}

class Encoder {
  readonly #program: ProtobufProgram
  readonly #out: BackwardsBuffer
  readonly #most: number
  readonly #fields: (Map<string, ProgramField> | undefined)[] = []
  readonly #form: JsonForm
  #level = 0

  constructor(program: ProtobufProgram, mostBytes: number, form: JsonForm) {
    this.#program = program
    this.#form = form
    this.#most = mostBytes
    this.#out = new BackwardsBuffer(mostBytes)
  }

  encode(message: number, json: Json): Uint8Array {
    this.#message(message, json, '$')
    return this.#out.result()
  }

  #message(message: number, json: Json, path: string): void {
    const type = this.#program.messages[message]
    if (type === undefined) throw new InvalidJson(`${path}: the schema has no such message`)
    if (++this.#level > MOST_LEVELS) throw new InvalidJson(`${path}: more than ${MOST_LEVELS} levels`)
    const mayBeSpecial = this.#form === 'proto3' && type.fullName.startsWith('google.protobuf.')
    if (!mayBeSpecial || !this.#special(type, json, path)) {
      this.#members(message, type, membersOf(json, path, type.fullName), path)
    }
    this.#level--
    if (this.#out.isTooLarge) throw new InvalidJson(`${path}: the payload has more than ${this.#most} bytes`)
  }

  #members(message: number, type: ProgramMessage, members: ReadonlyMap<string, Json>, path: string): void {
    const byNumber = new Map<number, readonly [ProgramField, Json, string]>()
    const oneofs = new Map<number, string>()
    for (const [key, value] of members) {
      const field = this.#fieldsOf(message).get(key)
      if (field === undefined) throw new InvalidJson(`${path}: ${type.fullName} has no field ${JSON.stringify(key)}`)
      if (byNumber.has(field.number)) throw new InvalidJson(`${path}: the field "${field.name}" comes twice`)
      if (value === null && !this.#takesNull(field)) continue
      const other = oneofs.get(field.oneof)
      if (other !== undefined) throw new InvalidJson(`${path}: "${other}" and "${key}" are of one oneof: expected one`)
      if (field.oneof >= 0) oneofs.set(field.oneof, key)
      byNumber.set(field.number, [field, value, `${path}.${key}`])
    }
    for (let index = type.fields.length - 1; index >= 0; index--) {
      const field = type.fields[index] as ProgramField
      const found = byNumber.get(field.number)
      if (found !== undefined) this.#field(...found)
      else if (field.isRequired) throw new InvalidJson(`${path}: the required field "${field.name}" is missing`)
    }
  }

  #takesNull(field: ProgramField): boolean {
    if (field.isRepeated) return false
    if (field.type === 'enum') return this.#program.enums[field.of]?.fullName === known.NULL_VALUE
    return field.type === 'message' && this.#program.messages[field.of]?.fullName === known.VALUE
  }

  #fieldsOf(message: number): Map<string, ProgramField> {
    const made = this.#fields[message]
    if (made !== undefined) return made
    const fields = new Map<string, ProgramField>()
    const ofMessage = this.#program.messages[message]?.fields ?? []
    for (const field of ofMessage) fields.set(field.name, field)
    // A JSON name wins over the name of another field.
    for (const field of ofMessage) fields.set(field.jsonName, field)
    this.#fields[message] = fields
    return fields
  }

  #field(field: ProgramField, json: Json, path: string): void {
    if (field.isMap) this.#map(field, json, path)
    else if (field.isRepeated) this.#list(field, json, path)
    else if (field.hasPresence || !this.#isDefault(field, json)) this.#single(field, json, path)
  }

  #list(field: ProgramField, json: Json, path: string): void {
    if (!Array.isArray(json)) throw new InvalidJson(`${path}: expected a list`)
    if (json.length === 0) return
    const before = this.#out.size
    for (let index = json.length - 1; index >= 0; index--) {
      const item = json[index] as Json
      if (field.isPacked) this.#scalar(field, item, `${path}[${index}]`)
      else this.#single(field, item, `${path}[${index}]`)
    }
    if (!field.isPacked) return
    this.#out.varint(this.#out.size - before)
    this.#out.tag(field.number, WIRE.bytes)
  }

  #isDefault(field: ProgramField, json: Json): boolean {
    if (field.type !== 'enum' || typeof json !== 'string') return scalars.isDefault(field, json)
    return this.#program.enums[field.of]?.numbers.get(json) === 0
  }

  #single(field: ProgramField, json: Json, path: string): void {
    if (field.type === 'message') {
      const before = this.#out.size
      this.#message(field.of, json, path)
      this.#out.varint(this.#out.size - before)
      this.#out.tag(field.number, WIRE.bytes)
    } else if (field.type === 'group') {
      this.#out.tag(field.number, WIRE.endOfGroup)
      this.#message(field.of, json, path)
      this.#out.tag(field.number, WIRE.group)
    } else {
      this.#scalar(field, json, path)
      this.#out.varint(field.number * 8 + wireType(field.type))
    }
    if (this.#out.isTooLarge) throw new InvalidJson(`${path}: the payload has more than ${this.#most} bytes`)
  }

  #map(field: ProgramField, json: Json, path: string): void {
    const [key, value] = this.#program.messages[field.of]?.fields ?? []
    if (key === undefined || value === undefined) throw new InvalidJson(`${path}: the map has no key or no value`)
    for (const [name, item] of [...membersOf(json, path, 'a map')].reverse()) {
      const before = this.#out.size
      this.#single(value, item, `${path}[${JSON.stringify(name)}]`)
      this.#single(key, scalars.keyOf(key.type, name, path), path)
      this.#out.varint(this.#out.size - before)
      this.#out.tag(field.number, WIRE.bytes)
    }
  }

  #scalar(field: ProgramField, json: Json, path: string): void {
    switch (field.type) {
      case 'string':
        this.#bytes(Buffer.from(scalars.stringOf(json, path)))
        break
      case 'bytes':
        this.#bytes(scalars.base64Of(json, path))
        break
      case 'bool':
        this.#out.varint(scalars.booleanOf(json, path) ? 1 : 0)
        break
      case 'double':
        this.#out.double(scalars.doubleOf(json, path))
        break
      case 'float':
        this.#out.float(scalars.floatOf(json, path))
        break
      case 'enum':
        this.#out.varint64(BigInt(this.#enum(field, json, path)))
        break
      case 'open':
        throw new InvalidJson(`${path}: the schema lacks the type of "${field.name}"`)
      default:
        this.#integer(field, scalars.integerOf(field.type, json, path))
        break
    }
  }

  #integer(field: ProgramField, value: bigint): void {
    switch (field.type) {
      case 'fixed32':
      case 'sfixed32':
        this.#out.fixed32(Number(value))
        break
      case 'fixed64':
      case 'sfixed64':
        this.#out.fixed64(value)
        break
      case 'sint32':
      case 'sint64':
        this.#out.varint64(value < 0n ? -2n * value - 1n : 2n * value)
        break
      default:
        this.#out.varint64(value)
        break
    }
  }

  #enum(field: ProgramField, json: Json, path: string): number {
    const type = this.#program.enums[field.of]
    if (type === undefined) throw new InvalidJson(`${path}: the schema has no such enum`)
    if (json === null && type.fullName === known.NULL_VALUE) return 0
    const named = typeof json === 'string' ? type.numbers.get(json) : undefined
    if (named !== undefined) return named
    if (typeof json === 'string' && !/^-?\d+$/.test(json)) {
      throw new InvalidJson(`${path}: the enum ${type.fullName} has no value ${JSON.stringify(json)}`)
    }
    const number = Number(scalars.integerOf('int32', json, path))
    if (!type.isClosed || type.names.has(number)) return number
    throw new InvalidJson(`${path}: the enum ${type.fullName} has no value ${number}`)
  }

  #bytes(bytes: Uint8Array): void {
    this.#out.bytes(bytes)
    this.#out.varint(bytes.length)
  }

  /** Writes messages whose JSON has a form of its own; false if the JSON has the usual form. */
  #special(type: ProgramMessage, json: Json, path: string): boolean {
    const { fullName } = type
    const [first] = type.fields
    if (first !== undefined && known.isWrapper(fullName)) {
      if (!scalars.isDefault(first, json)) this.#single(first, json, path)
    } else if (fullName === known.TIMESTAMP || fullName === known.DURATION) return this.#seconds(fullName, json, path)
    else if (fullName === known.FIELD_MASK && typeof json === 'string') {
      for (const mask of known.maskOf(json).reverse()) {
        this.#bytes(bytesOf(mask))
        this.#out.tag(1, WIRE.bytes)
      }
    } else if (first !== undefined && fullName === known.STRUCT) this.#map(first, json, path)
    else if (first !== undefined && fullName === known.LIST_VALUE) this.#field(first, json, path)
    else if (fullName === known.VALUE) this.#single(valueField(type, json), json, path)
    else if (fullName === known.ANY) return this.#any(json, path)
    else return false
    return true
  }

  #seconds(fullName: string, json: Json, path: string): boolean {
    if (typeof json !== 'string') return false
    const isTime = fullName === known.TIMESTAMP
    const value = isTime ? known.timestampOf(json) : known.durationOf(json)
    if (value === null) {
      const expected = isTime ? 'a time like "2026-01-31T10:00:00.5Z"' : 'a duration like "1.5s"'
      throw new InvalidJson(`${path}: expected ${expected}, found ${JSON.stringify(json)}`)
    }
    if (value.nanos !== 0) {
      this.#out.varint64(BigInt(value.nanos))
      this.#out.tag(2, WIRE.varint)
    }
    if (value.seconds !== 0n) {
      this.#out.varint64(value.seconds)
      this.#out.tag(1, WIRE.varint)
    }
    return true
  }

  /** An object with "@type" whose message the schema has. All others have the members typeUrl and value. */
  #any(json: Json, path: string): boolean {
    if (!(json instanceof Map)) return false
    const url = json.get('@type')
    if (typeof url !== 'string') return false
    const fullName = url.slice(url.lastIndexOf('/') + 1)
    const message = this.#program.messages.findIndex(candidate => candidate.fullName === fullName)
    if (message < 0) throw new InvalidJson(`${path}: the schema has no message ${fullName}: expected typeUrl and value`)
    const members = new Map(json)
    members.delete('@type')
    const body = known.isSpecial(fullName) ? (members.get('value') ?? members) : members
    const before = this.#out.size
    this.#message(message, body, path)
    this.#out.varint(this.#out.size - before)
    this.#out.tag(2, WIRE.bytes)
    this.#bytes(Buffer.from(url))
    this.#out.tag(1, WIRE.bytes)
    return true
  }
}

function membersOf(json: Json, path: string, what: string): ReadonlyMap<string, Json> {
  if (json instanceof Map) return json
  throw new InvalidJson(`${path}: expected an object for ${what}`)
}

/** The field of google.protobuf.Value that holds this JSON. */
function valueField(type: ProgramMessage, json: Json): ProgramField {
  const number = json === null ? 1 : jsonKind(json)
  const field = type.fields.find(candidate => candidate.number === number)
  if (field === undefined) throw new TypeError('google.protobuf.Value has not its six fields')
  return field
}

function jsonKind(json: Exclude<Json, null>): number {
  if (json instanceof JsonNumber) return 2
  if (typeof json === 'string') return 3
  if (typeof json === 'boolean') return 4
  return json instanceof Map ? 5 : 6
}
