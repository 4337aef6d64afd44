import assert from 'node:assert/strict'
import { test } from 'node:test'
import { crc32, deflateRawSync, zstdCompressSync } from 'node:zlib'
import { mutate } from '../../../testing/mutation.ts'
import { seed } from '../../../testing/seed.ts'
import { seededRandom } from '../../base/random.ts'
import { type AvroSchema, BadAvro, fieldsById, readAvro, writeAvro } from './avro.ts'

const SCHEMA: AvroSchema = {
  type: 'record',
  name: 'row',
  fields: [
    { name: 'id', type: 'long', 'field-id': 7 },
    { name: 'name', type: ['null', 'string'], default: null, 'field-id': 8 },
  ],
}
const ROWS = [
  { id: 1, name: 'a' },
  { id: 7397555330850519247n, name: null },
  { id: -9223372036854775808n, name: 'c' },
]
const SYNC = Buffer.alloc(16, 's')

test('records come back with exact 64-bit integers, the header and the attributes of the schema', async () => {
  const file = await readAvro(writeAvro(SCHEMA, { content: 'data' }, ROWS, SYNC), 'a file')
  assert.deepEqual(
    file.records.map(record => ({ ...(record as object) })),
    ROWS,
  )
  assert.equal(file.header.get('content'), 'data')
  assert.deepEqual(
    [...fieldsById(file.schema)].map(([id, { name }]) => [id, name]),
    [
      [7, 'id'],
      [8, 'name'],
    ],
  )
})

test('many records go into several blocks, and no record into none', async () => {
  const rows = Array.from({ length: 2500 }, (_, id) => ({ id, name: `n${id}` }))
  assert.equal((await readAvro(writeAvro(SCHEMA, {}, rows, SYNC), 'a file')).records.length, 2500)
  assert.equal((await readAvro(writeAvro(SCHEMA, {}, [], SYNC), 'a file')).records.length, 0)
})

/** A file with one block, written with the codec of another writer: zigzag varints by hand. */
function foreignFile(codec: string, block: Buffer): Buffer {
  const long = zigzag
  const text = (value: string) => Buffer.concat([long(Buffer.byteLength(value)), Buffer.from(value)])
  const header = [text('avro.schema'), text(JSON.stringify(SCHEMA)), text('avro.codec'), text(codec)]
  const map = Buffer.concat([long(2), ...header, long(0)])
  return Buffer.concat([Buffer.from('Obj\x01'), map, SYNC, long(1), long(block.length), block, SYNC])
}

test('blocks of other writers are read in every codec, and an unknown codec is named', async () => {
  const plain = Buffer.from([2 * 5, 2, 2, 0x78])
  const checksum = Buffer.alloc(4)
  checksum.writeUInt32BE(crc32(plain))
  // A snappy block of four literal bytes: the length, then the tag of the literal.
  const snappy = Buffer.concat([Buffer.from([4, (4 - 1) << 2]), plain, checksum])
  const blocks = { null: plain, deflate: deflateRawSync(plain), zstandard: zstdCompressSync(plain), snappy }
  for (const [codec, block] of Object.entries(blocks)) {
    const { records } = await readAvro(foreignFile(codec, block), codec)
    assert.deepEqual({ ...(records[0] as object) }, { id: 5, name: 'x' }, codec)
  }
  await assert.rejects(readAvro(foreignFile('bzip2', plain), 'm.avro'), /m\.avro .* its codec is 'bzip2'; expected/)
  checksum[0]! ^= 1
  const damaged = Buffer.concat([snappy.subarray(0, -4), checksum])
  await assert.rejects(readAvro(foreignFile('snappy', damaged), 'm.avro'), /the checksum of a snappy block is wrong/)
})

test('a damaged file is refused with its name, or read, and nothing else happens', async () => {
  const random = seededRandom(seed)
  const good = writeAvro(SCHEMA, {}, ROWS, SYNC)
  let refused = 0
  for (let i = 0; i < 500; i++) {
    const error = await readAvro(mutate(good, random), 'm.avro').then(
      () => null,
      (each: unknown) => each,
    )
    if (error === null) continue
    refused++
    assert.ok(error instanceof BadAvro && error.message.startsWith('m.avro cannot be read as Avro: '), String(error))
  }
  assert.ok(refused > 300, `${refused} of 500`)
})

test('values that take no bytes are refused when there are more of them than bytes', async () => {
  const of = (items: unknown) => ({
    type: 'record',
    name: 'row',
    fields: [{ name: 'a', type: { type: 'array', items } }],
  })
  const schema = JSON.stringify(of({ type: 'array', items: 'null' }))
  const long = zigzag
  const text = (value: string) => Buffer.concat([long(Buffer.byteLength(value)), Buffer.from(value)])
  const header = [text('avro.schema'), text(schema), text('avro.codec'), text('null')]
  const map = Buffer.concat([long(2), ...header, long(0)])
  // Each of the inner arrays has as many nulls as there are bytes behind it.
  const inner = Buffer.concat([long(9_000), long(0)])
  const block = Buffer.concat([long(10_000), ...Array.from({ length: 10_000 }, () => inner), long(0)])
  const bytes = Buffer.concat([Buffer.from('Obj\x01'), map, SYNC, long(1), long(block.length), block, SYNC])
  await assert.rejects(readAvro(bytes, 'm.avro'), /m\.avro .* it has more values than its \d+ bytes have room for/)
})

function zigzag(value: number): Buffer {
  const bytes: number[] = []
  let rest = value * 2
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128)
  return Buffer.from([...bytes, rest])
}
