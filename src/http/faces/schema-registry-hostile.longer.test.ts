// Tests what hostile callers of the schema registry get: bad headers, guessed passwords, pages of other sites, floods
// of restarting clients, and callers whose rights have just ended.

import assert from 'node:assert/strict'
import { createHook } from 'node:async_hooks'
import { test } from 'node:test'
import { atLength } from '../../../testing/at-length.ts'
import { sendRaw } from '../../../testing/http.ts'
import { noRedis, startRedis } from '../../../testing/redis.ts'
import { askRegistry, basic, CALLERS, makeCallers } from '../../../testing/registry-face.ts'
import {
  ACLS,
  BASIC,
  ELSEWHERE,
  RIGHTS,
  requests,
  SCHEMA,
  startRegistry,
} from '../../../testing/registry-face-world.ts'
import { createMemoryStore } from '../../../testing/sim/memory-store.ts'
import { systemClock } from '../../base/clock.ts'
import { testSettings } from '../../settings/settings.ts'

test('a user with the shipped password reads nothing from another machine', async t => {
  const shipped = testSettings().get('admin.password')
  const { ask } = await startRegistry(t, { ...BASIC, 'admin.password': shipped })
  const as = ['admin', shipped] as const
  const { status, body } = await ask('/subjects', { as, headers: ELSEWHERE })
  assert.deepEqual(
    [status, body.error_code, body.message],
    [403, 40301, 'The password must be changed before anything else.'],
  )
  assert.equal((await ask('/subjects', { as })).status, 200)
})

test('a page of another site may neither change nor read, even where no password is asked', async t => {
  const { ask, below } = await startRegistry(t, { 'schema-registry.authentication': 'none' })
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
  assert.equal((await ask('/subjects/a/versions', { method: 'POST', body: SCHEMA, headers: own })).status, 200)
})

test('a name that was made to resolve to this machine makes no change without a password', async t => {
  for (const settings of [{}, { 'schema-registry.authentication': 'none' }] as const) {
    const { below, alone } = await startRegistry(t, settings)
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

/** Posts a schema with these headers. Resolves with the status. */
async function rawPost(url: string, path: string, headers: Readonly<Record<string, string>>): Promise<number> {
  const body = JSON.stringify(SCHEMA)
  const lines = Object.entries({ ...headers, 'Content-Length': body.length, Connection: 'close' })
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  return (await sendRaw(url, `POST ${path} HTTP/1.1\r\n${head}\r\n${body}`)).status
}

test('every defect of the Authorization header is 401 with a challenge, and none costs a right client its access', async t => {
  const { ask, url } = await startRegistry(t, { ...BASIC })
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
  const { ask, url, log } = await startRegistry(t, { ...BASIC, 'admin.login-throttle.max-failures': 3 })
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
  const { below, url } = await startRegistry(t, ACLS)
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
  const { ask, url } = await startRegistry(t, ACLS)
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
    const one = await startRegistry(t, { ...ACLS, ...more, 'broker.id': 0 })
    const other = await startRegistry(t, { ...ACLS, ...more, 'broker.id': 1 })
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
  const { ask, url } = await startRegistry(t, BASIC, { openStore: async () => store, isShared: true })
  await makeCallers(url)
  for (const as of [CALLERS.ADMIN, CALLERS.client]) assert.equal((await ask('/subjects', { as })).status, 200)
  for (const as of [CALLERS.ADMIN, CALLERS.client, ['ghost', 'x'] as const]) {
    store.faults.failNext('load', 'unavailable', 1)
    const { status, body } = await ask('/subjects', { as })
    assert.deepEqual([status, body.error_code], [503, 50001], as[0])
  }
})
