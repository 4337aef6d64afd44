// The descriptors that `format=serialized` answers, member for member. e2e/registry compares them with protoc's.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decode } from './decode.ts'
import type { FileJson } from './descriptor-json.ts'
import { fileDescriptorIn, plainDescriptors } from './descriptor-program.ts'
import { protobuf, serialized } from './protobuf.ts'

function descriptor(text: string, name?: string): FileJson {
  const base64 = serialized(protobuf.parse({ text, dependencies: [] }, 'new'), name)
  const bytes = Buffer.from(base64, 'base64')
  const program = plainDescriptors()
  return JSON.parse(String(decode(program, fileDescriptorIn(program), bytes, 0, bytes.length, 1_000_000, 'fields')))
}

test('a file has its package, imports and syntax', () => {
  const text = `syntax = "proto3"; package p; import "google/protobuf/any.proto"; import public "google/protobuf/empty.proto";
    import weak "google/protobuf/type.proto"; option java_package = "x";`
  assert.deepEqual(descriptor(text, 'a/b.proto'), {
    name: 'a/b.proto',
    package: 'p',
    dependency: ['google/protobuf/any.proto', 'google/protobuf/empty.proto', 'google/protobuf/type.proto'],
    publicDependency: [1],
    weakDependency: [2],
    options: { javaPackage: 'x' },
    syntax: 'proto3',
  })
})

test('a file of proto2 has no syntax, and is named default', () => {
  assert.deepEqual(descriptor('syntax = "proto2";'), { name: 'default' })
})

test('names of types begin with a dot', () => {
  const { messageType = [] } = descriptor(
    'syntax = "proto3"; package p; message M { M m = 1; E e = 2; } enum E { A = 0; }',
  )
  assert.deepEqual(
    messageType[0]?.field?.map(({ type, typeName }) => [type, typeName]),
    [
      ['TYPE_MESSAGE', '.p.M'],
      ['TYPE_ENUM', '.p.E'],
    ],
  )
})

test('a map is a repeated message of entries', () => {
  const { messageType = [] } = descriptor('syntax = "proto3"; message M { map<string, int32> by_name = 1; }')
  const part = (name: string, number: number, type: string) => ({
    name,
    number,
    label: 'LABEL_OPTIONAL',
    type,
    jsonName: name,
  })
  assert.deepEqual(messageType[0], {
    name: 'M',
    field: [
      {
        name: 'by_name',
        number: 1,
        label: 'LABEL_REPEATED',
        type: 'TYPE_MESSAGE',
        typeName: '.M.ByNameEntry',
        jsonName: 'byName',
      },
    ],
    nestedType: [
      {
        name: 'ByNameEntry',
        field: [part('key', 1, 'TYPE_STRING'), part('value', 2, 'TYPE_INT32')],
        options: { mapEntry: true },
      },
    ],
  })
})

test('optional fields of proto3 have oneofs of their own behind all others', () => {
  const { messageType = [] } = descriptor(
    'syntax = "proto3"; message M { optional int32 a = 1; oneof o { int32 b = 2; } optional int32 _c = 3; optional int32 X_c = 4; int32 _a = 5; }',
  )
  assert.deepEqual(messageType[0]?.oneofDecl, [{ name: 'o' }, { name: 'X_a' }, { name: 'XX_c' }, { name: '_X_c' }])
  assert.deepEqual(
    messageType[0]?.field?.map(({ oneofIndex, proto3Optional }) => [oneofIndex, proto3Optional]),
    [
      [1, true],
      [0, undefined],
      [2, true],
      [3, true],
      [undefined, undefined],
    ],
  )
})

test('ranges of messages end before their end, and those of enums at it', () => {
  const { messageType = [], enumType = [] } = descriptor(
    'message M { reserved 2, 5 to max; reserved "x"; extensions 3 to 4; } enum E { A = 0; reserved -5 to -3, 9 to max; reserved "B"; }',
  )
  assert.deepEqual(messageType[0]?.reservedRange, [
    { start: 2, end: 3 },
    { start: 5, end: 536_870_912 },
  ])
  assert.deepEqual(messageType[0]?.extensionRange, [{ start: 3, end: 5 }])
  assert.deepEqual(enumType[0]?.reservedRange, [
    { start: -5, end: -3 },
    { start: 9, end: 2_147_483_647 },
  ])
  assert.deepEqual([messageType[0]?.reservedName, enumType[0]?.reservedName], [['x'], ['B']])
})

test('defaults have the text of protoc', () => {
  const rows = [
    ['int32', '0x10', '16'],
    ['int32', '-010', '-8'],
    ['uint64', '18446744073709551615', '18446744073709551615'],
    ['float', '0.1', '0.1'],
    ['float', '123456789', '123456792'],
    ['float', '1e10', '1e+10'],
    ['double', '1e20', '1e+20'],
    ['double', '0.1', '0.1'],
    ['double', '0.30000000000000004', '0.30000000000000004'],
    ['double', '0.00001', '1e-05'],
    ['double', '1.50', '1.5'],
    ['double', '-inf', '-inf'],
    ['double', 'nan', 'nan'],
    ['bool', 'true', 'true'],
    ['string', '"a\\"\\303\\274"', 'a"ü'],
    ['bytes', '"a\\"\\377\\n"', 'a\\"\\377\\n'],
  ]
  for (const [type, literal, expected] of rows) {
    const { messageType = [] } = descriptor(`message M { optional ${type} a = 1 [default = ${literal}]; }`)
    assert.equal(messageType[0]?.field?.[0]?.defaultValue, expected, `${type} ${literal}`)
  }
})

test('extensions, groups and services have full names', () => {
  const file =
    descriptor(`package p; message M { extensions 5 to 9; optional group G = 1 {} } extend M { optional M a_b = 5; }
    service S { rpc R (M) returns (stream M) { option deprecated = true; } }`)
  assert.deepEqual(file.extension, [
    {
      name: 'a_b',
      extendee: '.p.M',
      number: 5,
      label: 'LABEL_OPTIONAL',
      type: 'TYPE_MESSAGE',
      typeName: '.p.M',
      jsonName: 'aB',
    },
  ])
  assert.deepEqual(file.messageType?.[0]?.field, [
    { name: 'g', number: 1, label: 'LABEL_OPTIONAL', type: 'TYPE_GROUP', typeName: '.p.M.G', jsonName: 'g' },
  ])
  assert.deepEqual(file.service?.[0]?.method, [
    { name: 'R', inputType: '.p.M', outputType: '.p.M', options: { deprecated: true }, serverStreaming: true },
  ])
})

test('options have their types, and an unknown one is carried along', () => {
  const { messageType = [] } = descriptor(
    `message M { optional string a = 1 [ctype = CORD, deprecated = true, (x.y).z = "v", odd = -5]; }`,
  )
  const { uninterpretedOption, ...known } = messageType[0]?.field?.[0]?.options ?? {}
  assert.deepEqual(known, { ctype: 'CORD', deprecated: true })
  assert.deepEqual(uninterpretedOption, [
    {
      name: [
        { namePart: 'x.y', isExtension: true },
        { namePart: 'z', isExtension: false },
      ],
      stringValue: 'dg==',
    },
    { name: [{ namePart: 'odd', isExtension: false }], negativeIntValue: '-5' },
  ])
})
