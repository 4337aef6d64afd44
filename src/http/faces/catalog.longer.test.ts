// Tests the catalog against Iceberg's OpenAPI document (open-api/rest-catalog-open-api.yaml), with tables in a folder.
// e2e/iceberg asks it with real engines.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { startBroker } from '../../../testing/broker.ts'
import { type CatalogTables, catalogTables } from '../../../testing/catalog-tables.ts'
import { eventually } from '../../../testing/eventually.ts'
import { roleSettings, signInRoles } from '../../../testing/http-roles.ts'
import { FOREIGN_ID } from '../../../testing/iceberg-table.ts'
import { sealed } from '../../../testing/offloading.ts'
import { TierAway } from '../../log/archive.ts'
import type { Values } from '../../settings/settings.ts'
import { versionKey } from '../../tier/iceberg/table-files.ts'
import { catalogRoutes } from './catalog-routes.ts'

const TOKEN = 'the token of this test'
const OPEN = { 'admin.security-enabled': false } as const
const TABLES = '/namespaces/default/tables'

interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: every member would have to be asserted before it could be asserted
  readonly body: any
}

async function start(t: TestContext, tables: CatalogTables | null, settings: Partial<Values> = OPEN) {
  const catalogSource = tables?.source ?? null
  const { url, log } = await startBroker(t, settings, { http: { catalogSource } })
  async function ask(path: string, init: RequestInit = {}): Promise<Answer> {
    const answer = await fetch(`${url}/iceberg/v1${path}`, init)
    const text = await answer.text()
    const isJson = answer.headers.get('content-type')?.startsWith('application/json')
    return {
      status: answer.status,
      headers: answer.headers,
      text,
      body: isJson && text !== '' ? JSON.parse(text) : null,
    }
  }
  return { url, log, ask }
}

/** Asserts that the answer is an error of the specification's form (IcebergErrorResponse). */
function assertError({ status, body, headers }: Answer, expected: number, type: string, message = /./): void {
  assert.equal(headers.get('content-type'), 'application/json')
  assert.deepEqual(Object.keys(body), ['error'])
  assert.deepEqual(Object.keys(body.error).sort(), ['code', 'message', 'type'])
  assert.deepEqual([status, body.error.code, body.error.type], [expected, expected, type], body.error.message)
  assert.match(body.error.message, message)
}

test('the configuration lists the operations that read, so that clients refuse the others by themselves', async t => {
  const { ask } = await start(t, await catalogTables(t))
  for (const query of ['', '?warehouse=', '?warehouse=any%20name', '?warehouse=a&later=1']) {
    const { status, body } = await ask(`/config${query}`)
    assert.deepEqual([status, Object.keys(body).sort()], [200, ['defaults', 'endpoints', 'overrides']])
    assert.deepEqual([body.defaults, body.overrides], [{}, {}])
    assert.ok(body.endpoints.length > 0)
    for (const endpoint of body.endpoints) assert.match(endpoint, /^(GET|HEAD) \/v1\/\{prefix\}\/namespaces/)
  }
})

test('a bucket that is not Amazons is named in the defaults, without credentials', async t => {
  const { ask } = await start(t, await catalogTables(t), {
    ...OPEN,
    'storage.remote.path': 's3://lake/ketch',
    'storage.remote.s3.endpoint': 'https://objects.example:9000/',
    'storage.remote.s3.path-style-access': true,
    'storage.remote.s3.region': 'eu-central-1',
    'storage.remote.s3.access-key-id': 'the-key-id-of-this-test',
    'storage.remote.s3.secret-access-key': 'the-secret-of-this-test',
  })
  const { body, text } = await ask('/config')
  assert.deepEqual(body.defaults, {
    's3.endpoint': 'https://objects.example:9000',
    's3.path-style-access': 'true',
    'client.region': 'eu-central-1',
    's3.region': 'eu-central-1',
  })
  assert.doesNotMatch(text, /of-this-test/)
})

test('there is one namespace, and none below it', async t => {
  const { ask } = await start(t, await catalogTables(t))
  for (const query of ['', '?parent=', '?pageToken=', '?pageToken=&pageSize=1'])
    assert.deepEqual((await ask(`/namespaces${query}`)).body, {
      namespaces: [['default']],
      'next-page-token': null,
    })
  assert.deepEqual((await ask('/namespaces?parent=default')).body.namespaces, [])
  assert.deepEqual((await ask('/namespaces/default')).body, { namespace: ['default'], properties: {} })
  const head = await ask('/namespaces/default', { method: 'HEAD' })
  assert.deepEqual([head.status, head.text], [204, ''])
  for (const path of [
    '/namespaces?parent=other',
    '/namespaces/other',
    '/namespaces/Default',
    '/namespaces/default%1Fbelow',
    '/namespaces/other/tables',
    '/namespaces/other/tables/orders',
  ]) {
    assertError(await ask(path), 404, 'NoSuchNamespaceException', /it is default\.$/)
    assert.equal((await ask(path, { method: 'HEAD' })).status, 404)
  }
})

test('tables are listed in pages that hold while tables come and go, and in one answer without a page token', async t => {
  const tables = await catalogTables(t)
  const names = ['a.b', 'a_b', 'a-b', 'A.b', 'orders']
  for (const name of names) await tables.open(name)
  const { ask } = await start(t, tables)
  const all = names.toSorted().map(name => ({ namespace: ['default'], name }))
  for (const query of ['', '?pageSize=2', '?pageToken=', '?pageToken=&pageSize=99999'])
    assert.deepEqual((await ask(TABLES + query)).body, { identifiers: all, 'next-page-token': null })

  const first = (await ask(`${TABLES}?pageToken=&pageSize=2`)).body
  assert.deepEqual(first.identifiers, all.slice(0, 2))
  // A topic that comes before the next page shifts nothing.
  await tables.open('0')
  const second = (await ask(`${TABLES}?pageSize=2&pageToken=${first['next-page-token']}`)).body
  assert.deepEqual(second.identifiers, all.slice(2, 4))
  const third = (await ask(`${TABLES}?pageSize=2&pageToken=${second['next-page-token']}`)).body
  assert.deepEqual(third, { identifiers: all.slice(4), 'next-page-token': null })

  for (const query of ['pageSize=0', 'pageSize=x', 'pageToken=%2B', 'pageToken=a&pageToken=b', 'pageToken=%00'])
    assertError(await ask(`${TABLES}?${query}`), 400, 'BadRequestException', /^page(Size|Token): .*takes/)
})

test('a loaded table has the metadata of its newest version, exactly, and no credentials', async t => {
  const tables = await catalogTables(t)
  const holder = await tables.open('orders')
  const { ask } = await start(t, tables, {
    ...OPEN,
    'storage.remote.s3.access-key-id': 'the-key-id-of-this-test',
    'storage.remote.s3.secret-access-key': 'the-secret-of-this-test',
  })
  for (const count of [1, 2]) {
    await holder.round([sealed(0, 0, 2), sealed(0, 6, 2)].slice(0, count))
    const { status, body, text, headers } = await ask(`${TABLES}/orders`)
    assert.equal(status, 200)
    assert.equal(headers.get('content-type'), 'application/json; charset=utf-8')
    assert.deepEqual(Object.keys(body), ['metadata-location', 'metadata', 'config'])
    const key = versionKey(holder.table.location, holder.table.version)
    assert.equal(body['metadata-location'], `${pathToFileURL(tables.folder)}/${key}`)
    const stored = Buffer.from((await tables.objects.read(key))!).toString()
    assert.ok(text.includes(`"metadata":${stored},"config":{}`))
    assert.equal(body.metadata.snapshots.length, count)
    assert.doesNotMatch(text, /of-this-test/)
  }
  const head = await ask(`${TABLES}/orders`, { method: 'HEAD' })
  assert.deepEqual([head.status, head.text], [204, ''])
})

test('only the snapshots of refs are loaded on demand, and ids of 63 bits keep their digits', async t => {
  const tables = await catalogTables(t)
  const holder = await tables.open('orders')
  for (const count of [1, 2, 3]) await holder.round([0, 6, 12].slice(0, count).map(base => sealed(0, base, 2)))
  const { location, version, metadata } = holder.table
  const [oldest, tagged, current] = metadata.snapshots.map(snapshot => snapshot['snapshot-id'])
  const text = Buffer.from((await tables.objects.read(versionKey(location, version)))!).toString()
  const foreign = text
    .replaceAll(`"snapshot-id":${tagged}`, `"snapshot-id":${FOREIGN_ID}`)
    .replaceAll(`"parent-snapshot-id":${tagged}`, `"parent-snapshot-id":${FOREIGN_ID}`)
    .replace('"refs":{', `"refs":{"audit":{"type":"tag","snapshot-id":${FOREIGN_ID}},`)
    .replace('{"format-version"', '{"x-vendor":{"ratio":1.0,"big":18446744073709551615},"format-version"')
  await tables.objects.create(versionKey(location, version + 1), Buffer.from(foreign))
  const { ask } = await start(t, tables)

  const all = await ask(`${TABLES}/orders?snapshots=all`)
  assert.ok(all.text.includes(`"metadata":${foreign},`))
  const refs = await ask(`${TABLES}/orders?snapshots=refs`)
  const ids = [
    ...refs.text
      .split('"snapshots":')[1]!
      .split('"snapshot-log"')[0]!
      .matchAll(/"snapshot-id":(\d+)/g),
  ]
  assert.deepEqual(
    ids.map(([, id]) => id).filter(id => id !== String(oldest)),
    [FOREIGN_ID, String(current)],
  )
  assert.equal(refs.body.metadata.snapshots.length, 2)
  assert.ok(refs.text.includes('"x-vendor":{"ratio":1.0,"big":18446744073709551615}'))
  assert.ok(refs.text.includes(`"audit":{"type":"tag","snapshot-id":${FOREIGN_ID}}`))
  const { snapshots: _, ...rest } = refs.body.metadata
  const { snapshots: __, ...whole } = all.body.metadata
  assert.deepEqual(rest, whole)
  assertError(
    await ask(`${TABLES}/orders?snapshots=some`),
    400,
    'BadRequestException',
    /snapshots: .*takes all or refs/,
  )
})

test('a client that has the version gets 304, and each form of a version has a tag of its own', async t => {
  const tables = await catalogTables(t)
  const holder = await tables.open('orders')
  await tables.open('others')
  const { ask } = await start(t, tables)
  const tagOf = async (path: string) => (await ask(`${TABLES}/${path}`)).headers.get('etag')!
  const tags = [await tagOf('orders'), await tagOf('orders?snapshots=refs'), await tagOf('others')]
  assert.equal(new Set(tags).size, 3)
  const known = await ask(`${TABLES}/orders`, { headers: { 'if-none-match': `"x", ${tags[0]}` } })
  assert.deepEqual([known.status, known.text, known.headers.get('etag')], [304, '', tags[0]])
  assert.equal((await ask(`${TABLES}/orders?snapshots=refs`, { headers: { 'if-none-match': tags[0]! } })).status, 200)
  await holder.round([sealed(0, 0, 1)])
  assert.equal((await ask(`${TABLES}/orders`, { headers: { 'if-none-match': tags[0]! } })).status, 200)
})

test('names that differ only after escaping, or in case, are different tables', async t => {
  const tables = await catalogTables(t)
  const names = ['a.b', 'a_b', 'A.b', 'x'.repeat(200)]
  for (const name of names) await tables.open(name)
  const { ask } = await start(t, tables)
  const locations = await Promise.all(
    names.map(async name => (await ask(`${TABLES}/${encodeURIComponent(name)}`)).body.metadata.location),
  )
  assert.equal(new Set(locations).size, names.length)
  for (const [at, name] of names.entries()) assert.ok(locations[at].includes(`/default/${name}-`), locations[at])
  for (const name of ['a%2Fb', 'a%1Fb', 'A_b', 'a%2Eb%00', '__proto__', 'x'.repeat(5_000)])
    assertError(await ask(`${TABLES}/${name}`), 404, 'NoSuchTableException')
})

test('a topic with dots in its name is found by clients that take the dots for namespaces', async t => {
  const tables = await catalogTables(t)
  await tables.open('orders.eu.v1')
  const { ask } = await start(t, tables)
  const whole = (await ask(`${TABLES}/orders.eu.v1`)).body
  for (const path of ['default%1Forders/tables/eu.v1', 'default%1Forders%1Feu/tables/v1'])
    assert.deepEqual((await ask(`/namespaces/${path}`)).body, whole)
  assertError(await ask('/namespaces/default%1Forders/tables/eu'), 404, 'NoSuchTableException', /"orders\.eu"/)
  for (const path of ['default%1F/tables/orders.eu.v1', '%1Fdefault/tables/orders.eu.v1'])
    assertError(await ask(`/namespaces/${path}`), 404, 'NoSuchNamespaceException')
})

test('every write is refused with 406, whether the table exists or not', async t => {
  const tables = await catalogTables(t)
  const holder = await tables.open('orders')
  const { ask, log } = await start(t, tables)
  const writes = [
    ['POST', '/namespaces'],
    ['DELETE', '/namespaces/default'],
    ['POST', '/namespaces/default/properties'],
    ['POST', TABLES],
    ['POST', `${TABLES}/orders`],
    ['POST', `${TABLES}/none`],
    ['DELETE', `${TABLES}/orders?purgeRequested=true`],
    ['POST', `${TABLES}/orders/metrics`],
    ['POST', `${TABLES}/orders/plan`],
    ['POST', '/namespaces/default/register'],
    ['POST', '/tables/rename'],
    ['POST', '/transactions/commit'],
    ['POST', '/namespaces/default/views'],
    ['DELETE', '/namespaces/default/views/a'],
  ] as const
  for (const [method, path] of writes) {
    const body =
      method === 'POST' ? { body: '{"updates":[{"action":"x"}', headers: { 'content-type': 'application/json' } } : {}
    assertError(await ask(path, { method, ...body }), 406, 'UnsupportedOperationException', /Ketch alone writes/)
  }
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  const credentials = {
    method: 'POST',
    headers: form,
    body: 'grant_type=client_credentials&client_secret=hidden-secret',
  }
  assertError(await ask('/oauth/tokens', credentials), 406, 'UnsupportedOperationException', /catalog\.token/)
  assert.doesNotMatch(log(), /hidden-secret/)
  assert.match(
    log(),
    /refused by the catalog: DELETE \/namespaces\/:namespace\/tables\/:table .* status=406 code=UNSUPPORTED_OPERATION/,
  )
  const other = { method: 'POST', headers: { 'content-type': 'application/json', origin: 'https://evil.example' } }
  assertError(await ask(TABLES, { ...other, body: '{}' }), 403, 'ForbiddenException')
  assert.equal(
    (await tables.source.metadata(tables.source.tables()[0]!.topicId))!.metadataLocation.endsWith(
      `/v${holder.table.version}.metadata.json`,
    ),
    true,
  )
})

test('a path that the catalog does not have is answered 404 in its form', async t => {
  const { ask, url } = await start(t, await catalogTables(t))
  for (const path of ['', '/', '/namespaces/', `${TABLES}/`, `${TABLES}/a/b`, '/Config', '/config/'])
    assertError(await ask(path), 404, 'NotFoundException')
  for (const path of ['/iceberg', '/iceberg/', '/iceberg/config', '/iceberg/v2/config']) {
    const answer = await fetch(url + path, { headers: { accept: 'text/html' } })
    const { error } = (await answer.json()) as { error: { type: string } }
    assert.deepEqual([answer.status, error.type], [404, 'NotFoundException'], path)
  }
  assertError(await ask('/config', { method: 'OPTIONS' }), 405, 'UnsupportedOperationException')
  assertError(await ask(`${TABLES}/orders`), 404, 'NoSuchTableException', /"orders" has no table/)
})

test('there are no views', async t => {
  const { ask } = await start(t, await catalogTables(t))
  const { status, body } = await ask('/namespaces/default/views?pageToken=')
  assert.deepEqual([status, body], [200, { identifiers: [], 'next-page-token': null }])
  assertError(await ask('/namespaces/default/views/orders'), 404, 'NoSuchViewException')
  assertError(await ask('/namespaces/other/views/orders'), 404, 'NoSuchNamespaceException')
})

test('a broker without a remote tier says what to set', async t => {
  const { ask } = await start(t, null)
  for (const path of ['/config', '/namespaces', TABLES, `${TABLES}/orders`])
    assertError(await ask(path), 404, 'NotFoundException', /svc\.storage\.remote\.path is unset/)
  assertError(await ask(TABLES, { method: 'POST' }), 406, 'UnsupportedOperationException')
})

test('an object store that is away is 503, and a damaged table 500, with the reason', async t => {
  const tables = await catalogTables(t)
  await tables.open('orders')
  const { ask, log } = await start(t, tables)
  tables.break(new TierAway('away', 'connect ECONNREFUSED 192.0.2.1:9000'))
  assertError(await ask(`${TABLES}/orders`), 503, 'SlowDownException', /ECONNREFUSED.*\(request [\w-]{16}\)$/)
  assert.equal((await ask(`${TABLES}/orders`, { method: 'HEAD' })).status, 503)
  tables.break(new TierAway('damaged', 'v3.metadata.json cannot be read as JSON'))
  assertError(await ask(`${TABLES}/orders`), 500, 'InternalServerError', /"orders" cannot be read: v3\.metadata\.json/)
  // The list needs no object store.
  assert.equal((await ask(TABLES)).body.identifiers.length, 1)
  tables.break(null)
  assert.equal((await ask(`${TABLES}/orders`)).status, 200)
  assert.doesNotMatch(log(), / ERROR /)
})

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const basic = (text: string) => ({ authorization: `Basic ${Buffer.from(text).toString('base64')}` })

test('the token and the users of the console are let in on every route, and no other caller', async t => {
  const tables = await catalogTables(t)
  await tables.open('orders')
  const { ask, url, log } = await start(t, tables, { ...roleSettings, 'storage.remote.catalog.token': TOKEN })
  const roles = await signInRoles(url)
  const cookie = await roles.signIn('ADMIN')
  const good = [
    bearer(TOKEN),
    { authorization: `bearer   ${TOKEN} ` },
    ...(['ADMIN', 'VIEWER'] as const).map(role => basic(roles.basic(role).join(':'))),
  ]
  const bad: Readonly<Record<string, string>>[] = [
    {},
    cookie,
    bearer(''),
    { authorization: TOKEN },
    basic(`x:${TOKEN}`),
  ]
  const closed = catalogRoutes.filter(({ needs }) => needs !== 'anybody')
  assert.deepEqual([...new Set(closed.map(({ needs }) => needs))], ['basic-viewer'])
  for (const { method, path } of closed) {
    const asked = path.slice('/iceberg/v1'.length).replace(':namespace', 'default').replaceAll(/:\w+/g, 'orders')
    for (const headers of good) {
      const { status } = await ask(asked, { method, headers })
      assert.ok(![401, 403].includes(status), `${method} ${asked} ${JSON.stringify(headers)}: ${status}`)
    }
    assertError(await ask(asked, { method }), 401, 'NotAuthorizedException')
  }
  for (const headers of bad) {
    const answer = await ask(`${TABLES}/orders`, { headers })
    assertError(answer, 401, 'NotAuthorizedException')
    assert.match(answer.headers.get('www-authenticate')!, /Basic realm="ketch"/)
  }
  // The token opens nothing else.
  assert.equal((await fetch(`${url}/api/v1/topics`, { headers: bearer(TOKEN) })).status, 401)
  assert.equal((await fetch(`${url}/actuator/info`, { headers: bearer(TOKEN) })).status, 401)
  assert.ok(!log().includes(TOKEN))
})

test('wrong tokens are throttled like wrong passwords, and the right one with them', async t => {
  const { ask, log } = await start(t, await catalogTables(t), {
    ...roleSettings,
    'storage.remote.catalog.token': TOKEN,
    'admin.login-throttle.max-failures': 3,
  })
  assert.equal((await ask('/config', { headers: bearer(TOKEN) })).status, 200)
  for (let tries = 0; tries < 3; tries++)
    assertError(
      await ask('/config', { headers: bearer(`${TOKEN}${tries}`) }),
      401,
      'NotAuthorizedException',
      /is wrong/,
    )
  const locked = await ask('/config', { headers: bearer(TOKEN) })
  assertError(locked, 429, 'TooManyRequestsException', /Too many attempts failed/)
  assert.ok(Number(locked.headers.get('retry-after')) > 0)
  await eventually('a line', () => /a token was refused .*token="?token:storage\.remote\.catalog\.token/.test(log()))
})

test('wrong passwords are throttled at the catalog too', async t => {
  const { ask } = await start(t, await catalogTables(t), { ...roleSettings, 'admin.login-throttle.max-failures': 3 })
  for (let tries = 0; tries < 3; tries++)
    assertError(await ask('/config', { headers: basic(`admin:wrong ${tries}`) }), 401, 'NotAuthorizedException')
  const locked = await ask('/config', { headers: basic('admin:wrong') })
  assertError(locked, 429, 'TooManyRequestsException', /Too many attempts failed/)
  assert.ok(Number(locked.headers.get('retry-after')) > 0)
})

test('without a token in the settings no bearer token is right, and none counts as a failure', async t => {
  const { ask } = await start(t, await catalogTables(t), { ...roleSettings, 'admin.login-throttle.max-failures': 3 })
  for (const token of ['', 'null', 'undefined', TOKEN, `${TOKEN}?`])
    assertError(await ask('/config', { headers: bearer(token) }), 401, 'NotAuthorizedException', /is not set/)
})
