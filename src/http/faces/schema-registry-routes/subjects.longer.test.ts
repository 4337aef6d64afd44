// Tests deletions and lists of subjects over HTTP.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recordOf, startEndpoint, WIDE } from '../../../../testing/registry-endpoint.ts'

const [ONE, TWO, THREE] = [recordOf('R', 'a'), recordOf('R', 'a', 'b'), recordOf('R', 'a', 'b', 'c')]

test('a version is deleted softly, then for good, and its id goes on resolving', async t => {
  const { say, code, register } = await startEndpoint(t)
  for (const schema of [ONE, TWO, THREE]) await register('a', schema)
  assert.deepEqual(await code('DELETE', '/subjects/a/versions/2?permanent=true'), [404, 40407])
  assert.deepEqual(await say('DELETE', '/subjects/a/versions/2'), [200, 2])
  assert.deepEqual(await code('DELETE', '/subjects/a/versions/2'), [404, 40406])
  assert.deepEqual(await say('GET', '/subjects/a/versions'), [200, [1, 3]])
  assert.deepEqual(await say('GET', '/subjects/a/versions?deleted=true'), [200, [1, 2, 3]])
  assert.deepEqual(await say('GET', '/subjects/a/versions?deletedOnly=true'), [200, [2]])
  assert.deepEqual(await say('GET', '/subjects/a/versions?deletedAsNegative=true'), [200, [1, -2, 3]])
  assert.deepEqual(await say('GET', '/subjects/a/versions?deleted=true&offset=1&limit=1'), [200, [2]])
  assert.deepEqual(await code('GET', '/subjects/a/versions/2'), [404, 40402])
  assert.equal((await say('GET', '/subjects/a/versions/2?deleted=true'))[0], 200)
  assert.equal((await say('POST', '/subjects/a?deleted=true', { schema: TWO }))[0], 200)
  assert.deepEqual(await code('POST', '/subjects/a', { schema: TWO }), [404, 40403])
  assert.deepEqual(await say('DELETE', '/subjects/a/versions/2?permanent=True'), [200, 2])
  assert.deepEqual(await code('GET', '/subjects/a/versions/2?deleted=true'), [404, 40402])
  assert.deepEqual(await say('GET', '/schemas/ids/2'), [200, { schema: TWO }])
  const [, wide] = await say('GET', '/schemas/ids/2', undefined, WIDE)
  assert.equal((wide as { deleted: boolean }).deleted, true)
  assert.deepEqual(await say('GET', '/schemas/ids/2/versions?deleted=true'), [200, []])
  assert.deepEqual(await code('DELETE', '/subjects/a/versions/latest?permanent=true'), [404, 40407])
  assert.deepEqual(await say('DELETE', '/subjects/a/versions/latest'), [200, 3])
  assert.deepEqual(await code('DELETE', '/subjects/a/versions/9'), [404, 40402])
  assert.deepEqual(await code('DELETE', '/subjects/a/versions/x'), [422, 42202])
})

test('a subject is deleted softly, then for good', async t => {
  const { say, code, register } = await startEndpoint(t)
  for (const schema of [ONE, TWO, THREE]) await register('a', schema)
  await register('b', ONE)
  await say('DELETE', '/subjects/a/versions/2')
  assert.deepEqual(await code('DELETE', '/subjects/a?permanent=true'), [404, 40405])
  assert.deepEqual(await say('DELETE', '/subjects/a'), [200, [1, 3]])
  assert.deepEqual(await code('DELETE', '/subjects/a'), [404, 40404])
  assert.deepEqual(await code('GET', '/subjects/a/versions'), [404, 40401])
  assert.deepEqual(await say('GET', '/subjects'), [200, ['b']])
  assert.deepEqual(await say('GET', '/subjects?deleted=true'), [200, ['a', 'b']])
  assert.deepEqual(await say('GET', '/subjects?deletedOnly=true'), [200, ['a']])
  assert.deepEqual(await say('DELETE', '/subjects/a?permanent=true'), [200, [1, 2, 3]])
  assert.deepEqual(await code('DELETE', '/subjects/a?permanent=true'), [404, 40401])
  assert.deepEqual(await say('GET', '/subjects?deleted=true'), [200, ['b']])
  assert.equal(await register('a', ONE), 1)
  assert.deepEqual(await say('GET', '/subjects/a/versions'), [200, [1]])
})

test('a schema that others refer to is not deleted, and its referrers are listed', async t => {
  const { say, code, register } = await startEndpoint(t)
  await register('type', '{"type":"enum","name":"E","symbols":["A"]}')
  const references = [{ name: 'E', subject: 'type', version: -1 }]
  const user = '{"type":"record","name":"U","fields":[{"name":"e","type":"E"}]}'
  await register('user', user, { references })
  assert.deepEqual(await say('GET', '/subjects/user/versions/latest'), [
    200,
    { subject: 'user', version: 1, id: 2, references: [{ name: 'E', subject: 'type', version: 1 }], schema: user },
  ])
  assert.deepEqual(await say('GET', '/subjects/type/versions/latest/referencedby'), [200, [2]])
  assert.deepEqual(await code('DELETE', '/subjects/type'), [422, 42206])
  assert.deepEqual(await code('DELETE', '/subjects/type/versions/1'), [422, 42206])
  const inlined =
    '{"type":"record","name":"U","fields":[{"name":"e","type":{"type":"enum","name":"E","symbols":["A"]}}]}'
  assert.equal((await say('POST', '/subjects/user', { schema: inlined }))[0], 200)
  const [, resolved] = await say('GET', '/schemas/ids/2?format=resolved')
  assert.equal((resolved as { schema: string }).schema, inlined)
  await say('DELETE', '/subjects/user')
  assert.deepEqual(await say('GET', '/subjects/type/versions/1/referencedby'), [200, []])
  assert.deepEqual(await say('GET', '/subjects/type/versions/1/referencedby?deleted=true'), [200, [2]])
})

test('subjects are listed by prefix and in pages, and a wrong page is 404', async t => {
  const { say, register } = await startEndpoint(t)
  for (const subject of ['b', 'a-key', 'a-value', 'c']) await register(subject, ONE)
  assert.deepEqual(await say('GET', '/subjects?subjectPrefix=a-'), [200, ['a-key', 'a-value']])
  assert.deepEqual(await say('GET', '/subjects?subjectPrefix=%3A*%3A'), [200, ['a-key', 'a-value', 'b', 'c']])
  assert.deepEqual(await say('GET', '/subjects?subjectPrefix=%3A*%3Ab'), [200, ['b']])
  assert.deepEqual(await say('GET', '/subjects?offset=1&limit=2'), [200, ['a-value', 'b']])
  assert.deepEqual(await say('GET', '/subjects?limit=0'), [200, []])
  assert.deepEqual(await say('GET', '/subjects?offset=-5&limit=-1'), [200, ['a-key', 'a-value', 'b', 'c']])
  assert.equal((await say('GET', '/subjects?limit=many'))[0], 404)
})
