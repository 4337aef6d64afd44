import assert from 'node:assert/strict'
import { request as httpRequest } from 'node:http'
import { before, describe, type TestContext, test } from 'node:test'
import { adminClient, signInAt } from '../../../testing/admin-client.ts'
import { startBroker } from '../../../testing/broker.ts'
import { eventually } from '../../../testing/eventually.ts'
import {
  CLIENT,
  type Claims,
  makeKey,
  type ProviderKey,
  startProvider,
  type TestProvider,
} from '../../../testing/identity-provider.ts'
import { SimulatedClock } from '../../../testing/sim/clock.ts'
import { createMemoryStore, type MemoryStore } from '../../../testing/sim/memory-store.ts'
import { systemClock } from '../../base/clock.ts'
import type { Values } from '../../settings/settings.ts'

const SECRET = 'a secret for sessions, of 32 bytes or more'
const ADMIN = { username: 'admin', password: 'correct horse battery' } as const

describe('single sign-on', () => {
  let key: ProviderKey
  before(async () => {
    key = await makeKey()
  })

  function settingsFor(provider: TestProvider): Partial<Values> {
    return {
      'admin.password': ADMIN.password,
      'admin.jwt.secret': SECRET,
      'admin.oauth.enabled': true,
      'admin.oauth.issuer-uri': provider.issuer,
      'admin.oauth.client-id': CLIENT.id,
      'admin.oauth.client-secret': CLIENT.secret,
      'admin.oauth.audience': CLIENT.id,
      'admin.oauth.provider-name': 'Example ID',
      'admin.oauth.roles.admin-group': 'ketch-admins',
      'admin.oauth.roles.viewer-group': 'ketch-viewers',
    }
  }

  async function setUp(t: TestContext, overrides: Partial<Values> = {}) {
    const provider = await startProvider(t, key)
    const clock = new SimulatedClock(Date.now())
    const settings = { ...settingsFor(provider), ...overrides }
    const broker = await startBroker(t, settings, { hasHttp: true, clock })
    const good =
      (changes: Claims = {}) =>
      (nonce: string) =>
        provider.claims(nonce, clock.now(), changes)
    return { provider, broker, clock, good, browser: () => new Browser(broker.url) }
  }

  /** Goes to the provider, signs in there, and comes back. */
  async function signIn(
    browser: Browser,
    provider: TestProvider,
    idToken: (nonce: string) => Claims | Promise<string>,
    returnTo = '/',
  ): Promise<Answer> {
    return await browser.callback(provider.signIn(await browser.begin(returnTo), idToken))
  }

  test('an ADMIN and a VIEWER come back with a session, and with no token of the provider', async t => {
    const { provider, broker, good, browser } = await setUp(t)
    for (const [groups, role] of [
      [['staff', 'ketch-admins'], 'ADMIN'],
      ['ketch-viewers', 'VIEWER'],
    ] as const) {
      const one = browser()
      const answer = await signIn(one, provider, good({ groups }), '/topics?q=a#x')
      assert.deepEqual([answer.status, answer.location, answer.body], [302, '/topics?q=a#x', ''])
      assert.doesNotMatch(answer.cookies.join(), /SECRET-/)
      const status = (await one.get('/api/v1/auth/status')).json()
      assert.deepEqual([status.user, status.role, status.federated], ['ada', role, true])
      assert.deepEqual(status.sso, { enabled: true, label: 'Example ID', href: '/api/v1/auth/oidc/login' })
      assert.equal((await one.get('/api/v1/brokers')).status, 200)
    }
    assert.doesNotMatch(broker.log(), /SECRET-|eyJ/)
    assert.match(broker.log(), /sign in by single sign-on who=ada role=ADMIN/)
  })

  test('the browser is sent with PKCE, state and nonce, and keeps them in a cookie that only the broker can read', async t => {
    const { provider, browser } = await setUp(t, { 'admin.oauth.scopes': 'openid profile groups' })
    const one = browser()
    const answer = await one.get('/api/v1/auth/oidc/login?returnTo=/topics')
    assert.equal(answer.status, 302)
    const url = new URL(answer.location)
    assert.equal(url.origin + url.pathname, `${provider.issuer}/authorize`)
    const query = Object.fromEntries(url.searchParams)
    for (const secret of ['state', 'nonce', 'code_challenge']) assert.match(query[secret]!, /^[\w-]{43}$/, secret)
    assert.equal(new Set([query.state, query.nonce, query.code_challenge]).size, 3)
    assert.deepEqual(
      { ...query, state: '', nonce: '', code_challenge: '' },
      {
        client_id: CLIENT.id,
        response_type: 'code',
        redirect_uri: `${one.origin}/api/v1/auth/oidc/callback`,
        scope: 'openid profile groups',
        code_challenge_method: 'S256',
        ...{ state: '', nonce: '', code_challenge: '' },
      },
    )
    assert.match(
      answer.cookies.join(),
      /^svc-admin-sso=[\w-]+; Path=\/api\/v1\/auth\/oidc; HttpOnly; SameSite=Lax; Max-Age=600$/,
    )
    const again = new URL(await browser().begin('/')).searchParams
    for (const secret of ['state', 'nonce', 'code_challenge']) assert.notEqual(again.get(secret), query[secret])
  })

  test('a user in neither group is sent to the login page', async t => {
    const { provider, good, browser } = await setUp(t)
    for (const groups of [['staff'], [], undefined]) {
      const one = browser()
      refused(await signIn(one, provider, good({ groups })), 'sso-no-role')
      assert.equal((await one.get('/api/v1/brokers')).status, 401)
    }
  })

  test('an answer that does not belong to this browser’s login is refused with a fixed word', async t => {
    const { provider, good, browser } = await setUp(t)
    const cases: readonly [string, string, (query: URLSearchParams, theirs: URLSearchParams) => void][] = [
      ['without a code', 'sso-invalid', query => query.delete('code')],
      ['with two codes', 'sso-invalid', query => query.append('code', 'x')],
      ['with a made-up code', 'sso-expired', query => query.set('code', 'made-up')],
      ['with the code of another browser', 'sso-expired', (query, theirs) => query.set('code', theirs.get('code')!)],
      ['with the issuer of another provider', 'sso-invalid', query => query.set('iss', 'https://evil.example')],
      ['without the issuer that the provider announces', 'sso-invalid', query => query.delete('iss')],
      ['with tokens in the address', 'sso-invalid', query => query.set('id_token', 'eyJ.eyJ.x')],
      ['with an error', 'sso-refused', query => query.set('error', 'access_denied')],
      ['with an error in HTML', 'sso-refused', query => query.set('error', '<script>alert(1)</script>')],
    ]
    for (const [what, word, change] of cases) {
      const one = browser()
      const other = browser()
      const query = provider.signIn(await one.begin('/'), good())
      const theirs = provider.signIn(await other.begin('/'), good())
      change(query, theirs)
      refused(await one.callback(query), word, what)
      assert.equal((await one.get('/api/v1/brokers')).status, 401, what)
      assert.equal((await other.callback(theirs)).location, '/', `${what}: the other one is not disturbed`)
    }
  })

  test('an answer that belongs to another login is refused, and this browser’s login goes on', async t => {
    const { provider, good, browser } = await setUp(t)
    const cases: readonly [string, (query: URLSearchParams, theirs: URLSearchParams) => void][] = [
      ['without state', query => query.delete('state')],
      ['with a wrong state', query => query.set('state', 'x'.repeat(43))],
      ['with the state of another browser', (query, theirs) => query.set('state', theirs.get('state')!)],
      ['with two states', query => query.append('state', query.get('state')!)],
    ]
    for (const [what, change] of cases) {
      const one = browser()
      const other = browser()
      const mine = provider.signIn(await one.begin('/mine'), good())
      const theirs = provider.signIn(await other.begin('/theirs'), good())
      const query = new URLSearchParams(mine)
      change(query, theirs)
      passedOver(await one.callback(query), what)
      assert.equal((await one.get('/api/v1/brokers')).status, 401, what)
      assert.equal((await one.callback(mine)).location, '/mine', what)
      assert.equal((await other.callback(theirs)).location, '/theirs', `${what}: the other one is not disturbed`)
    }
  })

  test('of two logins at the same time in one browser the second one counts, whichever returns first', async t => {
    const { provider, good, browser } = await setUp(t)
    const begun = async () => {
      const one = browser()
      const a = provider.signIn(await one.begin('/a'), good())
      const b = provider.signIn(await one.begin('/b'), good())
      return { one, a, b }
    }
    const inOrder = await begun()
    passedOver(await inOrder.one.callback(inOrder.a))
    assert.equal((await inOrder.one.callback(inOrder.b)).location, '/b')
    assert.equal((await inOrder.one.get('/api/v1/brokers')).status, 200)
    const reversed = await begun()
    assert.equal((await reversed.one.callback(reversed.b)).location, '/b')
    refused(await reversed.one.callback(reversed.a), 'sso-expired')
    assert.equal((await reversed.one.get('/api/v1/brokers')).status, 200)
  })

  test('an answer to no login, to one that was changed, and to one of another broker is refused', async t => {
    const { provider, good, browser } = await setUp(t)
    const query = provider.signIn(await browser().begin('/'), good())
    refused(await browser().callback(query), 'sso-expired', 'no cookie')
    for (const cookie of ['', 'x', 'A'.repeat(400), '%00', '"x"']) {
      const one = browser()
      one.jar.set('svc-admin-sso', cookie)
      refused(await one.callback(query), 'sso-expired', cookie)
    }
    const one = browser()
    const mine = provider.signIn(await one.begin('/'), good())
    const sealed = one.jar.get('svc-admin-sso')!
    for (const at of [0, 20, sealed.length - 2]) {
      const changed = sealed.slice(0, at) + (sealed[at] === 'A' ? 'B' : 'A') + sealed.slice(at + 1)
      one.jar.set('svc-admin-sso', changed)
      refused(await one.callback(mine), 'sso-expired', `changed at ${at}`)
    }
    const elsewhere = await setUp(t, { 'admin.jwt.secret': 'another secret, of 32 bytes or more' })
    const theirs = elsewhere.browser()
    await theirs.begin('/')
    one.jar.set('svc-admin-sso', theirs.jar.get('svc-admin-sso')!)
    refused(await one.callback(mine), 'sso-expired', 'sealed by another')
  })

  test('a login is finished once', async t => {
    const { provider, broker, clock, good, browser } = await setUp(t)
    const one = browser()
    const query = provider.signIn(await one.begin('/'), good())
    const sealed = one.jar.get('svc-admin-sso')!
    assert.equal((await one.callback(query)).location, '/')
    assert.equal(one.jar.has('svc-admin-sso'), false)
    refused(await browser().callback(query), 'sso-expired', 'in another browser')
    const again = () => {
      const thief = browser()
      thief.jar.set('svc-admin-sso', sealed)
      return thief
    }
    refused(await again().callback(query), 'sso-expired', 'the same code')
    await clock.advance(1_000)
    // A login cannot be used twice, even if the provider takes its codes twice.
    const url = new URL(`${provider.issuer}/authorize`)
    for (const [name, value] of new URL(lastUrl(one)).searchParams) url.searchParams.set(name, value)
    refused(await again().callback(provider.signIn(url.href, good())), 'sso-expired', 'another code')
    assert.match(broker.log(), /reason="the login was finished before"/)
  })

  test('an id_token without nonce, with another one, and for another client gives no session', async t => {
    const { provider, broker, good, browser } = await setUp(t)
    const cases: readonly [string, string, (nonce: string) => Claims | Promise<string>][] = [
      ['missing nonce', 'sso-invalid', good({ nonce: undefined })],
      ['wrong nonce', 'sso-invalid', good({ nonce: 'x' })],
      ['for another client', 'sso-invalid', good({ aud: 'another-client' })],
      ['for several, made for another client', 'sso-invalid', good({ aud: [CLIENT.id, 'other'], azp: 'other' })],
      ['of another issuer', 'sso-invalid', good({ iss: 'https://evil.example' })],
      ['too old', 'sso-invalid', good({ iat: 1_000, exp: 2_000 })],
      ['no name', 'sso-invalid', good({ preferred_username: undefined })],
      ['a name that passes for a group', 'sso-invalid', good({ preferred_username: 'group:admins' })],
      ['an access token', 'sso-invalid', nonce => provider.sign(good()(nonce), { typ: 'at+jwt' })],
      ['no token', 'sso-invalid', () => Promise.resolve('')],
      ['no JWT', 'sso-invalid', () => Promise.resolve('a.b.c')],
    ]
    for (const [what, word, idToken] of cases) {
      const one = browser()
      refused(await signIn(one, provider, idToken), word, what)
      assert.equal((await one.get('/api/v1/brokers')).status, 401, what)
    }
    const one = browser()
    const forger = await makeKey('ES256', key.kid)
    refused(await signIn(one, provider, nonce => provider.sign(good()(nonce), {}, forger)), 'sso-invalid', 'forged')
    assert.doesNotMatch(broker.log(), /eyJ|SECRET-/)
  })

  test('a login is valid for 10 minutes by the clock of the broker', async t => {
    const { provider, clock, good, browser } = await setUp(t)
    const [early, late] = [browser(), browser()]
    const [soon, tooLate] = [
      provider.signIn(await early.begin('/'), good()),
      provider.signIn(await late.begin('/'), good()),
    ]
    await clock.advance(599_000)
    assert.equal((await early.callback(soon)).location, '/')
    await clock.advance(1_000)
    refused(await late.callback(tooLate), 'sso-expired')
  })

  test('with a provider that is down, slow or faulty no user signs in through it, and every user can sign in by password', async t => {
    const { provider, good, browser } = await setUp(t)
    const wellKnown = '/.well-known/openid-configuration'
    const cases: readonly [string, () => void][] = [
      ['no discovery', () => provider.instead.set(wellKnown, response => response.writeHead(503).end())],
      ['no connection', () => provider.instead.set(wellKnown, response => response.destroy())],
      [
        'a page',
        () =>
          provider.instead.set(wellKnown, response =>
            response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Hi</h1>'),
          ),
      ],
      ['another issuer', () => document({ issuer: 'https://evil.example' })],
      ['the issuer with a slash', () => document({ issuer: `${provider.issuer}/` })],
      ['no token endpoint', () => document({ token_endpoint: undefined })],
      ['a token endpoint elsewhere in plain text', () => document({ token_endpoint: 'http://169.254.169.254/token' })],
      ['a script to authorize', () => document({ authorization_endpoint: 'javascript:alert(1)' })],
      ['keys in a file', () => document({ jwks_uri: 'file:///etc/passwd' })],
      ['no keys', () => document({ jwks_uri: undefined })],
    ]
    const document = (changes: Claims) => {
      provider.document = changes
    }
    for (const [what, misbehave] of cases) {
      misbehave()
      refused(await browser().get('/api/v1/auth/oidc/login'), 'sso-unavailable', what)
      provider.instead.clear()
      provider.document = {}
    }
    const local = browser()
    assert.equal((await local.post('/api/v1/auth/login', ADMIN)).status, 200)
    assert.equal((await local.get('/api/v1/auth/status')).json().user, 'admin')
    assert.equal((await signIn(browser(), provider, good())).location, '/', 'a failure is not remembered')
  })

  test('a provider that fails between the two redirects gives no session', async t => {
    const { provider, clock, good, browser } = await setUp(t)
    for (const [path, status] of [
      ['/keys', 500],
      ['/token', 500],
      ['/token', 302],
    ] as const) {
      provider.instead.set(path, response => response.writeHead(status, { location: '/elsewhere' }).end())
      const one = browser()
      refused(await signIn(one, provider, good()), 'sso-unavailable', `${path} ${status}`)
      assert.equal((await one.get('/api/v1/brokers')).status, 401)
      provider.instead.clear()
      await clock.advance(1_000)
    }
    assert.equal(provider.requests.includes('GET /elsewhere'), false)
    const one = browser()
    provider.instead.set('/token', response => response.writeHead(401, { 'www-authenticate': 'Basic' }).end())
    refused(await signIn(one, provider, good()), 'sso-refused')
    provider.instead.clear()
    assert.equal((await signIn(one, provider, good())).location, '/')
  })

  test('while 64 logins wait for a provider that does not answer, further logins are sent back at once', async t => {
    const { provider, broker, clock, browser } = await setUp(t)
    provider.instead.set('/.well-known/openid-configuration', () => {})
    let answered = 0
    const logins = Array.from({ length: 70 }, async () => {
      refused(await browser().get('/api/v1/auth/oidc/login'), 'sso-unavailable')
      answered++
    })
    await eventually('six answers', () => answered === 6)
    assert.match(broker.log(), /reason="64 logins wait for the provider"/)
    await clock.advance(5_000)
    await Promise.all(logins)
    assert.deepEqual(provider.requests, ['GET /.well-known/openid-configuration'], 'they wait for one answer')
  })

  test('a broker starts while its provider is down, and shows the ways to sign in', async t => {
    const { browser } = await setUp(t, { 'admin.oauth.issuer-uri': 'http://127.0.0.1:1' })
    refused(await browser().get('/api/v1/auth/oidc/login'), 'sso-unavailable')
    const local = browser()
    assert.equal((await local.post('/api/v1/auth/login', ADMIN)).status, 200)
    assert.equal((await local.get('/api/v1/brokers')).status, 200)
  })

  test('a setting may name another address of the keys than the provider', async t => {
    const { provider, good, browser } = await setUp(t)
    const other = await startProvider(t, key)
    const overridden = await setUp(t, {
      'admin.oauth.issuer-uri': provider.issuer,
      'admin.oauth.jwks-uri': `${other.issuer}/keys`,
    })
    provider.keys = []
    refused(await signIn(browser(), provider, good()), 'sso-unavailable')
    assert.equal((await signIn(overridden.browser(), provider, good())).location, '/')
    assert.deepEqual(other.requests, ['GET /keys'])
  })

  test('the address to come back to is the setting, whatever the Host header says', async t => {
    const uri = 'https://ketch.example/api/v1/auth/oidc/callback'
    const { provider, broker, good, browser } = await setUp(t, { 'admin.oauth.redirect-uri': uri })
    for (const headers of [{}, { host: 'evil.example' }, { 'x-forwarded-host': 'evil.example' }] as const) {
      const { location } = await raw(broker.url, '/api/v1/auth/oidc/login', headers)
      assert.equal(new URL(location).searchParams.get('redirect_uri'), uri)
    }
    assert.equal((await signIn(browser(), provider, good())).location, '/')
  })

  test('without the setting it is the host of the request, which only a configured proxy can forward, and it must be a valid host', async t => {
    const { broker } = await setUp(t)
    const callback = async (headers: Readonly<Record<string, string>>) => {
      const { location } = await raw(broker.url, '/api/v1/auth/oidc/login', headers)
      return new URL(location).searchParams.get('redirect_uri')
    }
    const own = `${broker.url}/api/v1/auth/oidc/callback`
    const forwarded = {
      'x-forwarded-host': 'evil.example',
      'x-forwarded-proto': 'https',
      forwarded: 'host=evil.example',
    }
    assert.equal(await callback(forwarded), own)
    assert.equal(await callback({ host: 'ketch.example:8080' }), 'http://ketch.example:8080/api/v1/auth/oidc/callback')
    assert.equal(await callback({ host: '[::1]:8080' }), 'http://[::1]:8080/api/v1/auth/oidc/callback')
    const behind = await setUp(t, { 'admin.trusted-proxies': ['127.0.0.1'] })
    const { location, cookies } = await raw(behind.broker.url, '/api/v1/auth/oidc/login', forwarded)
    assert.match(cookies, /^svc-admin-sso=.*; Secure\b/, 'S32, S43: it came by TLS')
    const proxied = 'https://evil.example/api/v1/auth/oidc/callback'
    assert.equal(new URL(location).searchParams.get('redirect_uri'), proxied, 'a configured proxy is believed')
    for (const host of ['evil.example/x?', 'a@evil.example', 'evil.example#', 'a b', 'h:99999', '%65vil', '[x]'])
      assert.equal((await raw(broker.url, '/api/v1/auth/oidc/login', { host })).status, 400, host)
  })

  test('after signing in the browser goes to a path of this server', async t => {
    const { browser } = await setUp(t)
    for (const returnTo of ['//evil', '/\\evil', 'https://evil.example', '/.//evil', 'javascript:alert(1)', '']) {
      const answer = await browser().get(`/api/v1/auth/oidc/login?returnTo=${encodeURIComponent(returnTo)}`)
      assert.deepEqual([answer.status, answer.json().code, answer.location], [400, 'INVALID_REQUEST', ''], returnTo)
      assert.doesNotMatch(answer.body, /evil|alert/)
    }
  })

  test('a path to come back to is refused if the cookie of the login would be larger than browsers keep', async t => {
    const { provider, good, browser } = await setUp(t)
    const login = (returnTo: string) => browser().get(`/api/v1/auth/oidc/login?${new URLSearchParams({ returnTo })}`)
    for (const length of [600, 2_000]) assert.equal((await login(`/${'é'.repeat(length)}`)).status, 400, `${length}`)
    for (const longest of [`/${'a'.repeat(2_047)}`, `/${'é'.repeat(341)}`]) {
      const [cookie] = (await login(longest)).cookies
      assert.ok(cookie!.length <= 4_096, `${cookie!.length} bytes`)
      assert.equal((await signIn(browser(), provider, good(), longest)).location, encodeURI(longest))
    }
  })

  test('a user of the provider and a local user of the same name are two users', async t => {
    const { provider, broker, good, browser } = await setUp(t)
    const federated = browser()
    assert.equal((await signIn(federated, provider, good({ preferred_username: ADMIN.username }))).location, '/')
    const local = browser()
    assert.equal((await local.post('/api/v1/auth/login', ADMIN)).json().federated, false)
    const change = { password: 'another long password', currentPassword: ADMIN.password }
    const changed = await local.put(`/api/v1/users/${ADMIN.username}`, change)
    assert.equal(changed.status, 200, changed.body)
    assert.equal((await local.get('/api/v1/brokers')).status, 401)
    await local.post('/api/v1/auth/login', { ...ADMIN, password: change.password })
    const status = (await federated.get('/api/v1/auth/status')).json()
    assert.deepEqual([status.user, status.role], [ADMIN.username, 'ADMIN'])
    const reset = await federated.put(`/api/v1/users/${ADMIN.username}`, { password: 'yet another password' })
    assert.equal(reset.status, 200, 'it is not the own password')
    assert.equal((await local.get('/api/v1/brokers')).status, 401)
    assert.equal((await federated.post('/api/v1/auth/logout')).status, 204)
    assert.equal((await federated.get('/api/v1/brokers')).status, 401)
    const changes = [...broker.log().matchAll(/svc\.audit {2}change user (.*) from=/g)].map(([, who]) => who)
    assert.deepEqual(changes, ['who=admin sso=false', 'who=admin sso=true'])
  })

  test('a session keeps its role until it ends, whatever the provider changes meanwhile', async t => {
    const { provider, clock, good, browser } = await setUp(t, { 'admin.jwt.expiry': 3_600_000 })
    const one = browser()
    await signIn(one, provider, good())
    const demoted = browser()
    await signIn(demoted, provider, good({ groups: ['ketch-viewers'] }))
    await clock.advance(3_599_000)
    assert.equal((await one.get('/api/v1/auth/status')).json().role, 'ADMIN')
    assert.equal((await demoted.get('/api/v1/auth/status')).json().role, 'VIEWER')
    await clock.advance(1_000)
    assert.equal((await one.get('/api/v1/brokers')).status, 401)
  })

  test('one broker finishes a login that another began, only once; if the store is away, neither does', async t => {
    const provider = await startProvider(t, key)
    const store = createMemoryStore(systemClock)
    const other = store.beside()
    const uri = 'http://ketch.example/api/v1/auth/oidc/callback'
    const settings = { ...settingsFor(provider), 'admin.oauth.redirect-uri': uri }
    const start = (id: number, own: MemoryStore) =>
      startBroker(t, { ...settings, 'broker.id': id }, { hasHttp: true, isShared: true, openStore: async () => own })
    const brokers = [await start(0, store), await start(1, other)] as const
    const good = (nonce: string) => provider.claims(nonce, Date.now())
    /** A browser that sees both brokers as one server. */
    const begun = async () => {
      const [one, two] = [new Browser(brokers[0].url), new Browser(brokers[1].url)]
      const answer = provider.signIn(await one.begin('/topics'), good)
      two.jar.set('svc-admin-sso', one.jar.get('svc-admin-sso')!)
      return { one, two, answer }
    }
    const { one, two, answer } = await begun()
    assert.equal((await two.callback(answer)).location, '/topics')
    one.jar.set('svc-admin-session', two.jar.get('svc-admin-session')!)
    assert.equal((await one.get('/api/v1/brokers')).status, 200, 'the session is good on both')
    const again = provider.signIn(lastUrl(one), good)
    refused(await one.callback(again), 'sso-expired', 'finished on the other one')
    const next = await begun()
    other.faults.failNext('commit', 'unavailable', 20)
    refused(await next.two.callback(next.answer), 'sso-unavailable')
  })

  test('with single sign-on the first setup still makes a local ADMIN, who signs in by password', async t => {
    const { broker } = await setUp(t, { 'admin.bootstrap': false })
    const visitor = adminClient(broker.url)
    const { body } = await visitor.ask('GET', '/api/v1/auth/status')
    assert.deepEqual([body.setupRequired, (body.sso as { enabled: boolean }).enabled], [true, true])
    const made = await visitor.ask('POST', '/api/v1/auth/setup', ADMIN)
    assert.deepEqual([made.status, made.body.user, made.body.role, made.body.federated], [201, 'admin', 'ADMIN', false])
    const admin = await signInAt(broker.url, ADMIN.username, ADMIN.password)
    assert.equal((await admin.ask('GET', '/api/v1/users')).status, 200)
  })

  test('without single sign-on, or without any sign-in, no login can begin', async t => {
    for (const overrides of [{ 'admin.oauth.enabled': false }, { 'admin.security-enabled': false }]) {
      const { browser } = await setUp(t, overrides)
      for (const path of ['login', 'callback'])
        assert.equal((await browser().get(`/api/v1/auth/oidc/${path}`)).status, 404)
      const { sso } = (await browser().get('/api/v1/auth/status')).json()
      assert.deepEqual(sso, { enabled: false, label: null, href: null })
    }
  })
})

interface Answer {
  readonly status: number
  /** Empty without a Location header. */
  readonly location: string
  readonly cookies: readonly string[]
  readonly body: string
  json(): Record<string, unknown>
}

function refused(answer: Answer, word: string, what = ''): void {
  assert.deepEqual([answer.status, answer.location], [302, `/login?error=${word}`], what)
  assert.equal(answer.body, '', what)
  assert.deepEqual(
    answer.cookies,
    ['svc-admin-sso=; Path=/api/v1/auth/oidc; HttpOnly; SameSite=Lax; Max-Age=0'],
    `${what}: no session, and the login is over`,
  )
}

/** Checks a refusal after which the login of this browser is still in progress. */
function passedOver(answer: Answer, what = ''): void {
  assert.deepEqual([answer.status, answer.location], [302, '/login?error=sso-expired'], what)
  assert.deepEqual([answer.body, answer.cookies], ['', []], what)
}

const urls = new WeakMap<Browser, string>()

/** Returns the address to which the browser was sent last. */
function lastUrl(browser: Browser): string {
  return urls.get(browser)!
}

/** The part of a browser that redirects and cookies need. */
class Browser {
  readonly origin: string
  readonly jar = new Map<string, string>()

  constructor(origin: string) {
    this.origin = origin
  }

  get(path: string): Promise<Answer> {
    return this.#ask(path, {})
  }

  post(path: string, body?: unknown): Promise<Answer> {
    return this.#ask(path, { method: 'POST', ...jsonBody(body) })
  }

  put(path: string, body: unknown): Promise<Answer> {
    return this.#ask(path, { method: 'PUT', ...jsonBody(body) })
  }

  /** Begins a login and returns the address of the provider. */
  async begin(returnTo: string): Promise<string> {
    const { status, location } = await this.get(`/api/v1/auth/oidc/login?${new URLSearchParams({ returnTo })}`)
    assert.equal(status, 302)
    urls.set(this, location)
    return location
  }

  callback(query: URLSearchParams): Promise<Answer> {
    return this.get(`/api/v1/auth/oidc/callback?${query}`)
  }

  async #ask(path: string, init: RequestInit): Promise<Answer> {
    const cookie = [...this.jar].map(([name, value]) => `${name}=${value}`).join('; ')
    const headers = { ...init.headers, ...(cookie === '' ? {} : { cookie }) }
    const response = await fetch(this.origin + path, { ...init, redirect: 'manual', headers })
    const cookies = response.headers.getSetCookie()
    for (const each of cookies) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(each)!
      if (/; Max-Age=0$|; Max-Age=0;/.test(each)) this.jar.delete(name!)
      else this.jar.set(name!, value!)
    }
    const body = await response.text()
    const location = response.headers.get('location') ?? ''
    return { status: response.status, location, cookies, body, json: () => JSON.parse(body) }
  }
}

function jsonBody(body: unknown): RequestInit {
  return body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }
}

/** Sends a request with a chosen Host header, which fetch does not allow. */
function raw(
  url: string,
  path: string,
  headers: Readonly<Record<string, string>>,
): Promise<{ readonly status: number; readonly location: string; readonly cookies: string }> {
  return new Promise((resolve, reject) => {
    httpRequest(url + path, { headers }, response => {
      response.resume()
      const { location = '', 'set-cookie': cookies = [] } = response.headers
      resolve({ status: response.statusCode!, location, cookies: cookies.join() })
    })
      .on('error', reject)
      .end()
  })
}
