// Tests schemas by id and guid, the forms in which they are asked for, and the list of all, over HTTP.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recordOf, startEndpoint, WIDE } from '../../../../testing/registry-endpoint.ts'

const [ONE, TWO] = [recordOf('R', 'a'), recordOf('R', 'a', 'b')]
const PROTO = 'syntax = "proto3";\n\nmessage M {\n  string a = 1;\n}\n'

test('an id names its schema, its subjects and its versions', async t => {
  const { say, code, register, bases } = await startEndpoint(t)
  await register('b', ONE)
  await register('a', ONE)
  await register('a', TWO)
  assert.deepEqual(await say('GET', '/schemas/ids/1'), [200, { schema: ONE }])
  assert.deepEqual(await say('GET', '/schemas/ids/1?subject=nowhere&findTags=x'), [200, { schema: ONE }])
  assert.deepEqual(await say('GET', '/schemas/ids/1?fetchMaxId=true'), [200, { schema: ONE, maxId: 2 }])
  assert.deepEqual(await say('GET', '/schemas/ids/1?includeSubjects=True'), [
    200,
    { schema: ONE, subjects: ['a', 'b'] },
  ])
  assert.equal(await (await fetch(`${bases[0]}/schemas/ids/1/schema`)).text(), ONE)
  assert.deepEqual(await say('GET', '/schemas/ids/1/subjects'), [200, ['a', 'b']])
  assert.deepEqual(await say('GET', '/schemas/ids/1/subjects?offset=1&limit=1'), [200, ['b']])
  const versions = [
    { subject: 'a', version: 1 },
    { subject: 'b', version: 1 },
  ]
  assert.deepEqual(await say('GET', '/schemas/ids/1/versions'), [200, versions])
  await say('DELETE', '/subjects/a/versions/1')
  assert.deepEqual(await say('GET', '/schemas/ids/1/versions'), [200, [versions[1]]])
  assert.deepEqual(await say('GET', '/schemas/ids/1/versions?deleted=true'), [200, versions])
  const [, wide] = await say('GET', '/schemas/ids/1?subject=b', undefined, WIDE)
  assert.equal((wide as { subject: string }).subject, 'b')
  for (const path of ['', '/schema', '/subjects', '/versions']) {
    assert.deepEqual(await code('GET', `/schemas/ids/99${path}`), [404, 40403])
    assert.deepEqual(await code('GET', `/schemas/ids/0${path}`), [404, 40403])
    assert.deepEqual(await code('GET', `/schemas/ids/-5${path}`), [404, 40403])
    assert.deepEqual(await code('GET', `/schemas/ids/x${path}`), [404, 404])
  }
})

test('a guid names its schema and its ids', async t => {
  const { say, code, register } = await startEndpoint(t)
  await register('a', ONE)
  const [, wide] = await say('GET', '/schemas/ids/1', undefined, WIDE)
  const { guid } = wide as { guid: string }
  assert.deepEqual(await say('GET', `/schemas/guids/${guid}`), [200, { schema: ONE }])
  assert.deepEqual(await say('GET', `/schemas/guids/${guid.toUpperCase()}`), [200, { schema: ONE }])
  assert.deepEqual(await say('GET', `/schemas/guids/${guid}/ids`), [200, [{ context: '.', id: 1 }]])
  for (const other of [guid.replace(/^./, first => (first === '0' ? '1' : '0')), 'x', '1']) {
    assert.deepEqual(await code('GET', `/schemas/guids/${other}`), [404, 40403])
    assert.deepEqual(await code('GET', `/schemas/guids/${other}/ids`), [404, 40403])
  }
})

test('a Protobuf schema is taken as text and as a descriptor, and goes out as both', async t => {
  const { say, register, bases } = await startEndpoint(t)
  await register('p', PROTO, { schemaType: 'PROTOBUF' })
  const shown = { subject: 'p', version: 1, id: 1, schemaType: 'PROTOBUF' }
  assert.deepEqual(await say('GET', '/subjects/p/versions/1'), [200, { ...shown, schema: PROTO }])
  const [, said] = await say('GET', '/schemas/ids/1?format=serialized')
  const { schema: serialized, schemaType } = said as { schema: string; schemaType: string }
  assert.equal(schemaType, 'PROTOBUF')
  assert.ok(Buffer.from(serialized, 'base64').includes('proto3'))
  for (const path of [
    '/subjects/p/versions/1?format=serialized',
    '/subjects/p/versions/latest?format=serialized&deleted=true',
  ])
    assert.deepEqual(await say('GET', path), [200, { ...shown, schema: serialized }])
  for (const path of ['/subjects/p/versions/1/schema', '/schemas/ids/1/schema']) {
    assert.equal(await (await fetch(`${bases[1]}${path}?format=serialized`)).text(), serialized)
    assert.equal(await (await fetch(`${bases[1]}${path}`)).text(), PROTO)
  }
  // The npm serializer registers and looks up the descriptor.
  assert.equal(await register('p', serialized, { schemaType: 'PROTOBUF' }), 1)
  const lookUp = { schema: serialized, schemaType: 'PROTOBUF' }
  assert.deepEqual(await say('POST', '/subjects/p?format=serialized', lookUp), [200, { ...shown, schema: serialized }])
})

test('all schemas are listed in one call, by prefix, the latest only, and in pages', async t => {
  const { say, register } = await startEndpoint(t)
  await register('a', ONE)
  await register('a', TWO)
  await register('b', PROTO, { schemaType: 'PROTOBUF' })
  const rows = [
    { subject: 'a', version: 1, id: 1, schema: ONE },
    { subject: 'a', version: 2, id: 2, schema: TWO },
    { subject: 'b', version: 1, id: 3, schemaType: 'PROTOBUF', schema: PROTO },
  ]
  assert.deepEqual(await say('GET', '/schemas'), [200, rows])
  assert.deepEqual(await say('GET', '/schemas?latestOnly=true'), [200, rows.slice(1)])
  assert.deepEqual(await say('GET', '/schemas?subjectPrefix=b'), [200, rows.slice(2)])
  assert.deepEqual(await say('GET', '/schemas?offset=1&limit=1'), [200, [rows[1]]])
  await say('DELETE', '/subjects/a')
  assert.deepEqual(await say('GET', '/schemas'), [200, rows.slice(2)])
  assert.deepEqual(await say('GET', '/schemas?deleted=true'), [200, rows])
})

test('a list of many megabytes is whole, in the type that the client prefers, and with HEAD without a body', async t => {
  const { ask, register, bases } = await startEndpoint(t)
  const long = (name: string) => JSON.stringify({ type: 'enum', name, doc: '"\n'.repeat(100_000), symbols: ['A'] })
  const names = Array.from({ length: 12 }, (_, at) => `E${at + 10}`)
  for (const name of names) await register(name, long(name))
  const { status, headers, body } = await ask('/schemas', { headers: { accept: 'application/json' } })
  assert.deepEqual([status, headers.get('content-type')], [200, 'application/json'])
  assert.deepEqual(
    body,
    names.map((name, at) => ({ subject: name, version: 1, id: at + 1, schema: long(name) })),
  )
  const head = await fetch(`${bases[0]}/schemas`, { method: 'HEAD' })
  assert.deepEqual([head.status, await head.text()], [200, ''])
  assert.equal(head.headers.get('content-type'), 'application/vnd.schemaregistry.v1+json')
})
