// Tests registering, looking up and reading versions over HTTP, as clients of Confluent's registry do.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recordOf, startEndpoint, WIDE } from '../../../../testing/registry-endpoint.ts'

const ONE = recordOf('R', 'a')
const TWO = recordOf('R', 'a', 'b')
const OTHER = '{"type":"record","name":"R","fields":[{"name":"c","type":"string"}]}'

test('a schema is registered, read and looked up, with the members that old clients know', async t => {
  const { say, register, bases } = await startEndpoint(t)
  assert.deepEqual(await say('POST', '/subjects/a-value/versions', { schema: ONE }), [200, { id: 1 }])
  assert.deepEqual(await say('POST', '/subjects/a-value/versions', { schema: ONE }), [200, { id: 1 }])
  assert.equal(await register('a-value', TWO, { schemaType: 'AVRO', references: [] }), 2)
  assert.equal(await register('b-value', ONE), 1)
  assert.deepEqual(await say('GET', '/subjects/a-value/versions'), [200, [1, 2]])
  const second = { subject: 'a-value', version: 2, id: 2, schema: TWO }
  for (const version of ['2', 'latest', '-1'])
    assert.deepEqual(await say('GET', `/subjects/a-value/versions/${version}`), [200, second], version)
  assert.deepEqual(await say('POST', '/subjects/a-value', { schema: TWO }), [200, second])
  assert.deepEqual(await say('GET', '/subjects'), [200, ['a-value', 'b-value']])
  for (const base of bases) {
    const answer = await fetch(`${base}/subjects/a-value/versions/latest/schema`)
    assert.equal(answer.headers.get('content-type'), 'application/vnd.schemaregistry.v1+json')
    assert.equal(await answer.text(), TWO)
  }
})

test('a client that takes unknown members gets those of Confluent 8', async t => {
  const { say } = await startEndpoint(t)
  const [, registered] = await say(
    'POST',
    '/subjects/a/versions',
    { schema: ONE, metadata: { properties: { x: 'y' } } },
    WIDE,
  )
  const { guid, ...rest } = registered as { guid: string }
  assert.match(guid, /^[0-9a-f-]{36}$/)
  const metadata = { properties: { x: 'y' } }
  assert.deepEqual(rest, { id: 1, version: 1, schemaType: 'AVRO', metadata, schema: ONE })
  for (const [method, path, body] of [
    ['GET', '/subjects/a/versions/1'],
    ['POST', '/subjects/a', { schema: ONE }],
  ] as const) {
    const [status, said] = await say(method, path, body, WIDE)
    const { ts, ...shown } = said as { ts: number }
    assert.ok(Number.isInteger(ts))
    const wide = { subject: 'a', version: 1, id: 1, guid, schemaType: 'AVRO', metadata, schema: ONE, deleted: false }
    assert.deepEqual([status, shown], [200, wide])
  }
  const [, byId] = await say('GET', '/schemas/ids/1?fetchMaxId=true', undefined, WIDE)
  const { ts: _, ...shown } = byId as { ts: number }
  assert.deepEqual(shown, {
    subject: 'a',
    version: 1,
    guid,
    schemaType: 'AVRO',
    metadata,
    schema: ONE,
    deleted: false,
    maxId: 1,
  })
})

test('a schema that does not fit is 409 with error code 409, the reasons and the old schema', async t => {
  const { ask, register } = await startEndpoint(t)
  await register('a', ONE)
  const { status, body } = await ask('/subjects/a/versions', { method: 'POST', body: { schema: OTHER } })
  assert.deepEqual([status, body.error_code], [409, 409])
  assert.match(
    body.message,
    /^Schema being registered is incompatible with an earlier schema for subject "a", details: /,
  )
  for (const part of ['READER_FIELD_MISSING_DEFAULT_VALUE', '{oldSchemaVersion: 1}', "compatibility: 'BACKWARD'", ONE])
    assert.ok(body.message.includes(part), part)
})

test('refusals of registering and of looking up have the codes of Confluent', async t => {
  const { code, register, say } = await startEndpoint(t)
  await register('a', ONE)
  const refusals: readonly (readonly [method: string, path: string, body: unknown, code: number])[] = [
    ['POST', '/subjects/a/versions', { schema: '{"type":"nonsense"}' }, 42201],
    ['POST', '/subjects/a/versions', { schema: ONE, schemaType: 'XML' }, 42201],
    ['POST', '/subjects/new/versions', { schema: '' }, 42201],
    ['POST', '/subjects/new/versions', {}, 422],
    ['POST', '/subjects/new/versions', { schema: '', metadata: { properties: {} } }, 42201],
    ['POST', '/subjects/a/versions', { schema: ONE, references: [{ name: 'n', subject: 'no', version: 1 }] }, 42201],
    ['POST', '/subjects/a/versions', { schema: TWO, id: 7 }, 42205],
    ['POST', '/subjects/a/versions', { schema: TWO, version: 9 }, 42201],
    ['POST', '/subjects/__GLOBAL/versions', { schema: ONE }, 42208],
    ['POST', '/subjects/%3A.ctx%3Aa/versions', { schema: ONE }, 42208],
    ['POST', `/subjects/${'x'.repeat(1_000)}/versions`, { schema: ONE }, 42208],
    ['POST', '/subjects/a/versions', { schema: `"${'x'.repeat(600_000)}"` }, 42209],
    ['POST', '/subjects/no', { schema: ONE }, 40401],
    ['POST', '/subjects/a', { schema: OTHER }, 40403],
    ['POST', '/subjects/a', { schema: '{' }, 42201],
    ['GET', '/subjects/no/versions', undefined, 40401],
    ['GET', '/subjects/no/versions/1', undefined, 40401],
    ['GET', '/subjects/a/versions/9', undefined, 40402],
    ['GET', '/subjects/a/versions/9/schema', undefined, 40402],
    ['GET', '/subjects/a/versions/9/referencedby', undefined, 40402],
    ...['0', '-2', 'abc', '2147483648', '1.5', 'LATEST'].map(
      version => ['GET', `/subjects/a/versions/${version}`, undefined, 42202] as const,
    ),
    ['GET', '/subjects/no/metadata', undefined, 40401],
    ['GET', '/subjects/a/metadata?key=k&value=v', undefined, 40403],
  ]
  for (const [method, path, body, expected] of refusals) {
    const status = Number(String(expected).slice(0, 3))
    assert.deepEqual(await code(method, path, body), [status, expected], `${method} ${path.slice(0, 60)}`)
  }
  assert.deepEqual(await say('GET', '/subjects/no/versions'), [
    404,
    { error_code: 40401, message: "Subject 'no' not found." },
  ])
  assert.deepEqual(await say('GET', '/subjects'), [200, ['a']])
})

test('ids and versions that stand for none in Java and Go are taken as none', async t => {
  const { say } = await startEndpoint(t)
  for (const more of [
    { id: -1, version: -1 },
    { id: null, version: 0 },
    { schemaType: null, references: null, ruleSet: null },
  ])
    assert.deepEqual(await say('POST', '/subjects/a/versions', { schema: ONE, ...more }), [200, { id: 1 }])
})

test('members and parameters of later clients are ignored, and so is the spelling of switches in Python', async t => {
  const { say } = await startEndpoint(t)
  const body = { schema: ONE, schemaTagsToAdd: [], propagateSchemaTags: false, later: { a: 1 } }
  assert.deepEqual(await say('POST', '/subjects/a/versions?normalize=False&later=1', body), [200, { id: 1 }])
  assert.equal((await say('POST', '/subjects/a?normalize=False&deleted=False', body))[0], 200)
  assert.deepEqual(await say('GET', '/subjects?deleted=False&later=1'), [200, ['a']])
})

test('subjects may have slashes, percents and quotation marks', async t => {
  const { say, register } = await startEndpoint(t)
  const subjects = ['a/b', 'a%2Fb', '%', '%25252f', '"{\'}:?#&=', 'com.acme.Order', 'ü\u{1f4a9}', 'google/type/a.proto']
  for (const subject of subjects) {
    await register(subject, ONE)
    const [status, said] = await say('GET', `/subjects/${encodeURIComponent(subject)}/versions/latest`)
    assert.deepEqual([status, (said as { subject: string }).subject], [200, subject])
  }
  assert.deepEqual(await say('GET', '/subjects'), [200, [...subjects].sort()])
})

test('metadata and rules are stored, inherited and found, and an empty text keeps the schema', async t => {
  const { say, register } = await startEndpoint(t)
  const metadata = { properties: { owner: 'me', major: '1' } }
  const ruleSet = { domainRules: [{ name: 'r', kind: 'CONDITION', type: 'CEL', mode: 'WRITE', expr: 'true' }] }
  await register('a', ONE, { metadata, ruleSet })
  await register('a', TWO, { metadata: { properties: { owner: 'you', major: '2' } } })
  const [, first] = await say('GET', '/subjects/a/versions/1')
  assert.deepEqual(first, { subject: 'a', version: 1, id: 1, metadata, ruleSet, schema: ONE })
  for (const [query, version] of [
    ['?key=owner&value=me', 1],
    ['?key=major&value=2&key=owner&value=you', 2],
    ['', 2],
  ] as const) {
    const [, found] = await say('GET', `/subjects/a/metadata${query}`)
    assert.equal((found as { version: number }).version, version, query)
  }
  assert.equal(await register('a', '', { metadata: { properties: { owner: 'they' } } }), 3)
  const [, third] = await say('GET', '/subjects/a/versions/3')
  assert.equal((third as { schema: string }).schema, TWO)
})

test('normalize makes one schema of two spellings', async t => {
  const { say } = await startEndpoint(t)
  const [one, other] = [
    '{"type":"object","properties":{"a":{"type":"string"}}}',
    '{"properties":{"a":{"type":"string"}},"type":"object"}',
  ]
  const body = (schema: string) => ({ schemaType: 'JSON', schema })
  assert.deepEqual(await say('POST', '/subjects/a/versions?normalize=true', body(one)), [200, { id: 1 }])
  assert.deepEqual(await say('POST', '/subjects/a/versions?normalize=true', body(other)), [200, { id: 1 }])
  assert.equal((await say('POST', '/subjects/a?normalize=true', body(one)))[0], 200)
  assert.equal((await say('POST', '/subjects/a', body(one)))[0], 404)
})

test('Protobuf that was registered in base64 is text in every answer, but for the wide one of its registration', async t => {
  const { say, register } = await startEndpoint(t)
  const sent = 'syntax="proto3"; package shop; message Order { string  id = 1; }'
  const canonical = 'syntax = "proto3";\npackage shop;\n\nmessage Order {\n  string id = 1;\n}\n'
  await register('text', sent, { schemaType: 'PROTOBUF' })
  const [, serialized] = await say('GET', '/subjects/text/versions/1?format=serialized')
  const { schema: base64 } = serialized as { schema: string }
  const body = { schema: base64, schemaType: 'PROTOBUF' }
  const textOf = async (method: string, path: string, asked?: object, headers?: Record<string, string>) =>
    ((await say(method, path, asked, headers))[1] as { schema?: string }).schema
  assert.deepEqual(await say('POST', '/subjects/a/versions', body), [200, { id: 1 }])
  for (const headers of [{}, WIDE]) {
    assert.equal(await textOf('GET', '/schemas/ids/1', undefined, headers), canonical)
    assert.equal(await textOf('GET', '/subjects/a/versions/1', undefined, headers), canonical)
    assert.equal(await textOf('POST', '/subjects/a', body, headers), canonical)
  }
  // Confluent answers text here too. Its client for Python keeps this schema under the id, whatever format it asks for
  // later, and its deserializer takes base64 only: after a text it would read nothing that its serializer wrote.
  assert.equal(await textOf('POST', '/subjects/a/versions', body, WIDE), base64)
  assert.equal(await textOf('POST', '/subjects/a/versions', { ...body, schema: sent }, WIDE), canonical)
  assert.equal(await textOf('POST', '/subjects/a/versions?format=default', body, WIDE), canonical)
  assert.equal(await textOf('POST', '/subjects/a/versions?format=serialized', { ...body, schema: sent }, WIDE), base64)
})
