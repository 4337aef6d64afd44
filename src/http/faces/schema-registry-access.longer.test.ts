// Tests who may do what in the schema registry: every kind of caller, in every way in which the registry asks for a
// password, and what hostile callers get. The expected matrix is written here once more, from the words.

import assert from 'node:assert/strict'
import { createHook } from 'node:async_hooks'
import { type TestContext, test } from 'node:test'
import { atLength } from '../../../testing/at-length.ts'
import { startBroker, type TestBroker } from '../../../testing/broker.ts'
import { eventually } from '../../../testing/eventually.ts'
import { freePort } from '../../../testing/free-port.ts'
import { sendRaw } from '../../../testing/http.ts'
import { ADMIN_PASSWORD } from '../../../testing/http-roles.ts'
import { noRedis, startRedis } from '../../../testing/redis.ts'
import {
  askRegistry,
  basic,
  CALLERS,
  type CallerName,
  echoRoutes,
  makeCallers,
  type RegistryAsk,
  SUBJECTS,
} from '../../../testing/registry-face.ts'
import { createMemoryStore } from '../../../testing/sim/memory-store.ts'
import { systemClock } from '../../base/clock.ts'
import type { Values } from '../../settings/settings.ts'
import type { RegistryRight } from '../route.ts'

const QUICK = { memoryKiB: 512, passes: 1, lanes: 1 }
const SASL: Partial<Values> = { 'broker.sasl.enabled': true }
const ACLS: Partial<Values> = { ...SASL, 'broker.acl.enabled': true, 'broker.acl.super-users': ['root'] }
const BASIC: Partial<Values> = { 'schema-registry.authentication': 'basic' }

async function start(t: TestContext, settings: Partial<Values> = {}, more: Partial<Values> = {}) {
  const broker = await startBroker(
    t,
    { 'admin.password': ADMIN_PASSWORD, 'schema-registry.port': 0, ...settings, ...more },
    { http: { registryRoutes: echoRoutes, hashParameters: QUICK } },
  )
  return withUrls(broker)
}

function withUrls(broker: TestBroker) {
  const below = `${broker.url}/schema-registry`
  const alone = `http://127.0.0.1:${broker.broker.registryPort}`
  const ask = (path: string, asked?: RegistryAsk) => askRegistry(below, path, asked)
  return { ...broker, below, alone, ask }
}

/** A request that has come through a proxy is not from this machine. */
const ELSEWHERE = { 'x-forwarded-for': '203.0.113.1' }

const schema = { schema: 's' }

/** One request for each right, with a subject. */
const requests: Readonly<Record<RegistryRight, (subject: string) => readonly [path: string, RegistryAsk]>> = {
  read: subject => [`/subjects/${subject}/versions`, {}],
  lookup: subject => [`/subjects/${subject}`, { method: 'POST', body: schema }],
  register: subject => [`/subjects/${subject}/versions`, { method: 'POST', body: schema }],
  administer: subject => [`/subjects/${subject}`, { method: 'DELETE' }],
}
const RIGHTS = Object.keys(requests) as readonly RegistryRight[]

/** Asks as the caller for every right on every subject. Resolves with the subjects of each answer, by right. */
async function rowOf(
  url: string,
  as: CallerName,
  headers = {},
): Promise<Record<RegistryRight, Record<string, number>>> {
  const row = {} as Record<RegistryRight, Record<string, number>>
  for (const right of RIGHTS) {
    row[right] = {}
    for (const subject of SUBJECTS) {
      const [path, asked] = requests[right](subject)
      const { status, body, headers: said } = await askRegistry(url, path, { ...asked, headers, as: CALLERS[as] })
      if (status !== 200) assert.equal(body.error_code, status === 403 ? 40301 : status)
      assert.equal(said.has('www-authenticate'), status === 401)
      row[right][subject] = status
    }
  }
  return row
}

function all(status: number): Readonly<Record<string, number>> {
  return Object.fromEntries(SUBJECTS.map(subject => [subject, status]))
}

/** Returns 200 for these subjects, 403 for the others. */
function only(...subjects: readonly string[]): Readonly<Record<string, number>> {
  return { ...all(403), ...Object.fromEntries(subjects.map(subject => [subject, 200])) }
}

const NOTHING = { read: all(401), lookup: all(401), register: all(401), administer: all(401) }
const EVERYTHING = { read: all(200), lookup: all(200), register: all(200), administer: all(200) }
const READER = { read: all(200), lookup: all(200), register: all(403), administer: all(403) }
const CLIENT = { read: all(200), lookup: all(200), register: all(200), administer: all(403) }

test('with SASL and ACLs every caller has the rights of its role or of its rules', async t => {
  const { below, alone } = await start(t, ACLS)
  await makeCallers(below.replace('/schema-registry', ''))
  const written = ['orders-key', 'orders-value', 'com.acme.Order']
  const readable = [...written, 'logs-key', 'logs-value']
  const rows: Readonly<Record<CallerName, object>> = {
    unsigned: NOTHING,
    VIEWER: READER,
    ADMIN: EVERYTHING,
    client: { read: only(...readable), lookup: only(...readable), register: only(...written), administer: all(403) },
    stranger: { read: all(403), lookup: all(403), register: all(403), administer: all(403) },
    superUser: CLIENT,
  }
  for (const url of [below, alone])
    for (const caller of Object.keys(rows) as CallerName[])
      assert.deepEqual(await rowOf(url, caller), rows[caller], `${caller} at ${url}`)

  // A list shows what the caller may read, and only that.
  const list = async (as: CallerName) => (await askRegistry(below, '/subjects', { as: CALLERS[as] })).body
  assert.deepEqual(
    await list('client'),
    SUBJECTS.filter(each => readable.includes(each)),
  )
  assert.deepEqual(await list('stranger'), [])
  for (const as of ['VIEWER', 'ADMIN', 'superUser'] as const) assert.deepEqual(await list(as), SUBJECTS)
})

test('a refusal says which rule or role is missing, and names no subject that the caller has not named', async t => {
  const { ask, url } = await start(t, ACLS)
  await makeCallers(url)
  const said = async (path: string, asked: RegistryAsk) => (await ask(path, asked)).body.message
  const as = CALLERS.stranger
  assert.equal(
    await said('/subjects/orders-value/versions', { as }),
    'User:eve needs READ or WRITE on the topic "orders".',
  )
  assert.equal(
    await said('/subjects/com.acme.Order/versions', { method: 'POST', body: schema, as }),
    'User:eve needs WRITE on the topic "com.acme.Order".',
  )
  assert.equal(
    await said('/subjects/orders-value', { method: 'DELETE', as: CALLERS.client }),
    'User:ada is a Kafka client, and this needs an ADMIN of the console.',
  )
  assert.equal(
    await said('/config', { method: 'PUT', body: { compatibility: 'NONE' }, as: CALLERS.VIEWER }),
    'The role of this user is VIEWER; it must be ADMIN.',
  )
  assert.match(await said('/subjects', {}), /^A username and a password are required, by HTTP Basic/)
})

test('without ACLs a client reads and registers every subject, and deletes none', async t => {
  const { below, url } = await start(t, { ...SASL, 'admin.login-throttle.max-failures': 1_000 })
  const admin = await makeCallers(url)
  for (const caller of ['client', 'stranger', 'superUser'] as const)
    assert.deepEqual(await rowOf(below, caller), CLIENT, caller)
  assert.deepEqual(await rowOf(below, 'unsigned'), NOTHING)
  await admin.ask('DELETE', '/api/v1/credentials/eve')
  assert.deepEqual(await rowOf(below, 'stranger'), NOTHING)
})

test('auto: while the Kafka port asks no client, reads are free, and registrations from this machine and on the own port', async t => {
  const { below, alone, url } = await start(t)
  await makeCallers(url)
  const free = { read: all(200), lookup: all(200), register: all(200), administer: all(401) }
  const apart = { ...free, register: all(401) }
  assert.deepEqual(await rowOf(below, 'unsigned'), free)
  assert.deepEqual(await rowOf(alone, 'unsigned'), free)
  assert.deepEqual(await rowOf(alone, 'unsigned', ELSEWHERE), free)
  assert.deepEqual(await rowOf(below, 'unsigned', ELSEWHERE), apart)
  // A name that another machine may have too is not this machine.
  assert.deepEqual(await rowOf(below, 'unsigned', { via: '1.1 proxy' }), apart)

  // A sign-in adds the rights of the user.
  assert.deepEqual(await rowOf(below, 'ADMIN', ELSEWHERE), EVERYTHING)
  assert.deepEqual(await rowOf(below, 'client', ELSEWHERE), CLIENT)
  assert.deepEqual(await rowOf(below, 'VIEWER', ELSEWHERE), READER)
  assert.deepEqual(await rowOf(below, 'VIEWER'), CLIENT)

  const refused = await askRegistry(below, '/subjects/a/versions', { method: 'POST', body: schema, headers: ELSEWHERE })
  assert.match(
    refused.body.message,
    /svc\.schema-registry\.port, because svc\.schema-registry\.authentication is auto \(default\)/,
  )
  assert.equal(refused.headers.get('www-authenticate'), 'Basic realm="ketch", charset="UTF-8"')
})

test('auto: a wrong password is refused where it asks for more, and costs nothing where reads are free', async t => {
  const { ask, url } = await start(t)
  await makeCallers(url)
  const as = ['ada', 'wrong'] as const
  assert.equal((await ask('/subjects', { as })).status, 200)
  assert.equal((await ask('/subjects/a', { method: 'POST', body: schema, as })).status, 200)
  const { status, body } = await ask('/subjects/a/versions', { method: 'POST', body: schema, as })
  assert.deepEqual([status, body.error_code], [401, 401])
})

test('auto asks for a password as soon as one listener has SASL', async t => {
  const inside = { name: 'INSIDE', host: null, port: 0, advertisedHost: null, advertisedPort: null } as const
  const { below } = await start(t, { 'broker.listeners': [{ ...inside, security: 'sasl-plaintext' }] })
  assert.deepEqual(await rowOf(below, 'unsigned'), NOTHING)
})

test('no caller is asked with none, or while admin security is off, whatever the Kafka port asks', async t => {
  for (const settings of [
    { ...ACLS, 'schema-registry.authentication': 'none' },
    { ...ACLS, ...BASIC, 'admin.security-enabled': false },
  ] as const) {
    const { below, alone } = await start(t, settings)
    for (const url of [below, alone]) {
      assert.deepEqual(await rowOf(url, 'unsigned', ELSEWHERE), EVERYTHING)
      // A password is not looked at.
      assert.deepEqual(await rowOf(url, 'client'), EVERYTHING)
      assert.deepEqual((await askRegistry(url, '/subjects')).body, SUBJECTS)
    }
  }
})

test('repeating the level in force needs the right to register, and another level an ADMIN', async t => {
  const { ask, url } = await start(t, ACLS)
  await makeCallers(url)
  const put = async (subject: string, compatibility: string, as: CallerName) =>
    (await ask(`/config/${subject}`, { method: 'PUT', body: { compatibility }, as: CALLERS[as] })).status
  assert.deepEqual(
    [
      await put('orders-value', 'BACKWARD', 'client'),
      await put('orders-value', 'FULL', 'client'),
      await put('logs-value', 'BACKWARD', 'client'),
      await put('orders-value', 'BACKWARD', 'VIEWER'),
      await put('orders-value', 'FULL', 'ADMIN'),
    ],
    [200, 403, 403, 403, 200],
  )
})

test('audit lines name a client with its type, and a refused caller with none', async t => {
  const { ask, url, log } = await start(t, ACLS)
  await makeCallers(url)
  const change = (as: CallerName) =>
    ask('/subjects/orders-value/versions', { method: 'POST', body: schema, as: CALLERS[as] })
  for (const as of ['client', 'ADMIN', 'stranger', 'unsigned'] as const) await change(as)
  const lines = () =>
    log()
      .split('\n')
      .filter(line => line.includes(' svc.audit  echo registration'))
  await eventually('four lines', () => lines().length === 4)
  assert.deepEqual(
    lines().map(line => /who=(\S+) .*status=(\d+) code=(\w+)/.exec(line)!.slice(1)),
    [
      ['User:ada', '200', 'null'],
      ['admin', '200', 'null'],
      ['null', '403', 'FORBIDDEN'],
      ['null', '401', 'UNAUTHENTICATED'],
    ],
  )
})

test('a user with the shipped password reads nothing from another machine', async t => {
  const broker = await startBroker(t, { ...BASIC }, { http: { registryRoutes: echoRoutes, hashParameters: QUICK } })
  const { ask } = withUrls(broker)
  const as = ['admin', 'change-me-now'] as const
  const { status, body } = await ask('/subjects', { as, headers: ELSEWHERE })
  assert.deepEqual(
    [status, body.error_code, body.message],
    [403, 40301, 'The password must be changed before anything else.'],
  )
  assert.equal((await ask('/subjects', { as })).status, 200)
})

test('a page of another site may neither change nor read, even where no password is asked', async t => {
  const { ask, below } = await start(t, { 'schema-registry.authentication': 'none' })
  const foreign = [
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
  ]
  for (const headers of foreign)
    for (const right of RIGHTS) {
      const [path, asked] = requests[right]('orders-value')
      const { status, body } = await ask(path, { ...asked, headers })
      assert.deepEqual([status, body.error_code], [403, 40301], `${right} ${JSON.stringify(headers)}`)
    }
  const link = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }
  // fetch writes a mode of its own.
  const lines = ['GET /schema-registry/subjects HTTP/1.1', 'Host: x', 'Connection: close', 'Sec-Fetch-Site: cross-site']
  const followed = async (mode: string, ...more: readonly string[]) =>
    (await sendRaw(below, [...lines, `Sec-Fetch-Mode: ${mode}`, ...more, '', ''].join('\r\n'))).status
  const script = await followed('navigate', 'Origin: https://evil.example')
  assert.deepEqual([await followed('navigate'), await followed('no-cors'), script], [200, 403, 403])
  const form = { ...link, origin: 'https://evil.example', 'content-type': 'application/octet-stream' }
  assert.equal(
    (await ask('/subjects/a/versions', { method: 'POST', body: '{"schema":"s"}', headers: form })).status,
    403,
  )
  const own = { origin: new URL(below).origin, 'sec-fetch-site': 'same-origin' }
  assert.equal((await ask('/subjects/a/versions', { method: 'POST', body: schema, headers: own })).status, 200)
})

test('a name that was made to resolve to this machine makes no change without a password', async t => {
  for (const settings of [{}, { 'schema-registry.authentication': 'none' }] as const) {
    const { below, alone } = await start(t, settings)
    for (const base of [below, alone]) {
      const { host, pathname } = new URL(`${base}/subjects/a/versions`)
      const status = (headers: Readonly<Record<string, string>>) => rawPost(base, pathname, headers)
      const evil = { Host: 'evil.example:8080', Origin: 'http://evil.example:8080' }
      assert.ok([401, 403].includes(await status(evil)), base)
      // A program has no Origin, and may use any name of the machine. Its address must be this machine's.
      const isNone = 'schema-registry.authentication' in settings
      assert.equal(await status({ Host: 'broker.example:8080' }), isNone || base === alone ? 200 : 401, base)
      assert.equal(await status({ Host: host, Origin: `http://${host}` }), 200, base)
    }
  }
})

test('the log warns of a registry that asks no caller while the Kafka port asks for a sign-in', async t => {
  const none = {
    'schema-registry.authentication': 'none',
    'server.address': null,
    'server.port': await freePort(),
  } as const
  const warning =
    /WARN {2}svc\.http {2}INSECURE: svc\.schema-registry\.authentication is none .*answers on every interface/
  const ports = { 'schema-registry.port': await freePort() }
  assert.match((await start(t, SASL, { ...none, ...ports })).log(), warning)
  for (const more of [{ ...none, 'server.address': '127.0.0.1', 'server.port': 0 }, {}] as const)
    assert.doesNotMatch((await start(t, SASL, more)).log(), /INSECURE: svc\.schema-registry/)
})

/** Posts a schema with these headers. Resolves with the status. */
async function rawPost(url: string, path: string, headers: Readonly<Record<string, string>>): Promise<number> {
  const body = JSON.stringify(schema)
  const lines = Object.entries({ ...headers, 'Content-Length': body.length, Connection: 'close' })
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  return (await sendRaw(url, `POST ${path} HTTP/1.1\r\n${head}\r\n${body}`)).status
}

test('every defect of the Authorization header is 401 with a challenge, and none costs a right client its access', async t => {
  const { ask, url } = await start(t, { ...BASIC })
  await makeCallers(url)
  const code = (bytes: string | Uint8Array) => Buffer.from(bytes).toString('base64')
  const good = basic(CALLERS.client)
  const headers = {
    none: '',
    'a scheme alone': 'Basic',
    'no base64': 'Basic !!!!',
    'base64 of the URL': `Basic ${code('\xff\xfe\xfd:x').replaceAll('+', '-').replaceAll('/', '_')}`,
    'no colon': `Basic ${code('ada')}`,
    'nothing but a colon': `Basic ${code(':')}`,
    'no name': `Basic ${code(':x')}`,
    'a bearer token': `Bearer ${code('ada:x')}`,
    'two credentials': `${good}, ${good}`,
    'a name that is not UTF-8': `Basic ${code(Buffer.from([0xff, 0x3a, 0x78]))}`,
    'a password that is not UTF-8': `Basic ${code(Buffer.from([0x61, 0x64, 0x61, 0x3a, 0xc3, 0x28]))}`,
    'a password in Latin-1': `Basic ${code(Buffer.from('ada:pä', 'latin1'))}`,
    'a NUL in the name': basic(['a\0da', CALLERS.client[1]]),
    'a NUL in the password': basic(['ada', `${CALLERS.client[1]}\0`]),
    'a password of 10 kB': basic(['ada', 'x'.repeat(10_000)]),
    'a name of 10 kB': basic(['x'.repeat(10_000), 'x']),
    'the principal of a group': basic(['group:team', 'x']),
    'a name with a prefix': basic(['User', `ada:${CALLERS.client[1]}`]),
    'a prototype': basic(['__proto__', 'x']),
  }
  for (const [what, authorization] of Object.entries(headers)) {
    const { status, body, headers: said } = await ask('/subjects', { headers: { authorization } })
    assert.deepEqual([status, body.error_code, Object.keys(body)], [401, 401, ['error_code', 'message']], what)
    assert.equal(said.get('www-authenticate'), 'Basic realm="ketch", charset="UTF-8"', what)
    assert.doesNotMatch(body.message, /user not found|invalid password|iterations/i, what)
  }
  assert.equal((await ask('/subjects', { headers: { authorization: good.replace('Basic', 'bAsIc') } })).status, 200)
})

test('wrong passwords lock the name out from its address, and the lockout tells no guesser which password is right', async t => {
  const { ask, url, log } = await start(t, { ...BASIC, 'admin.login-throttle.max-failures': 3 })
  await makeCallers(url)
  const status = async (password: string) => {
    const { status, headers, body } = await ask('/subjects', { as: ['ada', password] })
    if (status === 429) assert.ok(Number(headers.get('retry-after')) > 0 && body.error_code === 429)
    return status
  }
  assert.equal(await status(CALLERS.client[1]), 200)
  for (let i = 0; i < 3; i++) assert.equal(await status(`wrong ${i}`), 401)
  assert.deepEqual([await status(CALLERS.client[1]), await status('wrong')], [429, 429])
  // Other names of the address go on.
  assert.equal((await ask('/subjects', { as: CALLERS.stranger })).status, 200)
  assert.match(log(), /a sign-in failed username=ada from=127\.0\.0\.1/)
  for (const secret of [CALLERS.client[1], 'wrong 0', 'Basic ']) assert.ok(!log().includes(secret), secret)
})

test('a thousand clients that restart with one right password cost a few hashes, and are all let in', async t => {
  const { below, url } = await start(t, ACLS)
  await makeCallers(url)
  let hashes = 0
  const hook = createHook({
    init(_id, type) {
      if (type === 'PBKDF2REQUEST') hashes++
    },
  }).enable()
  t.after(() => hook.disable())
  const as = CALLERS.client
  const count = atLength(1_000, 300)
  for (let from = 0; from < count; from += 100) {
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, at) => {
        const [path, asked] = at % 2 === 0 ? requests.read('orders-value') : requests.register('orders-value')
        return askRegistry(below, path, { ...asked, as })
      }),
    )
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]))
  }
  assert.equal(hashes, 1)
})

test('another password, a deletion and a rule count from the next request on', async t => {
  const { ask, url } = await start(t, ACLS)
  const admin = await makeCallers(url)
  await checkChanges(admin.ask, async as => (await ask('/subjects/orders-value/versions', { as })).status)
})

type AskAdmin = Awaited<ReturnType<typeof makeCallers>>['ask']

async function checkChanges(
  change: AskAdmin,
  status: (as: readonly [string, string]) => Promise<number>,
): Promise<void> {
  const [name, password] = CALLERS.client
  assert.equal(await status([name, password]), 200)
  const changed = await change('PUT', `/api/v1/credentials/${name}`, { password: 'another password' })
  assert.equal(changed.status, 200, JSON.stringify(changed.body))
  assert.deepEqual([await status([name, password]), await status([name, 'another password'])], [401, 200])
  const rule = 'resourceType=TOPIC&resource=orders&operation=WRITE'
  assert.equal((await change('DELETE', `/api/v1/acls/${name}?${rule}`)).status, 204)
  assert.equal(await status([name, 'another password']), 403)
  assert.ok((await change('DELETE', `/api/v1/credentials/${name}`)).status < 300)
  assert.equal(await status([name, 'another password']), 401)
}

if (atLength(true, false)) {
  test('on Redis a change at one broker counts at the next request to another one', { skip: noRedis }, async t => {
    const { uri } = await startRedis(t)
    const more = { 'redis.uri': uri, 'admin.jwt.secret': 'the secret of both brokers of this test' }
    const one = await start(t, ACLS, { ...more, 'broker.id': 0 })
    const other = await start(t, ACLS, { ...more, 'broker.id': 1 })
    const admin = await makeCallers(one.url)
    const ask = (as: readonly [string, string]) => other.ask('/subjects/orders-value/versions', { as })
    await checkChanges(admin.ask, async as => (await ask(as)).status)
    // Failures at one broker lock the name out at the other.
    const max = one.settings.get('admin.login-throttle.max-failures')
    for (let i = 0; i < max; i++) await (i % 2 === 0 ? one : other).ask('/subjects', { as: ['eve', `wrong ${i}`] })
    assert.equal((await ask(CALLERS.stranger)).status, 429)
  })
}

test('while the store is away no password is right and none is wrong', async t => {
  const store = createMemoryStore(systemClock)
  const broker = await startBroker(
    t,
    { ...BASIC, 'admin.password': ADMIN_PASSWORD },
    { http: { registryRoutes: echoRoutes, hashParameters: QUICK }, openStore: async () => store, isShared: true },
  )
  const { ask } = withUrls(broker)
  await makeCallers(broker.url)
  for (const as of [CALLERS.ADMIN, CALLERS.client]) assert.equal((await ask('/subjects', { as })).status, 200)
  for (const as of [CALLERS.ADMIN, CALLERS.client, ['ghost', 'x'] as const]) {
    store.faults.failNext('load', 'unavailable', 1)
    const { status, body } = await ask('/subjects', { as })
    assert.deepEqual([status, body.error_code], [503, 50001], as[0])
  }
})
