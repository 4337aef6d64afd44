// Payloads that are valid, and all ways in which they are not. Bytes are written in hexadecimal.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../../testing/property.ts'
import type { Fault } from '../format.ts'
import { MOST_LEVELS } from '../format.ts'
import { encode } from './encode.ts'
import { messageAt } from './program.ts'
import { protobuf } from './protobuf.ts'
import { walkerOf } from './walker.ts'

const PROTO3 = compiled(`syntax = "proto3"; message M {
  int32 i = 1; bool b = 2; fixed32 f = 3; fixed64 d = 4; string s = 5; bytes y = 6; M m = 7; E e = 8;
  repeated int32 ri = 9; repeated bool rb = 10; repeated fixed32 rf = 11; repeated double rd = 12; repeated E re = 13;
  repeated int32 unpacked = 14 [packed = false]; map<string, M> map = 15; string large = 500000000; sint64 z = 17;
} enum E { A = 0; B = 1; }`)

const PROTO2 = compiled(`message M {
  required int32 r = 1; optional string s = 2; optional E e = 3; repeated E re = 4 [packed = true]; optional N n = 5;
  optional group G = 6 { required int32 x = 1; }
} enum E { A = 1; B = -2; }
message N { ${Array.from({ length: 40 }, (_, index) => `required bool r${index} = ${index + 1};`).join(' ')} }`)

function compiled(text: string) {
  return protobuf.compile(protobuf.parse({ text, dependencies: [] }, 'new'))
}

function walk(program: typeof PROTO3, bytes: Uint8Array, steps = 1_000_000): Fault | null {
  const walker = walkerOf(program, messageAt(program, [0]))
  walker.begin(bytes, 0, bytes.length)
  for (;;) {
    const result = walker.run(steps)
    if (result !== 'more') return result
  }
}

function hex(text: string): Uint8Array {
  return Buffer.from(text.replaceAll(' ', ''), 'hex')
}

const VALID3: readonly (readonly [name: string, bytes: string])[] = [
  ['nothing', ''],
  ['an integer', '08 01'],
  ['a negative integer of ten bytes', '08 ffffffffffffffffff01'],
  ['false and true', '10 00 10 01'],
  ['fixed values', '1d 01020304 21 0102030405060708'],
  ['an empty string', '2a 00'],
  ['strings of two, three and four bytes', '2a 0a c3bc e282ac f09f9880 61'],
  ['bytes that are no UTF-8', '32 02 ffff'],
  ['a message in a message', '3a 02 08 01'],
  ['a number that the open enum does not have', '40 63'],
  ['packed integers', '4a 03 01 9601'],
  ['packed integers of a field that is not packed', '72 02 01 02'],
  ['single integers of a packed field', '48 01 48 02'],
  ['packed bools', '52 02 00 01'],
  ['packed fixed values', '5a 08 0102030405060708'],
  ['single fixed values', '5d 01020304'],
  ['packed enums', '6a 02 00 63'],
  ['a map with a key and a value', '7a 07 0a 01 61 12 02 08 01'],
  ['a map entry without a key', '7a 00'],
  ['a field with a large number', '82d0acf30e 01 61'],
  ['unknown fields of all wire types', 'a006 01 a106 0102030405060708 a206 01 61 a506 01020304'],
  ['an unknown group with fields and a group in it', 'a306 08 01 ab06 ac06 a406'],
  ['a tag with more bytes than it needs', '8800 01'],
]

for (const [name, bytes] of VALID3) {
  test(`proto3: ${name} is valid`, () => assert.equal(walk(PROTO3, hex(bytes)), null))
}

const FAULTY3: readonly (readonly [name: string, bytes: string, reason: Fault['reason'], message: RegExp])[] = [
  ['a tag without a value', '08', 'truncated', /at byte 0, field "i" of M: a varint goes on beyond the end/],
  ['half a tag', '88', 'truncated', /at byte 0: a varint goes on beyond the end/],
  ['half a varint', '08 80', 'truncated', /field "i" of M: a varint goes on beyond the end/],
  ['a varint of eleven bytes', '08 8080808080808080808001', 'bad-value', /a varint has more than 64 bits/],
  ['a varint of 70 bits', '08 ffffffffffffffffff7f', 'bad-value', /a varint has more than 64 bits/],
  ['the number 0', '00 01', 'bad-value', /no field has the number 0/],
  ['the number 0 in two bytes', '8000 01', 'bad-value', /no field has the number 0/],
  ['a number above 2^29', 'ffffffffff01', 'bad-value', /no field has the number 0 or one above 536870911/],
  ['a bool of 2', '10 02', 'bad-value', /field "b" of M: a bool is 0 or 1/],
  ['a bool of two bytes', '10 8100', 'bad-value', /field "b" of M: a bool is 0 or 1/],
  ['a bool without a value', '10', 'truncated', /field "b" of M: its value goes on beyond the end/],
  ['three bytes of four', '1d 010203', 'truncated', /field "f" of M: its value goes on beyond the end/],
  ['seven bytes of eight', '21 01020304050607', 'truncated', /field "d" of M/],
  ['a length beyond the end', '2a 05 61', 'truncated', /field "s" of M: its length is 5, and 1 bytes are left/],
  ['a length of 2^63', '2a ffffffffffffffff7f', 'truncated', /field "s" of M: its length is/],
  ['a message beyond the end', '3a 03 08 01', 'truncated', /field "m" of M: its length is 3, and 2 bytes are left/],
  ['a field beyond its message', '3a 01 08 01', 'truncated', /field "i" of M: a varint goes on beyond the end/],
  ['a string that is no UTF-8', '2a 02 c328', 'bad-value', /field "s" of M: the string is not UTF-8/],
  ['a surrogate in a string', '2a 03 eda080', 'bad-value', /not UTF-8/],
  ['an overlong form in a string', '2a 02 c080', 'bad-value', /not UTF-8/],
  ['half a character in a string', '2a 02 61c3', 'bad-value', /not UTF-8/],
  ['a point above U+10FFFF in a string', '2a 04 f4908080', 'bad-value', /not UTF-8/],
  [
    'a string with the wire type of an integer',
    '28 01',
    'bad-value',
    /field "s" of M: the wire type 0 does not fit string/,
  ],
  ['an integer with the wire type of a string', '0a 00', 'bad-value', /the wire type 2 does not fit int32/],
  ['a fixed32 with eight bytes', '19 0102030405060708', 'bad-value', /the wire type 1 does not fit fixed32/],
  ['a message as a group', '3b 3c', 'bad-value', /the wire type 3 does not fit message/],
  ['packed messages of a single field', '3d 01020304', 'bad-value', /the wire type 5 does not fit message/],
  ['packed bools of 2', '52 01 02', 'bad-value', /a packed field: a bool is 0 or 1/],
  ['packed fixed values with a rest', '5a 05 0102030405', 'bad-value', /5 bytes hold no whole number of values of 4/],
  ['a packed varint beyond its length', '4a 01 80 01', 'truncated', /a packed field: a varint goes on beyond the end/],
  ['packed integers beyond the end', '4a 05 01', 'truncated', /field "ri" of M: its length is 5/],
  ['the wire type 6', 'a606', 'bad-value', /field 100 of M: no value has the wire type 6/],
  ['the wire type 7', 'a706', 'bad-value', /no value has the wire type 7/],
  ['the end of a group that did not begin', 'a406', 'bad-value', /the end of a group that did not begin here/],
  ['the end of another group', 'a306 ac06', 'bad-value', /the end of a group that did not begin here/],
  ['an unknown group without an end', 'a306 08 01', 'truncated', /the group 100 has no end/],
  ['an unknown length beyond the end', 'a206 05 61', 'truncated', /field 100 of M: its length is 5/],
  ['a field of a map entry with another wire type', '7a 02 08 01', 'bad-value', /field "key" of M.MapEntry/],
]

for (const [name, bytes, reason, message] of FAULTY3) {
  test(`proto3: ${name} is a fault`, () => {
    for (const steps of [1, 1_000_000]) {
      const fault = walk(PROTO3, hex(bytes), steps)
      assert.equal(fault?.reason, reason)
      assert.match(fault?.message ?? '', message)
    }
  })
}

test('proto2: a required field must be there, at every level', () => {
  assert.equal(walk(PROTO2, hex('08 01')), null)
  assert.match(walk(PROTO2, hex(''))?.message ?? '', /the required field "r" of M is missing/)
  assert.match(walk(PROTO2, hex('08 01 33 34'))?.message ?? '', /the required field "x" of M.G is missing/)
  assert.equal(walk(PROTO2, hex('08 01 33 08 01 34')), null)
  assert.match(walk(PROTO2, hex('33 08 01 34'))?.message ?? '', /the required field "r" of M is missing/)
})

test('proto2: the end of a group is no field of it, even with the number of a required one', () => {
  const program = compiled('message M { optional group G = 1 { required group X = 1 {} } }')
  assert.match(walk(program, hex('0b 0c'))?.message ?? '', /the required field "x" of M.G is missing/)
  assert.equal(walk(program, hex('0b 0b 0c 0c')), null)
})

test('proto2: forty required fields are counted', () => {
  const tags = Array.from({ length: 40 }, (_, index) => [...tagOf(index + 1), 1])
  const without = (missing: number) => tags.filter((_, index) => index !== missing).flat()
  const message = (bytes: readonly number[]) => Uint8Array.from([8, 1, 0x2a, bytes.length, ...bytes])
  assert.equal(walk(PROTO2, message(tags.flat())), null)
  for (const missing of [0, 31, 32, 39]) {
    assert.match(walk(PROTO2, message(without(missing)))?.message ?? '', new RegExp(`"r${missing}" of N is missing`))
  }
})

function tagOf(number: number): number[] {
  return number < 16 ? [number * 8] : [((number * 8) & 127) | 128, number >> 4]
}

test('proto2: an enum has only its values, single and packed', () => {
  assert.equal(walk(PROTO2, hex('08 01 18 01 18 feffffffffffffffff01 22 0b 01 feffffffffffffffff01')), null)
  assert.match(walk(PROTO2, hex('08 01 18 02'))?.message ?? '', /field "e" of M: the enum E has no value 2/)
  assert.match(walk(PROTO2, hex('08 01 18 ffffffffffffffffff01'))?.message ?? '', /the enum E has no value -1/)
  assert.match(walk(PROTO2, hex('08 01 22 02 01 05'))?.message ?? '', /the enum E has no value 5/)
})

test('proto2: a string may be any bytes', () => {
  assert.equal(walk(PROTO2, hex('08 01 12 01 ff')), null)
})

test('messages stand in each other over 512 levels, and not over 513', () => {
  const nested = (levels: number): Uint8Array => {
    const program = PROTO3
    let json = '{}'
    for (let level = 1; level < levels; level++) json = `{"m":${json}}`
    const bytes = encode(program, 0, json, 1_000_000)
    assert.ok(bytes instanceof Uint8Array)
    return bytes
  }
  assert.equal(walk(PROTO3, nested(MOST_LEVELS)), null)
  const deepest = nested(MOST_LEVELS)
  const deeper = Buffer.concat([Buffer.from([0x3a, 0x80 | (deepest.length & 127), deepest.length >> 7]), deepest])
  assert.equal(walk(PROTO3, deeper)?.reason, 'too-deep')
  assert.equal(
    walk(
      PROTO3,
      new Uint8Array(100_000).fill(0x0b).map(() => 0xa3),
    )?.reason !== null,
    true,
  )
})

test('unknown groups stand in each other over 512 levels at most', () => {
  const groups = Buffer.alloc(200_000, Buffer.from([0xa3, 0x06]))
  assert.equal(walk(PROTO3, groups)?.reason, 'too-deep')
})

test('a walk pauses after the given steps, in a packed field too', () => {
  const bytes = Uint8Array.from([0x4a, 100, ...new Array<number>(100).fill(1), 8, 1])
  const walker = walkerOf(PROTO3, 0)
  walker.begin(bytes, 0, bytes.length)
  let pauses = 0
  while (walker.run(10) === 'more') pauses++
  assert.equal(pauses >= 9, true)
})

test('a walker is used again after a fault and after a pause', () => {
  const walker = walkerOf(PROTO3, 0)
  for (const [bytes, isValid] of [
    ['4a 05 01 80', false],
    ['08 01', true],
    ['a306', false],
    ['', true],
  ] as const) {
    const payload = hex(bytes)
    walker.begin(payload, 0, payload.length)
    assert.equal(walker.run(1_000) === null, isValid)
  }
  const long = Uint8Array.from([0x4a, 3, 1, 1, 1])
  walker.begin(long, 0, long.length)
  assert.equal(walker.run(2), 'more')
  walker.begin(hex('08 01'), 0, 2)
  assert.equal(walker.run(1_000), null)
})

test('a walk sees only the bytes from its begin to its end', () => {
  const walker = walkerOf(PROTO3, 0)
  walker.begin(hex('ff 08 01 ff'), 1, 3)
  assert.equal(walker.run(1_000), null)
  walker.begin(hex('ff 08 81 01'), 1, 3)
  assert.equal(walker.run(1_000) === null, false)
})

test('any bytes end in a verdict, and pauses do not change it', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), fc.integer({ min: 1, max: 5 }), (bytes, steps) => {
      for (const program of [PROTO3, PROTO2]) assert.deepEqual(walk(program, bytes, steps), walk(program, bytes))
    }),
    { numRuns: 2_000 },
  )
})
