// Tests what callers with few rights see and change through the routes of the registry, and what the audit log says of
// it. schema-registry-access.longer.test.ts tests the rights themselves.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { eventually } from '../../../../testing/eventually.ts'
import { recordOf, startEndpoint } from '../../../../testing/registry-endpoint.ts'
import { CALLERS, type CallerName, makeCallers } from '../../../../testing/registry-face.ts'
import { ACLS } from '../../../../testing/registry-face-world.ts'

const [ONE, TWO, SECRET] = [recordOf('R', 'a'), recordOf('R', 'a', 'b'), recordOf('Secret', 'salary')]

/** `client` may write to orders and read what begins with log; `stranger` has no rule. */
async function start(t: TestContext) {
  const world = await startEndpoint(t, { ...ACLS })
  await makeCallers(world.url)
  const as = async (caller: CallerName, method: string, path: string, body?: unknown) => {
    const answer = await world.ask(path, { method, as: CALLERS[caller], ...(body === undefined ? {} : { body }) })
    return [answer.status, answer.body] as const
  }
  const put = async (subject: string, schema: string, references: readonly object[] = []) => {
    const [status, said] = await as('ADMIN', 'POST', `/subjects/${subject}/versions`, { schema, references })
    assert.equal(status, 200, JSON.stringify(said))
    return said.id as number
  }
  return { ...world, as, put }
}

test('lists and ids show a client what it may read, and nothing else exists for it', async t => {
  const { as, put } = await start(t)
  const shared = await put('orders-value', ONE)
  await put('salaries-value', ONE)
  const secret = await put('salaries-value', recordOf('R', 'a', 'c'))
  const type = await put('logs-key', '{"type":"enum","name":"E","symbols":["A"]}')
  const reference = [{ name: 'E', subject: 'logs-key', version: 1 }]
  const user = '{"type":"record","name":"U","fields":[{"name":"e","type":"E"}]}'
  const hidden = await put('salaries-key', user, reference)
  const visible = await put('logs-value', user.replace('"U"', '"V"'), reference)

  assert.deepEqual(await as('client', 'GET', '/subjects'), [200, ['logs-key', 'logs-value', 'orders-value']])
  assert.deepEqual(await as('client', 'GET', '/subjects?offset=1&limit=1'), [200, ['logs-value']])
  const [, all] = await as('client', 'GET', '/schemas')
  assert.deepEqual(
    all.map((each: { subject: string }) => each.subject),
    ['logs-key', 'logs-value', 'orders-value'],
  )
  assert.deepEqual(await as('stranger', 'GET', '/schemas'), [200, []])

  assert.deepEqual(await as('client', 'GET', `/schemas/ids/${shared}/subjects`), [200, ['orders-value']])
  assert.deepEqual(await as('client', 'GET', `/schemas/ids/${shared}/versions`), [
    200,
    [{ subject: 'orders-value', version: 1 }],
  ])
  assert.deepEqual((await as('client', 'GET', `/schemas/ids/${shared}?includeSubjects=true`))[1].subjects, [
    'orders-value',
  ])
  assert.deepEqual(await as('client', 'GET', '/subjects/logs-key/versions/1/referencedby'), [200, [visible]])
  assert.deepEqual((await as('VIEWER', 'GET', '/subjects/logs-key/versions/1/referencedby'))[1], [hidden, visible])
  for (const id of [secret, hidden, 9_999])
    for (const path of ['', '/schema', '/subjects', '/versions']) {
      const [status, said] = await as('client', 'GET', `/schemas/ids/${id}${path}`)
      assert.deepEqual([status, said.error_code], [404, 40403], `${id}${path}`)
      assert.doesNotMatch(said.message, /salar/)
    }
  assert.equal((await as('VIEWER', 'GET', `/schemas/ids/${secret}`))[0], 200)
  const [, message] = await as('client', 'GET', `/schemas/ids/${secret}`)
  assert.equal(message.message, `Schema ${secret} not found`)
  assert.equal((await as('stranger', 'GET', `/schemas/ids/${type}`))[0], 404)
  const [, wide] = await as('ADMIN', 'GET', '/subjects/salaries-value/versions/2')
  assert.equal(wide.id, secret)
})

test('a schema that was deleted for good is for those who may read a subject that had it', async t => {
  const { as, put, ask } = await start(t)
  const id = await put('orders-value', ONE)
  const secret = await put('salaries-value', SECRET)
  const wide = { 'confluent-accept-unknown-properties': 'true' }
  const { guid } = (await ask(`/schemas/ids/${id}`, { as: CALLERS.ADMIN, headers: wide })).body
  const paths = [
    `/schemas/ids/${id}`,
    `/schemas/ids/${id}?subject=orders-value`,
    `/schemas/ids/${id}?subject=salaries-value`,
    `/schemas/ids/${id}?includeSubjects=true`,
    `/schemas/ids/${id}/schema`,
    `/schemas/guids/${guid}`,
    `/schemas/guids/${guid}/ids`,
  ]
  const readsAll = async (when: string) => {
    for (const path of paths) {
      assert.equal((await as('client', 'GET', path))[0], 200, `${path} ${when}`)
      assert.equal((await as('stranger', 'GET', path))[0], 404, `${path} ${when}`)
    }
  }
  await as('ADMIN', 'DELETE', '/subjects/orders-value')
  await readsAll('deleted softly')
  await as('ADMIN', 'DELETE', '/subjects/orders-value?permanent=true')
  await readsAll('deleted for good')
  for (const caller of ['client', 'VIEWER', 'ADMIN', 'superUser'] as const) {
    assert.deepEqual(await as(caller, 'GET', `/schemas/ids/${id}`), [200, { schema: ONE }])
    assert.deepEqual(await as(caller, 'GET', `/schemas/ids/${id}/subjects`), [200, []])
    assert.deepEqual(await as(caller, 'GET', `/schemas/ids/${id}/versions?deleted=true`), [200, []])
  }
  const shown = await ask(`/schemas/ids/${id}?subject=orders-value`, { as: CALLERS.client, headers: wide })
  assert.deepEqual(shown.body, { deleted: true, guid, schemaType: 'AVRO', schema: ONE })
  await as('ADMIN', 'DELETE', '/subjects/salaries-value')
  await as('ADMIN', 'DELETE', '/subjects/salaries-value/versions/1?permanent=true')
  assert.equal((await as('client', 'GET', `/schemas/ids/${secret}`))[0], 404)
  assert.equal((await as('VIEWER', 'GET', `/schemas/ids/${secret}`))[0], 200)
  // The subject may be used again, and the id has readers of both.
  await put('salaries-value', ONE)
  await readsAll('in a subject that the client may not read')
})

test('guids are for those who may read a subject that has them', async t => {
  const { as, put, ask } = await start(t)
  await put('orders-value', ONE)
  await put('salaries-value', SECRET)
  const guidOf = async (id: number) =>
    (
      await ask(`/schemas/ids/${id}`, {
        as: CALLERS.ADMIN,
        headers: { 'confluent-accept-unknown-properties': 'true' },
      })
    ).body.guid
  const [open, secret] = [await guidOf(1), await guidOf(2)]
  assert.equal((await as('client', 'GET', `/schemas/guids/${open}`))[0], 200)
  assert.deepEqual((await as('client', 'GET', `/schemas/guids/${open}/ids`))[1], [{ context: '.', id: 1 }])
  for (const path of ['', '/ids']) {
    assert.equal((await as('client', 'GET', `/schemas/guids/${secret}${path}`))[0], 404)
    assert.equal((await as('VIEWER', 'GET', `/schemas/guids/${secret}${path}`))[0], 200)
  }
})

test('no reference reads a subject for a caller who may not', async t => {
  const { as, put } = await start(t)
  await put('salaries-value', SECRET)
  await put('logs-value', SECRET)
  const body = (subject: string) => ({
    schema: '{"type":"record","name":"U","fields":[{"name":"s","type":"Secret"}]}',
    references: [{ name: 'Secret', subject, version: 1 }],
  })
  for (const path of [
    '/subjects/orders-value/versions',
    '/subjects/orders-value',
    '/compatibility/subjects/orders-value/versions',
    '/compatibility/subjects/orders-value/versions/latest?verbose=true',
  ])
    for (const subject of ['salaries-value', 'salaries-key']) {
      const [status, said] = await as('client', 'POST', path, body(subject))
      assert.deepEqual(
        [status, said.error_code, said.message],
        [403, 40301, 'User:ada needs READ or WRITE on the topic "salaries".'],
      )
    }
  assert.equal((await as('client', 'POST', '/subjects/orders-value/versions', body('logs-value')))[0], 200)
})

test('a caller who may register may repeat the level in force, and change nothing else', async t => {
  const { as, put } = await start(t)
  await put('orders-value', ONE)
  const config = (body: object) => as('client', 'PUT', '/config/orders-value', body)
  assert.deepEqual(await config({ compatibility: 'backward' }), [200, { compatibility: 'BACKWARD' }])
  for (const body of [
    { compatibility: 'NONE' },
    { compatibility: null },
    {},
    { compatibility: 'BACKWARD', normalize: true },
    { normalize: true },
    { compatibilityPolicy: 'LENIENT' },
  ])
    assert.deepEqual((await config(body))[0], 403, JSON.stringify(body))
  assert.deepEqual((await config({ compatibility: 'x' }))[1].error_code, 42203)
  await as('ADMIN', 'PUT', '/config/orders-value', { compatibility: 'FULL' })
  assert.equal((await config({ compatibility: 'BACKWARD' }))[0], 403)
  assert.equal((await config({ compatibility: 'FULL' }))[0], 200)
  await as('ADMIN', 'DELETE', '/config/orders-value')
  await as('ADMIN', 'PUT', '/config', { compatibility: 'FORWARD' })
  assert.equal((await config({ compatibility: 'BACKWARD' }))[0], 403)
  assert.equal((await config({ compatibility: 'FORWARD' }))[0], 200)
  for (const [method, path, body] of [
    ['PUT', '/config', { compatibility: 'FORWARD' }],
    ['DELETE', '/config/orders-value', undefined],
    ['PUT', '/mode/orders-value', { mode: 'READWRITE' }],
    ['DELETE', '/subjects/orders-value', undefined],
    ['DELETE', '/subjects/orders-value/versions/1', undefined],
  ] as const)
    for (const caller of ['client', 'superUser', 'VIEWER'] as const)
      assert.equal((await as(caller, method, path, body))[0], 403, `${caller} ${method} ${path}`)
})

test('each change leaves an audit line with the subject and what it sets, and no schema', async t => {
  const { as, put, log } = await start(t)
  await put('orders-value', ONE)
  await as('client', 'POST', '/subjects/orders-value/versions?normalize=true', { schema: TWO, schemaType: 'AVRO' })
  await as('client', 'POST', '/subjects/orders-value', { schema: TWO })
  await as('client', 'POST', '/compatibility/subjects/orders-value/versions', { schema: TWO })
  await as('ADMIN', 'PUT', '/config/orders-value', { compatibility: 'NONE' })
  await as('ADMIN', 'PUT', '/mode', { mode: 'READONLY' })
  await as('ADMIN', 'DELETE', '/subjects/orders-value/versions/2')
  const lines = () =>
    log()
      .split('\n')
      .filter(line => line.includes(' svc.audit  ') && / (schema|level|mode|version) /.test(line))
  await eventually('the last line', () => lines().some(line => line.includes('delete version')))
  const shown = lines().map(line => {
    const [, verb, who, status, code, what] =
      /svc\.audit {2}([a-z ]+?) who=(\S+) .*status=(\d+) code=(\w+) .*what="(.*)"$/.exec(line)!
    return [verb, who, status, code, JSON.parse(what!.replaceAll('\\"', '"'))]
  })
  const subject = 'orders-value'
  assert.deepEqual(shown, [
    ['register schema', 'admin', '200', 'null', { subject, normalize: false }],
    ['register schema', 'User:ada', '200', 'null', { subject, normalize: true, schemaType: 'AVRO' }],
    ['set level of a subject', 'admin', '200', 'null', { subject, compatibility: 'NONE' }],
    ['set mode', 'admin', '200', 'null', { force: false, mode: 'READONLY' }],
    ['delete version', 'admin', '422', 'OPERATION_NOT_PERMITTED', { subject, version: '2', permanent: false }],
  ])
  assert.ok(!log().includes('"fields"'))
})
