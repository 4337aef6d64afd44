// The texts that are stored, and the normalized ones.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { protobuf } from './protobuf.ts'

function print(text: string, strictness: 'new' | 'stored' = 'new') {
  return protobuf.print(protobuf.parse({ text, dependencies: [] }, strictness))
}

const ORDER = `// An order.
syntax = "proto3";
package acme.orders;
import "google/protobuf/timestamp.proto";
option java_package="com.acme";
/* The order. */
message Order { string id = 1; /* money */ int64 amount=0x2;
  repeated Line lines = 3 [deprecated=true, json_name = "Lines"];
  message Line { string sku = 1; }
  map<string,Line> extras = 4; oneof ref { string url = 5; bytes raw = 6; } enum
  State { NEW = 0; DONE = 1; }
  State state = 7; reserved 20, 10 to 15; reserved "old"; optional google.protobuf.Timestamp at = 8; } enum
Kind { K = 0; }
message Empty {}
service S { rpc Get (Order) returns (stream Empty); }
`

test('the canonical text has the order of the fields and no comments', () => {
  assert.equal(
    print(ORDER).canonical,
    `${[
      'syntax = "proto3";',
      'package acme.orders;',
      '',
      'import "google/protobuf/timestamp.proto";',
      '',
      'option java_package = "com.acme";',
      '',
      'message Order {',
      '  reserved 20, 10 to 15;',
      '  reserved "old";',
      '',
      '  string id = 1;',
      '  int64 amount = 2;',
      '  repeated Line lines = 3 [',
      '    deprecated = true,',
      '    json_name = "Lines"',
      '  ];',
      '  map<string, Line> extras = 4;',
      '  State state = 7;',
      '  optional google.protobuf.Timestamp at = 8;',
      '',
      '  oneof ref {',
      '    string url = 5;',
      '    bytes raw = 6;',
      '  }',
      '',
      '  message Line {',
      '    string sku = 1;',
      '  }',
      '  enum State {',
      '    NEW = 0;',
      '    DONE = 1;',
      '  }',
      '}',
      'message Empty {}',
      'enum Kind {',
      '  K = 0;',
      '}',
      '',
      'service S {',
      '  rpc Get (Order) returns (stream Empty);',
      '}',
    ].join('\n')}\n`,
  )
})

test('the normalized text has the order of the numbers and full names', () => {
  const text = print(
    'message M { optional int32 b = 2; optional M a = 1; oneof o { int32 d = 5; int32 c = 4; } reserved 9, 7; }',
  ).normalized
  assert.equal(
    text,
    `
message M {
  reserved 7;
  reserved 9;

  optional .M a = 1;
  optional int32 b = 2;

  oneof o {
    int32 c = 4;
    int32 d = 5;
  }
}
`,
  )
})

test('schemas that differ only in order have one normalized text', () => {
  const one = `syntax = "proto3"; import "google/protobuf/any.proto"; import "google/protobuf/empty.proto";
    package p; message M { int32 a = 1; N b = 2 [deprecated = true, ctype = CORD]; reserved 5 to 6, 9; } message N {}`
  const other = `syntax = "proto3"; package p; import "google/protobuf/empty.proto"; import "google/protobuf/any.proto";
    message M { reserved 9; reserved 5 to 6; .p.N b = 2 [ctype = CORD, deprecated = true]; int32 a = 1; } message N {}`
  assert.notEqual(print(one).canonical, print(other).canonical)
  assert.equal(print(one).normalized, print(other).normalized)
})

test('messages keep their order in the normalized text, because message indexes depend on it', () => {
  const { normalized } = print('syntax = "proto3"; message Z {} message A {}')
  assert.ok(normalized.indexOf('message Z') < normalized.indexOf('message A'))
})

test('the first value of an enum stays the first one, because it is the default', () => {
  const { normalized } = print('syntax = "proto3"; enum E { A = 0; C = 2; B = -1; }')
  assert.match(normalized, /A = 0;\n {2}B = -1;\n {2}C = 2;/)
})

const OPTIONS = `syntax = "proto2"; import "google/protobuf/descriptor.proto";
message Opt { optional int32 a = 1; optional Opt b = 2; repeated int32 c = 3; }
extend google.protobuf.MessageOptions { optional Opt opt = 50000; repeated string tag = 50001; }`

test('several assignments to one option are one value in the normalized text', () => {
  const { normalized } = print(`${OPTIONS} message M { option (tag) = "x"; option (opt).b.a = 0x10; option (opt).a = 1;
    option (opt).b.b.a = 2; option (opt).c = 1; option (opt).c = 2; option (tag) = "y"; }`)
  assert.match(
    normalized,
    /option \(opt\) = \{\n {4}a: 1,\n {4}b: \{\n {6}a: 16,\n {6}b: \{\n {8}a: 2\n {6}\}\n {4}\},\n {4}c: \[\n {6}1,\n {6}2\n {4}\]\n {2}\};/,
  )
  assert.match(normalized, /option \(tag\) = "x";\n {2}option \(tag\) = "y";/)
})

test('texts of option values are the same with any brackets and signs', () => {
  const text = (value: string) => print(`${OPTIONS} message M { option (opt) = ${value}; }`).canonical
  assert.equal(text('{ a: 1 b { a: -2 } c: [1, 2] }'), text('{ a: 1, b: < a: -2 >; c: [1,2], }'))
})

test('strings and bytes come back with their escapes', () => {
  const literals = ['"a\\"b\\\\"', '"tr\\303\\274e"', "'\\x41'", '"\\377\\000"', '"\\u00e9"', '"a" "b"', '"\\?"']
  const values = ['a\\"b\\\\', 'trüe', 'A', '\\377\\000', 'é', 'ab', '?']
  for (const [index, literal] of literals.entries()) {
    const { canonical } = print(`message M { optional bytes a = 1 [default = ${literal}]; }`)
    assert.ok(canonical.includes(`default = "${values[index]}"`), canonical)
    assert.equal(print(canonical).canonical, canonical)
  }
})

test('large numbers keep all their digits', () => {
  const text =
    'message M { optional int64 a = 1 [default = -9223372036854775808]; optional uint64 b = 2 [default = 18446744073709551615]; }'
  assert.match(print(text).canonical, /-9223372036854775808/)
  assert.match(print(text).normalized, /18446744073709551615/)
})

test('groups, extension ranges and extend blocks are printed', () => {
  const text = `message M {
  repeated group G = 1 {
    optional int32 a = 1;
  }

  extensions 100 to max;

  extend M {
    optional int32 b = 100;
  }
}
`
  assert.equal(print(text).canonical, `\n${text}`)
})

test('the entry of a map that is written out is the same as the map', () => {
  const entry = 'message MapEntry { option map_entry = true; string key = 1; int32 value = 2; }'
  const written = print(`syntax = "proto3"; package p; message M { repeated .p.M.MapEntry map = 1; ${entry} }`)
  const short = print('syntax = "proto3"; package p; message M { map<string, int32> map = 1; }')
  assert.equal(written.canonical, short.canonical)
  assert.equal(written.normalized, short.normalized)
})

test('a stored schema with an unknown option is printed with it', () => {
  const text = 'message M { optional int32 a = 1 [(x.y).z = FOO]; }'
  assert.match(print(text).canonical, /\[\(x.y\).z = FOO\]/)
  assert.match(print(text).normalized, /\[\(x.y\).z = FOO\]/)
})

test('forms that only Wire accepts become forms that all accept', () => {
  const { canonical } = print('message M { reserved 10, "foo", 12 to 14; optional int32 a = 1 [(x) = ["b", "c"]]; }')
  assert.match(canonical, /reserved 10, 12 to 14;\n {2}reserved "foo";/)
  assert.match(canonical, /\(x\) = \[\n {4}"b",\n {4}"c"\n {2}\]/)
  assert.equal(print(canonical).canonical, canonical)
})
