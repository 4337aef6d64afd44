import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../../testing/eventually.ts'
import { sessionToken } from '../../../testing/session-token.ts'
import { SimulatedClock } from '../../../testing/sim/clock.ts'
import { createMemoryStore, type MemoryStore } from '../../../testing/sim/memory-store.ts'
import { systemRandom } from '../../base/random.ts'
import { SettingsError, testSettings, type Values } from '../../settings/settings.ts'
import { StoreUnavailable } from '../../store/store.ts'
import { createLogger } from '../../telemetry/logger.ts'
import { createMetrics, type Metrics } from '../../telemetry/metrics.ts'
import { type Accounts, openAccounts, type Session } from './accounts.ts'

const SECRET = 'the secret of every broker of this test'
const PASSWORD = 'correct horse'
const HERE = { address: '127.0.0.1', isLocal: true }
const ELSEWHERE = { address: '203.0.113.9', isLocal: false }
const HOUR = 60 * 60 * 1_000

interface World {
  readonly clock: SimulatedClock
  readonly store: MemoryStore
  readonly accounts: Accounts
  readonly metrics: Metrics
  log(): string
}

async function openWorld({
  settings = {},
  isShared = false,
  clock = new SimulatedClock(),
  store = createMemoryStore(clock),
}: {
  settings?: Partial<Values>
  isShared?: boolean
  clock?: SimulatedClock
  store?: MemoryStore
} = {}): Promise<World> {
  const lines: string[] = []
  const logger = createLogger({ clock, write: line => lines.push(line), format: 'plain', levels: new Map() })
  const metrics = createMetrics()
  const values = { 'admin.password': PASSWORD, 'admin.jwt.secret': SECRET, ...settings }
  const accounts = await openAccounts({
    store,
    settings: testSettings(values),
    clock,
    random: systemRandom,
    logger,
    metrics,
    isShared,
  })
  return { clock, store, accounts, metrics, log: () => lines.join('') }
}

async function signIn({ accounts }: World, username = 'admin', password = PASSWORD): Promise<Session> {
  const session = await accounts.signIn(username, password, HERE)
  assert.equal(session.kind, 'session')
  return session as Session
}

/** Returns a token that any program with the secret could write. */
const tokenOf = (claims: Record<string, unknown>, options: Partial<Parameters<typeof sessionToken>[1]> = {}) =>
  sessionToken(claims, { secret: SECRET, ...options })

test('session, valid: it belongs to the user who signed in, and has an id and an end after admin.jwt.expiry', async () => {
  const world = await openWorld()
  const { token, identity } = await signIn(world)
  assert.deepEqual(await world.accounts.identify(token, ELSEWHERE), identity)
  assert.deepEqual([identity.username, identity.role, identity.mustChangePassword], ['admin', 'ADMIN', false])
  assert.match(identity.session!.jti, /^[\w-]{22}$/)
  assert.equal(identity.session!.expiresAtMs, world.clock.now() + 8 * HOUR)
})

test("session, valid and logout: revoked for as long as the token could be valid by any broker's clock", async () => {
  const world = await openWorld()
  const { token, identity } = await signIn(world)
  const other = await signIn(world)
  await world.accounts.endSession(identity.session!)
  assert.equal(await world.accounts.identify(token, HERE), null)
  assert.notEqual(await world.accounts.identify(other.token, HERE), null)
  await world.accounts.endSession(identity.session!)
  await world.clock.advance(34 * HOUR - 1_000)
  const restarted = await openWorld({ clock: world.clock, store: world.store.reopen() })
  assert.equal(await restarted.accounts.identify(token, HERE), null)
  assert.equal((await restarted.store.list('ended-session')).length, 1)
  await world.clock.advance(1_000)
  const later = await openWorld({ clock: world.clock, store: restarted.store.reopen() })
  assert.equal((await later.store.list('ended-session')).length, 0, '26 hours are enough for any two clocks')
})

test('a broker whose clock is nine hours ahead leaves ended sessions ended', async () => {
  const world = await openWorld({ isShared: true })
  const { token, identity } = await signIn(world)
  await world.accounts.endSession(identity.session!)
  const ahead = new SimulatedClock(world.clock.now() + 9 * HOUR)
  await openWorld({ isShared: true, clock: ahead, store: world.store.beside() })
  assert.equal(await world.accounts.identify(token, HERE), null)
})

test('expired entries are removed from the denylist when sessions are ended', async () => {
  const world = await openWorld({ settings: { 'admin.jwt.expiry': 60_000 } })
  await world.accounts.endSession((await signIn(world)).identity.session!)
  await world.clock.advance(27 * HOUR)
  world.store.faults.failNext('list', 'unavailable')
  await world.accounts.endSession((await signIn(world)).identity.session!)
  assert.equal((await world.store.list('ended-session')).length, 2)
  await world.accounts.endSession((await signIn(world)).identity.session!)
  assert.equal((await world.store.list('ended-session')).length, 2)
})

test('session, valid and its end: expired', async () => {
  const world = await openWorld()
  const { token } = await signIn(world)
  await world.clock.advance(8 * HOUR - 1)
  assert.notEqual(await world.accounts.identify(token, HERE), null)
  await world.clock.advance(1)
  assert.equal(await world.accounts.identify(token, HERE), null)
})

test('a token with another secret or algorithm, without id, name or end, or in another form is no session', async () => {
  const { accounts, clock } = await openWorld()
  const good = { sub: 'ada', role: 'ADMIN', jti: 'one', exp: clock.now() / 1000 + 60 }
  assert.notEqual(await accounts.identify(tokenOf(good), HERE), null)
  const { jti: _jti, ...withoutJti } = good
  const { exp: _exp, ...withoutExp } = good
  const { sub: _sub, ...withoutSub } = good
  for (const [what, token] of Object.entries({
    'another secret': tokenOf(good, { secret: `${SECRET}!` }),
    'alg none': tokenOf(good, { alg: 'none' }),
    'another algorithm': tokenOf(good, { alg: 'HS512' }),
    'no jti': tokenOf(withoutJti),
    'an empty jti': tokenOf({ ...good, jti: '' }),
    'a jti that is a number': tokenOf({ ...good, jti: 7 }),
    'no exp': tokenOf(withoutExp),
    'no sub': tokenOf(withoutSub),
    'an unknown role': tokenOf({ ...good, role: 'ROOT' }),
    expired: tokenOf({ ...good, exp: clock.now() / 1000 }),
    'not yet valid': tokenOf({ ...good, nbf: clock.now() / 1000 + 30 }),
    'a changed letter': tokenOf(good)
      .replace(/.$/, last => (last === 'A' ? 'B' : 'A'))
      .replace('.ey', '.eY'),
    'no signature': tokenOf(good).replace(/[^.]+$/, ''),
    'no form': 'x',
    empty: '',
    'very long': tokenOf({ ...good, more: 'x'.repeat(64 * 1024) }),
  }))
    assert.equal(await accounts.identify(token, HERE), null, what)
})

test('without a secret in the settings each start has a new one, and sessions end with it', async () => {
  const world = await openWorld({ settings: { 'admin.jwt.secret': null } })
  const { token } = await signIn(world)
  const next = await openWorld({ settings: { 'admin.jwt.secret': null }, store: world.store.reopen() })
  assert.equal(await next.accounts.identify(token, HERE), null)
  const withSecret = await openWorld({ store: next.store.reopen() })
  const kept = await signIn(withSecret)
  const restarted = await openWorld({ store: withSecret.store.reopen() })
  assert.notEqual(await restarted.accounts.identify(kept.token, HERE), null)
})

test('a session that began before roles existed is an ADMIN until it expires, unless the user changes', async () => {
  const world = await openWorld()
  const now = Math.floor(world.clock.now() / 1000)
  const token = tokenOf({ sub: 'admin', jti: 'legacy', iat: now, exp: now + 3_600 })
  assert.equal((await world.accounts.identify(token, HERE))?.role, 'ADMIN')
  await world.accounts.users.change(({ byName }) => ({
    kind: 'change',
    username: 'admin',
    user: { ...byName.get('admin')!, stamp: world.accounts.makeStamp() },
  }))
  assert.equal(await world.accounts.identify(token, HERE), null)
  await world.clock.advance(1_000)
  const later = tokenOf({ sub: 'admin', jti: 'later', iat: now + 1, exp: now + 3_600 })
  assert.notEqual(await world.accounts.identify(later, HERE), null)
  await world.clock.advance(HOUR)
  assert.equal(await world.accounts.identify(later, HERE), null)
})

test('while the store does not answer, sessions are refused with the error of the store', async () => {
  const world = await openWorld({ isShared: true })
  const { token } = await signIn(world)
  world.store.faults.failNext('version', 'unavailable')
  await assert.rejects(world.accounts.identify(token, HERE), StoreUnavailable)
  assert.notEqual(await world.accounts.identify(token, HERE), null)
})

test('if the store does not answer, a session is refused after five seconds', async () => {
  const world = await openWorld({ isShared: true })
  const { token } = await signIn(world)
  const letGo = world.store.faults.hold('version')
  const { version } = world.store.calls
  const refused = assert.rejects(world.accounts.identify(token, HERE), StoreUnavailable)
  await eventually('the store is asked', () => world.store.calls.version === version + 2)
  await world.clock.advance(5_000)
  await refused
  letGo()
})

test('a check of a session costs two reads of versions on a shared store, and none on a store of its own', async () => {
  for (const isShared of [true, false]) {
    const world = await openWorld({ isShared })
    const { token } = await signIn(world)
    const before = { ...world.store.calls }
    await world.accounts.identify(token, HERE)
    const asked = Object.entries(world.store.calls).filter(
      ([verb, times]) => times !== before[verb as keyof typeof before],
    )
    assert.deepEqual(
      asked.map(([verb]) => verb),
      isShared ? ['version'] : [],
    )
    assert.equal(world.store.calls.version - before.version, isShared ? 2 : 0)
  }
})

test('a session that one broker ends, or a user that it changes, is seen by the other at its next check', async () => {
  const one = await openWorld({ isShared: true })
  const other = await openWorld({ isShared: true, clock: one.clock, store: one.store.beside() })
  const first = await signIn(one)
  assert.equal((await other.accounts.identify(first.token, HERE))?.username, 'admin')
  await other.accounts.endSession(first.identity.session!)
  assert.equal(await one.accounts.identify(first.token, HERE), null)

  const second = await signIn(other)
  await one.accounts.users.change(({ byName }) => ({
    kind: 'change',
    username: 'admin',
    user: { ...byName.get('admin')!, role: 'VIEWER', stamp: one.accounts.makeStamp() },
  }))
  assert.equal(await other.accounts.identify(second.token, HERE), null)
  assert.equal((await signIn(other)).identity.role, 'VIEWER')
  assert.match(
    (await openWorld({ isShared: true, settings: { 'admin.jwt.secret': null } })).log(),
    /jwt\.secret is not set/,
  )
})

test('a user who is removed and made again has none of the old sessions', async () => {
  const world = await openWorld()
  const { accounts } = world
  const make = async () => {
    const user = await accounts.makeUser('ada', 'VIEWER', PASSWORD)
    assert('username' in user)
    await accounts.users.change(() => ({ kind: 'change', username: 'ada', user }))
  }
  await make()
  const { token } = await signIn(world, 'ada')
  await accounts.users.change(() => ({ kind: 'change', username: 'ada', user: null }))
  assert.equal(await accounts.identify(token, HERE), null)
  await make()
  assert.equal(await accounts.identify(token, HERE), null)
})

test('a session of an identity provider needs no stored user, and ends like any other', async () => {
  const world = await openWorld({ isShared: true })
  const { token, identity } = await world.accounts.issueSession('zoe@example.org', 'VIEWER')
  assert.deepEqual(await world.accounts.identify(token, ELSEWHERE), identity)
  assert.deepEqual([identity.username, identity.role], ['zoe@example.org', 'VIEWER'])
  await world.accounts.endSession(identity.session!)
  assert.equal(await world.accounts.identify(token, ELSEWHERE), null)
})

test('the shipped password works on this machine with a warning; elsewhere it must be changed', async () => {
  const world = await openWorld({ settings: { 'admin.password': 'change-me-now' } })
  const { token, identity } = await signIn(world, 'admin', 'change-me-now')
  assert.deepEqual([identity.mustChangePassword, identity.hasShippedPassword], [false, true])
  assert.match(world.log(), /WARN .*signed in with the default password.* username=admin from=127\.0\.0\.1/)
  assert.equal((await world.accounts.identify(token, ELSEWHERE))?.mustChangePassword, true)
  const basic = await world.accounts.checkPassword('admin', 'change-me-now', ELSEWHERE)
  assert('username' in basic)
  assert.equal(basic.mustChangePassword, true)

  const restarted = await openWorld({ store: world.store.reopen() })
  assert.match(restarted.log(), /INSECURE: 'admin' still has the password that Ketch ships with, .* on every interface/)
  await signIn(restarted, 'admin', 'change-me-now')
})

test('the warning of the shipped password follows the password in force, not the setting', async () => {
  const warned = ({ log }: { log(): string }) =>
    log().match(/WARN .*still has the password that Ketch ships with/g)?.length ?? 0
  const shipped = { 'admin.password': 'change-me-now' }
  const world = await openWorld({ settings: shipped })
  assert.equal(warned(world), 1)
  assert.match(world.log(), /INSECURE: 'admin' .*`ketch users password admin`/)
  const local = await openWorld({ settings: { ...shipped, 'server.address': '127.0.0.1' } })
  assert.deepEqual([warned(local), /INSECURE/.test(local.log())], [1, false])
  const renewed = await world.accounts.makePassword(PASSWORD)
  assert('passwordHash' in renewed)
  await world.accounts.users.change(({ byName }) => ({
    kind: 'change',
    username: 'admin',
    user: { ...byName.get('admin')!, ...renewed },
  }))
  const changed = await openWorld({ store: world.store.reopen(), settings: shipped })
  assert.doesNotMatch(changed.log(), /INSECURE|that Ketch ships with/)
  const open = await openWorld({ settings: { ...shipped, 'admin.security-enabled': false } })
  assert.equal(warned(open), 0)
})

test('the broker warns of a first-run setup that other machines can reach, while there is no user', async () => {
  const settings = { 'admin.bootstrap': false }
  const world = await openWorld({ settings })
  assert.match(
    world.log(),
    /WARN .*INSECURE: there is no user yet, .* on every interface .*first-run-setup-enabled=false/,
  )
  const closed = [
    { 'server.address': '127.0.0.1' },
    { 'admin.first-run-setup-enabled': false },
    { 'admin.security-enabled': false },
  ]
  for (const each of closed)
    assert.doesNotMatch((await openWorld({ settings: { ...settings, ...each } })).log(), /INSECURE/)
  assert.equal(((await world.accounts.setUp('ada', PASSWORD, HERE)) as { kind: string }).kind, 'session')
  assert.doesNotMatch((await openWorld({ store: world.store.reopen(), settings })).log(), /INSECURE/)
})

test('a too short password in the settings is taken with one warning, which does not contain it', async () => {
  const warnings = (log: string) =>
    log.split('\n').filter(line => line.includes('WARN') && line.includes('svc.admin.password'))
  const short = await openWorld({ settings: { 'admin.password': 'kurz-77' } })
  await signIn(short, 'admin', 'kurz-77')
  assert.equal(warnings(short.log()).length, 1)
  assert.match(warnings(short.log())[0]!, /svc\.admin\.password \(test\) is shorter than 8 bytes, as no other/)
  assert.doesNotMatch(short.log(), /kurz/)
  for (const settings of [{ 'admin.password': 'kurz-778' }, { 'admin.password': 'kurz', 'admin.bootstrap': false }])
    assert.deepEqual(warnings((await openWorld({ settings })).log()), [])
})

test('the bootstrap admin is made once, by one of several brokers, and is not touched again', async () => {
  const clock = new SimulatedClock()
  const store = createMemoryStore(clock)
  const worlds = await Promise.all(
    [store, store.beside(), store.beside()].map(face => openWorld({ isShared: true, clock, store: face })),
  )
  assert.equal(worlds.filter(world => /created the admin/.test(world.log())).length, 1)
  const [one] = worlds
  assert.deepEqual([...one!.accounts.users.current().byName.keys()], ['admin'])
  const other = await openWorld({ settings: { 'admin.password': 'another one' }, clock, store: store.beside() })
  await signIn(other)
  const none = await openWorld({ settings: { 'admin.bootstrap': false } })
  assert.equal(none.accounts.users.current().byName.size, 0)
})

test('after its store was emptied, a broker has no session, its bootstrap admin again, and no open setup', async () => {
  const world = await openWorld({ isShared: true })
  const { token } = await signIn(world)
  world.store.faults.empty()
  assert.equal(await world.accounts.identify(token, HERE), null)
  const open = await Promise.all(Array.from({ length: 50 }, () => world.accounts.isSetupOpen()))
  assert.equal(open.includes(true), false)
  assert.equal((await world.accounts.setUp('eve', PASSWORD, ELSEWHERE)).kind, 'closed')
  await signIn(world)
})

test('a bootstrap admin with a forbidden name ends the start, and the error names the setting', async () => {
  await assert.rejects(openWorld({ settings: { 'admin.username': 'group:ops' } }), error => {
    assert.ok(error instanceof SettingsError)
    assert.match(error.message, /^svc\.admin\.username: got 'group:ops' \(test\), which holds ':'/)
    return true
  })
})

test('a thousand wrong passwords at once are counted like a thousand in a row', async () => {
  const { accounts } = await openWorld({ settings: { 'admin.login-throttle.max-failures': 3 } })
  const answers = await Promise.all(
    Array.from({ length: 1_000 }, (_, at) => accounts.signIn('admin', `wrong ${at}`, HERE)),
  )
  const counts: Record<string, number> = {}
  for (const { kind } of answers) counts[kind] = (counts[kind] ?? 0) + 1
  assert.equal(counts['wrong-credentials'], 3)
  assert.equal((counts['locked-out'] ?? 0) + (counts.busy ?? 0), 997)
  assert.equal((await accounts.signIn('admin', PASSWORD, HERE)).kind, 'locked-out')
  assert.equal(
    (await accounts.signIn('admin', PASSWORD, ELSEWHERE)).kind,
    'session',
    'another address is not locked out',
  )
})

test('guesses at once from many addresses of one network of IPv6 are counted like guesses from one', async () => {
  const { accounts } = await openWorld({ settings: { 'admin.login-throttle.max-failures': 2 } })
  const from = (host: number) => ({ address: `2001:db8:1:2::${host}`, isLocal: false })
  const answers = await Promise.all(
    Array.from({ length: 34 }, (_, at) => accounts.signIn('admin', `wrong ${at}`, from(at))),
  )
  const hashed = answers.filter(({ kind }) => kind === 'wrong-credentials')
  assert.equal(hashed.length, 2)
})

test('the attempt of a visitor who left before its turn is neither checked nor counted', async () => {
  const { accounts, store } = await openWorld()
  const left = { ...HERE, ended: AbortSignal.abort() }
  for (const password of [PASSWORD, 'wrong'])
    assert.deepEqual(await accounts.signIn('admin', password, left), { kind: 'busy' })
  assert.deepEqual(await store.list('sign-in-failures'), [])
})

test('HTTP Basic and the login count together, on every broker', async () => {
  const settings = { 'admin.login-throttle.max-failures': 4 }
  const one = await openWorld({ settings, isShared: true })
  const other = await openWorld({ settings, isShared: true, clock: one.clock, store: one.store.beside() })
  for (const { accounts } of [one, other]) {
    assert.equal(((await accounts.signIn('admin', 'wrong', HERE)) as { kind: string }).kind, 'wrong-credentials')
    assert.equal(((await accounts.checkPassword('admin', 'wrong', HERE)) as { kind: string }).kind, 'wrong-credentials')
  }
  for (const { accounts } of [one, other])
    assert.deepEqual(await accounts.signIn('admin', PASSWORD, HERE), { kind: 'locked-out', retryAfterMs: 30_000 })
  await one.clock.advance(30_000)
  await signIn(other)
  assert.equal((await one.accounts.signIn('admin', 'wrong', HERE)).kind, 'wrong-credentials', 'the counter is cleared')
})

test('unknown users, look-alikes, NUL, empty and very long passwords are refused like any other wrong one', async () => {
  const { accounts } = await openWorld()
  const tried = [
    ['unknown', PASSWORD],
    ['\uff41dmin', PASSWORD],
    ['\u0430dmin', PASSWORD],
    ['admin\u0000', PASSWORD],
    ['', ''],
    ['admin', ''],
    ['admin', `${PASSWORD}${'\u0000'.repeat(2_000)}`],
    ['admin', PASSWORD.repeat(80_000)],
    ['__proto__', PASSWORD],
  ] as const
  for (const [username, password] of tried)
    assert.deepEqual(await accounts.signIn(username, password, HERE), { kind: 'wrong-credentials' }, username)
})

test('a failed sign-in counts in the metric of failures by its reason, and a right one does not', async () => {
  const { accounts, metrics } = await openWorld({ settings: { 'admin.login-throttle.max-failures': 2 } })
  const failures = async () =>
    [...(await metrics.scrape()).matchAll(/^svc_broker_failures_total\{operation="auth",error_type="(.+?)"\} (\d+)$/gm)]
      .map(([, type, count]) => `${type} ${count}`)
      .sort()
  await accounts.signIn('admin', PASSWORD, HERE)
  assert.deepEqual(await failures(), [])
  await accounts.signIn('admin', 'wrong', HERE)
  await accounts.checkPassword('admin', 'wrong', HERE)
  await accounts.signIn('admin', PASSWORD, HERE)
  assert.deepEqual(await failures(), ['locked-out 1', 'wrong-credentials 2'])
})

test('a hash with other parameters is replaced at the next sign-in, and the sessions stay', async () => {
  const world = await openWorld()
  const { token } = await signIn(world)
  const outdated = '$argon2id$v=19$m=8192,t=3,p=1$BwcHBwcHBwcHBwcHBwcHBw$r3UWRJD0tWVA2XWAxKFpLWFRFHu5L4AhQI0XFVdWdvo'
  await world.accounts.users.change(({ byName }) => ({
    kind: 'change',
    username: 'admin',
    user: { ...byName.get('admin')!, passwordHash: outdated },
    isSilent: true,
  }))
  await signIn(world, 'admin', 'correct horse')
  assert.match(world.accounts.users.current().byName.get('admin')!.passwordHash, /m=19456,t=2,p=1/)
  assert.notEqual(await world.accounts.identify(token, HERE), null)
})

test('of fifty setups at once on two brokers one makes the first admin, and no later one can', async () => {
  const settings = { 'admin.bootstrap': false }
  const one = await openWorld({ settings, isShared: true })
  const other = await openWorld({ settings, isShared: true, clock: one.clock, store: one.store.beside() })
  assert.equal(await one.accounts.isSetupOpen(), true)
  const setups = Array.from({ length: 50 }, (_, at) =>
    (at % 2 === 0 ? one : other).accounts.setUp(`admin${at}`, PASSWORD, HERE),
  )
  const kinds = (await Promise.all(setups)).map(({ kind }) => kind)
  assert.equal(kinds.filter(kind => kind === 'session').length, 1)
  assert.equal(kinds.filter(kind => kind === 'closed').length, 49)
  assert.equal(await other.accounts.isSetupOpen(), false)
  assert.equal(one.accounts.users.current().byName.size, 1)
})

test('setup refuses forbidden names and passwords, and refuses everything while it is switched off or the store is down', async () => {
  const { accounts, store } = await openWorld({ settings: { 'admin.bootstrap': false } })
  assert.deepEqual(await accounts.setUp('a:b', PASSWORD, HERE), {
    kind: 'invalid',
    field: 'username',
    message: "holds ':', which names of users do not have",
  })
  assert.equal((await accounts.setUp('ada', 'short', HERE)).kind, 'invalid')
  assert.equal((await accounts.setUp('ada', 'change-me-now', HERE)).kind, 'invalid')
  store.faults.failNext('commit', 'unavailable')
  await assert.rejects(accounts.setUp('ada', PASSWORD, HERE), StoreUnavailable)
  assert.equal((await accounts.setUp('ada', PASSWORD, HERE)).kind, 'session')
  const off = await openWorld({ settings: { 'admin.bootstrap': false, 'admin.first-run-setup-enabled': false } })
  assert.equal(await off.accounts.isSetupOpen(), false)
  assert.deepEqual(await off.accounts.setUp('ada', PASSWORD, HERE), { kind: 'switched-off' })
})

for (const fault of ['unknown-done', 'unknown-lost'] as const)
  test(`a setup whose outcome the store does not report (${fault}) is done once`, async () => {
    const { accounts, store } = await openWorld({ settings: { 'admin.bootstrap': false } })
    store.faults.failNext('commit', fault)
    assert.equal((await accounts.setUp('ada', PASSWORD, HERE)).kind, 'session')
    assert.deepEqual([...accounts.users.current().byName.keys()], ['ada'])
  })
