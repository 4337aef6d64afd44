// Avro object container files (Avro 1.12 specification, "Object Container Files"), whole in memory. The package avsc
// encodes the records and avro-decoder.ts decodes them; this file has the frame around them, because the header must
// keep attributes of the schema that avsc drops (Iceberg's field ids):
//
//   'Obj' 01 | map<bytes> with avro.schema and avro.codec | sync (16) | (count long | size long | block | sync)*

import { promisify } from 'node:util'
import { crc32, deflateRawSync, inflateRaw, zstdDecompress } from 'node:zlib'
import avsc from 'avsc'
import { cut } from '../../base/cut.ts'
import { decompress } from '../../protocol/compression.ts'
import { type AvroComplex, AvroCursor, type AvroSchema, decoderOf } from './avro-decoder.ts'
import { asInt64, type Int64 } from './lossless-json.ts'

export type { AvroSchema }

export interface AvroFile {
  readonly header: ReadonlyMap<string, string>
  readonly schema: AvroSchema
  readonly records: readonly unknown[]
}

/** Thrown for bytes that are not a container file, or that a reader here cannot read. */
export class BadAvro extends Error {
  override readonly name = 'BadAvro'
}

const MAGIC = Buffer.from('Obj\x01', 'latin1')
const SYNC_BYTES = 16
/** All blocks of a larger file are no manifest: the largest ones of other engines have 8 MB before they are split. */
const MOST_PLAIN_BYTES = 256 * 1024 * 1024
/** Entries of a manifest, or manifests of a list. */
const MOST_RECORDS = 2_000_000
/** Records of a written block. One block more costs 20 bytes. */
const BLOCK_RECORDS = 1000

/** Longs as Int64: avsc refuses those beyond 2^53. */
const LONG = avsc.types.LongType.__with({
  fromBuffer: (bytes: Buffer) => asInt64(bytes.readBigInt64LE()),
  toBuffer: (value: Int64) => {
    const bytes = Buffer.alloc(8)
    bytes.writeBigInt64LE(BigInt(value))
    return bytes
  },
  fromJSON: (value: Int64) => value,
  toJSON: (value: Int64) => value,
  isValid: (value: unknown) => typeof value === 'bigint' || Number.isSafeInteger(value),
  compare: (a: Int64, b: Int64) => (a < b ? -1 : a > b ? 1 : 0),
})

const HEADER_SCHEMA = { type: 'map', values: 'bytes' } as const
const HEADER = avsc.Type.forSchema(HEADER_SCHEMA)
const readHeader = decoderOf(HEADER_SCHEMA)
const BLOCK_LONG = avsc.Type.forSchema('long')

/** Types are compiled once per schema: every manifest of a table has the same one. */
const typesBySchema = new Map<string, avsc.Type>()
const MOST_TYPES = 200

function typeOf(schemaText: string): avsc.Type {
  const known = typesBySchema.get(schemaText)
  if (known !== undefined) return known
  const type = avsc.Type.forSchema(JSON.parse(schemaText), { registry: { long: LONG }, wrapUnions: 'never' })
  if (typesBySchema.size >= MOST_TYPES) typesBySchema.clear()
  typesBySchema.set(schemaText, type)
  return type
}

/** Returns a container file, compressed with deflate, which every reader knows. `sync` is 16 random bytes. */
export function writeAvro(
  schema: AvroSchema,
  header: Readonly<Record<string, string>>,
  records: readonly unknown[],
  sync: Buffer,
): Buffer {
  const schemaText = JSON.stringify(schema)
  const type = typeOf(schemaText)
  const all = { 'avro.schema': schemaText, 'avro.codec': 'deflate', ...header }
  const named = Object.fromEntries(Object.entries(all).map(([name, text]) => [name, Buffer.from(text)]))
  const parts: Buffer[] = [MAGIC, HEADER.toBuffer(named), sync]
  for (let from = 0; from < records.length; from += BLOCK_RECORDS) {
    const some = records.slice(from, from + BLOCK_RECORDS)
    const block = deflateRawSync(Buffer.concat(some.map(record => type.toBuffer(record))))
    parts.push(BLOCK_LONG.toBuffer(some.length), BLOCK_LONG.toBuffer(block.length), block, sync)
  }
  return Buffer.concat(parts)
}

/** Reads a container file; `name` names it in errors. Rejects with BadAvro. */
export async function readAvro(bytes: Uint8Array, name: string): Promise<AvroFile> {
  try {
    return await readContainer(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength))
  } catch (error) {
    throw new BadAvro(`${name} cannot be read as Avro: ${(error as Error).message}`, { cause: error })
  }
}

/**
 * Returns what `parse` makes of decoded records; `name` names their file. A schema of another form than expected can
 * make any error there, so each one means that the file is bad. Throws BadAvro.
 */
export function parsingAvro<T>(name: string, parse: () => T): T {
  try {
    return parse()
  } catch (error) {
    if (error instanceof BadAvro) throw error
    throw new BadAvro(`${name} has not the form of its kind: ${(error as Error).message}`, { cause: error })
  }
}

async function readContainer(bytes: Buffer): Promise<AvroFile> {
  const file = new AvroCursor(bytes)
  if (!file.take(MAGIC.length).equals(MAGIC)) throw new Error("it does not begin with 'Obj' and 1")
  const header = new Map(
    Object.entries(readHeader(file) as Record<string, Buffer>).map(([key, text]) => [key, text.toString('utf8')]),
  )
  const schemaText = header.get('avro.schema')
  if (schemaText === undefined) throw new Error('its header has no avro.schema')
  const schema: AvroSchema = JSON.parse(schemaText)
  const decode = decoderOf(schema)
  const sync = file.take(SYNC_BYTES)
  const records: unknown[] = []
  let bytesLeft = MOST_PLAIN_BYTES
  while (file.at < bytes.length) {
    const beganAt = file.at
    const count = file.count()
    const packed = file.take(file.count())
    const block = new AvroCursor(await unpack(header.get('avro.codec') ?? 'null', packed, bytesLeft))
    bytesLeft -= block.bytes.length
    if (count < 0 || count > block.bytes.length) throw new Error(`${count} records in the block at ${beganAt}`)
    if (records.length + count > MOST_RECORDS) throw new Error(`it has more than ${MOST_RECORDS} records`)
    for (let left = count; left > 0; left--) records.push(decode(block))
    if (block.at !== block.bytes.length) throw new Error(`the block at ${beganAt} is longer than its records`)
    if (!file.take(SYNC_BYTES).equals(sync)) throw new Error(`no sync mark follows the block at ${beganAt}`)
  }
  return { header, schema, records }
}

/** The codecs that the Avro specification names, without bzip2 and xz, which no Iceberg writer is known to use. */
async function unpack(codec: string, block: Buffer, maxBytes: number): Promise<Buffer> {
  // zlib takes no limit of 0.
  const limit = { maxOutputLength: Math.max(1, maxBytes) }
  if (codec === 'null') return block
  if (codec === 'deflate') return promisify(inflateRaw)(block, limit) as Promise<Buffer>
  if (codec === 'zstandard') return promisify(zstdDecompress)(block, limit)
  if (codec === 'snappy') {
    const plain = await decompress('snappy', block.subarray(0, -4), maxBytes)
    if (block.length < 4 || crc32(plain) !== block.readUInt32BE(block.length - 4))
      throw new Error('the checksum of a snappy block is wrong')
    return plain
  }
  throw new Error(`its codec is '${cut(codec)}'; expected null, deflate, zstandard or snappy`)
}

/** A field of a record of another writer: found by its field id, read by its name in the file. */
export interface AvroField {
  readonly name: string
  readonly schema: AvroSchema
}

/** Returns the fields of the record schema by their field ids. A nullable record counts as the record. */
export function fieldsById(schema: AvroSchema): ReadonlyMap<number, AvroField> {
  const record = notNull(schema)
  const fields = new Map<number, AvroField>()
  if (typeof record !== 'object' || !Array.isArray(record.fields)) return fields
  for (const { name, type, 'field-id': id } of record.fields) {
    if (typeof id === 'number') fields.set(id, { name, schema: type })
  }
  return fields
}

/** Returns the schema without the null of a union. */
export function notNull(schema: AvroSchema): string | AvroComplex {
  if (Array.isArray(schema)) return notNull(schema.find(each => each !== 'null') ?? 'null')
  const single = schema as string | AvroComplex
  // A nested schema may be written as { type: { type: 'record', … } }.
  if (typeof single === 'object' && typeof single.type === 'object' && !Array.isArray(single.type))
    return notNull(single.type)
  return single
}
