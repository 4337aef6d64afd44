import assert from 'node:assert/strict'
import { test } from 'node:test'
import { adminClient, signInAt } from '../../../testing/admin-client.ts'
import { atLength } from '../../../testing/at-length.ts'
import { type CleanUp, startBroker } from '../../../testing/broker.ts'
import { eventually } from '../../../testing/eventually.ts'
import { sendRaw } from '../../../testing/http.ts'
import { sessionToken } from '../../../testing/session-token.ts'
import { createMemoryStore } from '../../../testing/sim/memory-store.ts'
import { systemClock } from '../../base/clock.ts'
import type { HttpOverrides } from '../../broker.ts'
import type { Values } from '../../settings/settings.ts'

const PASSWORD = 'correct horse'
const SECRET = 'the secret of every broker of this test'

async function startSecured(t: CleanUp, overrides: Partial<Values> = {}, http: HttpOverrides = {}, isShared = false) {
  const store = createMemoryStore(systemClock)
  const broker = await startBroker(
    t,
    { 'admin.password': PASSWORD, 'admin.jwt.secret': SECRET, ...overrides },
    { http, isShared, openStore: async () => store },
  )
  return { ...broker, store, visitor: adminClient(broker.url) }
}

test('the session is in a cookie that no script and no other site can read, and the logout ends it', async t => {
  const { url, visitor } = await startSecured(t)
  const signIn = () => visitor.ask('POST', '/api/v1/auth/login', { username: 'admin', password: PASSWORD })
  const second = () => Math.floor(systemClock.now() / 1000)
  let [begun, answer] = [second(), await signIn()]
  // The remaining time of a session is in whole seconds: one less if a second went by meanwhile.
  while (second() !== begun) [begun, answer] = [second(), await signIn()]
  assert.equal(answer.status, 200)
  const { expiresAt, ...body } = answer.body
  assert.deepEqual(body, { user: 'admin', role: 'ADMIN', passwordChangeRequired: false, federated: false })
  assert.ok(Math.abs(Date.parse(String(expiresAt)) - systemClock.now() - 8 * 3_600_000) < 60_000)
  const [pair, ...attributes] = answer.headers.get('set-cookie')!.split('; ')
  assert.match(pair!, /^svc-admin-session=[\w-]+\.[\w-]+\.[\w-]+$/)
  assert.deepEqual(attributes, ['Path=/', 'Max-Age=28800', 'HttpOnly', 'SameSite=Lax'])

  const admin = adminClient(url, pair)
  assert.equal((await admin.ask('GET', '/api/v1/brokers')).status, 200)
  const out = await admin.ask('POST', '/api/v1/auth/logout')
  assert.equal(out.status, 204)
  assert.equal(out.headers.get('set-cookie'), 'svc-admin-session=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax')
  assert.deepEqual(
    await Promise.all(
      ['GET /api/v1/brokers', 'POST /api/v1/auth/logout'].map(async each => {
        const [method, path] = each.split(' ')
        return (await admin.ask(method!, path!)).code
      }),
    ),
    ['UNAUTHENTICATED', 'UNAUTHENTICATED'],
  )
})

test('the answer is the same for every defect of the cookie', async t => {
  const { url } = await startSecured(t)
  const { cookie } = await signInAt(url, 'admin', PASSWORD)
  const other = (await signInAt(url, 'admin', PASSWORD)).cookie
  const revoked = await signInAt(url, 'admin', PASSWORD)
  await revoked.ask('POST', '/api/v1/auth/logout')
  const now = systemClock.now() / 1000
  const claims = { sub: 'admin', role: 'ADMIN', sso: true, jti: 'one', iat: now, exp: now + 60 }
  const { jti: _jti, ...withoutJti } = claims
  const named = (token: string) => `svc-admin-session=${token}`
  const signed = (of: Record<string, unknown>, options = {}) => named(sessionToken(of, { secret: SECRET, ...options }))
  const brokersFor = (each: string) => adminClient(url, each).ask('GET', '/api/v1/brokers')
  for (const [what, each] of Object.entries({
    none: '',
    'of another secret': signed(claims, { secret: `${SECRET}!` }),
    expired: signed({ ...claims, exp: now - 1 }),
    'without jti': signed(withoutJti),
    revoked: revoked.cookie,
    'alg none': signed(claims, { alg: 'none' }),
    'of 64 KB': named('x'.repeat(64 * 1024)),
    'of 64 KB, signed': signed({ ...claims, more: 'x'.repeat(48 * 1024 - 300) }),
    'two of the name': `${cookie}; ${other}`,
    'twice the same': `${cookie}; ${cookie}`,
    changed: `${cookie}x`,
    empty: named(''),
  })) {
    const { status, body, headers } = await brokersFor(each)
    const { requestId, ...rest } = body
    assert.ok(requestId, what)
    const expected = {
      type: 'about:blank',
      title: 'The caller is not signed in.',
      status: 401,
      detail: 'A session is required.',
      code: 'UNAUTHENTICATED',
    }
    assert.deepEqual([status, headers.get('www-authenticate'), rest], [401, null, expected], what)
  }
  for (const [what, each] of Object.entries({
    'among others': `a=b; ${cookie}; c="d"`,
    'among 64 KB of others': `a=${'x'.repeat(64 * 1024)}; ${cookie}`,
    'signed as the others are that are refused': signed(claims),
  }))
    assert.equal((await brokersFor(each)).status, 200, what)
})

test('without a session the status shows the ways to sign in, and with a session the user', async t => {
  const { url, visitor } = await startSecured(t)
  const sso = { enabled: false, label: null, href: null }
  const status = await visitor.ask('GET', '/api/v1/auth/status')
  assert.deepEqual(status.body, { securityEnabled: true, setupRequired: false, sso })
  const signedIn = (await (await signInAt(url, 'admin', PASSWORD)).ask('GET', '/api/v1/auth/status')).body
  assert.deepEqual(
    { ...signedIn, expiresAt: '' },
    {
      securityEnabled: true,
      setupRequired: false,
      sso,
      user: 'admin',
      role: 'ADMIN',
      expiresAt: '',
      passwordChangeRequired: false,
      federated: false,
    },
  )
  assert.deepEqual((await adminClient(url, 'svc-admin-session=x').ask('GET', '/api/v1/auth/status')).body, status.body)
})

test('without security every route is open without a sign-in, and the status reports that', async t => {
  const { visitor } = await startSecured(t, { 'admin.security-enabled': false })
  const { body } = await visitor.ask('GET', '/api/v1/auth/status')
  assert.deepEqual([body.securityEnabled, body.setupRequired], [false, false])
  assert.equal((await visitor.ask('POST', '/api/v1/auth/logout')).status, 204)
  assert.equal((await visitor.ask('GET', '/api/v1/users')).status, 200)
})

test('every wrong sign-in gets the same answer, the eleventh is locked out, and X-Forwarded-For changes nothing', async t => {
  const { visitor } = await startSecured(t)
  const attempt = (username: string, password: string, headers = {}) =>
    visitor.ask('POST', '/api/v1/auth/login', { username, password }, headers)
  const unknown = await attempt('stranger', PASSWORD)
  for (let at = 0; at < 10; at++) {
    const { status, body } = await attempt('admin', `wrong ${at}`, { 'x-forwarded-for': `203.0.113.${at}` })
    assert.equal(status, 401)
    assert.deepEqual({ ...body, requestId: '' }, { ...unknown.body, requestId: '' })
  }
  const refused = await attempt('admin', PASSWORD, { 'x-forwarded-for': '203.0.113.77' })
  assert.deepEqual([refused.status, refused.code], [429, 'TOO_MANY_REQUESTS'])
  assert.match(refused.headers.get('retry-after')!, /^(30|29)$/)
  assert.equal(refused.headers.get('set-cookie'), null)
})

test('a body without credentials is refused as such, and a body of a megabyte is too large', async t => {
  const { visitor } = await startSecured(t)
  for (const body of [
    {},
    { username: 'admin' },
    { username: 1, password: 'x' },
    { username: 'a', password: null },
    [],
    'x',
  ])
    assert.equal((await visitor.ask('POST', '/api/v1/auth/login', body)).code, 'INVALID_REQUEST')
  const huge = await visitor.ask('POST', '/api/v1/auth/login', { username: 'admin', password: 'x'.repeat(1024 * 1024) })
  assert.equal(huge.status, 413)
})

test('fifty setups at once make one admin, who is signed in; afterwards the setup is closed', async t => {
  const { url, visitor } = await startSecured(t, { 'admin.bootstrap': false })
  assert.equal((await visitor.ask('GET', '/api/v1/auth/status')).body.setupRequired, true)
  const bad = await visitor.ask('POST', '/api/v1/auth/setup', { username: 'a:b', password: PASSWORD })
  assert.deepEqual(bad.body.fields, { username: "holds ':', which names of users do not have" })
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, at) =>
      visitor.ask('POST', '/api/v1/auth/setup', { username: `admin${at}`, password: PASSWORD }),
    ),
  )
  const made = answers.filter(({ status }) => status === 201)
  assert.equal(made.length, 1)
  assert.equal(answers.filter(({ code }) => code === 'SETUP_CLOSED').length, 49)
  const admin = adminClient(url, made[0]!.headers.get('set-cookie')!.split(';')[0])
  const { body } = await admin.ask('GET', '/api/v1/users')
  assert.deepEqual(
    (body.users as { username: string }[]).map(({ username }) => username),
    [made[0]!.body.user],
  )
  assert.equal((await visitor.ask('GET', '/api/v1/auth/status')).body.setupRequired, false)
})

test('setup is not found while it is switched off, and unavailable while the store is down', async t => {
  const off = await startSecured(t, { 'admin.bootstrap': false, 'admin.first-run-setup-enabled': false })
  const body = { username: 'ada', password: PASSWORD }
  assert.equal((await off.visitor.ask('POST', '/api/v1/auth/setup', body)).status, 404)
  assert.equal((await off.visitor.ask('GET', '/api/v1/auth/status')).body.setupRequired, false)
  const { visitor, store } = await startSecured(t, { 'admin.bootstrap': false })
  store.faults.failNext('commit', 'unavailable')
  const answer = await visitor.ask('POST', '/api/v1/auth/setup', body)
  assert.deepEqual([answer.status, answer.code], [503, 'STORE_UNAVAILABLE'])
})

test('while the store is down a session is refused, and a logout is not confirmed', async t => {
  const { url, store } = await startSecured(t)
  const admin = await signInAt(url, 'admin', PASSWORD)
  store.faults.failNext('commit', 'unavailable')
  assert.equal((await admin.ask('POST', '/api/v1/auth/logout')).code, 'STORE_UNAVAILABLE')
  assert.equal((await admin.ask('GET', '/api/v1/brokers')).status, 200)
  // On a shared store each check of a caller asks the store.
  const shared = await startSecured(t, {}, {}, true)
  const somebody = await signInAt(shared.url, 'admin', PASSWORD)
  shared.store.faults.failNext('version', 'unavailable')
  const refused = await somebody.ask('GET', '/api/v1/brokers')
  assert.deepEqual([refused.status, refused.code], [503, 'STORE_UNAVAILABLE'])
  assert.equal((await somebody.ask('GET', '/api/v1/brokers')).status, 200)
})

test('with the default password another machine may only change it, and this machine may do everything', async t => {
  const { url, log } = await startSecured(t, { 'admin.password': 'change-me-now' })
  const admin = await signInAt(url, 'admin', 'change-me-now')
  assert.match(log(), /signed in with the default password/)
  assert.equal((await admin.ask('GET', '/api/v1/auth/status')).body.passwordChangeRequired, true)
  assert.equal((await admin.ask('GET', '/api/v1/users')).status, 200)

  // A request that a proxy on this machine passes on does not come from this machine.
  const far = { 'x-forwarded-for': '203.0.113.9' }
  for (const [method, path, body] of [
    ['GET', '/api/v1/brokers'],
    ['GET', '/api/v1/users'],
    ['GET', '/api/v1/users/admin'],
    ['POST', '/api/v1/users', { username: 'eve', password: PASSWORD }],
    ['PUT', '/api/v1/users/eve', { password: PASSWORD }],
    ['PUT', '/api/v1/users/admin', { role: 'VIEWER' }],
    ['PUT', '/api/v1/users/admin', { role: 'VIEWER', password: PASSWORD, currentPassword: 'change-me-now' }],
    ['DELETE', '/api/v1/users/admin'],
  ] as const) {
    const { status, code } = await admin.ask(method, path, body, far)
    assert.deepEqual([status, code], [403, 'PASSWORD_CHANGE_REQUIRED'], `${method} ${path}`)
  }
  const passedOn: readonly Record<string, string>[] = [
    { forwarded: 'for=203.0.113.9' },
    { via: '1.1 proxy' },
    { 'x-forwarded-host': 'console.example' },
    { 'x-forwarded-proto': 'https' },
    { 'x-real-ip': '203.0.113.9' },
    { 'cf-connecting-ip': '203.0.113.9' },
  ]
  for (const headers of passedOn) {
    const { code } = await admin.ask('GET', '/api/v1/users', undefined, headers)
    assert.equal(code, 'PASSWORD_CHANGE_REQUIRED', JSON.stringify(headers))
  }
  const asked = (host: string) =>
    sendRaw(url, `GET /api/v1/users HTTP/1.1\r\nHost: ${host}\r\nCookie: ${admin.cookie}\r\nConnection: close\r\n\r\n`)
  // This is a page whose name was made to resolve to this machine (DNS rebinding).
  for (const host of ['console.example', '127.0.0.1.example:8080', 'localhost.example'])
    assert.match((await asked(host)).body, /PASSWORD_CHANGE_REQUIRED/, host)
  for (const host of ['localhost', 'LOCALHOST:8080', '127.0.0.2:80', '[::1]', '[::1]:8080'])
    assert.equal((await asked(host)).status, 200, host)
  const status = (await admin.ask('GET', '/api/v1/auth/status', undefined, far)).body
  assert.deepEqual([status.user, status.passwordChangeRequired], ['admin', true])
  const change = { password: PASSWORD, currentPassword: 'change-me-now' }
  assert.equal(
    (await admin.ask('PUT', '/api/v1/users/admin', { ...change, password: 'change-me-now' }, far)).status,
    400,
  )
  assert.equal((await admin.ask('PUT', '/api/v1/users/admin', change, far)).status, 200)
  assert.equal((await admin.ask('GET', '/api/v1/brokers')).code, 'UNAUTHENTICATED')
  const again = await signInAt(url, 'admin', PASSWORD)
  assert.equal((await again.ask('GET', '/api/v1/brokers', undefined, far)).status, 200)
})

test('a user who must change the password can sign out', async t => {
  const { url } = await startSecured(t, { 'admin.password': 'change-me-now' })
  const admin = await signInAt(url, 'admin', 'change-me-now')
  assert.equal(
    (await admin.ask('POST', '/api/v1/auth/logout', undefined, { forwarded: 'for=203.0.113.9' })).status,
    204,
  )
})

test('the admin API ignores HTTP Basic', async t => {
  const { visitor } = await startSecured(t)
  const authorization = `Basic ${Buffer.from(`admin:${PASSWORD}`).toString('base64')}`
  const answer = await visitor.ask('GET', '/api/v1/brokers', undefined, { authorization })
  assert.deepEqual([answer.status, answer.headers.get('www-authenticate')], [401, null])
})

test('only a configured proxy may name the address and the scheme of the client', async t => {
  const proxied = {
    'x-forwarded-for': '203.0.113.9',
    'x-forwarded-proto': 'https',
    'x-forwarded-host': 'console.example',
  }
  const origin = { origin: 'https://console.example' }
  const credentials = { username: 'admin', password: PASSWORD }
  const behind = await startSecured(t, {
    'admin.trusted-proxies': ['10.0.0.0/8', '127.0.0.1'],
    'admin.login-throttle.max-failures': 1,
  })
  const signedIn = await behind.visitor.ask('POST', '/api/v1/auth/login', credentials, { ...proxied, ...origin })
  assert.equal(signedIn.status, 200)
  assert.match(signedIn.headers.get('set-cookie')!, /; SameSite=Lax; Secure$/)
  const wrong = { ...credentials, password: 'wrong' }
  assert.equal((await behind.visitor.ask('POST', '/api/v1/auth/login', wrong, proxied)).status, 401)
  assert.equal((await behind.visitor.ask('POST', '/api/v1/auth/login', credentials, proxied)).status, 429)
  // The broker ignores an address that the client itself puts before the proxy's.
  const forged = { ...proxied, 'x-forwarded-for': '198.51.100.1, 203.0.113.9' }
  assert.equal((await behind.visitor.ask('POST', '/api/v1/auth/login', credentials, forged)).status, 429)
  const withPort = { ...proxied, 'x-forwarded-for': '203.0.113.9:40001' }
  assert.equal((await behind.visitor.ask('POST', '/api/v1/auth/login', credentials, withPort)).status, 429)
  for (const [at, address] of ['2001:db8::1', '[2001:db8::1]', '[2001:db8::1]:443'].entries()) {
    const { status } = await behind.visitor.ask('POST', '/api/v1/auth/login', wrong, { 'x-forwarded-for': address })
    assert.equal(status, at === 0 ? 401 : 429, address)
  }
  assert.match(behind.log(), / from=2001:db8::1 status=429 /)
  assert.doesNotMatch(behind.log(), /40001|:443/)
  const another = { ...proxied, 'x-forwarded-for': '203.0.113.10' }
  assert.equal((await behind.visitor.ask('POST', '/api/v1/auth/login', credentials, another)).status, 200)

  const alone = await startSecured(t, { 'admin.trusted-proxies': ['10.0.0.0/8'] })
  const refused = await alone.visitor.ask('POST', '/api/v1/auth/login', credentials, { ...proxied, ...origin })
  assert.equal(refused.code, 'CROSS_SITE')
  const plain = await alone.visitor.ask('POST', '/api/v1/auth/login', credentials, proxied)
  assert.match(plain.headers.get('set-cookie')!, /; SameSite=Lax$/)
})

test('of a thousand sign-ins at once under as many names, a few are checked and the others are told to try again', async t => {
  const { visitor } = await startSecured(t, {}, { hashParameters: { memoryKiB: 512, passes: 1, lanes: 1 } })
  const answers = await Promise.all(
    Array.from({ length: 1_000 }, (_, at) =>
      visitor.ask('POST', '/api/v1/auth/login', { username: `name ${at}`, password: 'wrong horse' }),
    ),
  )
  const kinds = answers.map(({ status, code, headers }) => [status, code, headers.get('retry-after')].join())
  assert.deepEqual([...new Set(kinds)].sort(), ['401,INVALID_CREDENTIALS,', '503,BUSY,1'])
  assert.equal((await visitor.ask('POST', '/api/v1/auth/login', { username: 'admin', password: PASSWORD })).status, 200)
})

test('the broker computes no hash for a client that has left, neither at the login nor for HTTP Basic', async t => {
  const { url, store, visitor } = await startSecured(t)
  const wrong = { username: 'admin', password: 'wrong horse' }
  const authorization = `Basic ${Buffer.from('admin:wrong horse').toString('base64')}`
  for (const [path, init] of [
    [
      '/api/v1/auth/login',
      { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(wrong) },
    ],
    ['/actuator/info', { headers: { authorization } }],
  ] as const) {
    const letGo = store.faults.hold('load')
    const before = store.calls.load
    const leaving = new AbortController()
    const left = assert.rejects(fetch(url + path, { ...init, signal: leaving.signal }), { name: 'AbortError' })
    await eventually('the attempt waits for the store', () => store.calls.load > before)
    leaving.abort()
    await left
    // Here the broker has seen the connection close.
    for (let at = 0; at < 3; at++) await visitor.ask('GET', '/api/v1/auth/status')
    letGo()
    // Attempts for one name from one address run one after the other: when this one has begun, the other has ended.
    await signInAt(url, 'admin', PASSWORD)
    assert.deepEqual(await store.list('sign-in-failures'), [], path)
  }
})

test('how long the answer takes does not tell whether the user exists, in hundreds of tries', {
  timeout: 180_000,
}, async t => {
  // Parameters small enough for that many tries, and large enough that an answer without a hash would come a third
  // sooner.
  const hashParameters = { memoryKiB: 512, passes: 1, lanes: 1 }
  const { visitor } = await startSecured(t, { 'admin.login-throttle.max-failures': 10_000 }, { hashParameters })
  const attempt = async (username: string) => {
    const startedAt = systemClock.monotonic()
    const { status } = await visitor.ask('POST', '/api/v1/auth/login', { username, password: 'wrong horse' })
    assert.equal(status, 401)
    return systemClock.monotonic() - startedAt
  }
  const known: number[] = []
  const unknown: number[] = []
  // Run both kinds side by side, so that other work of this machine delays both; in turns, so that neither always
  // comes first.
  for (let at = 0; at < atLength(500, 150); at++) {
    known.push(await attempt('admin'))
    unknown.push(await attempt('nobdy'))
    unknown.push(await attempt('nobdy'))
    known.push(await attempt('admin'))
  }
  const median = (times: number[]) => times.sort((one, other) => one - other)[times.length / 2]!
  const ratio = median(unknown) / median(known)
  assert.ok(ratio > 0.85 && ratio < 1.15, `an unknown user takes ${ratio.toFixed(3)} of the time of a known one`)
})
