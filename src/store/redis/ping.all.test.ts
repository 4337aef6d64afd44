// Tests the health of a broker on Redis as probes and people see it, while servers stop and start.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startBroker } from '../../../testing/broker.ts'
import { eventually } from '../../../testing/eventually.ts'
import { noRedis, startRedis, startRedisCluster } from '../../../testing/redis.ts'
import { openTestStore } from '../../../testing/redis-store.ts'

const skip = noRedis

interface Health {
  readonly status: string
  readonly components: Record<string, { status: string; details?: { servers: { failure?: string }[] } }>
}

test('ping returns the known data of the server, and reports a silent server after the given time', {
  skip,
}, async t => {
  const redis = await startRedis(t, { appendfsync: 'always' })
  const { store } = await openTestStore(t, { 'redis.uri': redis.uri })
  const [pong] = await store.ping(2_000)
  assert.deepEqual([pong!.part, pong!.place, pong!.failure], ['redis', `127.0.0.1:${redis.port}`, null])
  assert.deepEqual([pong!.durability.facts.appendfsync, pong!.durability.warnings], ['always', []])
  redis.pause()
  const silent = await store.ping(300)
  assert.equal(silent[0]!.failure, 'no answer to PING within 300 ms')
  assert.ok(silent[0]!.tookMs >= 299 && silent[0]!.tookMs < 2_000)
  redis.resume()
  assert.equal((await store.ping(2_000))[0]!.failure, null)
  await redis.stop()
  assert.match((await store.ping(200))[0]!.failure!, /Redis|PING/)
})

test('a Redis that is reachable again is unhealthy until the circuit breaker closes', { skip }, async t => {
  const redis = await startRedis(t)
  const { store } = await openTestStore(t, {
    'redis.uri': redis.uri,
    'redis.timeout': 200,
    'redis.pool.max-wait': 100,
    'redis.circuit-breaker.open-duration': 4_000,
  })
  redis.pause()
  const refused = () =>
    store.list('k').then(
      () => '',
      (error: Error) => error.message,
    )
  await eventually('an open breaker', async () => /the circuit breaker is open/.test(await refused()), 60_000)
  redis.resume()
  const failureOfPing = async () => (await store.ping(1_000))[0]!.failure
  await eventually('PING is answered', async () => /the circuit breaker is/.test((await failureOfPing()) ?? ''))
  assert.match(await refused(), /the circuit breaker is/)
  await eventually('the breaker closes', async () => (await failureOfPing()) === null, 60_000)
  assert.equal(await refused(), '')
})

test('a Redis Cluster that refuses slots is unhealthy, even if every node replies to PING', { skip }, async t => {
  const cluster = await startRedisCluster(t)
  const { url } = await startBroker(
    t,
    { 'admin.security-enabled': false, 'redis.uri': cluster.uri, 'redis.cluster': true, 'broker.drain-timeout': 500 },
    { hasHttp: true },
  )
  const ask = async (path: string) => {
    const response = await fetch(`${url}/actuator/${path}`)
    return { code: response.status, body: (await response.json()) as Health }
  }
  const until = async (code: number) => {
    const what = `a readiness of ${code}`
    await eventually(what, async () => (await ask('health/readiness')).code === code, 60_000)
  }
  const everywhere = async (...command: readonly (string | number)[]) => {
    for (const primary of cluster.primaries) await primary.ask(...command)
  }
  assert.equal((await ask('health')).body.components.redis!.status, 'UP')
  const [owner] = cluster.primaries
  const [slot] = cluster.slotsOf(owner!)

  const failures = async () => {
    const { components } = (await ask('health')).body
    assert.equal(components.redis!.status, 'DOWN')
    return components.redis!.details!.servers.map(({ failure }) => failure)
  }
  await everywhere('CLUSTER', 'DELSLOTS', slot)
  await until(503)
  assert.equal((await ask('health/liveness')).code, 200)
  for (const failure of await failures()) assert.equal(failure, "says that the cluster's state is fail")
  await owner!.ask('CLUSTER', 'ADDSLOTS', slot)
  await until(200)

  await everywhere('CONFIG', 'SET', 'cluster-require-full-coverage', 'no')
  await everywhere('CLUSTER', 'DELSLOTS', slot)
  await until(503)
  for (const failure of await failures())
    assert.equal(failure, "says that 1 of the cluster's 16384 slots are served by no primary")
})

test('a broker whose Redis is away is alive and not ready, and comes back by itself', { skip }, async t => {
  const documents = await startRedis(t)
  const streams = await startRedis(t)
  const { url } = await startBroker(
    t,
    {
      'admin.security-enabled': false,
      'redis.uri': documents.uri,
      'storage.local.redis.uri': streams.uri,
      'storage.local.engine': 'redis',
      'broker.drain-timeout': 500,
    },
    { hasHttp: true },
  )
  const ask = async (path: string) => {
    const response = await fetch(`${url}/actuator/${path}`)
    return { code: response.status, ...((await response.json()) as Health) }
  }
  const up = await ask('health')
  assert.deepEqual([up.code, up.components.redis!.status, up.components.store], [200, 'UP', undefined])
  const wrapped = await (await fetch(`${url}/api/v1/health`)).json()
  const names = (wrapped as { checks: { name: string }[] }).checks.map(({ name }) => name)
  assert.deepEqual(names.sort(), ['redis-connectivity', 'storage-redis-connectivity'])
  await streams.stop()
  const until = async (code: number) => {
    await eventually(`a readiness of ${code}`, async () => (await ask('health/readiness')).code === code, 60_000)
  }
  await until(503)
  assert.equal((await ask('health/liveness')).code, 200)
  assert.equal((await ask('health')).components.redis!.status, 'DOWN')
  await streams.start()
  await until(200)
})
