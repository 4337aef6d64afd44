// Tests the routes of the registry against input that no client should send (R1 to R5, R8, R9): each is refused with a
// code that says why, nothing is fetched, and the broker goes on answering.

import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { test } from 'node:test'
import { OPEN, recordOf, startEndpoint } from '../../../../testing/registry-endpoint.ts'

const ONE = recordOf('R', 'a')
const VERSIONS = '/subjects/a/versions'

/** Returns the text with each of these around the one before. */
function nested(levels: number, around: (inner: string) => string, inner: string): string {
  let text = inner
  for (let level = 0; level < levels; level++) text = around(text)
  return text
}

test('schemas that are too large, too deep, wrong or too much work are refused, and the next one is registered', async t => {
  const { code, say } = await startEndpoint(t)
  const array = (inner: string) => `{"type":"array","items":${inner}}`
  const schemas: readonly (readonly [name: string, type: string, schema: string, codes: readonly number[]])[] = [
    ['10 MB', 'AVRO', `"${'x'.repeat(10 << 20)}"`, [413]],
    ['600 KB', 'AVRO', `"${'x'.repeat(600_000)}"`, [42209]],
    ['10,000 arrays', 'AVRO', nested(10_000, array, '"int"'), [42201]],
    ['1,000,000 brackets', 'AVRO', '['.repeat(500_000), [42201]],
    ['a fixed of 2 GB', 'AVRO', '{"type":"fixed","name":"F","size":4294967296}', [42201]],
    ['a union in a union', 'AVRO', '["null",["int","string"]]', [42201]],
    [
      'a name twice',
      'AVRO',
      '[{"type":"enum","name":"E","symbols":[]},{"type":"enum","name":"E","symbols":[]}]',
      [42201],
    ],
    ['a wrong default', 'AVRO', recordOf('R', 'a').replace('"type":"int"', '"type":"int","default":"x"'), [42201]],
    ['deep allOf', 'JSON', nested(5_000, inner => `{"allOf":[${inner}]}`, '{}'), [42201]],
    ['a pattern without its end', 'JSON', '{"type":"string","pattern":"("}', [42201]],
    ['a $ref to itself', 'JSON', '{"$ref":"#"}', [42201]],
    ['field number 0', 'PROTOBUF', 'syntax = "proto3"; message M { int32 a = 0; }', [42201]],
    [
      'deep messages',
      'PROTOBUF',
      `syntax = "proto3"; ${nested(2_000, inner => `message M { ${inner} }`, '')}`,
      [42201],
    ],
    ['an open comment', 'PROTOBUF', `/* ${'*'.repeat(400_000)}`, [42201]],
    ['a wrong descriptor', 'PROTOBUF', Buffer.from('\x0a\xff\xff\xff\xff\x0fabc').toString('base64'), [42201]],
    ['no text', 'PROTOBUF', '', [42201]],
    ['a NUL', 'AVRO', '\0', [42201]],
  ]
  for (const [name, schemaType, schema, codes] of schemas) {
    for (const path of [VERSIONS, '/subjects/a', '/compatibility/subjects/a/versions']) {
      const [status, errorCode] = await code('POST', path, { schema, schemaType })
      const isLookup = path === '/subjects/a' && errorCode === 40401
      assert.ok(codes.includes(errorCode) || isLookup, `${name} at ${path}: ${status} ${errorCode}`)
      assert.equal(status, Number(String(errorCode).slice(0, 3)))
    }
  }
  assert.deepEqual(await say('GET', '/subjects'), [200, []])
  assert.deepEqual(await say('POST', VERSIONS, { schema: ONE }), [200, { id: 1 }])
})

test('no reference of a schema is fetched or read from a disk', async t => {
  const { code } = await startEndpoint(t)
  let asked = 0
  const server = createServer((_, answer) => {
    asked++
    answer.end('{"type":"string"}')
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const { port } = server.address() as { port: number }
  for (const uri of [
    `http://127.0.0.1:${port}/a`,
    `//127.0.0.1:${port}/a`,
    'file:///etc/passwd',
    '../../etc/passwd',
    '/etc/passwd',
  ])
    for (const [schemaType, schema] of [
      ['JSON', JSON.stringify({ $ref: uri })],
      ['JSON', JSON.stringify({ $id: uri, properties: { a: { $ref: 'b.json' } } })],
      ['JSON', JSON.stringify({ $schema: uri, $ref: `${uri}#/definitions/x` })],
      ['PROTOBUF', `syntax = "proto3"; import ${JSON.stringify(uri)}; message M { int32 a = 1; }`],
    ] as const)
      assert.deepEqual(await code('POST', VERSIONS, { schema, schemaType }), [422, 42201], schema)
  assert.equal(asked, 0)
})

test('references that lead nowhere, to themselves or to too many schemas are refused', async t => {
  const { code, register } = await startEndpoint(t)
  await register('a', ONE)
  const reference = { name: 'R', subject: 'a', version: 1 }
  const wrong: readonly (readonly [references: unknown, code: number])[] = [
    [[{ ...reference, version: 2 }], 42201],
    [[{ ...reference, version: 0 }], 42201],
    [[{ ...reference, version: -2 }], 42201],
    [[{ ...reference, version: 2 ** 31 }], 42201],
    [[{ ...reference, subject: '__GLOBAL' }], 42201],
    [Array(101).fill(reference), 42209],
    [[{ ...reference, version: '1' }], 422],
    [[{ name: 'R', subject: 'a' }], 422],
    [[{ ...reference, name: 1 }], 422],
    [[null], 422],
    [{}, 422],
    ['x', 422],
    [1e300, 422],
  ]
  for (const [references, expected] of wrong)
    assert.deepEqual(
      await code('POST', '/subjects/b/versions', { schema: '"R"', references }),
      [422, expected],
      JSON.stringify(references).slice(0, 80),
    )
})

test('bodies of the wrong shape, broken JSON and other media types are refused', async t => {
  const { ask, bases } = await startEndpoint(t)
  const post = async (body: string, headers = {}) => {
    const answer = await ask(VERSIONS, { method: 'POST', body, headers })
    return [answer.status, answer.body.error_code]
  }
  for (const body of [
    '{',
    'null',
    '{"schema":"a","schema":"b"}',
    '{"schema":"\\ud800"}',
    '{"__proto__":1}',
    '['.repeat(100_000),
  ])
    assert.deepEqual(await post(body), [400, 400], body.slice(0, 40))
  for (const member of ['id', 'version'])
    for (const value of ['1.5', '"1"', '9007199254740991', '-9007199254740991', 'true', '[]', '{}'])
      assert.deepEqual(await post(`{"schema":"\\"int\\"","${member}":${value}}`), [422, 422], `${member} ${value}`)
  for (const member of ['metadata', 'ruleSet'])
    for (const value of ['1', '"x"', '[]', 'true'])
      assert.deepEqual(await post(`{"schema":"\\"int\\"","${member}":${value}}`), [422, 422], `${member} ${value}`)
  assert.deepEqual(await post('{"schema":"\\"int\\"","metadata":{"properties":{"a":1}}}'), [422, 42201])
  assert.deepEqual(await post('{"schema":"\\"int\\"","id":1e400}'), [400, 400])
  for (const body of [
    '{"schema":{"type":"string"}}',
    '{"schema":["string"]}',
    '{"schema":1}',
    '[]',
    '1',
    '"x"',
    '{}',
    '',
  ])
    assert.deepEqual(await post(body), [422, 422], body)
  const deep = `{"schema":"\\"int\\"","ruleSet":{"a":${nested(40, inner => `[${inner}]`, '1')}}}`
  assert.deepEqual(await post(deep), [422, 42201])
  const wide = JSON.stringify({ schema: '"int"', metadata: { properties: { a: 'x'.repeat(300_000) } } })
  assert.deepEqual(await post(wide), [422, 42209])
  for (const type of [
    'text/plain',
    'application/xml',
    'multipart/form-data; boundary=x',
    'application/json; charset=utf-16',
    'x',
  ])
    assert.deepEqual(await post('{"schema":"\\"int\\""}', { 'content-type': type }), [415, 415], type)
  for (const method of ['PATCH', 'PUT', 'DELETE']) {
    const answer = await fetch(`${bases[0]}${VERSIONS}`, { method })
    assert.equal(answer.status, 405)
    await answer.arrayBuffer()
  }
})

test('long values of a request make no long audit line', async t => {
  const { say, log } = await startEndpoint(t)
  const long = 'x'.repeat(900_000)
  for (const [method, path, body] of [
    ['POST', VERSIONS, { schema: ONE, schemaType: long }],
    ['PUT', '/config', { compatibility: long }],
    ['PUT', '/mode', { mode: long }],
  ] as const) {
    const [status, said] = await say(method, path, body)
    assert.equal(status, 422)
    assert.ok(JSON.stringify(said).length < 2_000, `${path}: an answer of ${JSON.stringify(said).length} characters`)
  }
  const longest = Math.max(
    ...log()
      .split('\n')
      .map(line => line.length),
  )
  assert.ok(longest < 20_000, `a line of ${longest} characters`)
})

test('three hundred subjects at once are registered, listed and deleted', async t => {
  const { say } = await startEndpoint(t, { ...OPEN })
  const subjects = Array.from({ length: 300 }, (_, at) => `s${String(at).padStart(3, '0')}`)
  const answers = await Promise.all(subjects.map(each => say('POST', `/subjects/${each}/versions`, { schema: ONE })))
  assert.deepEqual(new Set(answers.map(([status]) => status)), new Set([200]))
  assert.deepEqual(new Set(answers.map(([, body]) => (body as { id: number }).id)), new Set([1]))
  assert.deepEqual(await say('GET', '/subjects'), [200, subjects])
  const deleted = await Promise.all(subjects.map(each => say('DELETE', `/subjects/${each}`)))
  assert.deepEqual(
    deleted.filter(([status]) => status !== 200),
    [],
  )
  assert.deepEqual(await say('GET', '/subjects'), [200, []])
})
