// Which schema a key or a value names, and where its body is. Confluent's formats:
//
//   prefix   00 id id id id  body                  in the key or value itself
//   header   __key_schema_id, __value_schema_id    the last one of the record; then key or value is the body alone
//              01 and 16 bytes of a GUID, or 00 and 4 bytes of an id
//
// For Protobuf, message indexes follow the id or GUID, where that stands (message-indexes.ts). Nothing here knows
// which ids exist.

export type Part = 'key' | 'value'

/** Why no schema is named, for people and metrics. */
export type Unframed = 'empty' | 'short' | 'magic-byte' | 'header'

/** The names of the headers. */
export const SCHEMA_ID_HEADERS: Readonly<Record<Part, string>> = Object.freeze({
  key: '__key_schema_id',
  value: '__value_schema_id',
})

const BY_ID = 0
const BY_GUID = 1
const ID_BYTES = 4
const GUID_BYTES = 16

const NOTHING = new Uint8Array(0)

/** Of a record, as decoding gives it. */
export interface Header {
  readonly key: string
  readonly value: Uint8Array | null
}

/** The schema that a key or value names. One object serves many records: each read replaces its offsets. */
export class Framing {
  /** `null`: there is no key or value. `unframed`: no schema is named, see `why`. */
  kind: 'null' | 'unframed' | 'id' | 'guid' = 'null'
  /** Where the id or GUID stands. */
  by: 'prefix' | 'header' = 'prefix'
  /** Of the kind `id`; it may be 0 or negative, which no schema has. */
  id = 0
  why: Unframed = 'empty'
  /** The key or value, and its part behind a prefix. Message indexes of a prefix are still in it. */
  bytes: Uint8Array = NOTHING
  from = 0
  to = 0
  /** Where message indexes begin if the schema is Protobuf: in `bytes`, or in the header. */
  indexBytes: Uint8Array = NOTHING
  indexFrom = 0
  indexTo = 0
  /** Null: no header names a schema. */
  #header: Uint8Array | null = null

  /** Reads a decoded part: null is no value. */
  read(payload: Uint8Array | null, headers: readonly Header[], part: Part): this {
    const name = SCHEMA_ID_HEADERS[part]
    this.#header = headers.findLast(({ key }) => key === name)?.value ?? null
    return payload === null ? this.#null() : this.#frame(payload, 0, payload.length)
  }

  /** Reads a part of a record that has no header for it. */
  readBare(bytes: Uint8Array, from: number, to: number): this {
    this.#header = null
    return this.#frame(bytes, from, to)
  }

  /** Reads a part whose schema this header of its record names. */
  readHeaded(bytes: Uint8Array, from: number, to: number, header: Uint8Array): this {
    this.#header = header
    return this.#frame(bytes, from, to)
  }

  /** The GUID as text, of the kind `guid`. */
  guid(): string {
    const hex = Buffer.from(this.#header!.subarray(1, 1 + GUID_BYTES)).toString('hex')
    return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
  }

  #null(): this {
    this.kind = 'null'
    return this
  }

  #unframed(why: Unframed): this {
    this.kind = 'unframed'
    this.why = why
    return this
  }

  #frame(bytes: Uint8Array, from: number, to: number): this {
    this.bytes = bytes
    this.from = from
    this.to = to
    if (this.#header !== null) return this.#byHeader(this.#header)
    if (to === from) return this.#unframed('empty')
    if (bytes[from] !== BY_ID) return this.#unframed('magic-byte')
    if (to - from < 1 + ID_BYTES) return this.#unframed('short')
    this.kind = 'id'
    this.by = 'prefix'
    this.id = int32(bytes, from + 1)
    this.from = from + 1 + ID_BYTES
    return this.#indexes(bytes, this.from, to)
  }

  #byHeader(header: Uint8Array): this {
    const left = header.length - 1
    this.by = 'header'
    if (header[0] === BY_ID && left >= ID_BYTES) {
      this.kind = 'id'
      this.id = int32(header, 1)
      return this.#indexes(header, 1 + ID_BYTES, header.length)
    }
    if (header[0] !== BY_GUID || left < GUID_BYTES) return this.#unframed('header')
    this.kind = 'guid'
    return this.#indexes(header, 1 + GUID_BYTES, header.length)
  }

  #indexes(bytes: Uint8Array, from: number, to: number): this {
    this.indexBytes = bytes
    this.indexFrom = from
    this.indexTo = to
    return this
  }
}

/** The prefix of an id, and what follows it: message indexes, body. */
export function framed(id: number, ...rest: readonly Uint8Array[]): Buffer {
  const prefix = Buffer.alloc(1 + ID_BYTES)
  prefix.writeInt32BE(id, 1)
  return Buffer.concat([prefix, ...rest])
}

/** Words for people. */
export const UNFRAMED: Readonly<Record<Unframed, string>> = Object.freeze({
  empty: 'it is empty: a schema id and a body are expected',
  short: 'it is shorter than the five bytes of a schema id',
  'magic-byte': 'it does not begin with the byte 0 and a schema id',
  header: 'its header of the schema id has neither the byte 0 and an id, nor the byte 1 and a GUID',
})

const int32 = (bytes: Uint8Array, at: number): number =>
  (bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!
