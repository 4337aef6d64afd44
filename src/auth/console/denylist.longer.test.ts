// Ended sessions on a real Redis, which deletes them by itself.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { signInAt } from '../../../testing/admin-client.ts'
import { startBroker } from '../../../testing/broker.ts'
import { noRedis, type RedisOptions, type RedisServer, startRedis } from '../../../testing/redis.ts'
import { openTestStore } from '../../../testing/redis-store.ts'
import { systemClock } from '../../base/clock.ts'
import { seededRandom } from '../../base/random.ts'
import { openDenylist } from './denylist.ts'

const skip = noRedis
const MINUTE = 60_000
const PASSWORD = 'correct horse'

async function open(t: TestContext, options: RedisOptions = {}, user = '') {
  const redis = await startRedis(t, options)
  const { store } = await openTestStore(t, { 'redis.uri': `redis://${user}127.0.0.1:${redis.port}` })
  const join = () => openDenylist({ store, clock: systemClock, random: seededRandom(1), isShared: true })
  return { redis, store, join, denylist: await join() }
}

async function endedSessions(redis: RedisServer): Promise<readonly string[]> {
  return (await redis.ask('KEYS', 'svc:documents:{ended-session:0}:document:*')) as string[]
}

test('an ended session expires in Redis with the remaining life of its token', { skip }, async t => {
  const { redis, store, denylist } = await open(t)
  assert.equal(await denylist.deny('long', systemClock.now() + 10 * MINUTE), true)
  assert.equal(await denylist.deny('long', systemClock.now() + 10 * MINUTE), false)
  const [key] = await endedSessions(redis)
  const leftMs = Number(await redis.ask('PTTL', key!))
  assert.ok(leftMs > 9 * MINUTE && leftMs <= 10 * MINUTE, `${leftMs} ms are left`)
  await denylist.deny('short', systemClock.now() + 100)
  assert.equal(await denylist.isDenied('long'), true)
  await pause(200)
  assert.equal(await denylist.isDenied('short'), false)
  assert.deepEqual(await endedSessions(redis), [key])
  assert.deepEqual(await store.list('ended-session'), [])
  assert.equal(await redis.ask('EXISTS', 'svc:documents:{ended-session:0}:index'), 0)
})

test('a session that its user ends expires with its cookie', { skip }, async t => {
  const redis = await startRedis(t)
  const settings = { 'redis.uri': redis.uri, 'admin.password': PASSWORD, 'admin.jwt.expiry': 10 * MINUTE }
  const { url } = await startBroker(t, settings, { hasHttp: true })
  const session = await signInAt(url, 'admin', PASSWORD)
  assert.equal((await session.ask('POST', '/api/v1/auth/logout')).status, 204)
  const [key, ...others] = await endedSessions(redis)
  assert.deepEqual(others, [])
  const leftMs = Number(await redis.ask('PTTL', key!))
  assert.ok(leftMs > 9 * MINUTE && leftMs <= 10 * MINUTE, `${leftMs} ms are left`)
})

test('if the Redis user of the broker may set no expiry, a later start deletes an ended session', {
  skip,
}, async t => {
  const acl = ['user ketch on >s ~* &* +@all -pexpire']
  const { redis, store, join, denylist } = await open(t, { acl }, 'ketch:s@')
  await denylist.deny('long', systemClock.now() + 10 * MINUTE)
  const dayAgo = systemClock.now() - 48 * 60 * MINUTE
  await denylist.deny('old', dayAgo)
  assert.deepEqual((await store.list('ended-session')).map(({ name }) => name).sort(), ['long', 'old'])
  const again = await join()
  assert.deepEqual([await again.isDenied('long'), await again.isDenied('old')], [true, false])
  assert.equal((await endedSessions(redis)).length, 1)
})
