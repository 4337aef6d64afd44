// Brokers that are killed while schemas are registered. Of the two rounds on the embedded store a run does the one that
// the seed draws; KETCH_LONG=1 does both.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seededRandom } from '../../src/base/random.ts'
import { drawnBy, isLong } from '../../testing/at-length.ts'
import { eventually } from '../../testing/eventually.ts'
import { startForgetfulRedis } from '../../testing/forgetful-redis.ts'
import { noRedis, startRedisCluster } from '../../testing/redis.ts'
import { openTestStore } from '../../testing/redis-store.ts'
import { seed } from '../../testing/seed.ts'
import { KILL_ROUNDS, threeOn } from './kill-rounds.ts'
import { startRegistrars } from './registrars.ts'

/** KETCH_LONG=1 does four, and `npm run chaos -- registry` any number. */
const KILLS = isLong ? 4 : 2

const onEmbedded = KILL_ROUNDS.filter(({ onRedis }) => !onRedis)
for (const { name, onRedis, run } of [
  ...KILL_ROUNDS.filter(({ onRedis }) => onRedis),
  ...drawnBy(seed, onEmbedded.length, onEmbedded),
])
  test(
    `${KILLS} kills of ${name} leave each id with one schema, and everything answered resolves (seed ${seed})`,
    {
      skip: onRedis && noRedis,
      timeout: 600_000,
    },
    async t => t.diagnostic(await run(t, { kills: KILLS, seed })),
  )

test('after Redis came back with older data, ids leap by 10,000 and none that was answered names another schema', {
  skip: noRedis,
  timeout: 600_000,
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

test('after a replica that lacked the last registrations took over, ids leap by 10,000 and none names another schema', {
  skip: noRedis,
  timeout: 600_000,
}, async t => {
  const { uri, primaries, replicas } = await startRedisCluster(t, {
    primaries: 1,
    replicasEach: 1,
    appendfsync: 'always',
  })
  const brokers = await threeOn(t, uri, { 'svc.redis.cluster': 'true' })
  const random = seededRandom(seed)
  const early = await startRegistrars(brokers, random)
  await early.progress(20)
  await early.stop()
  replicas[0]!.pause()
  const late = await startRegistrars(brokers, random, { firstSchema: 1_000, ids: early.texts })
  await late.progress(40)
  await late.stop()
  const before = new Map([...early.texts, ...late.texts])
  // Of two brokers the memory has what was lost; the third one knows nothing.
  await Promise.all([primaries[0]!.stop('SIGKILL'), brokers[0]!.kill('SIGKILL')])
  replicas[0]!.resume()
  await replicas[0]!.ask('CLUSTER', 'FAILOVER', 'TAKEOVER')
  await eventually('the replica is the primary', async () => (await replicas[0]!.info('role')) === 'master')
  // Brokers that start ask the server that the setting names.
  await primaries[0]!.start()
  await eventually('the former primary follows', async () => (await primaries[0]!.info('role')) === 'slave')
  await brokers[0]!.start()
  const after = await startRegistrars(brokers, random, { firstSchema: 2_000, ids: before })
  await after.progress(60)
  await after.stop()
  await after.verify()
  const fresh = [...after.texts.keys()].filter(id => !before.has(id))
  assert.ok(fresh.length > 10 && Math.min(...fresh) > 10_000, `new ids are ${fresh}`)
})
