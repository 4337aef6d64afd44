// Brokers that are killed while schemas are registered.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { systemClock } from '../../src/base/clock.ts'
import { seededRandom } from '../../src/base/random.ts'
import { openEmbeddedStore } from '../../src/store/embedded/embedded-store.ts'
import { atLength } from '../../testing/at-length.ts'
import { eventually } from '../../testing/eventually.ts'
import { startForgetfulRedis } from '../../testing/forgetful-redis.ts'
import { startBrokerProcess } from '../../testing/process.ts'
import { noRedis, startRedis } from '../../testing/redis.ts'
import { openTestStore } from '../../testing/redis-store.ts'
import { seed } from '../../testing/seed.ts'
import { newFolder } from '../../testing/store-folder.ts'
import { killUnderRegistrations } from './kill.ts'
import { startRegistrars } from './registrars.ts'

const KILLS = atLength(20, 3)
/** Each call of a client asks a broker of its own accord, without a password. */
const OPEN = { 'svc.schema-registry.authentication': 'none', 'svc.ui.enabled': 'false' }

async function threeOn(t: TestContext, uri: string) {
  const start = (id: number) =>
    startBrokerProcess(t, {
      settings: { ...OPEN, 'svc.redis.uri': uri, 'svc.broker.id': String(id), 'svc.broker.expiry': '2s' },
    })
  return await Promise.all([1, 2, 3].map(start))
}

test(`${KILLS} kills of three brokers on Redis leave each id with one schema, and everything answered resolves everywhere (seed ${seed})`, {
  skip: noRedis,
  timeout: 600_000,
}, async t => {
  const { uri } = await startRedis(t, { appendfsync: 'always' })
  const brokers = await threeOn(t, uri)
  const openStore = async () => (await openTestStore(t, { 'redis.uri': uri })).store
  t.diagnostic(await killUnderRegistrations(brokers, { kills: KILLS, random: seededRandom(seed), openStore }))
})

for (const fsync of ['always', 'interval'])
  test(`${KILLS} kills of an embedded broker with fsync ${fsync} leave each id with one schema, and everything answered resolves (seed ${seed})`, {
    timeout: 600_000,
  }, async t => {
    const path = newFolder(t)
    const settings = { ...OPEN, 'svc.storage.local.embedded.fsync': fsync }
    const broker = await startBrokerProcess(t, { folder: path, settings })
    const openStore = async () => {
      const options = { fsync: 'interval', fsyncIntervalMs: 50, journalFileBytes: 1 << 24 } as const
      const store = await openEmbeddedStore({ path, ...options, clock: systemClock, report: () => {} })
      t.after(() => store.close())
      return store
    }
    t.diagnostic(await killUnderRegistrations([broker], { kills: KILLS, random: seededRandom(seed), openStore }))
  })

test('after Redis came back with older data, ids leap by 10,000 and none that was answered names another schema', {
  skip: noRedis,
  timeout: 300_000,
}, async t => {
  const { redis, remember, forget } = await startForgetfulRedis(t)
  const brokers = await threeOn(t, redis.uri)
  const random = seededRandom(seed)
  const registrars = await startRegistrars(brokers, random)
  await registrars.progress(20)
  await registrars.stop()
  await remember()
  const before = await startRegistrars(brokers, random)
  await before.progress(60)
  await before.stop()
  const lost = new Map([...registrars.texts, ...before.texts])
  const highest = Math.max(...lost.keys())
  // One broker ends with what it knew, and another one is new.
  await brokers[0]!.kill('SIGKILL')
  await forget()
  await brokers[0]!.start()
  await eventually('every broker is served by Redis again', async () => {
    const asked = brokers.map(({ url }) => fetch(`${url}/schema-registry/subjects`))
    return (await Promise.all(asked)).every(({ ok }) => ok)
  })
  const after = await startRegistrars(brokers, random, { firstSchema: 1_000_000, ids: lost })
  await after.progress(60)
  await after.stop()
  await after.verify()
  const fresh = [...after.texts].filter(([id]) => !lost.has(id))
  assert.ok(fresh.length > 10, `${fresh.length} new ids`)
  for (const [id] of fresh) assert.ok(id > 10_000, `id ${id} was given after a loss; the highest before was ${highest}`)
  const { store } = await openTestStore(t, { 'redis.uri': redis.uri })
  assert.ok((await store.load('schemas', 'counter')) !== null)
})
