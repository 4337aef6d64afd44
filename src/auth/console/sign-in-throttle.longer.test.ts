import assert from 'node:assert/strict'
import { createHash, createHmac } from 'node:crypto'
import { test } from 'node:test'
import { SimulatedClock } from '../../../testing/sim/clock.ts'
import { createMemoryStore } from '../../../testing/sim/memory-store.ts'
import { systemRandom } from '../../base/random.ts'
import { type Store, StoreUnavailable } from '../../store/store.ts'
import { createLogger } from '../../telemetry/logger.ts'
import { createSignInThrottle, type ThrottleRules } from './sign-in-throttle.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND

/** The specification's defaults. */
const RULES: ThrottleRules = { maxFailures: 10, initialLockoutMs: 30 * SECOND, maxLockoutMs: 15 * MINUTE }

function openThrottle(rules = RULES) {
  const clock = new SimulatedClock()
  const store = createMemoryStore(clock)
  const lines: string[] = []
  const logger = createLogger({ clock, write: line => lines.push(line), format: 'plain', levels: new Map() })
  const beside = (face: Store, by = clock) =>
    createSignInThrottle({ store: face, clock: by, random: systemRandom, logger, rules })
  const throttle = beside(store)
  const fail = async (times: number, username = 'ada', address = '10.0.0.1') => {
    for (let at = 0; at < times; at++) await throttle.failed(username, address)
  }
  const lockedOutMs = (username = 'ada', address = '10.0.0.1') => throttle.lockedOutMs(username, address)
  return { clock, store, beside, throttle, fail, lockedOutMs, log: () => lines.join('') }
}

test('lockout, open and a failure below max-failures: still open', async () => {
  const { fail, lockedOutMs } = openThrottle()
  await fail(9)
  assert.equal(await lockedOutMs(), 0)
})

test('lockout, open and failure number max-failures: locked out for initial-lockout', async () => {
  const { clock, fail, lockedOutMs } = openThrottle()
  await fail(10)
  assert.equal(await lockedOutMs(), 30 * SECOND)
  await clock.advance(30 * SECOND - 1)
  assert.equal(await lockedOutMs(), 1)
  await clock.advance(1)
  assert.equal(await lockedOutMs(), 0)
})

test('lockout, each further failure: twice as long, up to max-lockout', async () => {
  const { clock, fail, lockedOutMs } = openThrottle()
  await fail(10)
  const lockouts: number[] = []
  for (let at = 0; at < 7; at++) {
    const ms = await lockedOutMs()
    lockouts.push(ms / SECOND)
    await clock.advance(Math.min(ms, 15 * MINUTE - 1))
    await fail(1)
  }
  assert.deepEqual(lockouts, [30, 60, 120, 240, 480, 900, 900])
})

test('lockout, any state and a success: the counter is cleared', async () => {
  const { throttle, fail, lockedOutMs, store } = openThrottle()
  await fail(9)
  await throttle.succeeded('ada', '10.0.0.1')
  await fail(9)
  assert.equal(await lockedOutMs(), 0)
  await fail(1)
  assert.equal(await lockedOutMs(), 30 * SECOND)
  await throttle.succeeded('ada', '10.0.0.1')
  assert.equal(await lockedOutMs(), 0)
  const commits = store.calls.commit
  await throttle.succeeded('ada', '10.0.0.1')
  assert.equal(store.calls.commit, commits, 'a success without failures writes nothing')
})

test('lockout, any state and max-lockout without a failure: the counter is cleared', async () => {
  const { clock, fail, lockedOutMs } = openThrottle()
  await fail(9)
  await clock.advance(15 * MINUTE - 1)
  await fail(1)
  assert.equal(await lockedOutMs(), 30 * SECOND)
  await clock.advance(15 * MINUTE)
  await fail(9)
  assert.equal(await lockedOutMs(), 0)
})

test('a lockout applies to one name and one address, or one network of an IPv6 host', async () => {
  const { fail, lockedOutMs } = openThrottle()
  await fail(10)
  assert.deepEqual([await lockedOutMs('ada', '10.0.0.2'), await lockedOutMs('bob')], [0, 0])
  assert.equal(await lockedOutMs('ada', '::ffff:10.0.0.1'), 30 * SECOND)
  await fail(5, 'eve', '2001:db8:1:2::1')
  await fail(5, 'eve', '2001:db8:1:2:ffff::77')
  assert.equal(await lockedOutMs('eve', '2001:db8:1:2:3:4:5:6'), 30 * SECOND)
  assert.equal(await lockedOutMs('eve', '2001:db8:1:3::1'), 0)
})

test('two brokers count together', async () => {
  const { clock, store, beside, fail, lockedOutMs } = openThrottle()
  const other = beside(store.beside())
  await clock.passing(Promise.all([fail(5), ...Array.from({ length: 5 }, () => other.failed('ada', '10.0.0.1'))]))
  // The brokers waited for each other for a part of a second.
  for (const ms of [await lockedOutMs(), await other.lockedOutMs('ada', '10.0.0.1')])
    assert.ok(ms > 29 * SECOND && ms <= 30 * SECOND)
})

/** Opens a second broker on the store, whose clock is ahead. */
function openAhead(aheadMs: number) {
  const world = openThrottle()
  const clockAhead = new SimulatedClock(world.clock.now() + aheadMs)
  const ahead = world.beside(world.store.beside(), clockAhead)
  return { ...world, clockAhead, ahead, aheadMs: () => ahead.lockedOutMs('ada', '10.0.0.1') }
}

test('brokers whose clocks are 20 minutes apart count together', async () => {
  const { clock, clockAhead, ahead, aheadMs, fail, lockedOutMs } = openAhead(20 * MINUTE)
  // For the broker that is ahead, the first failure is too old. After its own failure the counter has its time.
  for (let at = 0; at < 5; at++) {
    await fail(1)
    await ahead.failed('ada', '10.0.0.1')
  }
  assert.deepEqual([await lockedOutMs(), await aheadMs()], [0, 0])
  await fail(1)
  assert.deepEqual([await lockedOutMs(), await aheadMs()], [30 * SECOND, 30 * SECOND])
  await clockAhead.advance(30 * SECOND)
  await clock.advance(30 * SECOND)
  assert.deepEqual([await lockedOutMs(), await aheadMs()], [30 * SECOND, 0])
  await clock.advance(20 * MINUTE)
  assert.equal(await lockedOutMs(), 0, 'a broker whose clock is behind locks out for longer, by as much as that')
})

test('a time that no clock can show yet locks no user out', async () => {
  const { ahead, fail, lockedOutMs } = openAhead(27 * 60 * MINUTE)
  for (let at = 0; at < 10; at++) await ahead.failed('ada', '10.0.0.1')
  assert.equal(await lockedOutMs(), 0)
  await fail(10)
  assert.equal(await lockedOutMs(), 30 * SECOND)
})

test('brokers whose store was emptied count together again', async () => {
  const { store, beside, throttle, fail, lockedOutMs } = openThrottle()
  const other = beside(store.beside())
  await fail(10)
  store.faults.empty()
  assert.deepEqual([await lockedOutMs(), await other.lockedOutMs('ada', '10.0.0.1')], [0, 0])
  for (let at = 0; at < 5; at++) for (const each of [throttle, other]) await each.failed('ada', '10.0.0.1')
  for (const each of [throttle, other]) assert.equal(await each.lockedOutMs('ada', '10.0.0.1'), 30 * SECOND)
})

/**
 * Returns this many names that share one document, for an attacker who knows how a name becomes the first byte of its
 * digest.
 */
function namesOfOneDocument(count: number, digestOf: (text: string) => Buffer): readonly string[] {
  const names: string[] = []
  for (let at = 0; names.length < count; at++)
    if (digestOf(JSON.stringify([`name ${at}`, '10.0.0.9']))[0] === 7) names.push(`name ${at}`)
  return names
}

test('any number of names takes bounded room, and a user who is locked out stays so', async () => {
  const { clock, store, throttle, lockedOutMs, fail } = openThrottle()
  await throttle.failed('somebody', '10.0.0.9')
  const secret = (await store.load('signing-key', 'sign-in-failures'))!.fields.get('key')!
  const [first, ...others] = namesOfOneDocument(100, text => createHmac('sha256', secret).update(text).digest())
  await fail(10, first, '10.0.0.9')
  for (const name of others) {
    await clock.advance(1)
    await throttle.failed(name, '10.0.0.9')
  }
  const sizes = (await store.list('sign-in-failures')).map(({ fields }) => fields.size)
  assert.equal(Math.max(...sizes), 64)
  assert.equal(await lockedOutMs(first, '10.0.0.9'), 30 * SECOND - others.length)
  await fail(9, others.at(-1), '10.0.0.9')
  assert.equal(await lockedOutMs(others.at(-1), '10.0.0.9'), 30 * SECOND)
  await fail(9, others[0], '10.0.0.9')
  assert.equal(await lockedOutMs(others[0], '10.0.0.9'), 0, 'of the weak ones the oldest went first')
})

test('an attacker without the key of the store cannot compute which names share a document', async () => {
  const { store, throttle } = openThrottle()
  const names = namesOfOneDocument(64, text => createHash('sha256').update(text).digest())
  for (const name of names) await throttle.failed(name, '10.0.0.9')
  const documents = await store.list('sign-in-failures')
  assert.ok(documents.length > 8, `${names.length} names lie in ${documents.length} documents`)
})

test('an expired counter is removed from the store with the next failure in its document', async () => {
  const { clock, store, throttle } = openThrottle()
  for (let at = 0; at < 500; at++) await throttle.failed(`name ${at}`, '10.0.0.9')
  await clock.advance(15 * MINUTE)
  // Enough names that each document gets one.
  for (let at = 0; at < 5_000; at++) await throttle.failed(`later ${at}`, '10.0.0.9')
  const sizes = (await store.list('sign-in-failures')).map(({ fields }) => fields.size)
  assert.equal(
    sizes.reduce((sum, size) => sum + size, 0),
    5_000,
  )
})

test('without the store no sign-in is allowed', async () => {
  const { store, lockedOutMs } = openThrottle()
  store.faults.failNext('load', 'unavailable')
  await assert.rejects(lockedOutMs(), StoreUnavailable)
})

test('failures that the store does not take are counted by this broker until time or a success clears them', async () => {
  const { clock, store, throttle, fail, lockedOutMs, log } = openThrottle()
  store.faults.failNext('commit', 'unavailable', 100)
  await fail(9)
  assert.equal(await lockedOutMs(), 0)
  await fail(1)
  assert.equal(await lockedOutMs(), 30 * SECOND)
  assert.match(log(), /WARN .*the store did not take a failed sign-in.*told to refuse commit/)
  await clock.advance(30 * SECOND)
  await fail(1)
  assert.equal(await lockedOutMs(), 60 * SECOND)
  await throttle.succeeded('ada', '10.0.0.1')
  assert.equal(await lockedOutMs(), 0)
  await fail(10)
  await clock.advance(15 * MINUTE)
  await fail(9)
  assert.equal(await lockedOutMs(), 0)
})

test('any number of names takes bounded room in memory too, and a user who is locked out stays so', async () => {
  const { store, fail, lockedOutMs } = openThrottle()
  store.faults.failNext('commit', 'unavailable', 2_000)
  await fail(10)
  for (let at = 0; at < 1_100; at++) await fail(1, `name ${at}`)
  assert.equal(await lockedOutMs(), 30 * SECOND)
  for (const name of ['name 0', 'name 1099']) await fail(9, name)
  assert.deepEqual([await lockedOutMs('name 0'), await lockedOutMs('name 1099')], [0, 30 * SECOND])
})

test('a right password is accepted even if the store does not take the success', async () => {
  const { store, throttle, fail, lockedOutMs, log } = openThrottle()
  await fail(9)
  store.faults.failNext('commit', 'unavailable')
  await throttle.succeeded('ada', '10.0.0.1')
  assert.match(log(), /WARN .*the store did not take a sign-in.*told to refuse commit/)
  await fail(1)
  assert.equal(await lockedOutMs(), 30 * SECOND, 'nothing was cleared in the store')
})
