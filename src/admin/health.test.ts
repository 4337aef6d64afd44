import assert from 'node:assert/strict'
import { test } from 'node:test'
import { catalogueOf } from '../../testing/catalogue-of.ts'
import { SimulatedClock } from '../../testing/sim/clock.ts'
import { createMemoryStore } from '../../testing/sim/memory-store.ts'
import type { Round } from '../api/storage.ts'
import { testSettings, type Values } from '../settings/settings.ts'
import type { Pong } from '../store/store.ts'
import { createHealth } from './health.ts'

/** A worker that has started no round; without an id no broker holds its lease. */
const worker = (id: number | null = 0, round: Round | null = null, withoutFeature: readonly number[] = []) => ({
  holder: () => (id === null ? null : { id, incarnation: '', sinceMs: null }),
  round: () => round,
  withoutFeature: () => withoutFeature,
})

/** A broker without a remote tier, without a schema registry and without topics. */
const LOCAL_ONLY = {
  ...{ remoteTier: null, judge: null },
  ...{ logs: { unreadTables: () => [] }, catalogue: { current: () => catalogueOf([]) } },
}

function kept(overrides: Partial<Values> = {}) {
  const clock = new SimulatedClock()
  const store = createMemoryStore(clock)
  const broker = { isUp: true }
  const settings = testSettings({ 'storage.local.embedded.path': '/', ...overrides })
  const health = createHealth({
    store,
    clock,
    settings,
    isUp: () => broker.isUp,
    certificates: () => [],
    storageWorker: worker(),
    ...LOCAL_ONLY,
  })
  const statuses = async () => {
    const [tree, readiness] = await Promise.all([health.tree(), health.readiness()])
    return { health: tree.status, readiness: readiness.status, liveness: health.liveness().status }
  }
  return { clock, store, broker, health, statuses }
}

const pong = (part: Pong['part'], failure: string | null = null): Pong => ({
  part,
  place: `${part}:6379`,
  failure,
  tookMs: 1,
  durability: { facts: { appendfsync: 'always' }, warnings: [] },
})

/** Creates the health of a broker whose store servers return these pongs. */
function answering(pongs: () => readonly Pong[]) {
  const clock = new SimulatedClock()
  const store = { ping: async () => pongs() }
  const settings = testSettings()
  return {
    clock,
    health: createHealth({
      store,
      clock,
      settings,
      isUp: () => true,
      certificates: () => [],
      storageWorker: worker(),
      ...LOCAL_ONLY,
    }),
  }
}

test('health: a broker that serves, and whose store answers, is up, ready and alive', async () => {
  const { health, statuses } = kept()
  assert.deepEqual(await statuses(), { health: 'UP', readiness: 'UP', liveness: 'UP' })
  const { components } = await health.tree()
  assert.deepEqual(Object.keys(components), ['store', 'broker', 'diskSpace', 'ping', 'storageWorker', 'ssl'])
  assert.deepEqual(components.storageWorker, { status: 'UP', details: { holder: 0 } })
  assert.deepEqual(Object.keys((await health.readiness()).components), ['readinessState', 'store'])
  assert.deepEqual(Object.keys(health.liveness().components), ['livenessState'])
})

test('health: without the Kafka listener the broker is up and says why, and readiness depends on the process', async () => {
  const { health, broker, statuses } = kept({ 'broker.enabled': false })
  assert.deepEqual(await statuses(), { health: 'UP', readiness: 'UP', liveness: 'UP' })
  assert.deepEqual((await health.tree()).components.broker, {
    status: 'UP',
    details: { isEnabled: false, reason: 'Kafka clients cannot connect to this process (svc.broker.enabled=false).' },
  })
  broker.isUp = false
  assert.deepEqual(await statuses(), { health: 'UP', readiness: 'OUT_OF_SERVICE', liveness: 'UP' }, 'while it drains')
})

test('health: if the store refuses, the broker is down and not ready, but alive', async () => {
  const { clock, store, statuses } = kept()
  store.faults.failNext('ping', 'unavailable')
  assert.deepEqual(await statuses(), { health: 'DOWN', readiness: 'DOWN', liveness: 'UP' })
  await clock.advance(5_000)
  assert.deepEqual(await statuses(), { health: 'UP', readiness: 'UP', liveness: 'UP' })
})

test('health: a store that does not answer is down after two seconds', async () => {
  const { clock, store, statuses, health } = kept()
  const release = store.faults.hold('ping')
  let answered: unknown = null
  const asked = statuses().then(found => (answered = found))
  await clock.advance(1_999)
  assert.equal(answered, null)
  await clock.advance(1)
  await asked
  assert.deepEqual(answered, { health: 'DOWN', readiness: 'DOWN', liveness: 'UP' })
  const [servers] = Object.values((await health.readiness()).components.store!.details) as [{ failure: string }[]]
  assert.equal(servers[0]!.failure, 'no answer within 2000 ms')
  release()
})

test('health: an answer of the store is kept for five seconds, for any number of callers', async () => {
  const { clock, store, health, statuses } = kept()
  await Promise.all(Array.from({ length: 1_000 }, () => health.readiness()))
  assert.equal(store.calls.ping, 1)
  store.faults.failNext('ping', 'unavailable')
  await clock.advance(4_999)
  assert.equal((await statuses()).readiness, 'UP')
  assert.equal(store.calls.ping, 1)
  await clock.advance(1)
  assert.equal((await statuses()).readiness, 'DOWN')
  assert.equal(store.calls.ping, 2)
})

test('health: a broker that starts or drains is down and not ready at once, but alive', async () => {
  const { broker, statuses } = kept()
  broker.isUp = false
  assert.deepEqual(await statuses(), { health: 'DOWN', readiness: 'OUT_OF_SERVICE', liveness: 'UP' })
  broker.isUp = true
  assert.deepEqual(await statuses(), { health: 'UP', readiness: 'UP', liveness: 'UP' })
})

test('health: on Redis the component is redis, and a separate Redis for streams is a part of it', async () => {
  let storage: string | null = null
  const { clock, health } = answering(() => [pong('storage-redis', storage), pong('redis')])
  const names = async () => (await health.checks()).map(({ name, status }) => [name, status])
  assert.deepEqual(await names(), [
    ['storage-redis-connectivity', 'UP'],
    ['redis-connectivity', 'UP'],
  ])
  assert.equal((await health.tree()).components.redis!.status, 'UP')
  assert.equal((await health.tree()).components.store, undefined)
  storage = 'no answer to PING within 2000 ms'
  await clock.advance(5_000)
  assert.equal((await health.tree()).components.redis!.status, 'DOWN')
  assert.equal((await health.readiness()).status, 'DOWN')
  assert.deepEqual(await names(), [
    ['storage-redis-connectivity', 'DOWN'],
    ['redis-connectivity', 'UP'],
  ])
})

test('health: one Redis for both purposes has one check, and another store has its own check', async () => {
  assert.deepEqual(
    (await answering(() => [pong('redis'), pong('redis')]).health.checks()).map(({ name }) => name),
    ['redis-connectivity'],
  )
  assert.deepEqual(
    (await kept().health.checks()).map(({ name }) => name),
    ['store-connectivity'],
  )
})

test('health: if the free space of the data folder is unknown, diskSpace is down, but the broker is ready', async () => {
  const { health, statuses } = kept({ 'storage.local.embedded.path': '/nowhere/at/all' })
  assert.equal((await health.tree()).components.diskSpace!.status, 'DOWN')
  assert.deepEqual(await statuses(), { health: 'DOWN', readiness: 'UP', liveness: 'UP' })
})

test('health: ssl is down before and after the validity of a certificate, but not if new files cannot replace it', async () => {
  const sslAt = async (nowMs: number, failure: string | null = null) => {
    const clock = new SimulatedClock(nowMs)
    const [validFrom, validTo] = [new Date(1_000_000), new Date(2_000_000)]
    const certificate = { port: 'server', subject: 'CN=ketch', validFrom, validTo, failure } as const
    const health = createHealth({
      store: createMemoryStore(clock),
      clock,
      settings: testSettings(),
      isUp: () => true,
      certificates: () => [certificate],
      storageWorker: worker(),
      ...LOCAL_ONLY,
    })
    return (await health.tree()).components.ssl!
  }
  const shown = {
    port: 'server',
    subject: 'CN=ketch',
    validFrom: '1970-01-01T00:16:40.000Z',
    validTo: '1970-01-01T00:33:20.000Z',
  }
  assert.deepEqual(await sslAt(1_500_000), { status: 'UP', details: { certificates: [shown] } })
  assert.equal((await sslAt(999_999)).status, 'DOWN')
  assert.equal((await sslAt(2_000_000)).status, 'DOWN')
  assert.deepEqual(await sslAt(1_500_000, 'no PEM'), {
    status: 'UP',
    details: { certificates: [{ ...shown, failure: 'no PEM' }] },
  })
})

test('if security is off, health warns who may do everything, and stays up', async () => {
  const open = async (address: string | null) => {
    const { health } = kept({ 'admin.security-enabled': false, 'server.address': address })
    const { status, components } = await health.tree()
    return [status, components.adminSecurity!.details.warning]
  }
  assert.deepEqual(await open(null), [
    'UP',
    'INSECURE: every client that reaches 0.0.0.0 may do everything (svc.admin.security-enabled=false).',
  ])
  assert.match(String((await open('127.0.0.1'))[1]), /^Every program on this machine may do everything/)
})

test('health: without a holder of the lease, or after a round that a broker did not run, the details say so', async () => {
  const clock = new SimulatedClock()
  const rooms = { store: createMemoryStore(clock), clock, isUp: () => true, certificates: () => [], ...LOCAL_ONLY }
  const shown = async (storageWorker: ReturnType<typeof worker>, overrides: Partial<Values> = {}) => {
    const settings = testSettings({ 'storage.local.embedded.path': '/', ...overrides })
    const { status, components } = await createHealth({ ...rooms, settings, storageWorker }).tree()
    return [status, components.storageWorker!.details]
  }
  const none = 'No broker holds the lease of the storage worker: nothing is rolled, dropped or cleaned; '
  assert.deepEqual(await shown(worker(null)), [
    'UP',
    { holder: null, warning: `${none}this broker takes it when it is free.` },
  ])
  assert.deepEqual(await shown(worker(null), { 'storage.worker.enabled': false }), [
    'UP',
    { holder: null, warning: `${none}svc.storage.worker.enabled is false on this broker.` },
  ])
  const done = { partitions: 1, rolled: 0, droppedBytes: 0, due: 0, cleaned: 0, cleanedBytes: 0, failures: 0 }
  const brokers = [
    { id: 1, outcome: 'done' as const, ...done, trouble: null },
    { id: 2, outcome: 'silent' as const, ...done, trouble: 'It is gone.' },
  ]
  const round = { number: 1, startedAt: '2026-01-01T00:00:00.000Z', tookMs: 1, brokers, offload: null }
  assert.deepEqual(await shown(worker(1, round)), ['UP', { holder: 1, warning: 'Broker 2: It is gone.' }])
  const old = 'No partition is cleaned until these brokers run a version that can read a cleaned log: 3, 4.'
  assert.deepEqual(await shown(worker(1, null, [3, 4])), ['UP', { holder: 1, warning: old }])
})
