// Each line of the rules of Protobuf compatibility. A row names the change, both schemas, and all changes
// that are found; those behind "!" make the schemas incompatible.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { changes } from './compare.ts'
import { protobuf } from './protobuf.ts'

/** The bodies of a writer's and a reader's file in proto3, and the changes from one to the other. */
type Row = readonly [name: string, writer: string, reader: string, changes: readonly string[]]

const field = (text: string) => `message M { ${text} }`
const two = (name: string, writer: string, reader: string, ...found: string[]): Row => [
  name,
  field(writer),
  field(reader),
  found,
]

const ROWS: readonly Row[] = [
  ['nothing changes', field('int32 a = 1;'), field('int32 a = 1;'), []],
  ['comments and spaces change', field('int32 a=1;'), `// x\n${field('/* y */ int32   a = 1;')}`, []],
  ['the package changes', `package a; ${field('')}`, `package b; ${field('')}`, ['!PACKAGE_CHANGED #/']],
  ['the package goes', `package a; ${field('')}`, field(''), ['!PACKAGE_CHANGED #/']],
  ['a package comes', field(''), `package a; ${field('')}`, ['!PACKAGE_CHANGED #/']],
  ['a message comes', field(''), `${field('')} message N {}`, ['MESSAGE_ADDED #/N']],
  ['a message goes', `${field('')} message N {}`, field(''), ['!MESSAGE_REMOVED #/N']],
  ['a message gets another name', 'message M {}', 'message N {}', ['!MESSAGE_REMOVED #/M', 'MESSAGE_ADDED #/N']],
  [
    'two messages change places',
    'message M {} message N {}',
    'message N {} message M {}',
    ['MESSAGE_MOVED #/M', 'MESSAGE_MOVED #/N'],
  ],
  two('a nested message comes', '', 'message N {}', 'MESSAGE_ADDED #/M/N'),
  two('a nested message goes', 'message N {}', '', '!MESSAGE_REMOVED #/M/N'),
  two(
    'a field of a nested message changes its type',
    'message N { int32 a = 1; }',
    'message N { string a = 1; }',
    '!FIELD_SCALAR_KIND_CHANGED #/M/N/1',
  ),
  [
    'a message moves into another one',
    'message M {} message N {}',
    'message M { message N {} }',
    ['MESSAGE_ADDED #/M/N', '!MESSAGE_REMOVED #/N'],
  ],
  ['an enum comes', field(''), `${field('')} enum E { A = 0; }`, ['ENUM_ADDED #/E']],
  ['an enum goes', `${field('')} enum E { A = 0; }`, field(''), ['ENUM_REMOVED #/E']],
  ['a value of an enum comes', 'enum E { A = 0; }', 'enum E { A = 0; B = 1; }', ['ENUM_CONST_ADDED #/E/1']],
  ['a value of an enum goes', 'enum E { A = 0; B = 1; }', 'enum E { A = 0; }', ['ENUM_CONST_REMOVED #/E/1']],
  ['a value of an enum gets another name', 'enum E { A = 0; }', 'enum E { B = 0; }', ['ENUM_CONST_CHANGED #/E/0']],
  two('a nested enum goes', 'enum E { A = 0; }', '', 'ENUM_REMOVED #/M/E'),
  two('a field comes', '', 'int32 a = 1;', 'FIELD_ADDED #/M/1'),
  two('a field goes', 'int32 a = 1;', '', 'FIELD_REMOVED #/M/1'),
  two('a field goes and its number is reserved', 'int32 a = 1;', 'reserved 1; reserved "a";', 'FIELD_REMOVED #/M/1'),
  two('a field gets another name', 'int32 a = 1;', 'int32 b = 1;', 'FIELD_NAME_CHANGED #/M/1'),
  two('a field gets another number', 'int32 a = 1;', 'int32 a = 2;', 'FIELD_REMOVED #/M/1', 'FIELD_ADDED #/M/2'),
  two('fields change places', 'int32 a = 1; string b = 2;', 'string b = 2; int32 a = 1;'),
  ...['int32', 'int64', 'uint32', 'uint64', 'bool'].map(type =>
    two(`int32 becomes ${type}`, 'int32 a = 1;', `${type} a = 1;`),
  ),
  ...['sint32', 'fixed32', 'sfixed64', 'float', 'double', 'string', 'bytes'].map(type =>
    two(`int32 becomes ${type}`, 'int32 a = 1;', `${type} a = 1;`, '!FIELD_SCALAR_KIND_CHANGED #/M/1'),
  ),
  two('sint32 becomes sint64', 'sint32 a = 1;', 'sint64 a = 1;'),
  two('fixed32 becomes sfixed32', 'fixed32 a = 1;', 'sfixed32 a = 1;'),
  two('sfixed64 becomes fixed64', 'sfixed64 a = 1;', 'fixed64 a = 1;'),
  two('fixed32 becomes fixed64', 'fixed32 a = 1;', 'fixed64 a = 1;', '!FIELD_SCALAR_KIND_CHANGED #/M/1'),
  two('fixed32 becomes float', 'fixed32 a = 1;', 'float a = 1;', '!FIELD_SCALAR_KIND_CHANGED #/M/1'),
  two('float becomes double', 'float a = 1;', 'double a = 1;', '!FIELD_SCALAR_KIND_CHANGED #/M/1'),
  two('string becomes bytes', 'string a = 1;', 'bytes a = 1;'),
  two('bytes becomes string', 'bytes a = 1;', 'string a = 1;'),
  two('an int32 becomes an enum', 'enum E { A = 0; } int32 a = 1;', 'enum E { A = 0; } E a = 1;'),
  two('an enum becomes a bool', 'enum E { A = 0; } E a = 1;', 'enum E { A = 0; } bool a = 1;'),
  two(
    'an enum becomes a string',
    'enum E { A = 0; } E a = 1;',
    'enum E { A = 0; } string a = 1;',
    '!FIELD_SCALAR_KIND_CHANGED #/M/1',
  ),
  two(
    'an enum becomes another enum',
    'enum E { A = 0; } enum F { B = 0; } E a = 1;',
    'enum E { A = 0; } enum F { B = 0; } F a = 1;',
  ),
  two('a scalar becomes a message', 'message N {} bytes a = 1;', 'message N {} N a = 1;', '!FIELD_KIND_CHANGED #/M/1'),
  two('a message becomes a scalar', 'message N {} N a = 1;', 'message N {} int32 a = 1;', '!FIELD_KIND_CHANGED #/M/1'),
  two('a scalar becomes a map', 'int32 a = 1;', 'map<int32, int32> a = 1;', '!FIELD_KIND_CHANGED #/M/1'),
  two(
    'a message becomes a map',
    'message N {} repeated N a = 1;',
    'message N {} map<int32, N> a = 1;',
    '!FIELD_KIND_CHANGED #/M/1',
  ),
  two(
    'a message becomes another message',
    'message N {} message O {} N a = 1;',
    'message N {} message O {} O a = 1;',
    '!FIELD_NAMED_TYPE_CHANGED #/M/1',
  ),
  ['a name is written in full', 'package p; message M { M a = 1; }', 'package p; message M { .p.M a = 1; }', []],
  two('a message holds itself', 'M a = 1;', 'M a = 1;'),
  two('the keys of a map change within a group', 'map<int32, int32> a = 1;', 'map<int64, int32> a = 1;'),
  two(
    'the keys of a map change their group',
    'map<int32, int32> a = 1;',
    'map<string, int32> a = 1;',
    '!FIELD_SCALAR_KIND_CHANGED #/M/1',
  ),
  two(
    'the values of a map change their group',
    'map<int32, int32> a = 1;',
    'map<int32, string> a = 1;',
    '!FIELD_SCALAR_KIND_CHANGED #/M/1',
  ),
  two(
    'the values of a map become messages',
    'message N {} map<int32, int32> a = 1;',
    'message N {} map<int32, N> a = 1;',
    '!FIELD_KIND_CHANGED #/M/1',
  ),
  two('a map goes', 'map<int32, int32> a = 1;', '', 'FIELD_REMOVED #/M/1'),
  two('a map comes', '', 'map<int32, int32> a = 1;', 'FIELD_ADDED #/M/1'),
  two(
    'an optional number becomes repeated',
    'optional int32 a = 1;',
    'repeated int32 a = 1;',
    '!FIELD_NUMERIC_LABEL_CHANGED #/M/1',
  ),
  two(
    'a repeated number becomes optional',
    'repeated double a = 1;',
    'optional double a = 1;',
    '!FIELD_NUMERIC_LABEL_CHANGED #/M/1',
  ),
  two('a number without a label becomes repeated', 'int32 a = 1;', 'repeated int32 a = 1;'),
  two('a number becomes optional', 'int32 a = 1;', 'optional int32 a = 1;'),
  two(
    'an optional enum becomes repeated',
    'enum E { A = 0; } optional E a = 1;',
    'enum E { A = 0; } repeated E a = 1;',
    '!FIELD_NUMERIC_LABEL_CHANGED #/M/1',
  ),
  two(
    'an optional string becomes repeated',
    'optional string a = 1;',
    'repeated string a = 1;',
    'FIELD_STRING_OR_BYTES_LABEL_CHANGED #/M/1',
  ),
  two(
    'repeated bytes become optional',
    'repeated bytes a = 1;',
    'optional bytes a = 1;',
    'FIELD_STRING_OR_BYTES_LABEL_CHANGED #/M/1',
  ),
  two('an optional message becomes repeated', 'optional M a = 1;', 'repeated M a = 1;'),
  two('a oneof comes', '', 'oneof o { int32 a = 1; }', 'ONEOF_ADDED #/M/o', 'ONEOF_FIELD_ADDED #/M/o/1'),
  two('a oneof goes with all members', 'oneof o { int32 a = 1; int32 b = 2; }', '', 'ONEOF_REMOVED #/M/o'),
  two(
    'a oneof gets another name',
    'oneof o { int32 a = 1; }',
    'oneof p { int32 a = 1; }',
    'ONEOF_REMOVED #/M/o',
    'ONEOF_ADDED #/M/p',
  ),
  two(
    'a member of a oneof comes',
    'oneof o { int32 a = 1; }',
    'oneof o { int32 a = 1; int32 b = 2; }',
    'ONEOF_FIELD_ADDED #/M/o/2',
  ),
  two(
    'one member of a oneof goes',
    'oneof o { int32 a = 1; int32 b = 2; }',
    'oneof o { int32 a = 1; }',
    '!ONEOF_FIELD_REMOVED #/M/o/2',
  ),
  two(
    'all members go and others come into the same oneof',
    'oneof o { int32 a = 1; }',
    'oneof o { int32 b = 2; }',
    '!ONEOF_FIELD_REMOVED #/M/o/1',
    'ONEOF_FIELD_ADDED #/M/o/2',
  ),
  two(
    'a oneof goes and one of its members stays at the top',
    'oneof o { int32 a = 1; int32 b = 2; }',
    'int32 a = 1;',
    'ONEOF_REMOVED #/M/o',
    'ONEOF_FIELD_MOVED_TO_TOP_LEVEL #/M/1',
    '!ONEOF_FIELD_REMOVED #/M/o/2',
  ),
  two(
    'a member moves to the top',
    'oneof o { int32 a = 1; int32 b = 2; }',
    'int32 a = 1; oneof o { int32 b = 2; }',
    'ONEOF_FIELD_MOVED_TO_TOP_LEVEL #/M/1',
  ),
  two(
    'a member changes its type',
    'oneof o { int32 a = 1; }',
    'oneof o { string a = 1; }',
    '!FIELD_SCALAR_KIND_CHANGED #/M/o/1',
  ),
  two(
    'one field moves into a new oneof',
    'int32 a = 1;',
    'oneof o { int32 a = 1; int32 b = 2; }',
    'ONEOF_ADDED #/M/o',
    'ONEOF_FIELD_ADDED #/M/o/2',
  ),
  two(
    'two fields move into a new oneof',
    'int32 a = 1; int32 b = 2;',
    'oneof o { int32 a = 1; int32 b = 2; }',
    '!MULTIPLE_FIELDS_MOVED_TO_ONEOF #/M/o',
    'ONEOF_ADDED #/M/o',
  ),
  two(
    'a field moves into an old oneof',
    'oneof o { int32 a = 1; } int32 b = 2;',
    'oneof o { int32 a = 1; int32 b = 2; }',
    '!FIELD_MOVED_TO_EXISTING_ONEOF #/M/o',
  ),
  two(
    'two oneofs become one',
    'oneof o { int32 a = 1; } oneof p { int32 b = 2; }',
    'oneof o { int32 a = 1; int32 b = 2; }',
    '!FIELD_MOVED_TO_EXISTING_ONEOF #/M/o',
    'ONEOF_REMOVED #/M/p',
  ),
  two(
    'a oneof becomes two',
    'oneof o { int32 a = 1; int32 b = 2; }',
    'oneof o { int32 a = 1; } oneof p { int32 b = 2; }',
    'ONEOF_ADDED #/M/p',
  ),
  two('options change', 'int32 a = 1;', 'option deprecated = true; int32 a = 1 [deprecated = true];'),
  two('a JSON name changes', 'int32 a = 1;', 'int32 a = 1 [json_name = "x"];'),
  two('packing changes', 'repeated int32 a = 1;', 'repeated int32 a = 1 [packed = false];'),
  [
    'services change',
    `${field('')} service S { rpc A (M) returns (M); }`,
    `${field('')} service T { rpc B (M) returns (stream M); }`,
    [],
  ],
]

const PROTO2_ROWS: readonly Row[] = [
  two('a required field comes', '', 'required int32 a = 1;', '!REQUIRED_FIELD_ADDED #/M/1'),
  two('a required field goes', 'required int32 a = 1;', '', '!REQUIRED_FIELD_REMOVED #/M/1'),
  two('an optional field goes', 'optional int32 a = 1;', '', 'FIELD_REMOVED #/M/1'),
  two(
    'an optional number becomes required',
    'optional int32 a = 1;',
    'required int32 a = 1;',
    '!FIELD_NUMERIC_LABEL_CHANGED #/M/1',
  ),
  two(
    'a required string becomes optional',
    'required string a = 1;',
    'optional string a = 1;',
    'FIELD_STRING_OR_BYTES_LABEL_CHANGED #/M/1',
  ),
  two(
    'a group becomes a message',
    'optional group G = 1 {}',
    'message G {} optional G g = 1;',
    '!FIELD_KIND_CHANGED #/M/1',
  ),
  two(
    'a field of a group changes its type',
    'optional group G = 1 { optional int32 a = 1; }',
    'optional group G = 1 { optional string a = 1; }',
    '!FIELD_SCALAR_KIND_CHANGED #/M/G/1',
  ),
  two(
    'extension ranges and defaults change',
    'optional int32 a = 1;',
    'optional int32 a = 1 [default = 2]; extensions 5;',
  ),
]

function found(writer: string, reader: string): string[] {
  const from = protobuf.parse({ text: writer, dependencies: [] }, 'new')
  const to = protobuf.parse({ text: reader, dependencies: [] }, 'new')
  const reasons = protobuf.compare(to, from, 'STRICT')
  const all = changes(from, to)
  assert.deepEqual(
    reasons.map(({ type, path }) => `${type} ${path}`),
    all.filter(({ isCompatible }) => !isCompatible).map(({ type, path }) => `${type} ${path}`),
  )
  return all.map(({ type, path, isCompatible }) => `${isCompatible ? '' : '!'}${type} ${path}`)
}

function sorted(names: readonly string[]): string[] {
  return [...names].sort()
}

for (const [name, writer, reader, expected] of ROWS) {
  test(`proto3: ${name}`, () => {
    const head = 'syntax = "proto3"; '
    assert.deepEqual(sorted(found(head + writer, head + reader)), sorted(expected))
  })
}

for (const [name, writer, reader, expected] of PROTO2_ROWS) {
  test(`proto2: ${name}`, () => {
    assert.deepEqual(sorted(found(writer, reader)), sorted(expected))
  })
}
