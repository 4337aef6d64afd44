// Texts that are no new schema: each error names the place and the rule.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { InvalidSchema } from '../format.ts'
import { protobuf } from './protobuf.ts'

type Row = readonly [name: string, text: string, error: RegExp]

const message = (text: string) => `syntax = "proto3"; message M { ${text} }`
const old = (text: string) => `syntax = "proto2"; message M { ${text} }`

/** Mistakes of grammar, which a stored schema must not have either. */
const GRAMMAR: readonly Row[] = [
  ['a word that begins nothing', 'massage M {}', /line 1, column 1: expected a message, .* found "massage"/],
  ['a field without a number', message('int32 a;'), /line 1, column 39: expected "=", found ";"/],
  [
    'a message without an end',
    'syntax = "proto3";\nmessage M {',
    /line 2, column 12: expected .* found the end of the text/,
  ],
  ['a string without an end', 'import "a', /line 1, column 8: the string has no end/],
  ['a comment without an end', 'syntax = "proto3"; /* x', /line 1, column 20: the comment has no end/],
  ['a sign of no statement', 'syntax = "proto3"; message M § {}', /no statement has the character "§"/],
  ['a syntax that does not exist', 'syntax = "proto4";', /expected the syntax "proto2" or "proto3", found "proto4"/],
  ['an edition', 'edition = "2023";', /editions are not supported/],
  ['a second package', 'package a; package b;', /expected at most one package/],
  ['a package that begins with a dot', 'package .a;', /expected the name of the package, found "\."/],
  ['a package behind a message', 'message M {} package a;', /the package before all messages/],
  ['a proto2 field without a label', old('int32 a = 1;'), /expected "optional", "required" or "repeated"/],
  [
    'a number above 2^29',
    message('int32 a = 536870912;'),
    /the number of a field is at most 536870911, found 536870912/,
  ],
  ['a hexadecimal number with a wrong digit', message('int32 a = 0xg;'), /"0x?" is no number|"0x" is no number/],
  ['a decimal number with a leading 0', message('int32 a = 08;'), /"08" begins with 0, but is no octal number/],
  ['a negative number of a field', message('int32 a = -1;'), /expected the number of a field, found "-"/],
  ['a key of a map that is a float', message('map<float, int32> a = 1;'), /as the type of the keys, found "float"/],
  ['a key of a map that is a message', message('map<M, int32> a = 1;'), /as the type of the keys, found "M"/],
  ['a repeated map', message('repeated map<int32, int32> a = 1;'), /expected the name of a field, found "<"/],
  ['a label in a oneof', message('oneof o { repeated int32 a = 1; }'), /expected "=", found "a"/],
  ['a group with a small name', old('optional group g = 1 {}'), /the group "g" begins with no capital/],
  ['a range that is empty', message('reserved 5 to 2;'), /the range 5 to 2 is empty/],
  ['an escape that is not legal', 'import "\\q";', /the string has an escape that is not legal/],
  ['half of a surrogate pair', 'import "\ud800";', /half of a surrogate pair/],
  ['a type that ends with a dot', message('a. b = 1;'), /expected the name of a field, found "="/],
  ['no JSON and no descriptor', 'QUJD', /expected a \.proto text, or a FileDescriptorProto as base64/],
  ['an empty statement in a oneof', message('oneof o { int32 a = 1;; }'), /expected the type of a field, found ";"/],
  [
    'an empty statement in an extension',
    'message M { extensions 5; } extend M { optional int32 a = 5;; }',
    /found ";"/,
  ],
  ['an extension without fields', 'message M { extensions 5; } extend M {}', /found "}"/],
]

const RULES: readonly Row[] = [
  ['the number 0', message('int32 a = 0;'), /The field "a" of "M" has the number 0: expected 1 to 536870911/],
  [
    'a number that Protobuf keeps',
    message('int32 a = 19000;'),
    /has the number 19000, and Protobuf keeps 19000 to 19999/,
  ],
  ['the last number that Protobuf keeps', message('int32 a = 19999;'), /Protobuf keeps/],
  ['a number twice', message('int32 a = 1; int32 b = 1;'), /The field "b" of "M" has the number 1 of "a"/],
  ['a number twice, in a oneof', message('int32 a = 1; oneof o { int32 b = 1; }'), /has the number 1 of "a"/],
  ['a name twice', message('int32 a = 1; int32 a = 2;'), /"M.a" is declared twice/],
  ['a message twice', 'message M {} message M {}', /"M" is declared twice/],
  ['an enum with the name of a message', 'message M {} enum M { A = 0; }', /"M" is declared twice/],
  ['a value of an enum twice', 'enum E { A = 0; } enum F { A = 0; }', /"A" is declared twice/],
  ['a field with the name of a oneof', message('int32 a = 1; oneof a { int32 b = 2; }'), /"M.a" is declared twice/],
  ['a reserved number', message('int32 a = 5; reserved 3 to 6;'), /has the number 5, which is reserved/],
  ['a reserved name', message('int32 a = 5; reserved "a";'), /has a name that is reserved/],
  ['a name that is reserved twice', message('reserved "a", "a";'), /reserves the name "a" twice/],
  ['reserved ranges that overlap', message('reserved 1 to 5, 5;'), /ranges that share numbers: 1 to 5 and 5 to 5/],
  ['the reserved number 0', message('reserved 0;'), /the range 0 to 0: expected 1 or more/],
  [
    'a number in an extension range',
    old('optional int32 a = 5; extensions 4 to 6;'),
    /the number 5 of an extension range/,
  ],
  [
    'a type that is not declared',
    message('X a = 1;'),
    /The field "a" of "M": "X" is not defined: expected a message or an enum/,
  ],
  ['a scalar with a wrong name', message('int a = 1;'), /"int" is not defined/],
  ['a type that is a field', message('int32 b = 1; M.b a = 2;'), /"M.b" is no message and no enum/],
  [
    'a type that a nearer scope hides',
    'package p; message M { message p { optional int32 x = 1; } optional p.N a = 1; } message N {}',
    /"p.N" is not defined/,
  ],
  [
    'an rpc with an enum',
    'enum E { A = 0; } message M {} service S { rpc R (M) returns (E); }',
    /needs a message, and "E" is an enum/,
  ],
  [
    'a proto3 enum that begins with 1',
    'syntax = "proto3"; enum E { A = 1; }',
    /The first value of the enum "E" is 1: expected 0/,
  ],
  ['an enum without values', 'enum E {}', /The enum "E" has no values/],
  ['a number of an enum twice', 'enum E { A = 0; B = 0; }', /The value "B" of the enum "E" has the number 0 of "A"/],
  [
    'a reserved number of an enum',
    'enum E { A = 0; B = 2; reserved 2 to max; }',
    /has the number 2, which is reserved/,
  ],
  ['a required field of proto3', message('required int32 a = 1;'), /is required, and proto3 has no required fields/],
  ['a group of proto3', message('repeated group G = 1 {}'), /is a group, and proto3 has no groups/],
  ['a default of proto3', message('int32 a = 1 [default = 1];'), /has a default, and proto3 has none/],
  ['extension ranges of proto3', message('extensions 5;'), /has extension ranges, and proto3 has none/],
  ['an empty oneof', message('oneof o {}'), /The oneof "o" of "M" has no fields/],
  ['a map in a oneof', message('oneof o { map<int32, int32> a = 1; }'), /is a map in a oneof/],
  ['one JSON name twice', message('int32 a_b = 1; int32 aB = 2;'), /"a_b" and "aB" of "M" have the JSON name "aB"/],
  [
    'a default of another type',
    old('optional int32 a = 1 [default = "x"];'),
    /a default of another type: expected a whole number from -2147483648 to 2147483647/,
  ],
  ['a default out of range', old('optional uint32 a = 1 [default = -1];'), /a whole number from 0 to 4294967295/],
  [
    'a default that is no value of the enum',
    old('enum E { A = 0; } optional E a = 1 [default = B];'),
    /expected a value of "M.E"/,
  ],
  ['a default of a message', old('optional M a = 1 [default = 1];'), /has a default, and a message has none/],
  [
    'a default of a repeated field',
    old('repeated int32 a = 1 [default = 1];'),
    /has a default, and a repeated field has none/,
  ],
  ['a JSON name that is no string', message('int32 a = 1 [json_name = x];'), /json_name: expected a string/],
  ['a JSON name in brackets', message('int32 a = 1 [json_name = "[x]"];'), /which is kept for extensions/],
  ['packed strings', message('repeated string a = 1 [packed = true];'), /is packed, and only repeated numbers/],
  ['a packed single value', message('int32 a = 1 [packed = true];'), /is packed, and only repeated numbers/],
  [
    'an extension outside of the ranges',
    'message M { extensions 5; } extend M { optional int32 a = 6; }',
    /which is in no extension range/,
  ],
  [
    'an extension that is required',
    'message M { extensions 5; } extend M { required int32 a = 5; }',
    /is required, and no extension can be/,
  ],
  [
    'an extension of proto3',
    'syntax = "proto3"; message M {} extend M { int32 a = 5; }',
    /in no extension range|proto3 extends only/,
  ],
  [
    'an extended name that means a field',
    'message M { extensions 5; optional int32 M = 1; message N { extend M { optional int32 a = 5; } } }',
    /"M" is no message and no enum/,
  ],
]

function parse(text: string, strictness: 'new' | 'stored') {
  return () => protobuf.parse({ text, dependencies: [] }, strictness)
}

for (const [name, text, error] of GRAMMAR) {
  test(`refuses ${name}, new or stored`, () => {
    for (const strictness of ['new', 'stored'] as const) {
      assert.throws(parse(text, strictness), (thrown: unknown) => {
        assert.ok(thrown instanceof InvalidSchema)
        assert.match(thrown.message, error)
        return true
      })
    }
  })
}

for (const [name, text, error] of RULES) {
  test(`refuses a new schema with ${name}, and understands a stored one`, () => {
    assert.throws(parse(text, 'new'), (thrown: unknown) => {
      assert.ok(thrown instanceof InvalidSchema, String(thrown))
      assert.match(thrown.message, error)
      return true
    })
    protobuf.compile(parse(text, 'stored')())
  })
}

test('refuses more than 64 levels of messages, and accepts 64', () => {
  const nested = (levels: number) => `${'message M { '.repeat(levels)}${'}'.repeat(levels)}`
  assert.doesNotThrow(parse(nested(64), 'new'))
  assert.throws(parse(nested(65), 'new'), /more than 64 levels/)
  assert.throws(parse(nested(100_000), 'stored'), /more than 64 levels/)
})

test('refuses more than 64 levels in the value of an option', () => {
  const value = `${'{ a: '.repeat(100_000)}1${' }'.repeat(100_000)}`
  assert.throws(parse(`option (x) = ${value};`, 'stored'), /more than 64 levels/)
  assert.throws(parse(`option (x) = { a: ${'['.repeat(100_000)}`, 'stored'), /more than 64 levels/)
})

test('refuses more than 20,000 fields', () => {
  const fields = Array.from(
    { length: 20_001 },
    (_, index) => `int32 a${index}=${index < 18_999 ? index + 1 : index + 1002};`,
  )
  assert.throws(parse(message(fields.join('')), 'new'), /more than 20000 fields/)
})

test('reads long comments, strings and spaces', () => {
  const long = 'x'.repeat(400_000)
  const text = `// ${long}\n/* ${long} */${' '.repeat(400_000)}option java_package = "${long}"; message M {}`
  assert.deepEqual(protobuf.recordNames(parse(text, 'new')()), ['M'])
  assert.throws(parse(`/* ${long}`, 'new'), /the comment has no end/)
})

test('accepts fields with the names of keywords and of members of objects', () => {
  const names = [
    'message',
    'option',
    'syntax',
    'to',
    'max',
    '__proto__',
    'constructor',
    'toString',
    'stream',
    'map',
    'group',
  ]
  const fields = names.map((name, index) => `int32 ${name} = ${index + 1};`)
  const program = protobuf.compile(parse(message(fields.join(' ')), 'new')())
  assert.deepEqual(
    program.messages[0]?.fields.map(({ name }) => name),
    names,
  )
})
