// Payloads to values, for those who show them. The walker has judged the bytes before: here every length fits.

import { textOf } from './literals.ts'
import type { ProgramField, ProtobufProgram } from './program.ts'
import { isPackable, WIRE, wireType } from './tables.ts'

/** Of a field: 64-bit integers are bigints, enums are numbers, maps are the messages of their entries. */
export type Value = number | bigint | boolean | string | Uint8Array | MessageValue

export interface MessageValue {
  readonly message: number
  /** By number. Repeated fields have a list. */
  readonly fields: Map<number, Value | Value[]>
  /** The number of the field that is set in each oneof. */
  chosen?: Map<number, number>
}

/** Thrown when the values take more than the given room. */
export class TooLarge extends Error {}

/** Room that a value takes beside its bytes. */
const VALUE_ROOM = 8

export function readMessage(
  program: ProtobufProgram,
  message: number,
  bytes: Uint8Array,
  range: { readonly from: number; readonly to: number },
  mostBytes: number,
): MessageValue {
  const reader = new Reader(program, bytes, mostBytes)
  const value = newValue(message)
  reader.read(value, range.from, range.to, 0)
  return value
}

export function newValue(message: number): MessageValue {
  return { message, fields: new Map() }
}

class Reader {
  readonly #program: ProtobufProgram
  readonly #bytes: Uint8Array
  readonly #view: DataView
  readonly #fields: (Map<number, ProgramField> | undefined)[] = []
  #left: number
  #at = 0

  constructor(program: ProtobufProgram, bytes: Uint8Array, mostBytes: number) {
    this.#program = program
    this.#bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    // Base64 and escapes make the text larger than the value: the printer counts exactly.
    this.#left = Math.max(mostBytes, 64) * 4
  }

  /** Reads up to `to`, or to the tag `endTag`. */
  read(into: MessageValue, from: number, to: number, endTag: number): void {
    const fields = this.#fieldsOf(into.message)
    this.#at = from
    while (this.#at < to) {
      const tag = Number(this.#varint())
      if (tag === endTag && endTag !== 0) return
      const wire = tag & 7
      const field = fields.get(Math.floor(tag / 8))
      if (field === undefined || field.type === 'open') this.#skip(wire, tag, to)
      else if (wire === WIRE.bytes && isPackable(field) && wire !== wireType(field.type)) this.#packed(into, field)
      else this.#add(into, field, this.#value(into, field, tag, to))
    }
  }

  #fieldsOf(message: number): Map<number, ProgramField> {
    const known = this.#fields[message]
    if (known !== undefined) return known
    const made = new Map((this.#program.messages[message]?.fields ?? []).map(field => [field.number, field]))
    this.#fields[message] = made
    return made
  }

  #add(into: MessageValue, field: ProgramField, value: Value): void {
    this.#left -= VALUE_ROOM
    if (this.#left < 0) throw new TooLarge()
    if (field.oneof >= 0) this.#choose(into, field)
    const known = into.fields.get(field.number)
    if (!field.isRepeated) into.fields.set(field.number, value)
    else if (Array.isArray(known)) known.push(value)
    else into.fields.set(field.number, [value])
  }

  /** The last member of a oneof wins. */
  #choose(into: MessageValue, { oneof, number }: ProgramField): void {
    into.chosen ??= new Map()
    const other = into.chosen.get(oneof)
    if (other !== undefined && other !== number) into.fields.delete(other)
    into.chosen.set(oneof, number)
  }

  #packed(into: MessageValue, field: ProgramField): void {
    const size = Number(this.#varint())
    const end = this.#at + size
    while (this.#at < end) this.#add(into, field, this.#scalar(field))
  }

  #value(into: MessageValue, field: ProgramField, tag: number, to: number): Value {
    if (field.type !== 'message' && field.type !== 'group') return this.#scalar(field)
    // A second value of a singular message is merged into the first one.
    const known = field.isRepeated ? undefined : into.fields.get(field.number)
    const value = known !== undefined && isMessage(known) ? known : newValue(field.of)
    const size = field.type === 'message' ? Number(this.#varint()) : to - this.#at
    this.read(value, this.#at, this.#at + size, field.type === 'message' ? 0 : tag + 1)
    return value
  }

  #scalar(field: ProgramField): Value {
    switch (field.type) {
      case 'double':
        return this.#view.getFloat64(this.#take(8), true)
      case 'float':
        return this.#view.getFloat32(this.#take(4), true)
      case 'fixed32':
        return this.#view.getUint32(this.#take(4), true)
      case 'sfixed32':
        return this.#view.getInt32(this.#take(4), true)
      case 'fixed64':
        return this.#view.getBigUint64(this.#take(8), true)
      case 'sfixed64':
        return this.#view.getBigInt64(this.#take(8), true)
      case 'string':
        return textOf(this.#slice())
      case 'bytes':
        return this.#slice()
      default:
        return this.#integer(field)
    }
  }

  #integer(field: ProgramField): Value {
    const value = this.#varint()
    switch (field.type) {
      case 'bool':
        return value !== 0n
      case 'int64':
        return BigInt.asIntN(64, value)
      case 'uint64':
        return value
      case 'sint64':
        return (value >> 1n) ^ -(value & 1n)
      case 'uint32':
        return Number(BigInt.asUintN(32, value))
      case 'sint32': {
        const low = BigInt.asUintN(32, value)
        return Number(BigInt.asIntN(32, (low >> 1n) ^ -(low & 1n)))
      }
      default:
        return Number(BigInt.asIntN(32, value))
    }
  }

  #slice(): Uint8Array {
    const size = Number(this.#varint())
    this.#left -= size
    if (this.#left < 0) throw new TooLarge()
    const from = this.#take(size)
    return this.#bytes.subarray(from, from + size)
  }

  #take(size: number): number {
    const at = this.#at
    this.#at += size
    return at
  }

  #varint(): bigint {
    let value = 0
    let shift = 0
    for (; shift < 28; shift += 7) {
      const byte = this.#bytes[this.#at++] ?? 0
      value |= (byte & 0x7f) << shift
      if (byte < 0x80) return BigInt(value)
    }
    let large = BigInt(value)
    for (; shift < 70; shift += 7) {
      const byte = this.#bytes[this.#at++] ?? 0
      large |= BigInt(byte & 0x7f) << BigInt(shift)
      if (byte < 0x80) break
    }
    return BigInt.asUintN(64, large)
  }

  #skip(wire: number, tag: number, to: number): void {
    if (wire === WIRE.varint) this.#varint()
    else if (wire === WIRE.fixed32) this.#at += 4
    else if (wire === WIRE.fixed64) this.#at += 8
    else if (wire === WIRE.bytes) this.#take(Number(this.#varint()))
    else this.read(newValue(-1), this.#at, to, tag + 1)
  }
}

export function isMessage(value: Value | Value[]): value is MessageValue {
  return typeof value === 'object' && 'fields' in value
}
