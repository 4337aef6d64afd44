import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Framing, framed, type Header, SCHEMA_ID_HEADERS } from './framing.ts'

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex')
const GUID = '0123456789abcdef0123456789abcdef'
const VALUE = '__value_schema_id'

/** The framing of a value, as a row. */
function seen(value: string | null, headers: readonly Header[] = []): readonly unknown[] {
  const framing = new Framing().read(value === null ? null : hex(value), headers, 'value')
  if (framing.kind === 'null') return ['null']
  if (framing.kind === 'unframed') return ['unframed', framing.why]
  const id = framing.kind === 'guid' ? framing.guid() : framing.id
  return [framing.kind, id, framing.by, Buffer.from(framing.bytes.subarray(framing.from, framing.to)).toString('hex')]
}

test('a prefix is the byte 0 and an id, and the body may be empty', () => {
  assert.deepEqual(seen('00 00000007 02'), ['id', 7, 'prefix', '02'])
  assert.deepEqual(seen('00 00000001'), ['id', 1, 'prefix', ''])
  assert.deepEqual(seen('00 ffffffff 02'), ['id', -1, 'prefix', '02'])
  assert.deepEqual(seen('00 7fffffff'), ['id', 2147483647, 'prefix', ''])
})

test('a value without a prefix says why it names no schema, and null is null', () => {
  assert.deepEqual(seen(null), ['null'])
  assert.deepEqual(seen(''), ['unframed', 'empty'])
  assert.deepEqual(seen('00 000001'), ['unframed', 'short'])
  assert.deepEqual(seen('01 00000001'), ['unframed', 'magic-byte'])
  assert.deepEqual(seen('7b7d'), ['unframed', 'magic-byte'])
})

test('a header names the schema by GUID or id, and the value is the body alone, also an empty one', () => {
  const byGuid = { key: VALUE, value: hex(`01${GUID}`) }
  const uuid = '01234567-89ab-cdef-0123-456789abcdef'
  assert.deepEqual(seen('00 00000007 02', [byGuid]), ['guid', uuid, 'header', '000000000702'])
  assert.deepEqual(seen('', [byGuid]), ['guid', uuid, 'header', ''])
  assert.deepEqual(seen('02', [{ key: VALUE, value: hex('00 00000009') }]), ['id', 9, 'header', '02'])
  assert.deepEqual(seen(null, [byGuid]), ['null'])
})

test('the last header wins, a null one or one of the key does not count, and a wrong one is refused', () => {
  const by = (id: string) => ({ key: VALUE, value: hex(id) })
  const id = (headers: readonly Header[]) => seen('00 00000007 02', headers)
  assert.equal(id([by('00 00000001'), by('00 00000002')])[1], 2)
  assert.equal(id([by('00 00000001'), { key: VALUE, value: null }])[1], 7)
  assert.equal(id([{ key: SCHEMA_ID_HEADERS.key, value: hex('00 00000001') }])[1], 7)
  for (const wrong of ['', '00', '00 000001', '01', '01 0123', '02 00000001'])
    assert.deepEqual(id([by(wrong)]), ['unframed', 'header'])
})

test('message indexes stand behind the prefix, or in the header', () => {
  const framing = new Framing()
  framing.read(hex('00 00000001 04 00 00 0801'), [], 'value')
  assert.deepEqual(Buffer.from(framing.indexBytes.subarray(framing.indexFrom, framing.indexTo)), hex('040000 0801'))
  framing.read(hex('0801'), [{ key: VALUE, value: hex(`01${GUID} 0202`) }], 'value')
  assert.deepEqual(Buffer.from(framing.indexBytes.subarray(framing.indexFrom, framing.indexTo)), hex('0202'))
  assert.deepEqual([framing.from, framing.to], [0, 2])
})

test('bytes in a record are read like a value of their own', () => {
  const bytes = hex('ff 00 00000007 02 ff')
  const framing = new Framing()
  const body = () => Buffer.from(framing.bytes.subarray(framing.from, framing.to)).toString('hex')
  framing.readHeaded(bytes, 1, 7, hex('00 00000009'))
  assert.deepEqual([framing.id, framing.by, body()], [9, 'header', '000000000702'])
  framing.readBare(bytes, 1, 7)
  assert.deepEqual([framing.id, framing.by, body()], [7, 'prefix', '02'])
  assert.deepEqual([framing.readBare(bytes, 1, 5).why, framing.readBare(bytes, 1, 1).why], ['short', 'empty'])
})

test('a framing is written as it is read', () => {
  assert.deepEqual(framed(258, hex('02'), hex('ff')), hex('00 00000102 02 ff'))
})
