// Comparisons of schemas whose fields have types of imports, and the reasons as people read them.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Dependency } from '../format.ts'
import { changes } from './compare.ts'
import { protobuf } from './protobuf.ts'

function found(writer: string, reader: string, dependencies: readonly (readonly Dependency[])[] = []): string[] {
  const [one = [], other = one] = dependencies
  const from = protobuf.parse({ text: writer, dependencies: one }, 'new')
  const to = protobuf.parse({ text: reader, dependencies: other }, 'new')
  return changes(from, to).map(({ type, path, isCompatible }) => `${isCompatible ? '' : '!'}${type} ${path}`)
}

const HEAD = 'syntax = "proto3"; '
const USER = `${HEAD} package p; import "a.proto"; message M { q.A a = 1; }`
const a = (text: string) => [{ name: 'a.proto', text: `${HEAD} package q; ${text}` }]

test('an imported message that changes compatibly is compatible', () => {
  const imports = [a('message A { int32 x = 1; }'), a('message A { int32 x = 1; string y = 2; }')]
  assert.deepEqual(found(USER, USER, imports), ['FIELD_ADDED #/A/2'])
})

test('an imported message that changes incompatibly makes each field of its type incompatible', () => {
  const user = `${HEAD} package p; import "a.proto"; message M { q.A a = 1; map<string, q.A> b = 2; }`
  const imports = [a('message A { int32 x = 1; }'), a('message A { string x = 1; }')]
  assert.deepEqual(found(user, user, imports), [
    '!FIELD_SCALAR_KIND_CHANGED #/A/1',
    '!FIELD_NAMED_TYPE_CHANGED #/M/1',
    '!FIELD_NAMED_TYPE_CHANGED #/M/2',
  ])
})

test('a change behind two imports is found', () => {
  const imports = (type: string) => [
    { name: 'b.proto', text: `${HEAD} package r; message B { ${type} x = 1; }` },
    { name: 'a.proto', text: `${HEAD} package q; import "b.proto"; message A { r.B b = 1; }` },
  ]
  assert.deepEqual(found(USER, USER, [imports('int32'), imports('double')]), [
    '!FIELD_SCALAR_KIND_CHANGED #/B/1',
    '!FIELD_NAMED_TYPE_CHANGED #/A/1',
    '!FIELD_NAMED_TYPE_CHANGED #/M/1',
  ])
})

test('imported messages that hold each other are compared once', () => {
  const body = (type: string) => a(`message A { B b = 1; } message B { A a = 1; ${type} x = 2; }`)
  assert.deepEqual(found(USER, USER, [body('int32'), body('int64')]), [])
  const broken = found(USER, USER, [body('int32'), body('string')])
  assert.deepEqual(broken.includes('!FIELD_NAMED_TYPE_CHANGED #/M/1'), true)
})

test('an imported type may move to another package', () => {
  const other = `${HEAD} package p; import "a.proto"; message M { z.A a = 1; }`
  const imports = [a('message A {}'), [{ name: 'a.proto', text: `${HEAD} package z; message A {}` }]]
  assert.deepEqual(found(USER, other, imports), [])
})

test('types of the files that every registry knows are not compared', () => {
  const text = `${HEAD} import "google/protobuf/timestamp.proto"; message M { google.protobuf.Timestamp t = 1; }`
  assert.deepEqual(found(text, text), [])
})

test('every reason names both sides', () => {
  const from = protobuf.parse({ text: `${HEAD} message M { int32 amount = 1; }`, dependencies: [] }, 'new')
  const to = protobuf.parse({ text: `${HEAD} message M { string amount = 1; }`, dependencies: [] }, 'new')
  assert.deepEqual(protobuf.compare(to, from, 'STRICT'), [
    {
      type: 'FIELD_SCALAR_KIND_CHANGED',
      path: '#/M/1',
      description: 'the field "amount" (1) is int32 in the writer and string in the reader',
    },
  ])
})

test('a comparison stops after 100 reasons', () => {
  const fields = (type: string) => Array.from({ length: 150 }, (_, index) => `${type} f${index} = ${index + 1};`)
  const schema = (type: string) =>
    protobuf.parse({ text: `${HEAD} message M { ${fields(type).join(' ')} }`, dependencies: [] }, 'new')
  assert.equal(protobuf.compare(schema('string'), schema('int32'), 'STRICT').length, 100)
})

test('a chain of 2,000 imported messages is compared', () => {
  const chain = (last: string) => {
    const links = Array.from({ length: 2000 }, (_, index) => `message A${index} { A${index + 1} next = 1; }`)
    return a(`message A { A0 a = 1; } ${links.join('\n')} message A2000 { ${last} x = 1; }`)
  }
  assert.equal(found(USER, USER, [chain('int32'), chain('string')]).length, 2003)
})
