// Reads the values of a decoded Avro record by their field ids, and checks their types: another writer may name a field
// differently, leave it out, or damage it.

import { type AvroSchema, BadAvro, fieldsById, notNull } from './avro.ts'
import type { Int64 } from './lossless-json.ts'

type Decoded = Readonly<Record<string, unknown>>

/** Reads records of one schema. `name` names the file in errors. All methods throw BadAvro. */
export class FieldReader {
  readonly #fields: ReturnType<typeof fieldsById>
  readonly #name: string
  readonly #items = new Map<number, FieldReader>()

  constructor(schema: AvroSchema, name: string) {
    this.#fields = fieldsById(schema)
    this.#name = name
  }

  /** The schema of a field; null if the file has no such field. */
  schemaOf(id: number): AvroSchema | null {
    return this.#fields.get(id)?.schema ?? null
  }

  value(record: unknown, id: number): unknown {
    const field = this.#fields.get(id)
    return field === undefined ? null : ((record as Decoded)[field.name] ?? null)
  }

  string(record: unknown, id: number): string {
    const value = this.value(record, id)
    if (typeof value !== 'string') throw this.wrong(id, 'a string', value)
    return value
  }

  optionalString(record: unknown, id: number): string | null {
    return this.value(record, id) === null ? null : this.string(record, id)
  }

  /** An integer that a number holds exactly. */
  number(record: unknown, id: number): number {
    const value = this.value(record, id)
    if (!Number.isSafeInteger(value)) throw this.wrong(id, 'an integer', value)
    return value as number
  }

  optionalNumber(record: unknown, id: number): number | null {
    return this.value(record, id) === null ? null : this.number(record, id)
  }

  int64(record: unknown, id: number): Int64 {
    const value = this.value(record, id)
    if (!isInt64(value)) throw this.wrong(id, 'an integer', value)
    return value
  }

  optionalInt64(record: unknown, id: number): Int64 | null {
    return this.value(record, id) === null ? null : this.int64(record, id)
  }

  bytes(record: unknown, id: number): Buffer {
    const value = this.value(record, id)
    if (!Buffer.isBuffer(value)) throw this.wrong(id, 'bytes', value)
    return value
  }

  optionalBytes(record: unknown, id: number): Buffer | null {
    return this.value(record, id) === null ? null : this.bytes(record, id)
  }

  optionalArray(record: unknown, id: number): readonly unknown[] | null {
    const value = this.value(record, id)
    if (value !== null && !Array.isArray(value)) throw this.wrong(id, 'an array', value)
    return value
  }

  optionalInt64s(record: unknown, id: number): readonly Int64[] | null {
    const values = this.optionalArray(record, id)
    if (values?.every(isInt64) === false) throw this.wrong(id, 'an array of integers', values)
    return values as readonly Int64[] | null
  }

  optionalNumbers(record: unknown, id: number): readonly number[] | null {
    const values = this.optionalArray(record, id)
    if (values?.every(each => Number.isSafeInteger(each)) === false)
      throw this.wrong(id, 'an array of integers', values)
    return values as readonly number[] | null
  }

  /** Returns a map of integers that the file keeps as an array of pairs with these field ids. */
  optionalCounts(record: unknown, id: number, keyId: number, valueId: number): ReadonlyMap<number, Int64> | null {
    return this.#map(record, id, keyId, (pairs, pair) => pairs.int64(pair, valueId))
  }

  /** Returns a map of bytes that the file keeps in the same way. */
  optionalBounds(record: unknown, id: number, keyId: number, valueId: number): ReadonlyMap<number, Buffer> | null {
    return this.#map(record, id, keyId, (pairs, pair) => pairs.bytes(pair, valueId))
  }

  #map<T>(
    record: unknown,
    id: number,
    keyId: number,
    read: (pairs: FieldReader, pair: unknown) => T,
  ): ReadonlyMap<number, T> | null {
    const pairs = this.optionalArray(record, id)
    if (pairs === null) return null
    const reader = this.itemsOf(id)
    return new Map(pairs.map(pair => [reader.number(pair, keyId), read(reader, pair)]))
  }

  /** Returns a reader of the records in an array. The reader is made once, because a table has many files. */
  itemsOf(id: number): FieldReader {
    const known = this.#items.get(id)
    if (known !== undefined) return known
    const array = notNull(this.schemaOf(id) ?? 'null')
    if (typeof array !== 'object' || array.type !== 'array') throw this.wrong(id, 'an array', array)
    const reader = new FieldReader(array.items as AvroSchema, this.#name)
    this.#items.set(id, reader)
    return reader
  }

  wrong(id: number, expected: string, value: unknown): BadAvro {
    const found = value === null ? 'no value' : typeof value
    return new BadAvro(`${this.#name}: the field with id ${id} must be ${expected}; found ${found}`)
  }
}

function isInt64(value: unknown): value is Int64 {
  return typeof value === 'bigint' || Number.isSafeInteger(value)
}
