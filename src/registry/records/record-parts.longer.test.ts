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
import { framed } from '../payload/framing.ts'
import type { Registry } from '../registry.ts'
import type { SchemaName } from './encode-part.ts'

async function decoded(registry: Registry, bytes: Uint8Array) {
  return await registry.records.decodePart({ topic: 't', part: 'value', bytes, headers: [] })
}

async function encoded(registry: Registry, schema: SchemaName, text: string): Promise<Buffer> {
  const made = await registry.records.encodePart({ schema, text })
  assert.ok(Buffer.isBuffer(made), JSON.stringify(made))
  return made
}

async function refused(registry: Registry, schema: SchemaName, text: string): Promise<string> {
  const made = await registry.records.encodePart({ schema, text })
  assert.ok(!Buffer.isBuffer(made), `made ${made}`)
  return `${made.about}: ${made.message}`
}

/** An Avro long that is not negative. */
function long(value: number): Buffer {
  const bytes: number[] = []
  let left = value * 2
  for (; left > 127; left = Math.floor(left / 128)) bytes.push((left % 128) | 128)
  return Buffer.from([...bytes, left])
}

test('the text that decoding shows makes the same bytes again, in each format', async t => {
  const registry = openFormats(t)
  const avro = await register(registry, 'orders-value', 'AVRO', ORDER_AVRO)
  const protobuf = await register(registry, 'refunds-value', 'PROTOBUF', ORDER_PROTOBUF)
  const json = await register(registry, 'json-value', 'JSON', ORDER_JSON)
  for (const name of [{ id: avro }, { subject: 'orders-value' }, { subject: 'orders-value', version: 1 }])
    assert.deepEqual(await encoded(registry, name, ORDER_AVRO_TEXT), framed(avro, ORDER_AVRO_BODY))
  const refund = framed(protobuf, REFUND_INDEXES, REFUND_BODY)
  assert.deepEqual(await encoded(registry, { id: protobuf, message: 'shop.Refund' }, REFUND_TEXT), refund)
  const order = framed(protobuf, Buffer.from([0]), REFUND_BODY)
  assert.deepEqual(await encoded(registry, { id: protobuf }, REFUND_TEXT), order)
  const line = framed(protobuf, Buffer.from([4, 0, 0]), Buffer.from([0x0a, 1, 0x61]))
  assert.deepEqual(await encoded(registry, { id: protobuf, message: 'shop.Order.Line' }, '{"text":"a"}'), line)
  assert.deepEqual(await encoded(registry, { id: json }, ORDER_JSON_TEXT), framed(json, Buffer.from(ORDER_JSON_TEXT)))
})

test('a schema that does not exist or cannot be used is refused, and so is a message that it lacks', async t => {
  const registry = openFormats(t)
  const avro = await register(registry, 'orders-value', 'AVRO', ORDER_AVRO)
  const protobuf = await register(registry, 'refunds-value', 'PROTOBUF', ORDER_PROTOBUF)
  const enums = await register(registry, 'enums-value', 'PROTOBUF', 'syntax = "proto3"; enum E { A = 0; }')
  assert.deepEqual(
    [
      await refused(registry, { id: 99 }, '{}'),
      await refused(registry, { id: 0 }, '{}'),
      await refused(registry, { subject: 'none' }, '{}'),
      await refused(registry, { subject: 'orders-value', version: 2 }, '{}'),
      await refused(registry, { id: avro, message: 'shop.Order' }, '{}'),
      await refused(registry, { id: protobuf, message: 'shop.Nothing' }, '{}'),
      await refused(registry, { id: enums }, '{}'),
    ],
    [
      'schema: Schema 99 not found.',
      'schema: Schema 0 not found.',
      "schema: Subject 'none' not found.",
      'schema: Version 2 not found.',
      `schema: The schema ${avro} is of type AVRO: it has no message shop.Order.`,
      `schema: The schema ${protobuf} has no message shop.Nothing; it has shop.Order, shop.Order.Line, shop.Refund.`,
      `schema: The schema ${enums} has no message: it defines no messages.`,
    ],
  )
})

test('a text that is not what the schema says is refused with the path and the reason', async t => {
  const registry = openFormats(t)
  const avro = await register(registry, 'orders-value', 'AVRO', ORDER_AVRO)
  const protobuf = await register(registry, 'refunds-value', 'PROTOBUF', ORDER_PROTOBUF)
  const json = await register(registry, 'json-value', 'JSON', ORDER_JSON)
  const cases: readonly (readonly [number, string, RegExp])[] = [
    [avro, '{"id":1.5}', /schema \d says: at \/id: expected an integer of 64 bits, not 1\.5\.$/],
    [avro, '{"id":9223372036854775808}', /at \/id: expected an integer of 64 bits/],
    [avro, '{"id":1,"noted":null}', /at the top: expected only fields of shop\.Order, not "noted"\.$/],
    [avro, '{}', /at the top: expected the field "id", which has no default\.$/],
    [avro, '{"id":', /it is no JSON: /],
    [protobuf, '{"id":"x"}', /says: \$\.id: expected /],
    [protobuf, '{"other":1}', /says: \$: shop\.Order has no field "other"\.$/],
    [protobuf, '[]', /says: \$: expected an object for shop\.Order\.$/],
    [json, '{"id":"1"}', /says: at \/id: must be integer\.$/],
    [json, '{"id":1,"note":"123456"}', /says: at \/note: must NOT have more than 5 characters\.$/],
    [json, '{}', /must have required property 'id'\.$/],
    [json, '', /the payload is empty/],
  ]
  for (const [id, text, expected] of cases) {
    const message = await refused(registry, { id }, text)
    assert.ok(message.startsWith('text: It is not what the schema '), message)
    assert.match(message, expected)
  }
  const long = `"${'x'.repeat(2_100_000)}"`
  assert.equal(await refused(registry, { id: avro }, long), 'text: The text has 2100002 bytes; the most are 2097152.')
})

test('random values of a schema become text, and the text the same bytes', async t => {
  const registry = openFormats(t)
  const avro = await register(
    registry,
    'random-avro',
    'AVRO',
    JSON.stringify({
      type: 'record',
      name: 'R',
      fields: [
        { name: 'l', type: 'long' },
        { name: 'd', type: 'double' },
        { name: 'b', type: 'bytes' },
        { name: 'u', type: ['null', 'long', 'string', { type: 'enum', name: 'E', symbols: ['A', 'B'] }] },
        { name: 'm', type: { type: 'map', values: { type: 'array', items: ['string', 'int'] } } },
      ],
    }),
  )
  const protobuf = await register(
    registry,
    'random-protobuf',
    'PROTOBUF',
    'syntax = "proto3"; message R { int64 l = 1; double d = 2; bytes b = 3; oneof u { string s = 4; E e = 5; } map<string, R> m = 6; repeated sint32 n = 7; } enum E { A = 0; B = 1; }',
  )
  const json = await register(registry, 'random-json', 'JSON', 'true')
  const long = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })
  const text = fc.string({ unit: 'binary', maxLength: 8 })
  const double = fc.double({ noNaN: true, noDefaultInfinity: true })
  const avroText = fc
    .record({
      l: long,
      d: double,
      b: fc.string({ unit: fc.integer({ min: 0, max: 255 }).map(code => String.fromCharCode(code)) }),
      u: fc.oneof(
        fc.constant('null'),
        long.map(each => `{"long":${each}}`),
        text.map(each => JSON.stringify({ string: each })),
        fc.constantFrom('A', 'B').map(each => `{"E":"${each}"}`),
      ),
      m: fc.dictionary(
        text,
        fc.array(
          fc.oneof(
            text.map(string => ({ string })),
            fc.integer().map(int => ({ int })),
          ),
        ),
      ),
    })
    .map(({ l, d, b, u, m }) => {
      const shown = JSON.stringify({ d: Object.is(d, -0) ? 0 : d, b, m })
      return `{"l":${l},"u":${u},${shown.slice(1)}`
    })
  const protobufText = fc
    .record({
      l: long.map(String),
      d: double.map(each => (Object.is(each, -0) ? 0 : each)),
      b: fc.uint8Array().map(bytes => Buffer.from(bytes).toString('base64')),
      m: fc.dictionary(text, fc.record({ l: long.map(String) })),
      n: fc.array(fc.integer()),
    })
    .map(value => JSON.stringify(value))
  const cases = fc.oneof(
    avroText.map(value => [avro, value] as const),
    protobufText.map(value => [protobuf, value] as const),
    fc.json().map(value => [json, value] as const),
  )
  await fc.assert(
    fc.asyncProperty(cases, async ([id, given]) => {
      const bytes = await encoded(registry, { id }, given)
      const shown = await decoded(registry, bytes)
      assert.ok(shown.kind === 'decoded', JSON.stringify(shown))
      const { message } = shown
      const again = await encoded(registry, { id, ...(message === undefined ? {} : { message }) }, shown.text)
      assert.deepEqual(again, bytes)
    }),
    { numRuns: 300 },
  )
})

test('large bodies are decoded in a thread, and bodies and texts that cost too much are refused', async t => {
  const registry = openFormats(t)
  const list = await register(registry, 'list', 'AVRO', '{"type":"array","items":"int"}')
  const wide = await register(
    registry,
    'wide',
    'AVRO',
    JSON.stringify({ type: 'array', items: { type: 'enum', name: 'E', symbols: ['A'.repeat(200)] } }),
  )
  const nothing = await register(registry, 'nothing', 'AVRO', '{"type":"array","items":"null"}')
  const nested = await register(
    registry,
    'nested',
    'AVRO',
    JSON.stringify({
      ...{ type: 'record', name: 'R' },
      fields: [{ name: 'a', type: ['null', 'R', { type: 'map', values: 'R' }], default: null }],
    }),
  )
  const messages = await register(
    registry,
    'messages',
    'PROTOBUF',
    'syntax = "proto3"; message M { repeated M m = 1; }',
  )
  const slow = await register(registry, 'slow', 'JSON', '{"type":"string","pattern":"^(a+)+$"}')
  const ints = framed(list, long(522_304), Buffer.alloc(522_304, 2), Buffer.from([0]))
  const shown = await decoded(registry, ints)
  assert.equal(shown.kind === 'decoded' && shown.text.length, 2 * 522_304 + 1)
  const kinds = [
    // 20,000 symbols of 200 characters.
    await decoded(registry, framed(wide, long(20_000), Buffer.alloc(20_000), Buffer.from([0]))),
    // 2^31 items of no bytes.
    await decoded(registry, framed(nothing, long(2 ** 31), Buffer.from([0]))),
    await decoded(registry, framed(messages, Buffer.alloc(500_001, Buffer.from([10, 0])).subarray(1))),
    await decoded(registry, framed(list, Buffer.alloc(16_000, 0xff))),
  ].map(({ kind }) => kind)
  assert.deepEqual(kinds, ['decode-error', 'decode-error', 'decode-error', 'decode-error'])
  const deep = `${'{"a":'.repeat(400)}null${'}'.repeat(400)}`
  assert.match(await refused(registry, { id: nested }, deep), /fewer ways to read its unions|processor time/)
  assert.match(await refused(registry, { id: slow }, `"${'a'.repeat(40)}!"`), /processor time/)
  assert.match(await refused(registry, { id: list }, `[${'1,'.repeat(600_000)}1]`), /at most 524288 bytes/)
})
