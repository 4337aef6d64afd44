import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isLong } from '../../../testing/at-length.ts'
import { type CleanUp, startBroker } from '../../../testing/broker.ts'
import { eventually } from '../../../testing/eventually.ts'
import { batchOf, produceTo } from '../../../testing/kafka.ts'
import { SimulatedClock } from '../../../testing/sim/clock.ts'
import { createMemoryStore } from '../../../testing/sim/memory-store.ts'
import { systemClock } from '../../base/clock.ts'
import { metadata } from '../../protocol/messages/metadata.ts'
import type { Values } from '../../settings/settings.ts'

const EXPOSURE = 'management.endpoints.web.exposure.include'
const OPEN = { 'admin.security-enabled': false }
const LOGGERS = { ...OPEN, [EXPOSURE]: ['loggers'] }

async function started(t: CleanUp, settings: Partial<Values> = {}) {
  const { url, ...rest } = await startBroker(t, settings, { hasHttp: true })
  const get = async (path: string, init: RequestInit = {}) => {
    const response = await fetch(`${url}${path}`, init)
    const text = await response.text()
    const isJson = /json/.test(response.headers.get('content-type') ?? '')
    return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : null }
  }
  const post = (path: string, body: unknown, method = 'POST') =>
    get(path, { method, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
  return { url, get, post, ...rest }
}

test('health answers every caller with statuses only, and never with an address, a version or a path', async t => {
  const { get, dir } = await started(t)
  const up = { status: 'UP' }
  for (const path of ['/actuator/health', '/actuator/health?detail', '/actuator/health?show-details=always']) {
    const { status, body, text } = await get(path, { headers: { authorization: 'Basic eDp5' } })
    assert.equal(status, 200)
    assert.deepEqual(body, {
      status: 'UP',
      components: { store: up, broker: up, diskSpace: up, ping: up, storageWorker: up, schemaRegistry: up, ssl: up },
      groups: ['liveness', 'readiness'],
    })
    assert.ok(!text.includes(dir))
  }
  assert.deepEqual((await get('/actuator/health/liveness')).body, { status: 'UP', components: { livenessState: up } })
  assert.deepEqual((await get('/actuator/health/readiness')).body, {
    status: 'UP',
    components: { readinessState: up, store: up },
  })
})

test('a thousand probes ask the store once in five seconds', async t => {
  const startedAtMs = performance.now()
  const clock = new SimulatedClock()
  const store = createMemoryStore(clock)
  const { url } = await startBroker(t, {}, { hasHttp: true, openStore: async () => store })
  for (let round = 0; round < 10; round++) {
    const answers = Array.from({ length: 100 }, async () => {
      const response = await fetch(`${url}/actuator/health`)
      await response.text()
      return response.status
    })
    assert.ok((await Promise.all(answers)).every(status => status === 200))
  }
  const periods = Math.ceil((performance.now() - startedAtMs) / 5_000)
  assert.ok(store.calls.ping <= periods, `${store.calls.ping} questions in ${periods} times five seconds`)
})

test('a lost store answers 503 from health and readiness, and 200 from liveness', async t => {
  const store = createMemoryStore(new SimulatedClock())
  store.faults.failNext('ping', 'unavailable')
  const { url } = await startBroker(t, OPEN, { hasHttp: true, openStore: async () => store })
  const ask = async (path: string) => {
    const response = await fetch(`${url}${path}`)
    return [response.status, ((await response.json()) as { status: string }).status]
  }
  assert.deepEqual(await ask('/actuator/health'), [503, 'DOWN'])
  assert.deepEqual(await ask('/actuator/health/readiness'), [503, 'DOWN'])
  assert.deepEqual(await ask('/actuator/health/liveness'), [200, 'UP'])
  assert.deepEqual(await ask('/api/v1/health'), [200, 'DOWN'])
})

test('while a broker drains it is alive, not ready, and reports that', async t => {
  const store = createMemoryStore(systemClock)
  const { url, broker, connect } = await startBroker(t, {}, { hasHttp: true, openStore: async () => store })
  const wire = await connect()
  await wire.send(metadata, 4, { topics: [{ name: 't' }] })
  const release = store.faults.hold('append')
  const produced = produceTo(wire, batchOf(['x']))
  await eventually('an append that hangs', async () => store.calls.append > 0)
  const closed = broker.close()
  const statuses = async () =>
    await Promise.all(
      ['health', 'health/readiness', 'health/liveness'].map(
        async path => (await fetch(`${url}/actuator/${path}`)).status,
      ),
    )
  assert.deepEqual(await statuses(), [503, 503, 200])
  release()
  await produced
  await closed
})

test('a signed-in user reads the reasons: the tree wrapped, with a check and its durability', async t => {
  const { get, dir } = await started(t, OPEN)
  const { body } = await get('/api/v1/health')
  assert.equal(body.status, 'UP')
  assert.deepEqual(Object.keys(body.details.components), [
    'store',
    'broker',
    'diskSpace',
    'ping',
    'storageWorker',
    'schemaRegistry',
    'ssl',
    'adminSecurity',
  ])
  const [check] = body.checks
  assert.deepEqual([body.checks.length, check.name, check.status], [1, 'store-connectivity', 'UP'])
  assert.deepEqual(
    check.details.servers.map(({ place, durability }: Record<string, unknown>) => ({ place, durability })),
    [{ place: dir, durability: { facts: { fsync: 'always' }, warnings: [] } }],
  )
})

test('the full health needs a session', async t => {
  const { get } = await started(t)
  assert.equal((await get('/api/v1/health')).status, 401)
})

test('the probes can be switched off, and health does not list them then', async t => {
  const { get } = await started(t, { 'management.endpoint.health.probes.enabled': false })
  assert.equal((await get('/actuator/health/liveness')).status, 404)
  assert.equal((await get('/actuator/health/readiness')).status, 404)
  const { status, body } = await get('/actuator/health')
  assert.deepEqual([status, 'groups' in body], [200, false])
})

test('an endpoint that is not exposed is not found, and a star exposes all', async t => {
  const some = await started(t, { ...OPEN, [EXPOSURE]: ['info'] })
  const statuses = async ({ get }: typeof some) => {
    const paths = ['health', 'health/liveness', 'health/readiness', 'info', 'prometheus', 'loggers', 'loggers/svc']
    return await Promise.all(paths.map(async path => (await get(`/actuator/${path}`)).status))
  }
  assert.deepEqual(await statuses(some), [404, 404, 404, 200, 404, 404, 404])
  assert.match((await some.get('/actuator/loggers')).body.detail, /exposure\.include does not name loggers/)
  const all = await started(t, { ...OPEN, [EXPOSURE]: ['*'] })
  assert.deepEqual(await statuses(all), [200, 200, 200, 200, 200, 200, 200])
})

test('by default the scrape and the loggers are closed without a sign-in', async t => {
  const { get, post } = await started(t)
  for (const path of ['/actuator/prometheus', '/actuator/loggers', '/actuator/info'])
    assert.equal((await get(path)).status, 401, path)
  assert.equal((await post('/actuator/loggers/svc', { configuredLevel: 'DEBUG' })).status, 401)
  const open = await started(t, { ...OPEN })
  assert.equal((await open.get('/actuator/loggers')).status, 404)
})

test('the actuator asks for Basic if the Authorization is missing, empty, broken or wrong', async t => {
  const { get } = await started(t)
  const wrong = `Basic ${Buffer.from('admin:wrong').toString('base64')}`
  for (const authorization of [undefined, '', 'Basic', 'Basic ', 'Basic !!!', 'Basic eA==', 'Bearer eDp5', wrong]) {
    for (const path of ['/actuator/info', '/actuator/prometheus', '/actuator/loggers']) {
      const { status, headers } = await get(path, authorization === undefined ? {} : { headers: { authorization } })
      assert.equal(status, 401, `${path} ${authorization}`)
      assert.match(headers.get('www-authenticate') ?? '', /^Basic realm=/)
    }
  }
  // A session would not help here, and the problem does not ask for one.
  const { body } = await get('/actuator/info')
  const words = ['UNAUTHENTICATED', 'The caller is not signed in.', 'A username and a password are required.']
  assert.deepEqual([body.code, body.title, body.detail], words)
})

test('the setting opens the scrape, and no other endpoint', async t => {
  const { get } = await started(t, { 'admin.anonymous-prometheus': true })
  const { status, headers, text } = await get('/actuator/prometheus')
  assert.equal(status, 200)
  assert.match(headers.get('content-type') ?? '', /^text\/plain; version=0\.0\.4|^application\/openmetrics-text/)
  assert.match(text, /^svc_broker_up 1$/m)
  // The alert about a broker that the others cannot see fires at 0.
  assert.match(text, /^svc_cluster_confirmed 1$/m)
  assert.match(text, /^svc_cluster_brokers 1$/m)
  assert.equal((await get('/actuator/info')).status, 401)
})

test('a scrape is compressed for a client that asks for it, in both formats', async t => {
  const { get } = await started(t, OPEN)
  for (const accept of ['text/plain', 'application/openmetrics-text; version=1.0.0']) {
    for (const encoding of ['gzip', 'identity']) {
      const { headers, text } = await get('/actuator/prometheus', { headers: { accept, 'accept-encoding': encoding } })
      assert.ok(headers.get('content-type')?.startsWith(accept))
      assert.equal(headers.get('content-encoding'), encoding === 'gzip' ? 'gzip' : null)
      assert.match(text, /^svc_broker_up 1$/m)
      assert.equal(text.endsWith('# EOF\n'), accept !== 'text/plain')
    }
  }
})

test('a VIEWER may read the actuator by Basic, and only an ADMIN may set a level', async t => {
  const secured = { 'admin.password': 'correct horse battery', [EXPOSURE]: ['*'] }
  const { url, get } = await started(t, secured)
  const basic = (name: string, password: string) => `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`
  const admin = basic('admin', 'correct horse battery')
  const json = { 'content-type': 'application/json' }
  const signedIn = await fetch(`${url}/api/v1/auth/login`, {
    method: 'POST',
    headers: json,
    body: JSON.stringify({ username: 'admin', password: 'correct horse battery' }),
  })
  const cookie = signedIn.headers.getSetCookie()[0]!.split(';', 1)[0]!
  const vic = { username: 'vic', password: 'a viewer of things', role: 'VIEWER' }
  const made = await get('/api/v1/users', {
    method: 'POST',
    headers: { ...json, cookie },
    body: JSON.stringify(vic),
  })
  assert.equal(made.status, 201)
  const viewer = basic(vic.username, vic.password)
  for (const path of ['info', 'prometheus', 'loggers'])
    assert.equal((await get(`/actuator/${path}`, { headers: { authorization: viewer } })).status, 200, path)
  const set = async (authorization: string) => {
    const body = JSON.stringify({ configuredLevel: 'WARN' })
    return (await get('/actuator/loggers/svc.http', { method: 'POST', headers: { ...json, authorization }, body }))
      .status
  }
  assert.deepEqual([await set(viewer), await set(admin)], [403, 204])
  // A session is only for the console: the actuator still requires Basic, and health shows no more.
  assert.equal((await get('/actuator/info', { headers: { cookie } })).status, 401)
  const { body } = await get('/actuator/health', { headers: { cookie, authorization: admin } })
  assert.deepEqual(body.components.store, { status: 'UP' })
  const full = await get('/api/v1/health', { headers: { cookie } })
  assert.deepEqual(full.body.checks[0].details.servers[0].durability.facts, { fsync: 'always' })
})

test('the build is shown with the time of its commit', async t => {
  const { get } = await started(t, OPEN)
  const { build } = (await get('/actuator/info')).body
  assert.deepEqual([build.group, build.artifact], ['ketch', 'ketch'])
  assert.match(build.version, /^\d+\.\d+\.\d+$/)
  assert.ok(build.time === null || !Number.isNaN(Date.parse(build.time)))
})

test('a level that the actuator sets is effective at once, is shown, and can be reset', async t => {
  const { get, post, broker, log } = await started(t, LOGGERS)
  const kafka = broker.logger.named('kafka')
  kafka.debug('before')
  assert.equal((await post('/actuator/loggers/svc.kafka', { configuredLevel: 'DEBUG' })).status, 204)
  kafka.debug('meanwhile')
  assert.deepEqual((await get('/actuator/loggers/svc.kafka')).body, {
    configuredLevel: 'DEBUG',
    effectiveLevel: 'DEBUG',
  })
  const { levels, loggers } = (await get('/actuator/loggers')).body
  assert.ok(levels.includes('TRACE'))
  assert.equal(loggers['svc.kafka'].effectiveLevel, 'DEBUG')
  assert.equal((await post('/actuator/loggers/svc.kafka', { configuredLevel: null })).status, 204)
  kafka.debug('after')
  assert.match(log(), /meanwhile/)
  assert.doesNotMatch(log(), /DEBUG svc.kafka {2}(before|after)/)
})

test('an unknown level, a name with a newline and thousands of names are refused and leave nothing behind', async t => {
  const { get, post, broker, log } = await started(t, LOGGERS)
  assert.equal((await post('/actuator/loggers/svc', { configuredLevel: 'LOUD' })).status, 400)
  const known = broker.logger.levels().size
  assert.equal((await post('/actuator/loggers/svc', {})).status, 400)
  assert.equal((await post('/actuator/loggers/root', { configuredLevel: null })).status, 400)
  assert.equal((await post('/actuator/loggers/svc%0aERROR%20forged', { configuredLevel: 'DEBUG' })).status, 400)
  for (let round = 0; round < (isLong ? 100 : 10); round++) {
    const names = Array.from({ length: 100 }, (_, at) => `svc.none${round * 100 + at}`)
    const answers = await Promise.all(
      names.map(name => post(`/actuator/loggers/${name}`, { configuredLevel: 'DEBUG' })),
    )
    assert.ok(answers.every(({ status }) => status === 404))
  }
  assert.equal(broker.logger.levels().size, known)
  assert.doesNotMatch(log(), /^ERROR forged/m)
  assert.equal((await get('/actuator/loggers/svc%0a')).status, 400)
})

test('the console reads and changes levels through its own routes', async t => {
  const { get, post } = await started(t, OPEN)
  const named = async () =>
    (await get('/api/v1/loggers')).body.loggers.find(({ name }: { name: string }) => name === 'svc.http')
  assert.deepEqual(await named(), { name: 'svc.http', level: 'INFO', configuredLevel: null })
  const changed = await post('/api/v1/loggers/svc.http', { level: 'WARN' }, 'PUT')
  assert.deepEqual([changed.status, changed.body], [200, { name: 'svc.http', level: 'WARN', configuredLevel: 'WARN' }])
  assert.deepEqual(await named(), changed.body)
  assert.equal((await post('/api/v1/loggers/unknown', { level: 'WARN' }, 'PUT')).status, 404)
  assert.equal((await post('/api/v1/loggers/root', { level: null }, 'PUT')).status, 400)
})
