// Tests checks of compatibility over HTTP.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recordOf, startEndpoint } from '../../../../testing/registry-endpoint.ts'

const [ONE, TWO] = [recordOf('R', 'a'), recordOf('R', 'a', 'b')]
const OTHER = '{"type":"record","name":"R","fields":[{"name":"c","type":"string"}]}'
const CHECK = '/compatibility/subjects/a/versions'

test('a check says whether a schema fits, and why not only if the client asks', async t => {
  const { say, register } = await startEndpoint(t)
  await register('a', ONE)
  for (const path of [CHECK, `${CHECK}/latest`, `${CHECK}/1`]) {
    assert.deepEqual(await say('POST', path, { schema: TWO }), [200, { is_compatible: true }])
    assert.deepEqual(await say('POST', path, { schema: OTHER }), [200, { is_compatible: false }])
    assert.deepEqual(await say('POST', `${path}?verbose=true`, { schema: TWO }), [
      200,
      { is_compatible: true, messages: [] },
    ])
    const [, verbose] = await say('POST', `${path}?verbose=True`, { schema: OTHER })
    const { is_compatible: fits, messages } = verbose as { is_compatible: boolean; messages: string[] }
    assert.equal(fits, false)
    assert.match(messages[0]!, /READER_FIELD_MISSING_DEFAULT_VALUE.*\/fields\/0/)
    assert.deepEqual(messages.slice(1), [
      '{oldSchemaVersion: 1}',
      `{oldSchema: '${ONE}'}`,
      "{validateFields: 'false', compatibility: 'BACKWARD'}",
    ])
  }
})

test('a check with one version counts only this one, and a check with the subject all that its level names', async t => {
  const { say, register } = await startEndpoint(t)
  await say('PUT', '/config/a', { compatibility: 'NONE' })
  await register('a', OTHER)
  await register('a', ONE)
  await say('PUT', '/config/a', { compatibility: 'BACKWARD_TRANSITIVE' })
  const fits = async (path: string, schema: string) =>
    ((await say('POST', path, { schema }))[1] as { is_compatible: boolean }).is_compatible
  assert.equal(await fits(`${CHECK}/2`, TWO), true)
  assert.equal(await fits(`${CHECK}/1`, TWO), false)
  assert.equal(await fits(CHECK, TWO), false)
  await say('DELETE', '/subjects/a/versions/1')
  assert.equal(await fits(CHECK, TWO), true)
})

test('what cannot be checked is refused, and with verbose an invalid schema is a reason', async t => {
  const { say, code, register } = await startEndpoint(t)
  await register('a', ONE)
  assert.deepEqual(await code('POST', `${CHECK}/9`, { schema: ONE }), [404, 40402])
  assert.deepEqual(await code('POST', '/compatibility/subjects/no/versions/1', { schema: ONE }), [404, 40402])
  assert.deepEqual(await code('POST', `${CHECK}/zero`, { schema: ONE }), [422, 42202])
  assert.deepEqual(await say('POST', '/compatibility/subjects/no/versions/latest', { schema: ONE }), [
    200,
    { is_compatible: true },
  ])
  assert.deepEqual(await say('POST', '/compatibility/subjects/no/versions', { schema: ONE }), [
    200,
    { is_compatible: true },
  ])
  assert.deepEqual(await code('POST', CHECK, { schema: '{}' }), [422, 42201])
  const [status, said] = await say('POST', `${CHECK}/latest?verbose=true`, { schema: '{}' })
  const { is_compatible: fits, messages } = said as { is_compatible: boolean; messages: string[] }
  assert.deepEqual([status, fits, messages.length], [200, false, 1])
  assert.match(messages[0]!, /^Invalid schema of type AVRO/)
  const [, type] = await say('POST', `${CHECK}?verbose=true`, { schema: '{}', schemaType: 'JSON' })
  assert.match((type as { messages: string[] }).messages[0]!, /different schema type/)
})

test('clients see each place as Confluent writes it for the format, and once', async t => {
  const { say, register } = await startEndpoint(t)
  const rows = [
    [
      'AVRO',
      '/fields/0/type',
      '{"type":"record","name":"R","fields":[{"name":"a","type":"int"}]}',
      /"int"/,
      '"string"',
    ],
    ['JSON', '#/properties/a', '{"properties":{"a":{"type":"integer"}}}', /"integer"/, '"string"'],
    ['PROTOBUF', '#/M/1', 'syntax = "proto3"; message M { int32 a = 1; }', /int32/, 'string'],
  ] as const
  for (const [schemaType, place, schema, from, to] of rows) {
    await register(schemaType, schema, { schemaType })
    const changed = { schema: schema.replace(from, to), schemaType }
    const [, checked] = await say('POST', `/compatibility/subjects/${schemaType}/versions?verbose=true`, changed)
    const [reason = ''] = (checked as { messages: string[] }).messages
    assert.deepEqual(reason.split(place).length, 2, reason)
    assert.ok(reason.endsWith(`', additionalInfo:'${place}'}`), reason)
    const [status, refused] = await say('POST', `/subjects/${schemaType}/versions`, changed)
    assert.deepEqual([status, (refused as { message: string }).message.includes(reason)], [409, true])
  }
})
