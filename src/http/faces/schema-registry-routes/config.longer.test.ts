// Tests levels, configurations and modes over HTTP.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { OPEN, recordOf, startEndpoint } from '../../../../testing/registry-endpoint.ts'

const ONE = recordOf('R', 'a')

test('levels are set, read and removed, of all subjects and of one', async t => {
  const { say, code } = await startEndpoint(t)
  assert.deepEqual(await say('GET', '/config'), [200, { compatibilityLevel: 'BACKWARD' }])
  assert.deepEqual(await code('GET', '/config/a'), [404, 40408])
  assert.deepEqual(await say('GET', '/config/a?defaultToGlobal=true'), [200, { compatibilityLevel: 'BACKWARD' }])
  assert.deepEqual(await say('PUT', '/config', { compatibility: 'full' }), [200, { compatibility: 'FULL' }])
  assert.deepEqual(await say('PUT', '/config/a', { compatibility: 'Forward_Transitive' }), [
    200,
    { compatibility: 'FORWARD_TRANSITIVE' },
  ])
  assert.deepEqual(await say('GET', '/config'), [200, { compatibilityLevel: 'FULL' }])
  assert.deepEqual(await say('GET', '/config/a'), [200, { compatibilityLevel: 'FORWARD_TRANSITIVE' }])
  assert.deepEqual(await say('DELETE', '/config/a'), [200, { compatibilityLevel: 'FORWARD_TRANSITIVE' }])
  assert.deepEqual(await code('DELETE', '/config/a'), [404, 40401])
  assert.deepEqual(await say('DELETE', '/config'), [200, { compatibilityLevel: 'FULL' }])
  assert.deepEqual(await say('GET', '/config'), [200, { compatibilityLevel: 'BACKWARD' }])
  assert.deepEqual(await say('PUT', '/config/a', { compatibilityLevel: 'NONE' }), [200, { compatibility: 'NONE' }])
  for (const compatibility of ['x', '', 'BACKWARDS'])
    assert.deepEqual(await code('PUT', '/config', { compatibility }), [422, 42203], compatibility)
  assert.deepEqual(await code('PUT', '/config/__EMPTY', { compatibility: 'NONE' }), [422, 42208])
  for (const body of [{ compatibility: 5 }, { normalize: 'yes' }, [], '"x"'])
    assert.deepEqual(await code('PUT', '/config', body), [422, 422])
})

test('the level of svc.schema-registry.default-compatibility counts until another one is set', async t => {
  const { say, code, register } = await startEndpoint(t, {
    ...OPEN,
    'schema-registry.default-compatibility': 'forward',
  })
  assert.deepEqual(await say('GET', '/config'), [200, { compatibilityLevel: 'FORWARD' }])
  assert.deepEqual(await say('GET', '/config/a?defaultToGlobal=true'), [200, { compatibilityLevel: 'FORWARD' }])
  await register('a', '{"type":"record","name":"R","fields":[{"name":"a","type":"int"}]}')
  const wider = '{"type":"record","name":"R","fields":[{"name":"a","type":"int"},{"name":"b","type":"int"}]}'
  await register('a', wider)
  assert.deepEqual(await code('POST', '/subjects/a/versions', { schema: ONE.replace('"a"', '"z"') }), [409, 409])
  await say('PUT', '/config', { compatibility: 'BACKWARD' })
  assert.deepEqual(await say('DELETE', '/config'), [200, { compatibilityLevel: 'BACKWARD' }])
  assert.deepEqual(await say('GET', '/config'), [200, { compatibilityLevel: 'FORWARD' }])
})

test('the other members of a configuration are kept and answered', async t => {
  const { say } = await startEndpoint(t)
  const config = {
    alias: 'x',
    normalize: true,
    validateFields: false,
    compatibilityGroup: 'major',
    compatibilityPolicy: 'LENIENT',
    defaultMetadata: { properties: { a: 'b' } },
    overrideRuleSet: { domainRules: [] },
  }
  assert.deepEqual(await say('PUT', '/config/a', { ...config, later: 1 }), [200, config])
  assert.deepEqual(await say('GET', '/config/a'), [200, config])
  assert.deepEqual(await say('GET', '/config/a?defaultToGlobal=true'), [
    200,
    { compatibilityLevel: 'BACKWARD', ...config },
  ])
  assert.deepEqual(await say('PUT', '/config/a', { alias: null }), [200, { alias: null }])
  const { alias: _, ...rest } = config
  assert.deepEqual(await say('GET', '/config/a'), [200, rest])
})

test('modes are set, read and removed, and count for registrations and deletions', async t => {
  const { say, code, register } = await startEndpoint(t)
  await register('a', ONE)
  assert.deepEqual(await say('GET', '/mode'), [200, { mode: 'READWRITE' }])
  assert.deepEqual(await code('GET', '/mode/a'), [404, 40409])
  assert.deepEqual(await say('GET', '/mode/a?defaultToGlobal=true'), [200, { mode: 'READWRITE' }])
  assert.deepEqual(await say('PUT', '/mode/a', { mode: 'readonly' }), [200, { mode: 'READONLY' }])
  assert.deepEqual(await code('POST', '/subjects/a/versions', { schema: recordOf('R', 'a', 'b') }), [422, 42205])
  assert.deepEqual(await code('DELETE', '/subjects/a'), [422, 42205])
  assert.deepEqual(await say('DELETE', '/mode/a'), [200, { mode: 'READONLY' }])
  assert.deepEqual(await code('DELETE', '/mode/a'), [404, 40401])
  for (const mode of ['FORWARD', 'x', '']) assert.deepEqual(await code('PUT', '/mode', { mode }), [422, 42204], mode)
  for (const body of [{}, { mode: 1 }, []]) assert.deepEqual(await code('PUT', '/mode', body), [422, 422])
  assert.deepEqual(await code('PUT', '/mode', { mode: 'IMPORT' }), [422, 42205])
  assert.deepEqual(await say('PUT', '/mode?force=true', { mode: 'IMPORT' }), [200, { mode: 'IMPORT' }])
  const imported = { schema: ONE, id: 77, version: 5 }
  assert.deepEqual(await say('POST', '/subjects/i/versions', imported), [200, { id: 77 }])
  assert.deepEqual(await say('POST', '/subjects/i/versions', imported), [200, { id: 77 }])
  assert.deepEqual(await say('GET', '/subjects/i/versions'), [200, [5]])
  const other = { schema: recordOf('S', 'a'), id: 77 }
  assert.deepEqual(await code('POST', '/subjects/j/versions', other), [422, 42205])
  assert.deepEqual(await code('POST', '/subjects/j/versions', { schema: ONE }), [422, 42205])
  assert.deepEqual(await say('PUT', '/mode/i', { mode: 'READONLY' }), [200, { mode: 'READONLY' }])
  assert.deepEqual(await say('DELETE', '/mode?recursive=true'), [200, { mode: 'IMPORT' }])
  assert.deepEqual(await code('GET', '/mode/i'), [404, 40409])
  assert.equal(await register('i', recordOf('R', 'a', 'b')), 78)
})
