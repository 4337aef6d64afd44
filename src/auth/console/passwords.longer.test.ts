// Tests callers of a face that console users and Kafka clients may call: which store has a name, what a caller costs,
// and when failures count. accounts.longer.test.ts tests the sign-in of console users alone.

import assert from 'node:assert/strict'
import { createHook } from 'node:async_hooks'
import { type TestContext, test } from 'node:test'
import { SimulatedClock } from '../../../testing/sim/clock.ts'
import { createMemoryStore } from '../../../testing/sim/memory-store.ts'
import { seededRandom } from '../../base/random.ts'
import { createLogger } from '../../telemetry/logger.ts'
import { openClientPasswords } from '../clients/client-passwords.ts'
import { KIND, makeCredential, rowsOf } from '../clients/credential-record.ts'
import { createPasswordHashes, type PasswordHashes } from './password-hash.ts'
import { createPasswords } from './passwords.ts'
import { createSignInThrottle } from './sign-in-throttle.ts'
import { openUserStore } from './user-store.ts'

const HERE = { address: '192.0.2.1', isLocal: false }
const ELSEWHERE = { address: '192.0.2.2', isLocal: false }
const RULES = { maxFailures: 3, initialLockoutMs: 30_000, maxLockoutMs: 900_000 }
const CHEAP = { memoryKiB: 64, passes: 1, lanes: 1 }

async function open(t: TestContext) {
  const clock = new SimulatedClock()
  const store = createMemoryStore(clock)
  const random = seededRandom(1)
  const logger = createLogger({ clock, write: () => {}, format: 'plain', levels: new Map() })
  const users = await openUserStore({ store, clock, random, isShared: true, sessionMs: 1_000 })
  const argon2 = createPasswordHashes(random, clock, CHEAP)
  /** The stores whose passwords wait for too long. */
  const busy = { argon2: false, pbkdf2: false }
  /** The hashes of each kind that were made. */
  const cost = { argon2: 0, pbkdf2: 0 }
  const hashes: PasswordHashes = {
    make: argon2.make,
    verify(...args) {
      if (busy.argon2) return Promise.resolve({ kind: 'busy' })
      cost.argon2++
      return argon2.verify(...args)
    },
  }
  const hook = createHook({
    init(_id, type) {
      if (type === 'PBKDF2REQUEST') cost.pbkdf2++
    },
  }).enable()
  t.after(() => hook.disable())
  const throttle = createSignInThrottle({ store, clock, random, logger, rules: RULES })
  const newest = () => users.catchUp()
  const metrics = { count() {} }
  const passwords = createPasswords({ users, newest, hashes, throttle, clock, random, logger, metrics })
  const stored = openClientPasswords({ store, clock, random })
  const clients: typeof stored = {
    nameOf: stored.nameOf,
    async find(name) {
      const found = await stored.find(name)
      return { ...found, isRight: async (...args) => (busy.pbkdf2 ? null : await found.isRight(...args)) }
    },
  }

  /** Resolves with the kind of the caller, or of the refusal. */
  async function check(name: string, password: string, visitor = HERE): Promise<string> {
    const found = await passwords.checkEither(name, password, visitor, clients)
    if (!('kind' in found)) return `user ${found.username}`
    return found.kind === 'other' ? `client ${found.found.name}` : found.kind
  }
  /** Resolves with the hashes that the work made. */
  async function costOf(work: () => Promise<unknown>) {
    const before = { ...cost }
    await work()
    return { argon2: cost.argon2 - before.argon2, pbkdf2: cost.pbkdf2 - before.pbkdf2 }
  }
  async function giveUser(username: string, password: string) {
    const passwordHash = (await argon2.make(password)) as string
    const user = {
      username,
      role: 'VIEWER' as const,
      passwordHash,
      hasShippedPassword: false,
      passwordChangedAtMs: 0,
      createdAtMs: 0,
      stamp: passwordHash,
    }
    await users.change(() => ({ kind: 'change', username, user }))
  }
  async function giveClient(name: string, password: string) {
    const asked = { mechanism: 'SCRAM-SHA-256', iterations: 4_096, tenantId: null } as const
    const changes = rowsOf(await makeCredential(asked, password, random))
    const { version = 0 } = (await store.load(KIND, name)) ?? {}
    await store.commit({ kind: KIND, name, expect: version, changes })
  }
  return { clock, passwords, busy, check, costOf, giveUser, giveClient }
}

test('a name in both stores is a console user with one password and a client with the other', async t => {
  const { check, giveUser, giveClient } = await open(t)
  await giveUser('ada', 'of the console')
  await giveClient('ada', 'of the client')
  assert.equal(await check('ada', 'of the console'), 'user ada')
  assert.equal(await check('ada', 'of the client'), 'client ada')
  await giveClient('ada', 'of the console')
  assert.equal(await check('ada', 'of the console'), 'user ada')
  // The memory of the client's password does not outlive a change of the console user.
  await giveClient('ada', 'of the client')
  assert.equal(await check('ada', 'of the client'), 'client ada')
  await giveUser('ada', 'of the client')
  assert.equal(await check('ada', 'of the client'), 'user ada')
})

test('a refusal costs one hash for each store, whichever of them has the name', async t => {
  const { check, costOf, giveUser, giveClient } = await open(t)
  await giveUser('user', 'right')
  await giveClient('client', 'right')
  await giveUser('both', 'right')
  await giveClient('both', 'also right')
  for (const name of ['user', 'client', 'both', 'ghost', 'group:a']) {
    const cost = await costOf(async () => assert.equal(await check(name, 'wrong'), 'wrong-credentials'))
    assert.deepEqual(cost, { argon2: 1, pbkdf2: 1 }, name)
  }
  const tooLong = await costOf(async () => assert.equal(await check('client', 'x'.repeat(10_000)), 'wrong-credentials'))
  assert.deepEqual(tooLong, await costOf(() => check('ghost', 'x'.repeat(10_000))))
})

test('a thousand clients with one right password cost one hash, at once and one after the other', async t => {
  const { check, costOf, giveClient, giveUser, clock } = await open(t)
  await giveClient('ada', 'right')
  const atOnce = await costOf(async () => {
    const found = await Promise.all(Array.from({ length: 1_000 }, () => check('ada', 'right')))
    assert.deepEqual(new Set(found), new Set(['client ada']))
  })
  assert.deepEqual(atOnce, { argon2: 0, pbkdf2: 1 })
  const later = await costOf(async () => {
    for (let i = 0; i < 100; i++) assert.equal(await check('ada', 'right', ELSEWHERE), 'client ada')
  })
  assert.deepEqual(later, { argon2: 0, pbkdf2: 0 })
  await clock.advance(60_000)
  assert.deepEqual(await costOf(() => check('ada', 'right')), { argon2: 0, pbkdf2: 1 })
  // A console user of the same name costs a look at that one, once.
  await giveUser('ada', 'of the console')
  const beside = await costOf(async () => {
    const found = await Promise.all(Array.from({ length: 1_000 }, () => check('ada', 'right')))
    assert.deepEqual(new Set(found), new Set(['client ada']))
  })
  assert.deepEqual(beside, { argon2: 1, pbkdf2: 1 })
  assert.deepEqual(await costOf(() => check('ada', 'right')), { argon2: 0, pbkdf2: 0 })
})

test('a thousand console users at once cost one hash too', async t => {
  const { check, costOf, giveUser } = await open(t)
  await giveUser('vic', 'right')
  const cost = await costOf(async () => {
    const found = await Promise.all(Array.from({ length: 1_000 }, () => check('vic', 'right')))
    assert.deepEqual(new Set(found), new Set(['user vic']))
  })
  assert.deepEqual(cost, { argon2: 1, pbkdf2: 0 })
})

test('failures lock a name out from one address, with the right password too, and the login counts them as well', async t => {
  const { check, passwords, giveClient, clock } = await open(t)
  await giveClient('ada', 'right')
  assert.equal(await check('ada', 'right'), 'client ada')
  for (let i = 0; i < RULES.maxFailures; i++) assert.equal(await check('ada', `wrong ${i}`), 'wrong-credentials')
  // Without this a locked-out guesser would learn from the memory which password is right.
  assert.equal(await check('ada', 'right'), 'locked-out')
  const login = await passwords.check('ada', 'right', HERE)
  assert.equal('kind' in login && login.kind, 'locked-out')
  assert.equal(await check('ada', 'right', ELSEWHERE), 'client ada')
  await clock.advance(RULES.initialLockoutMs)
  assert.equal(await check('ada', 'right'), 'client ada')
})

test('another spelling of a name is the same name, and gets no attempts of its own', async t => {
  const { check, giveUser, giveClient } = await open(t)
  await giveClient('ada', 'right')
  await giveUser('vic', 'right')
  for (const spelt of ['ada', 'a\u200bda', 'a\u00add\u2060a', '\uff41da'])
    assert.equal(await check(spelt, 'right'), 'client ada')
  for (const [at, spelt] of ['a\u200bda', 'ad\u200ba', '\uff41da'].entries())
    assert.equal(await check(spelt, `wrong ${at}`), 'wrong-credentials')
  for (const spelt of ['ada', 'a\u00adda', 'ad\u2060a']) assert.equal(await check(spelt, 'right'), 'locked-out', spelt)
  for (const spelt of ['vic', 'v\u200bic', '\u00advic']) assert.equal(await check(spelt, 'wrong'), 'wrong-credentials')
  assert.equal(await check('vic', 'right'), 'locked-out')
})

test('a guesser who keeps one store busy is locked out by the other one', async t => {
  const { check, busy, giveUser, giveClient } = await open(t)
  await giveClient('client', 'right')
  await giveUser('user', 'right')
  for (const [name, store] of [
    ['client', 'argon2'],
    ['user', 'pbkdf2'],
  ] as const) {
    busy[store] = true
    for (let i = 0; i < RULES.maxFailures; i++) assert.equal(await check(name, `wrong ${i}`), 'busy')
    busy[store] = false
    assert.equal(await check(name, 'right'), 'locked-out', name)
  }
})

test('a password that no store has looked at does not count', async t => {
  const { check, busy, giveUser, giveClient } = await open(t)
  await giveClient('client', 'right')
  await giveUser('user', 'right')
  Object.assign(busy, { argon2: true, pbkdf2: true })
  for (let i = 0; i <= RULES.maxFailures; i++)
    for (const name of ['client', 'user']) assert.equal(await check(name, `wrong ${i}`), 'busy')
  Object.assign(busy, { argon2: false, pbkdf2: false })
  assert.deepEqual([await check('client', 'right'), await check('user', 'right')], ['client client', 'user user'])
})

test('the password of a client never clears the failures of the console user with the same name', async t => {
  const { check, giveUser, giveClient } = await open(t)
  await giveUser('ada', 'of the console')
  await giveClient('ada', 'of the client')
  for (let i = 0; i < RULES.maxFailures; i++) {
    assert.equal(await check('ada', `guess ${i}`), 'wrong-credentials')
    // The last guess has locked the name out.
    const expected = i === RULES.maxFailures - 1 ? 'locked-out' : 'client ada'
    assert.equal(await check('ada', 'of the client'), expected)
  }
})

test('a hundred different wrong passwords at once count like a hundred in a row', async t => {
  const { check, costOf, giveClient } = await open(t)
  await giveClient('ada', 'right')
  const cost = await costOf(async () => {
    const found = await Promise.all(Array.from({ length: 100 }, (_, at) => check('ada', `wrong ${at}`)))
    assert.equal(found.filter(kind => kind === 'wrong-credentials').length, RULES.maxFailures)
    assert.equal(found.filter(kind => kind === 'locked-out').length, 100 - RULES.maxFailures)
  })
  assert.deepEqual(cost, { argon2: RULES.maxFailures, pbkdf2: RULES.maxFailures })
})
