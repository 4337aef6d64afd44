// protobufjs as the judge of the parser and of the walker. It is no judge of everything: it loses public imports,
// digits of 64-bit numbers and the difference between a string and a name, and knows no group in a oneof.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import protobufjs from 'protobufjs'
import { fc } from '../../../testing/property.ts'
import { encode } from './encode.ts'
import { protobuf } from './protobuf.ts'
import { walkerOf } from './walker.ts'

const SCALARS = [
  'int32',
  'int64',
  'uint32',
  'sint64',
  'fixed32',
  'sfixed64',
  'float',
  'double',
  'bool',
  'string',
  'bytes',
]

interface Member {
  readonly type: string
  readonly label: string
}

const member: fc.Arbitrary<Member> = fc.record({
  type: fc.constantFrom(...SCALARS, 'M', 'N', 'E', 'map<string, M>', 'map<int32, E>'),
  label: fc.constantFrom('', 'repeated ', 'optional '),
})

/** A file with two messages and an enum. */
const schema = fc.tuple(fc.array(member, { maxLength: 12 }), fc.array(member, { maxLength: 3 })).map(([one, other]) => {
  const fields = (members: readonly Member[]) =>
    members.map(({ type, label }, index) => {
      const number = index * 7 + 1
      return `${type.startsWith('map') ? '' : label}${type} f${index} = ${number};`
    })
  return `syntax = "proto3"; package p; message M { ${fields(one).join(' ')} } message N { ${fields(other).join(' ')} } enum
    E { ZERO = 0; ONE = 1; }`
})

function both(text: string) {
  const program = protobuf.compile(protobuf.parse({ text, dependencies: [] }, 'new'))
  const root = protobufjs.parse(text, { keepCase: true }).root.resolveAll()
  return { program, type: root.lookupType('p.M') }
}

test('schemas have the same fields there', () => {
  fc.assert(
    fc.property(schema, text => {
      const { program, type } = both(text)
      const here = program.messages[0]?.fields.map(({ name, number, isRepeated, isMap }) => {
        return { name, number, isRepeated, isMap }
      })
      const there = type.fieldsArray.map(field => ({
        name: field.name,
        number: field.id,
        isRepeated: field.repeated || field.map,
        isMap: field.map,
      }))
      assert.deepEqual(here, there)
    }),
    { numRuns: 300 },
  )
})

test('payloads of protobufjs are valid, and ours are read there', () => {
  const text = `syntax = "proto3"; package p; message M { int32 a = 1; string b = 2; repeated sint64 c = 3; map<string, M> d = 4;
    repeated M e = 5; E f = 6; bytes g = 7; repeated double h = 8; } message N {} enum E { ZERO = 0; ONE = 1; }`
  const { program, type } = both(text)
  const leaf = { a: fc.integer(), b: fc.string(), c: fc.array(fc.integer()), f: fc.constantFrom(0, 1) }
  const value = fc.record({
    ...leaf,
    d: fc.dictionary(fc.string(), fc.record(leaf)),
    e: fc.array(fc.record(leaf), { maxLength: 3 }),
    h: fc.array(fc.double({ noNaN: true, noDefaultInfinity: true }).map(number => number + 0)),
  })
  const walker = walkerOf(program, 0)
  fc.assert(
    fc.property(value, members => {
      const theirs = type.encode(type.fromObject(members)).finish()
      walker.begin(theirs, 0, theirs.length)
      assert.equal(walker.run(1_000_000), null)
      const ours = encode(program, 0, JSON.stringify(members), 1_000_000)
      assert.ok(ours instanceof Uint8Array, JSON.stringify(ours))
      assert.deepEqual(type.toObject(type.decode(ours)), type.toObject(type.decode(theirs)))
    }),
    { numRuns: 300 },
  )
})

test('bytes that the walker accepts are read there', () => {
  const { program, type } =
    both(`syntax = "proto3"; package p; message M { int32 a = 1; string b = 2; M c = 3; repeated int32 d = 4;
    repeated fixed32 e = 5; map<int32, string> f = 6; } message N {} enum E { ZERO = 0; }`)
  const walker = walkerOf(program, 0)
  let accepted = 0
  const byte = fc.oneof(fc.nat(255), fc.constantFrom(0x08, 0x12, 0x1a, 0x22, 0x2a, 0x32, 0, 1, 2, 3, 4))
  fc.assert(
    fc.property(fc.array(byte, { maxLength: 24 }), bytes => {
      const payload = Uint8Array.from(bytes)
      walker.begin(payload, 0, payload.length)
      if (walker.run(1_000) !== null) return
      accepted++
      type.decode(payload)
    }),
    { numRuns: 5_000 },
  )
  assert.ok(accepted > 100, String(accepted))
})
