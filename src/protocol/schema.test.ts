// Tests the parts of the schema that no API uses with a made-up message, and the mistakes that a declaration can
// have. codec.test.ts has the real messages.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../testing/property.ts'
import { decodeMessage, encodeMessage } from './codec.ts'
import { interpretBytes, interpretValue } from './interpret.ts'
import { Malformed } from './malformed.ts'
import {
  array,
  bool,
  bytes,
  float64,
  int32,
  message,
  nullable,
  parseRange,
  records,
  string,
  struct,
  tagged,
  uint16,
  uint32,
  uuid,
} from './schema.ts'

const madeUp = message({
  name: 'MadeUp',
  versions: '0-3',
  flexible: '2+',
  fields: {
    port: uint16(),
    mask: uint32(),
    ratio: float64(),
    inner: nullable(struct({ on: bool(), names: array(nullable(string())) })),
    many: nullable(array(nullable(struct({ id: uuid(), at: int32('1-2', -5) })))),
    note: tagged(3, nullable(bytes('2+', null))),
    first: tagged(0, nullable(struct({ port: uint16(), ids: array(uuid()) }, '3+', null))),
    last: tagged(200, nullable(array(int32(), '2+', null))),
  },
})

const text = fc.string({ unit: 'binary', maxLength: 5 })
const id = fc.uint8Array({ minLength: 16, maxLength: 16 }).map(bytes => Buffer.from(bytes).toString('base64url'))
const plain = { noNullPrototype: true } as const
const port = fc.integer({ min: 0, max: 65535 })

function anyMadeUp(version: number) {
  const from = <T>(first: number, arbitrary: fc.Arbitrary<T>) =>
    version >= first ? fc.option(arbitrary) : fc.constant(null)
  const at = version === 1 || version === 2 ? fc.integer() : fc.constant(-5)
  return fc.record(
    {
      port,
      mask: fc.integer({ min: 0, max: 2 ** 32 - 1 }),
      ratio: fc.double({ noNaN: true }),
      inner: fc.option(fc.record({ on: fc.boolean(), names: fc.array(fc.option(text), { maxLength: 3 }) }, plain)),
      many: fc.option(fc.array(fc.option(fc.record({ id, at }, plain)), { maxLength: 3 })),
      note: from(
        2,
        fc.uint8Array({ maxLength: 300 }).map(array => Buffer.from(array)),
      ),
      first: from(3, fc.record({ port, ids: fc.array(id, { maxLength: 12 }) }, plain)),
      last: from(2, fc.array(fc.integer(), { maxLength: 3 })),
    },
    plain,
  )
}

test('generated code and the interpreter encode and decode every kind of field alike, nullable and tagged', () => {
  for (let version = 0; version <= 3; version++)
    fc.assert(
      fc.property(anyMadeUp(version), value => {
        const encoded = Buffer.concat(encodeMessage(madeUp, version, value))
        assert.deepEqual(interpretValue(madeUp, version, value), encoded)
        assert.deepEqual(decodeMessage(madeUp, version, encoded), value)
        assert.deepEqual(interpretBytes(madeUp, version, encoded), value)
      }),
      { numRuns: 60 },
    )
})

test('a nullable struct begins with 1 or -1 and nothing else', () => {
  const nothing = Buffer.concat(encodeMessage(madeUp, 0, { port: 1, mask: 1, ratio: 0, inner: null, many: null }))
  assert.equal(nothing[14], 255)
  nothing[14] = 2
  assert.throws(() => decodeMessage(madeUp, 0, nothing), Malformed)
  assert.throws(() => interpretBytes(madeUp, 0, nothing), Malformed)
})

test('versions are parsed as Kafka writes them', () => {
  assert.deepEqual(parseRange('3+'), { min: 3, max: 32767 })
  assert.deepEqual(parseRange('0-12'), { min: 0, max: 12 })
  assert.deepEqual(parseRange('8'), { min: 8, max: 8 })
  for (const wrong of ['', '3-', '+', '5-2', 'none', '1+2'])
    assert.throws(() => parseRange(wrong), /versions must/, wrong)
})

test('a wrong declaration fails an assertion when it is made', () => {
  const declare =
    (fields: Parameters<typeof message>[0]['fields'], versions = '0-1') =>
    () =>
      message({ name: 'Wrong', versions, fields })
  assert.throws(declare({ a: string('0+', null) }), /Wrong.a: a null fallback needs nullable/)
  assert.throws(declare({ a: tagged(1, int32('0+')), b: tagged(1, int32('0+')) }), /Wrong.b: tag 1 is taken/)
  assert.throws(declare({ a: tagged(1, struct({ r: records() }, '0+')) }), /Wrong.a.r: records cannot be tagged/)
  assert.throws(declare({}, '0+'), /must have an end/)
})
