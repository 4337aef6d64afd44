// Payloads as JSON and back.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../../testing/property.ts'
import { decode } from './decode.ts'
import { encode } from './encode.ts'
import { messageAt, pathOf } from './program.ts'
import { protobuf } from './protobuf.ts'
import { walkerOf } from './walker.ts'

const MOST = 100_000
const KNOWN = ['timestamp', 'duration', 'struct', 'wrappers', 'any', 'field_mask', 'empty']

const PROGRAM =
  compiled(`syntax = "proto3"; package p; ${KNOWN.map(name => `import "google/protobuf/${name}.proto";`).join('')}
message M {
  int32 i32 = 1; int64 i64 = 2; uint32 u32 = 3; uint64 u64 = 4; sint32 s32 = 5; sint64 s64 = 6; fixed32 f32 = 7;
  fixed64 f64 = 8; sfixed32 sf32 = 9; sfixed64 sf64 = 10; float fl = 11; double db = 12; bool bo = 13; string st = 14;
  bytes by = 15; E en = 16; optional int32 maybe = 17; M sub = 18; repeated int32 list = 19; repeated M subs = 20;
  map<string, int64> by_name = 21; map<bool, M> by_flag = 22; map<int32, E> by_number = 23;
  oneof choice { string text = 24; int32 number = 25; google.protobuf.NullValue nothing = 26; }
  google.protobuf.Timestamp at = 30; google.protobuf.Duration during = 31; google.protobuf.Struct any_json = 32;
  google.protobuf.Value value = 33; google.protobuf.ListValue values = 34; google.protobuf.Int64Value wrapped = 35;
  google.protobuf.StringValue wrapped_text = 36; google.protobuf.Any any = 37; google.protobuf.FieldMask mask = 38;
  google.protobuf.Empty empty = 39; string other_name = 40 [json_name = "@odd"]; google.protobuf.BytesValue wrapped_bytes = 41;
  repeated E ens = 42;
} enum
E { ZERO = 0; ONE = 1; MINUS = -1; }`)

const PROTO2 =
  compiled(`package q; message M { required int32 r = 1; optional E e = 2; optional group G = 3 { optional int32 x = 1; }
  extensions 100 to max; } enum E { A = 1; } extend M { optional string more = 100; repeated int32 numbers = 101; }`)

function compiled(text: string) {
  return protobuf.compile(protobuf.parse({ text, dependencies: [] }, 'new'))
}

function encoded(json: unknown, program = PROGRAM): Uint8Array {
  const bytes = encode(program, 0, typeof json === 'string' ? json : JSON.stringify(json), MOST)
  assert.ok(bytes instanceof Uint8Array, JSON.stringify(bytes))
  return bytes
}

function decoded(bytes: Uint8Array, program = PROGRAM): unknown {
  const text = decode(program, 0, bytes, 0, bytes.length, MOST)
  assert.equal(typeof text, 'string', JSON.stringify(text))
  return JSON.parse(String(text))
}

function hex(text: string): Uint8Array {
  return Buffer.from(text.replaceAll(' ', ''), 'hex')
}

const SAME: readonly (readonly [name: string, json: unknown])[] = [
  ['nothing', {}],
  ['integers of 32 bits', { i32: -2147483648, u32: 4294967295, s32: -2147483648, f32: 4294967295, sf32: -1 }],
  [
    'integers of 64 bits, as strings',
    {
      i64: '-9223372036854775808',
      u64: '18446744073709551615',
      s64: '9223372036854775807',
      f64: '18446744073709551615',
      sf64: '-1',
    },
  ],
  ['floats', { fl: 0.1, db: 1e300 }],
  ['floats that JSON lacks', { fl: 'NaN', db: '-Infinity' }],
  ['a bool, a string and bytes', { bo: true, st: 'trüe \u2028"\\', by: 'AP+A' }],
  ['an enum by its name', { en: 'ONE', ens: ['ZERO', 'MINUS'] }],
  ['an enum without a name', { en: 7 }],
  ['an optional field with its default', { maybe: 0 }],
  ['messages in messages', { sub: { sub: {}, list: [1, 2, -3] }, subs: [{}, { i32: 1 }] }],
  ['maps', { byName: { a: '1', '': '2' }, byFlag: { true: { i32: 1 }, false: {} }, byNumber: { '-5': 'ONE' } }],
  ['a oneof with its default', { text: '' }],
  ['a null of a oneof', { nothing: null }],
  ['times', { at: '2026-01-31T10:00:00.500Z', during: '-1.000000001s' }],
  ['the first and the last second', { at: '0001-01-01T00:00:00Z', subs: [{ at: '9999-12-31T23:59:59.999999999Z' }] }],
  ['any JSON', { anyJson: { a: [1.5, null, 'x', { b: true }], c: {} }, value: 'x', values: [1, [2], null] }],
  ['a value of null', { value: null }],
  ['wrappers', { wrapped: '0', wrappedText: '', wrappedBytes: 'AA==' }],
  ['an Any of a message of the schema', { any: { '@type': 'type.googleapis.com/p.M', i32: 1, sub: {} } }],
  ['an Any of a time', { any: { '@type': 'x/google.protobuf.Duration', value: '1s' } }],
  ['an Any of an unknown message', { any: { typeUrl: 'x/y.Z', value: 'CAE=' } }],
  ['a field mask', { mask: 'a,bC.dE' }],
  ['an empty message', { empty: {} }],
  ['a JSON name of the schema', { '@odd': 'x' }],
]

for (const [name, json] of SAME) {
  test(`${name}: JSON to bytes and back is the same JSON, and the bytes are valid`, () => {
    const bytes = encoded(json)
    assert.deepEqual(decoded(bytes), json)
    const walker = walkerOf(PROGRAM, 0)
    walker.begin(bytes, 0, bytes.length)
    assert.equal(walker.run(MOST), null)
  })
}

test('other spellings of a value give the same bytes', () => {
  const pairs: readonly (readonly [unknown, unknown])[] = [
    [{ i64: '5' }, '{"i64": 5}'],
    [{ i64: '9223372036854775807' }, '{"i64": 9223372036854775807}'],
    [{ i32: 100 }, '{"i32": "1e2"}'],
    [{ db: 1.5 }, { db: '1.5' }],
    [{ en: 'ONE' }, { en: 1 }],
    [{ byName: { a: '1' } }, { by_name: { a: 1 } }],
    [{ by: '+/8=' }, { by: '-_8' }],
    [{ at: '2026-01-31T10:00:00Z' }, { at: '2026-01-31T11:30:00+01:30' }],
    [{ at: '1970-01-01T00:00:01Z' }, { at: { seconds: 1 } }],
    [{ '@odd': 'x' }, { other_name: 'x' }],
    [{}, { i32: 0, st: '', by: '', bo: false, en: 'ZERO', list: [], i64: '0', sub: null, byName: {} }],
  ]
  for (const [one, other] of pairs) assert.deepEqual(encoded(other), encoded(one))
})

const REFUSED: readonly (readonly [name: string, json: string, error: RegExp])[] = [
  ['no JSON', '{', /column 2: expected a name in quotes, found the end/],
  ['text behind the JSON', '{} x', /column 4: expected the end of the text, found "x"/],
  ['a list for a message', '[]', /\$: expected an object for p.M/],
  ['an unknown field', '{"x": 1}', /\$: p.M has no field "x"/],
  ['a key twice', '{"i32": 1, "i32": 2}', /expected no second "i32"/],
  ['a field under both names', '{"byName": {}, "by_name": {}}', /\$: the field "by_name" comes twice/],
  ['a number out of range', '{"i32": 2147483648}', /\$.i32: expected a whole number from -2147483648 to 2147483647/],
  ['a negative unsigned number', '{"u64": "-1"}', /\$.u64: expected a whole number from 0/],
  ['a fraction', '{"i64": 1.5}', /\$.i64: expected a whole number/],
  ['a string for a bool', '{"bo": "true"}', /\$.bo: expected true or false, found "true"/],
  ['a number for a string', '{"st": 1}', /\$.st: expected a string, found 1/],
  ['half of a surrogate pair', '{"st": "\\ud800"}', /\$.st: the string has half of a surrogate pair/],
  ['wrong base64', '{"by": "§"}', /\$.by: expected base64/],
  ['an unknown name of an enum', '{"en": "TWO"}', /\$.en: the enum p.E has no value "TWO"/],
  ['a single value for a list', '{"list": 1}', /\$.list: expected a list/],
  ['a null in a list', '{"list": [null]}', /\$.list\[0\]: expected a whole number/],
  ['two members of a oneof', '{"text": "a", "number": 1}', /"text" and "number" are of one oneof/],
  ['a float that is too large', '{"fl": 1e39}', /\$.fl: expected a number of 32 bits/],
  ['a double that is too large', '{"db": 1e999}', /\$.db: expected a number/],
  ['a wrong key of a map', '{"byNumber": {"x": "ONE"}}', /\$.byNumber: expected a whole number/],
  ['a day that does not exist', '{"at": "2026-02-30T00:00:00Z"}', /\$.at: expected a time like/],
  ['a wrong duration', '{"during": "1"}', /\$.during: expected a duration like/],
  ['an Any of a message that the schema lacks', '{"any": {"@type": "x/y.Z"}}', /\$.any: the schema has no message y.Z/],
  ['a deep place', '{"subs": [{}, {"sub": {"bo": 1}}]}', /\$.subs\[1\].sub.bo: expected true or false/],
]

for (const [name, json, error] of REFUSED) {
  test(`encoding refuses ${name}`, () => {
    const fault = encode(PROGRAM, 0, json, MOST)
    assert.ok(!(fault instanceof Uint8Array))
    assert.match(fault.message, error)
  })
}

test('proto2: groups, extensions, required fields and closed enums', () => {
  const json = { r: 1, e: 'A', g: { x: 2 }, '[q.more]': 'm', '[q.numbers]': [1, 2] }
  assert.deepEqual(decoded(encoded(json, PROTO2), PROTO2), json)
  const fault = (text: string) => encode(PROTO2, 0, text, MOST)
  assert.match(JSON.stringify(fault('{}')), /the required field .{0,3}r.{0,3} is missing/)
  assert.match(JSON.stringify(fault('{"r": 1, "e": 2}')), /the enum q.E has no value 2/)
})

test('the last value of a field wins, messages are merged, and the last entry of a key wins', () => {
  assert.deepEqual(decoded(hex('08 01 08 02')), { i32: 2 })
  assert.deepEqual(decoded(hex('9201 02 08 01 9201 02 10 02')), { sub: { i32: 1, i64: '2' } })
  assert.deepEqual(decoded(hex('aa01 05 0a 01 61 10 01 aa01 05 0a 01 61 10 02')), { byName: { a: '2' } })
  assert.deepEqual(decoded(hex('c201 01 61 c801 05')), { number: 5 })
  assert.deepEqual(decoded(hex('9a01 02 01 02 9801 03')), { list: [1, 2, 3] })
})

test('unknown fields are not shown', () => {
  assert.deepEqual(decoded(hex('08 01 f23e 02 08 01 f33e 08 01 f43e')), { i32: 1 })
})

test('an entry of a map without a key or a value has the defaults', () => {
  assert.deepEqual(decoded(hex('aa01 00 b201 00 ba01 00')), {
    byName: { '': '0' },
    byFlag: { false: {} },
    byNumber: { 0: 'ZERO' },
  })
})

test('times and durations out of range are shown by their fields', () => {
  assert.deepEqual(decoded(hex('f201 06 10 8094ebdc03')), { at: { nanos: 1_000_000_000 } })
  assert.deepEqual(decoded(hex('f201 0a 08 ffffffffffffffff7f')), { at: { seconds: '9223372036854775807' } })
})

test('a payload that is not valid is a fault', () => {
  const bytes = hex('08')
  assert.deepEqual(decode(PROGRAM, 0, bytes, 0, 1, MOST), {
    reason: 'truncated',
    message: 'at byte 0, field "i32" of p.M: a varint goes on beyond the end',
  })
})

test('the text and the payload have a bound', () => {
  const bytes = encoded({ st: 'x'.repeat(1_000) })
  const fault = decode(PROGRAM, 0, bytes, 0, bytes.length, 1_000)
  assert.ok(typeof fault !== 'string')
  assert.match(fault.message, /its JSON has more than 1000 characters/)
  assert.equal(typeof decode(PROGRAM, 0, bytes, 0, bytes.length, 1_009), 'string')
  const empty = Buffer.alloc(300_000, Buffer.from([0xa2, 0x01, 0x00]))
  assert.equal(typeof decode(PROGRAM, 0, empty, 0, empty.length, 100_000), 'object')
  const large = encode(PROGRAM, 0, JSON.stringify({ st: 'x'.repeat(1_000) }), 1_000)
  assert.ok(!(large instanceof Uint8Array))
  assert.match(large.message, /the payload has more than 1000 bytes/)
})

test('JSON of more than 512 levels is refused', () => {
  const fault = encode(PROGRAM, 0, `${'{"sub":'.repeat(100_000)}{}${'}'.repeat(100_000)}`, MOST)
  assert.ok(!(fault instanceof Uint8Array))
  assert.match(fault.message, /at most 512 levels/)
  const values = encode(PROGRAM, 0, `{"value":${'['.repeat(100_000)}${']'.repeat(100_000)}}`, MOST)
  assert.ok(!(values instanceof Uint8Array))
})

test('message indexes lead to messages and back', () => {
  const program =
    compiled(`syntax = "proto3"; package p; message A { map<string, B> m = 1; message B { message C {} } message D {} } enum
    E { X = 0; } message F {}`)
  const paths = { 'p.A': [0], 'p.A.B': [0, 0], 'p.A.B.C': [0, 0, 0], 'p.A.D': [0, 1], 'p.F': [1] }
  for (const [name, path] of Object.entries(paths)) {
    assert.equal(program.messages[messageAt(program, path)]?.fullName, name)
    assert.deepEqual(pathOf(program, name), path)
  }
  for (const path of [[], [2], [0, 2], [-1], [0, 0, 0, 0], [0.5]]) assert.equal(messageAt(program, path), -1)
  assert.equal(pathOf(program, 'p.A.MEntry'), null)
  assert.equal(pathOf(program, 'p.E'), null)
})

test('a program can be sent between threads', () => {
  assert.deepEqual(structuredClone(PROGRAM), PROGRAM)
})

test('any strings, bytes and integers come back', () => {
  const value = fc.record({
    st: fc.string({ unit: 'grapheme', minLength: 1 }),
    by: fc.uint8Array({ minLength: 1 }).map(bytes => Buffer.from(bytes).toString('base64')),
    i64: fc.bigInt({ min: 1n, max: 2n ** 63n - 1n }).map(String),
    s64: fc.bigInt({ min: -(2n ** 63n), max: -1n }).map(String),
    sf32: fc.integer({ max: -1 }),
    db: fc.double({ noNaN: true, noDefaultInfinity: true }).filter(number => number !== 0),
    list: fc.array(fc.integer(), { minLength: 1 }),
  })
  fc.assert(
    fc.property(value, json => assert.deepEqual(decoded(encoded(json)), { ...json })),
    { numRuns: 300 },
  )
})
