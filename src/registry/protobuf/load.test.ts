// Where imports come from, and what they may be.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Dependency } from '../format.ts'
import { InvalidSchema } from '../format.ts'
import { protobuf, serialized } from './protobuf.ts'
import { wellKnownPaths } from './well-known.ts'

const HEAD = 'syntax = "proto3"; '

function parse(text: string, dependencies: readonly Dependency[] = [], strictness: 'new' | 'stored' = 'new') {
  return protobuf.parse({ text, dependencies }, strictness)
}

function refused(text: string, dependencies: readonly Dependency[], error: RegExp): void {
  assert.throws(
    () => parse(text, dependencies),
    (thrown: unknown) => {
      assert.ok(thrown instanceof InvalidSchema, String(thrown))
      assert.match(thrown.message, error)
      return true
    },
  )
}

test('an import comes from the references', () => {
  const text = `${HEAD} import "a/b.proto"; message M { q.A a = 1; }`
  const program = protobuf.compile(parse(text, [{ name: 'a/b.proto', text: `${HEAD} package q; message A {}` }]))
  assert.deepEqual(
    program.messages.map(({ fullName }) => fullName),
    ['M', 'q.A'],
  )
})

test('an import without a reference is refused, and stays open in a stored schema', () => {
  const text = `${HEAD} import "a.proto"; message M { q.A a = 1; }`
  refused(text, [], /The import "a.proto" is not in the references of the schema/)
  assert.equal(protobuf.compile(parse(text, [], 'stored')).messages[0]?.fields[0]?.type, 'open')
})

test('an import of an import without a reference is refused, with both names', () => {
  const b = { name: 'b.proto', text: `${HEAD} import "c.proto";` }
  refused(`${HEAD} import "b.proto";`, [b], /The import "c.proto" \(in the import "b.proto"\) is not in the references/)
})

test('no import leads to the disk or to the network', () => {
  for (const path of [
    '/etc/passwd',
    '../a.proto',
    'a/../../b.proto',
    './a.proto',
    'http://x/a.proto',
    'a\\\\b.proto',
    '',
  ]) {
    const text = `${HEAD} import "${path}";`
    refused(text, [], /is no path of an import|has no path/)
    assert.throws(() => parse(text, [], 'stored'), InvalidSchema)
  }
})

test('files that import each other are refused', () => {
  const a = { name: 'a.proto', text: `${HEAD} import "b.proto";` }
  const b = { name: 'b.proto', text: `${HEAD} import "a.proto";` }
  refused(`${HEAD} import "a.proto";`, [a, b], /in a circle: "a.proto" imports "b.proto" imports "a.proto"/)
  const own = { name: 'c.proto', text: `${HEAD} import "c.proto";` }
  refused(`${HEAD} import "c.proto";`, [own], /in a circle: "c.proto" imports "c.proto"/)
})

test('a mistake in an imported file names the file', () => {
  const a = { name: 'a.proto', text: 'message {' }
  refused(`${HEAD} import "a.proto";`, [a], /In the import "a.proto": line 1, column 9: expected the name of a message/)
})

test('a file that is imported twice is refused', () => {
  const a = { name: 'a.proto', text: HEAD }
  refused(`${HEAD} import "a.proto"; import "a.proto";`, [a], /"a.proto" is imported twice/)
})

test('a type behind two imports is seen only if the second one is public', () => {
  const c = { name: 'c.proto', text: `${HEAD} message C {}` }
  const closed = { name: 'b.proto', text: `${HEAD} import "c.proto";` }
  const open = { name: 'b.proto', text: `${HEAD} import public "c.proto";` }
  const text = `${HEAD} import "b.proto"; message M { C c = 1; }`
  refused(text, [c, closed], /"C" is defined in "c.proto": expected an import of that file/)
  assert.deepEqual(protobuf.recordNames(parse(text, [c, open])), ['M'])
  assert.equal(protobuf.compile(parse(text, [c, closed], 'stored')).messages.length, 2)
})

test('a name of an import cannot be declared again', () => {
  const a = { name: 'a.proto', text: `${HEAD} message A {}` }
  refused(`${HEAD} import "a.proto"; message A {}`, [a], /"A" is declared in the import "a.proto" too/)
  refused(`${HEAD} import "a.proto"; package A; message B {}`, [a], /"A" is declared in the import "a.proto" too/)
})

test('every known file can be imported without a reference', () => {
  for (const path of wellKnownPaths()) parse(`${HEAD} import "${path}"; message M {}`)
  assert.equal(wellKnownPaths().length > 30, true)
})

test('options of the known files are understood', () => {
  const text = `${HEAD} import "confluent/meta.proto"; message M { string a = 1 [(confluent.field_meta).doc = "x"]; }`
  assert.match(protobuf.print(parse(text)).normalized, /\(confluent.field_meta\) = \{\n {4}doc: "x"\n/)
})

test('names are looked up from the inside outwards', () => {
  const text = `${HEAD} package p.q; message A {} message M { message A { message B {} } A a = 1; .p.q.A b = 2; q.A c = 3; A.B d = 4; }`
  const fields = protobuf.compile(parse(text)).messages.find(({ fullName }) => fullName === 'p.q.M')?.fields
  const { messages } = protobuf.compile(parse(text))
  assert.deepEqual(
    fields?.map(({ of }) => messages[of]?.fullName),
    ['p.q.M.A', 'p.q.A', 'p.q.A', 'p.q.M.A.B'],
  )
})

test('a base64 descriptor is the schema that it was made of', () => {
  const text = `${HEAD} package p; import public "google/protobuf/timestamp.proto"; message M { optional int32 a = 1;
    map<string, google.protobuf.Timestamp> b = 2; oneof o { bytes c = 3; E d = 4; } enum E { X = 0; } reserved 9, 20 to max; }`
  const schema = parse(text)
  const again = parse(serialized(schema))
  assert.equal(protobuf.print(again).normalized, protobuf.print(schema).normalized)
  assert.deepEqual(protobuf.compile(again), protobuf.compile(schema))
  assert.equal(serialized(again), serialized(schema))
})

test('a base64 descriptor may be cut by line ends and have no padding', () => {
  const base64 = serialized(parse(`${HEAD} message M { int32 a = 1; }`))
  for (const form of [base64.replace(/=+$/, ''), base64.replace(/(.{10})/g, '$1\n')]) {
    assert.deepEqual(protobuf.recordNames(parse(form)), ['M'])
  }
})

test('a descriptor with a broken payload is refused with the place', () => {
  const bytes = Buffer.from(serialized(parse(`${HEAD} message M { int32 a = 1; }`)), 'base64')
  refused(bytes.subarray(0, bytes.length - 3).toString('base64'), [], /as base64: at byte \d+/)
})

test('a descriptor brings no names that a text could not have', () => {
  const bytes = Buffer.from(serialized(parse(`${HEAD} message Mx {}`)), 'base64').toString('latin1')
  const evil = Buffer.from(bytes.replace('Mx', 'M{'), 'latin1').toString('base64')
  refused(evil, [], /"M\{" is no name for a message/)
})

test('options of a descriptor are kept if its imports declare them', () => {
  const options = {
    name: 'o.proto',
    text: `${HEAD} package o; import "google/protobuf/descriptor.proto";
    message Opt { string a = 1; repeated int32 b = 2; } extend google.protobuf.FieldOptions { Opt opt = 50000; }`,
  }
  const text = `${HEAD} import "o.proto"; message M { string a = 1 [(o.opt) = { a: "x" b: [1, 2] }, deprecated = true]; }`
  const schema = parse(text, [options])
  const again = parse(serialized(schema), [options])
  assert.equal(protobuf.print(again).normalized, protobuf.print(schema).normalized)
})

test('a schema that only imports another file publicly has the records of that file', () => {
  const a = { name: 'a.proto', text: `${HEAD} package q; message A { message B {} }` }
  const schema = parse(`${HEAD} import public "a.proto";`, [a])
  assert.deepEqual(protobuf.recordNames(schema), ['q.A', 'q.A.B'])
  assert.equal(protobuf.compile(schema).topLevel.length, 1)
  assert.deepEqual(protobuf.recordNames(parse(`${HEAD} import "a.proto";`, [a])), [])
})
