import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../../testing/property.ts'
import {
  ORDER_AVRO,
  ORDER_AVRO_BODY,
  ORDER_AVRO_TEXT,
  ORDER_JSON,
  ORDER_JSON_TEXT,
  ORDER_PROTOBUF,
  openFormats,
  REFUND_BODY,
  REFUND_INDEXES,
  REFUND_TEXT,
  register,
} from '../../../testing/schema-formats.ts'
import { framed, SCHEMA_ID_HEADERS } from '../payload/framing.ts'
import type { Registry } from '../registry.ts'
import type { PartToDecode } from './decode-part.ts'

function decode(registry: Registry, bytes: Uint8Array, more: Partial<PartToDecode> = {}) {
  return registry.records.decodePart({ topic: 'orders', part: 'value', bytes, headers: [], ...more })
}

function headerOf(part: 'key' | 'value', guid: string, more: Uint8Array = Buffer.alloc(0)) {
  const value = Buffer.concat([Buffer.from([1]), Buffer.from(guid.replaceAll('-', ''), 'hex'), more])
  return { key: SCHEMA_ID_HEADERS[part], value }
}

test('a value of each format becomes JSON text, with the subject, version, id and type of its schema', async t => {
  const registry = openFormats(t)
  const avro = await register(registry, 'orders-value', 'AVRO', ORDER_AVRO)
  const protobuf = await register(registry, 'refunds-value', 'PROTOBUF', ORDER_PROTOBUF)
  const json = await register(registry, 'orders-key', 'JSON', ORDER_JSON)
  assert.deepEqual(await decode(registry, framed(avro, ORDER_AVRO_BODY)), {
    kind: 'decoded',
    text: ORDER_AVRO_TEXT,
    id: avro,
    type: 'AVRO',
    subject: 'orders-value',
    version: 1,
  })
  assert.deepEqual(await decode(registry, framed(protobuf, REFUND_INDEXES, REFUND_BODY), { topic: 'refunds' }), {
    kind: 'decoded',
    text: REFUND_TEXT,
    id: protobuf,
    type: 'PROTOBUF',
    subject: 'refunds-value',
    version: 1,
    message: 'shop.Refund',
  })
  assert.deepEqual(await decode(registry, framed(json, Buffer.from(ORDER_JSON_TEXT)), { part: 'key' }), {
    kind: 'decoded',
    text: ORDER_JSON_TEXT,
    id: json,
    type: 'JSON',
    subject: 'orders-key',
    version: 1,
  })
})

test('the schema may stand in a header as a GUID or as an id, and the header comes before the prefix', async t => {
  const registry = openFormats(t)
  const avro = await register(registry, 'orders-value', 'AVRO', ORDER_AVRO)
  const protobuf = await register(registry, 'refunds-value', 'PROTOBUF', ORDER_PROTOBUF)
  const guidOf = async (id: number) => ((await registry.byId(id)) as { guid: string }).guid
  const bare = await decode(registry, ORDER_AVRO_BODY, { headers: [headerOf('value', await guidOf(avro))] })
  assert.equal(bare.kind === 'decoded' && bare.text, ORDER_AVRO_TEXT)
  const headers = [headerOf('value', await guidOf(protobuf), REFUND_INDEXES)]
  const refund = await decode(registry, REFUND_BODY, { headers })
  assert.deepEqual(refund.kind === 'decoded' && [refund.text, refund.message], [REFUND_TEXT, 'shop.Refund'])
  const byId = { key: SCHEMA_ID_HEADERS.value, value: framed(avro) }
  const last = await decode(registry, ORDER_AVRO_BODY, { headers: [...headers, byId] })
  assert.equal(last.kind === 'decoded' && last.text, ORDER_AVRO_TEXT)
  const ofKey = await decode(registry, ORDER_AVRO_BODY, { headers: [headerOf('key', await guidOf(avro))] })
  assert.equal(ofKey.kind, 'raw')
})

test('bytes that name no schema are raw, and an id or GUID that no schema has is not found', async t => {
  const registry = openFormats(t)
  assert.deepEqual(await decode(registry, Buffer.from('text')), {
    kind: 'raw',
    reason: 'It names no schema, because it does not begin with the byte 0 and a schema id.',
  })
  assert.equal((await decode(registry, Buffer.alloc(0))).kind, 'raw')
  assert.equal((await decode(registry, Buffer.from([0, 0, 0, 1]))).kind, 'raw')
  assert.deepEqual(await decode(registry, framed(7, Buffer.from('x'))), {
    kind: 'schema-not-found',
    reason: 'The schema registry has no schema with the id 7.',
    id: 7,
  })
  // A long of 8 bytes.
  assert.deepEqual(await decode(registry, Buffer.from([0, 0, 0, 0, 0, 0, 0, 5])), {
    kind: 'schema-not-found',
    reason: 'The schema registry has no schema with the id 0.',
    id: 0,
  })
  const guid = '00000000-0000-4000-8000-000000000000'
  const unknown = await decode(registry, Buffer.from('x'), { headers: [headerOf('value', guid)] })
  assert.deepEqual(unknown, {
    kind: 'schema-not-found',
    reason: `The schema registry has no schema with the GUID ${guid}.`,
    guid,
  })
})

test('a body that is not what its schema says is a decode error with the place', async t => {
  const registry = openFormats(t)
  const avro = await register(registry, 'orders-value', 'AVRO', ORDER_AVRO)
  const protobuf = await register(registry, 'refunds-value', 'PROTOBUF', ORDER_PROTOBUF)
  const json = await register(registry, 'orders-key', 'JSON', ORDER_JSON)
  const reasons: string[] = []
  for (const bytes of [
    framed(avro, ORDER_AVRO_BODY.subarray(0, 9)),
    framed(avro, ORDER_AVRO_BODY, Buffer.from([1])),
    framed(avro),
    framed(protobuf, Buffer.from([0, 0x0a, 0x05])),
    framed(protobuf),
    framed(protobuf, Buffer.from([2, 8])),
    framed(json, Buffer.from('{"id":')),
    framed(json, Buffer.from([0xff])),
    framed(json),
  ]) {
    const decoded = await decode(registry, bytes)
    assert.ok(decoded.kind === 'decode-error', JSON.stringify(decoded))
    assert.ok(decoded.id !== undefined && decoded.type !== undefined && decoded.version === 1)
    reasons.push(decoded.reason)
  }
  const said = [
    /^It is not what the schema 1 says: at byte \d+, field "note": .+\.$/,
    /^It is not what the schema 1 says: at byte \d+.*\.$/,
    /^It is not what the schema 1 says: at byte 0, field "id": .+\.$/,
    /^It is not what the schema 2 says: .+\.$/,
    /^No message indexes follow the schema id, and the schema has several messages\.$/,
    /^The message indexes 4 lead to no message of the schema\.$/,
    /^It is not what the schema 3 says: the payload is not JSON: .+\.$/,
    /^It is not what the schema 3 says: the payload is not UTF-8\.$/,
    /^It is not what the schema 3 says: the payload is empty; .+\.$/,
  ]
  for (const [at, reason] of reasons.entries()) assert.match(reason, said[at]!)
})

test('a Protobuf body without message indexes is decoded if the schema has one message', async t => {
  const registry = openFormats(t)
  const id = await register(registry, 'a-value', 'PROTOBUF', 'syntax = "proto3"; message A { string text = 1; }')
  const body = Buffer.from([0x0a, 1, 0x61])
  const decoded = await decode(registry, framed(id, body))
  assert.equal(decoded.kind === 'decoded' && decoded.text, '{"text":"a"}')
})

test('a schema whose subject is deleted for good still decodes, without a subject', async t => {
  const registry = openFormats(t)
  const id = await register(registry, 'orders-value', 'AVRO', ORDER_AVRO)
  await registry.deleteSubject('orders-value', {})
  const soft = await decode(registry, framed(id, ORDER_AVRO_BODY))
  assert.deepEqual(soft.kind === 'decoded' && [soft.subject, soft.version], ['orders-value', 1])
  await registry.deleteSubject('orders-value', { isPermanent: true })
  const gone = await decode(registry, framed(id, ORDER_AVRO_BODY), { topic: 'another' })
  assert.deepEqual(gone.kind === 'decoded' && [gone.text, gone.subject, gone.version], [ORDER_AVRO_TEXT, null, null])
})

test('of several subjects with the schema, that of the topic and its strategy is named', async t => {
  const registry = openFormats(t)
  const id = await register(registry, 'archive-value', 'AVRO', ORDER_AVRO)
  await register(registry, 'orders-value', 'AVRO', ORDER_AVRO)
  await register(registry, 'shop.Order', 'AVRO', ORDER_AVRO)
  const bytes = framed(id, ORDER_AVRO_BODY)
  const subjectOf = async (more: Partial<PartToDecode>) => {
    const decoded = await decode(registry, bytes, more)
    return decoded.kind === 'decoded' ? decoded.subject : decoded.kind
  }
  assert.equal(await subjectOf({}), 'orders-value')
  assert.equal(await subjectOf({ strategy: 'RecordName' }), 'shop.Order')
  assert.equal(await subjectOf({ topic: 'new' }), 'shop.Order')
  await registry.deleteSubject('shop.Order', {})
  // It counts only for a topic that was not looked up a moment ago.
  assert.equal(await subjectOf({ topic: 'newer', strategy: 'TopicRecordName' }), 'shop.Order')
  await registry.deleteSubject('shop.Order', { isPermanent: true })
  assert.equal(await subjectOf({ topic: 'newest' }), 'archive-value')
})

test('of a large value its beginning is enough to name its schema, and it is not decoded', async t => {
  const registry = openFormats(t)
  const id = await register(registry, 'orders-value', 'AVRO', ORDER_AVRO)
  const decoded = await decode(registry, framed(id, ORDER_AVRO_BODY), { length: 600_000 })
  assert.deepEqual(decoded, {
    kind: 'decode-error',
    reason: 'It has 600000 bytes. The most that are decoded with a schema are 524288.',
    id,
    type: 'AVRO',
    subject: 'orders-value',
    version: 1,
  })
  assert.equal((await decode(registry, Buffer.from('text'), { length: 600_000 })).kind, 'raw')
})

test('no bytes make decoding throw', async t => {
  const registry = openFormats(t)
  const ids = [
    await register(registry, 'a', 'AVRO', ORDER_AVRO),
    await register(registry, 'p', 'PROTOBUF', ORDER_PROTOBUF),
    await register(registry, 'j', 'JSON', ORDER_JSON),
  ]
  const headers = fc.array(
    fc.record({ key: fc.constantFrom(...Object.values(SCHEMA_ID_HEADERS), 'h'), value: fc.uint8Array() }),
    { maxLength: 3 },
  )
  const prefix = fc.constantFrom(...ids.map(id => framed(id)), Buffer.alloc(0))
  await fc.assert(
    fc.asyncProperty(prefix, fc.uint8Array({ maxLength: 60 }), headers, async (prefix, body, headers) => {
      const { kind } = await decode(registry, Buffer.concat([prefix, body]), { headers })
      assert.ok(['decoded', 'raw', 'schema-not-found', 'decode-error'].includes(kind))
    }),
    { numRuns: 500 },
  )
})
