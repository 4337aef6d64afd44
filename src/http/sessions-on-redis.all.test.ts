// Tests two brokers on one Redis: both know the sessions, failures and users of each other.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AdminClient, adminClient, signInAt } from '../../testing/admin-client.ts'
import { type CleanUp, startBroker } from '../../testing/broker.ts'
import { noRedis, startRedis } from '../../testing/redis.ts'
import type { Values } from '../settings/settings.ts'

const PASSWORD = 'correct horse'

async function startTwo(t: CleanUp, overrides: Partial<Values> = {}) {
  const redis = await startRedis(t, { appendfsync: 'everysec' })
  const start = (id: number) =>
    startBroker(
      t,
      {
        'broker.id': id,
        'broker.drain-timeout': 1_000,
        'redis.uri': redis.uri,
        'redis.timeout': 5_000,
        'admin.password': PASSWORD,
        'admin.jwt.secret': 'the secret of both brokers of this test',
        ...overrides,
      },
      { hasHttp: true },
    )
  const [one, other] = await Promise.all([start(1), start(2)])
  return { redis, one: one.url, other: other.url }
}

test('a session that begins on one broker is valid on the other, and one that ends on one is refused by the other', {
  skip: noRedis,
}, async t => {
  const { one, other } = await startTwo(t)
  const admin = await signInAt(one, 'admin', PASSWORD)
  assert.equal((await admin.at(other).ask('GET', '/api/v1/brokers')).status, 200)
  assert.equal((await admin.at(other).ask('POST', '/api/v1/auth/logout')).status, 204)
  assert.equal((await admin.ask('GET', '/api/v1/brokers')).code, 'UNAUTHENTICATED')
})

test('a changed password or role on one broker ends the sessions on the other', {
  skip: noRedis,
}, async t => {
  const { one, other } = await startTwo(t)
  const admin = await signInAt(one, 'admin', PASSWORD)
  await admin.ask('POST', '/api/v1/users', { username: 'ada', password: PASSWORD, role: 'VIEWER' })
  const ada = await signInAt(other, 'ada', PASSWORD)
  assert.equal((await admin.ask('PUT', '/api/v1/users/ada', { role: 'ADMIN' })).status, 200)
  assert.equal((await ada.ask('GET', '/api/v1/brokers')).status, 401)
  const again = await signInAt(other, 'ada', PASSWORD)
  assert.equal((await again.ask('DELETE', '/api/v1/users/admin')).status, 204)
  assert.equal((await admin.ask('GET', '/api/v1/brokers')).status, 401)
  const elsewhere = await signInAt(one, 'ada', PASSWORD)
  const change = { currentPassword: PASSWORD, password: `${PASSWORD} anew` }
  assert.equal((await again.ask('PUT', '/api/v1/users/ada', change)).status, 200)
  assert.equal((await elsewhere.ask('GET', '/api/v1/brokers')).status, 401)
})

test('failed sign-ins on both brokers count together', { skip: noRedis }, async t => {
  const { one, other } = await startTwo(t)
  const attempt = (url: string, password: string) =>
    adminClient(url).ask('POST', '/api/v1/auth/login', { username: 'admin', password })
  for (let at = 0; at < 5; at++)
    for (const url of [one, other]) assert.equal((await attempt(url, `wrong ${at}`)).status, 401)
  for (const url of [one, other]) {
    const { status, headers } = await attempt(url, PASSWORD)
    assert.equal(status, 429)
    assert.match(headers.get('retry-after')!, /^(30|2\d)$/)
  }
})

test('a full Redis counts failures on both and lets a session end on both', { skip: noRedis }, async t => {
  const { redis, one, other } = await startTwo(t)
  const admin = await signInAt(one, 'admin', PASSWORD)
  await redis.ask('CONFIG', 'SET', 'maxmemory', '1')
  const refused = await admin.ask('POST', '/api/v1/users', { username: 'ada', password: PASSWORD })
  assert.equal(refused.status, 503, 'it is full')
  for (let at = 0; at < 10; at++) assert.equal(await signInStatus(one, `wrong ${at}`), 401)
  assert.deepEqual([await signInStatus(one, PASSWORD), await signInStatus(other, PASSWORD)], [429, 429])
  assert.equal((await admin.ask('POST', '/api/v1/auth/logout')).status, 204)
  for (const url of [one, other]) assert.equal((await admin.at(url).ask('GET', '/api/v1/users')).status, 401)
})

test('while Redis takes no writes each broker counts failures alone, and the right password stays right', {
  skip: noRedis,
}, async t => {
  const { redis, one, other } = await startTwo(t)
  await redis.ask('CONFIG', 'SET', 'min-replicas-to-write', '1')
  assert.equal(await signInStatus(one, PASSWORD), 200)
  for (const url of [one, other]) {
    for (let at = 0; at < 10; at++) assert.equal(await signInStatus(url, `wrong ${at}`), 401)
    assert.equal(await signInStatus(url, PASSWORD), 429)
  }
})

test('if two brokers are asked at the same time to remove the last two ADMINs, one ADMIN stays', {
  skip: noRedis,
}, async t => {
  const { one, other } = await startTwo(t)
  for (const [method, body, done] of [
    ['PUT', { role: 'VIEWER' }, 200],
    ['DELETE', undefined, 204],
  ] as const) {
    for (let round = 0; round < 5; round++) {
      const admin = await signInAt(one, 'admin', PASSWORD)
      assert.equal((await admin.ask('POST', '/api/v1/users', { username: 'ada', password: PASSWORD })).status, 201)
      const ada = await signInAt(other, 'ada', PASSWORD)
      const answers = await Promise.all([
        ada.at(one).ask(method, '/api/v1/users/ada', body),
        admin.at(other).ask(method, '/api/v1/users/admin', body),
      ])
      assert.deepEqual(answers.map(({ status }) => status).sort(), [done, 409])
      const [kept, gone] = answers[0]!.status === 409 ? ['ada', 'admin'] : ['admin', 'ada']
      const survivor = await signInAt(one, kept, PASSWORD)
      const { users } = (await survivor.ask('GET', '/api/v1/users')).body
      const admins = users.filter(({ role }: { role: string }) => role === 'ADMIN')
      assert.deepEqual(
        admins.map(({ username }: { username: string }) => username),
        [kept],
      )
      await survivor.ask('DELETE', `/api/v1/users/${gone}`)
      if (kept === 'admin') continue
      const back = { username: 'admin', password: PASSWORD }
      assert.equal((await survivor.ask('POST', '/api/v1/users', back)).status, 201)
      const restored = await signInAt(one, 'admin', PASSWORD)
      assert.equal((await restored.ask('DELETE', '/api/v1/users/ada')).status, 204)
    }
  }
})

test('of fifty setups at once to two brokers one makes the first admin', { skip: noRedis }, async t => {
  const { one, other } = await startTwo(t, { 'admin.bootstrap': false })
  const setups = Array.from({ length: 50 }, (_, at) =>
    adminClient(at % 2 === 0 ? one : other).ask('POST', '/api/v1/auth/setup', {
      username: `a${at}`,
      password: PASSWORD,
    }),
  )
  const statuses = (await Promise.all(setups)).map(({ status }) => status).sort()
  assert.deepEqual([statuses[0], new Set(statuses.slice(1))], [201, new Set([409])])
})

test('while Redis is silent or gone a session is refused, and it is valid again afterwards', {
  skip: noRedis,
}, async t => {
  const { redis, one, other } = await startTwo(t)
  const admin = await signInAt(one, 'admin', PASSWORD)
  redis.pause()
  const silent = await Promise.all([one, other].map(url => admin.at(url).ask('GET', '/api/v1/users')))
  assert.deepEqual(
    silent.map(({ status, code }) => [status, code]),
    [
      [503, 'STORE_UNAVAILABLE'],
      [503, 'STORE_UNAVAILABLE'],
    ],
  )
  redis.resume()
  await isBack(admin)
  await redis.stop('SIGKILL')
  const gone = await admin.ask('GET', '/api/v1/users')
  assert.deepEqual([gone.status, gone.code], [503, 'STORE_UNAVAILABLE'])
  // Health still reports what is wrong, in the form for callers without a session.
  const { status, body } = await admin.ask('GET', '/api/v1/health')
  assert.deepEqual([status, body.status, body.details.components.redis], [200, 'DOWN', { status: 'DOWN' }])
  const [{ name, status: checked, details }] = body.checks
  assert.deepEqual([name, checked, details], ['redis-connectivity', 'DOWN', {}])
  assert.equal(
    (await adminClient(one).ask('GET', '/api/v1/health')).status,
    401,
    'a caller without a session is not let in',
  )
  await redis.start()
  await isBack(admin)
})

async function signInStatus(url: string, password: string): Promise<number> {
  return (await adminClient(url).ask('POST', '/api/v1/auth/login', { username: 'admin', password })).status
}

async function isBack(admin: AdminClient): Promise<void> {
  for (;;) {
    const { status } = await admin.ask('GET', '/api/v1/users')
    if (status === 200) return
    assert.equal(status, 503)
  }
}
