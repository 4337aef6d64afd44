// Decodes Avro values by the schema of their writer (Avro 1.12 specification, "Binary Encoding"). avsc does not check
// counts against the bytes that are left: a damaged count would keep it busy for ever. Here every read is checked.

import { asInt64, type Int64 } from './lossless-json.ts'

/** A schema as JSON, with its attributes. */
export type AvroSchema = string | readonly AvroSchema[] | AvroComplex
export interface AvroComplex {
  readonly type: AvroSchema
  readonly name?: string
  readonly [attribute: string]: unknown
}

/** Reads one value and moves the cursor behind it. Throws an Error if the bytes end in it. */
export type Decoder = (cursor: AvroCursor) => unknown

/**
 * Values that the bytes have room for: a field or an item takes a byte, and a union is two values. A damaged schema can
 * have values that take no bytes, and then any number of them.
 */
const VALUES_PER_BYTE = 4
const FEW_VALUES = 1000

export class AvroCursor {
  readonly bytes: Buffer
  at: number
  #valuesLeft: number

  constructor(bytes: Buffer, at = 0) {
    this.bytes = bytes
    this.at = at
    this.#valuesLeft = FEW_VALUES + bytes.length * VALUES_PER_BYTE
  }

  /** Counts values that are about to be decoded. */
  expect(values: number): void {
    this.#valuesLeft -= values
    if (this.#valuesLeft < 0) throw new Error(`it has more values than its ${this.bytes.length} bytes have room for`)
  }

  take(length: number): Buffer {
    if (length < 0 || length > this.bytes.length - this.at)
      throw new Error(`a value of ${length} bytes at ${this.at} does not fit into ${this.bytes.length}`)
    this.at += length
    return this.bytes.subarray(this.at - length, this.at)
  }

  /** A zigzag varint of up to 64 bits. */
  int64(): Int64 {
    let low = 0
    for (let shift = 0; shift < 28; shift += 7) {
      const byte = this.take(1)[0]!
      low |= (byte & 0x7f) << shift
      if (byte < 0x80) return (low >>> 1) ^ -(low & 1)
    }
    let value = BigInt(low)
    for (let shift = 28n; shift < 70n; shift += 7n) {
      const byte = this.take(1)[0]!
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return asInt64(BigInt.asIntN(64, (value >> 1n) ^ -(value & 1n)))
    }
    throw new Error(`an integer at ${this.at - 10} has more than ten bytes`)
  }

  /** A number of bytes or items. */
  count(): number {
    const value = this.int64()
    if (typeof value === 'bigint') throw new Error(`a count of ${value} at ${this.at}`)
    return value
  }

  text(): string {
    return this.take(this.count()).toString('utf8')
  }
}

/** Returns a decoder for values of the schema. Records and maps become objects, bytes and fixed ones views. */
export function decoderOf(schema: AvroSchema, named = new Map<string, Decoder>()): Decoder {
  if (typeof schema === 'string') return PRIMITIVES[schema] ?? reference(schema, named)
  if (Array.isArray(schema)) return unionOf(schema.map(each => decoderOf(each, named)))
  const complex = schema as AvroComplex
  switch (complex.type) {
    case 'record':
      return recordOf(complex, named)
    case 'array':
      return arrayOf(decoderOf(complex.items as AvroSchema, named))
    case 'map':
      return mapOf(decoderOf(complex.values as AvroSchema, named))
    case 'fixed':
      return name(complex, named, cursor => cursor.take(complex.size as number))
    case 'enum':
      return name(complex, named, cursor => (complex.symbols as readonly string[])[cursor.count()])
    default:
      return decoderOf(complex.type, named)
  }
}

const PRIMITIVES: Readonly<Record<string, Decoder>> = {
  null: () => null,
  boolean: cursor => cursor.take(1)[0] === 1,
  int: cursor => cursor.int64(),
  long: cursor => cursor.int64(),
  float: cursor => cursor.take(4).readFloatLE(),
  double: cursor => cursor.take(8).readDoubleLE(),
  bytes: cursor => cursor.take(cursor.count()),
  string: cursor => cursor.text(),
}

/** A name of another schema. It may belong to a record that is not complete yet. */
function reference(text: string, named: ReadonlyMap<string, Decoder>): Decoder {
  return cursor => {
    const found = named.get(text)
    if (found === undefined) throw new Error(`its schema has no type '${text}'`)
    return found(cursor)
  }
}

function name(schema: AvroComplex, named: Map<string, Decoder>, decoder: Decoder): Decoder {
  if (typeof schema.name !== 'string') throw new Error(`its schema has a ${schema.type} without a name`)
  named.set(schema.name, decoder)
  if (typeof schema.namespace === 'string') named.set(`${schema.namespace}.${schema.name}`, decoder)
  return decoder
}

function recordOf(schema: AvroComplex, named: Map<string, Decoder>): Decoder {
  if (!Array.isArray(schema.fields)) throw new Error('its schema has a record without fields')
  const fields: [name: string, decoder: Decoder][] = []
  const decoder = name(schema, named, cursor => {
    const record: Record<string, unknown> = {}
    cursor.expect(1 + fields.length)
    for (const [field, decode] of fields) record[field] = decode(cursor)
    return record
  })
  for (const field of schema.fields as AvroComplex[]) fields.push([String(field.name), decoderOf(field.type, named)])
  return decoder
}

function unionOf(branches: readonly Decoder[]): Decoder {
  return cursor => {
    const branch = branches[cursor.count()]
    if (branch === undefined) throw new Error(`a union at ${cursor.at} has no such branch`)
    return branch(cursor)
  }
}

/** Calls `item` for each item of the blocks of an array or a map. */
function eachItem(cursor: AvroCursor, item: () => void): void {
  for (;;) {
    let count = cursor.count()
    if (count === 0) return
    if (count < 0) {
      count = -count
      // The size of the block in bytes follows, for readers that skip it.
      cursor.count()
    }
    // Every item that a manifest has takes a byte at least.
    if (count > cursor.bytes.length - cursor.at) throw new Error(`${count} items at ${cursor.at} do not fit`)
    cursor.expect(count)
    for (; count > 0; count--) item()
  }
}

function arrayOf(decode: Decoder): Decoder {
  return cursor => {
    const items: unknown[] = []
    eachItem(cursor, () => items.push(decode(cursor)))
    return items
  }
}

function mapOf(decode: Decoder): Decoder {
  return cursor => {
    const map: Record<string, unknown> = {}
    eachItem(cursor, () => {
      const key = cursor.text()
      map[key] = decode(cursor)
    })
    return map
  }
}
