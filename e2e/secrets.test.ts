// S5: secrets never appear in the log, in errors, over HTTP or over Kafka. A broker gets a marker of its own as each secret that
// there is, is used, refused and broken in many ways, and everything that it wrote or answered is searched for the markers.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { allRoutes } from '../src/http/routes/all.ts'
import { describeConfigs } from '../src/protocol/messages/describe-configs.ts'
import { metadata } from '../src/protocol/messages/metadata.ts'
import { fullKey, type Key, keys, settingsTable } from '../src/settings/settings.ts'
import { eventually } from '../testing/eventually.ts'
import { freePort, startBrokerProcess } from '../testing/process.ts'
import { noRedis, startRedis } from '../testing/redis.ts'
import { connect } from '../testing/wire.ts'

/** Long enough for every rule, and nothing that anybody else would write. */
const marker = (what: string) => `MARKER-${what}-7f3a9c2e5b8d4f60a1c3e5`

/** Every setting that is a secret, by the table. */
const SECRETS: readonly Key[] = keys.filter(key => {
  const { shape } = settingsTable[key]
  return shape.kind === 'one' && shape.type.name === 'secret'
})

const JSON_TYPE = { 'content-type': 'application/json' }

test('S5: no secret is written or answered, whatever a broker is asked and however it fails', {
  skip: noRedis,
  timeout: 120_000,
}, async t => {
  assert.ok(SECRETS.length >= 7)
  const redis = await startRedis(t, { password: marker('redis.password') })
  const streams = await startRedis(t, { password: marker('storage.local.redis.password') })
  const settings = Object.fromEntries(SECRETS.map(key => [fullKey(key), marker(key)]))
  const httpPort = await freePort()
  const broker = await startBrokerProcess(t, {
    settings: {
      ...settings,
      'svc.redis.host': '127.0.0.1',
      'svc.redis.port': String(redis.port),
      'svc.storage.local.redis.host': '127.0.0.1',
      'svc.storage.local.redis.port': String(streams.port),
      'server.port': String(httpPort),
      'logging.level.root': 'TRACE',
      'management.endpoints.web.exposure.include': '*',
      'svc.broker.drain-timeout': '2s',
    },
  })
  const url = `http://127.0.0.1:${httpPort}`
  const answers: string[] = []
  const ask = async (path: string, init: RequestInit = {}) => {
    const response = await fetch(`${url}${path}`, init)
    const headers = [...response.headers].filter(([name]) => name !== 'set-cookie').map(pair => pair.join(': '))
    answers.push(`${init.method ?? 'GET'} ${path} ${response.status} ${headers.join('\n')}\n${await response.text()}`)
    return response
  }
  const post = (path: string, body: unknown, headers: Record<string, string> = {}, method = 'POST') => {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    return ask(path, { method, headers: { ...JSON_TYPE, ...headers }, body: text })
  }

  // Signing in, well and badly.
  const signIn = { username: 'admin', password: marker('admin.password') }
  const signedIn = await post('/api/v1/auth/login', signIn)
  assert.equal(signedIn.status, 200)
  const cookie = signedIn.headers.getSetCookie()[0]!.split(';', 1)[0]!
  await post('/api/v1/auth/login', { username: 'admin', password: marker('wrong-password') })
  await post('/api/v1/auth/login', { username: 'admin', password: [marker('in-a-list')] })
  await post('/api/v1/auth/login', `{"username":"admin","password":"${marker('broken-json')}`)
  await post('/api/v1/auth/setup', { username: 'eve', password: marker('set-up') })
  const session = { cookie }
  await post('/api/v1/users', { username: 'vic', password: marker('new-user'), role: 'VIEWER' }, session)
  await post('/api/v1/users', { username: 'v:c', password: marker('bad-user') }, session)
  await post('/api/v1/users', { username: 'max', password: marker('extra'), token: marker('unknown-field') }, session)
  await post('/api/v1/users/vic', { password: marker('changed') }, session, 'PUT')
  await post('/api/v1/users/admin', { password: marker('own'), currentPassword: marker('not-mine') }, session, 'PUT')

  // Everything that can be read, as nobody, with a session, and by Basic.
  const basic = { authorization: `Basic ${Buffer.from(`admin:${marker('admin.password')}`).toString('base64')}` }
  const wrong = { authorization: `Basic ${Buffer.from(`admin:${marker('wrong-basic')}`).toString('base64')}` }
  const readable = allRoutes.filter(
    ({ method, contentType }) => method === 'GET' && contentType !== 'text/event-stream',
  )
  for (const { path } of readable) {
    const filled = path
      .replace(/:partition|:offset/g, '0')
      .replace(/:\w+/g, 'admin')
      .replace('*', 'x')
    for (const headers of [{}, session, basic, wrong, { authorization: `Bearer ${marker('bearer')}` }])
      await ask(filled, { headers })
  }

  // The Kafka side: what it is set to, a topic, and a password where no SASL is spoken.
  const wire = await connect({ port: broker.port })
  t.after(() => wire.close())
  await wire.send(metadata, 4, { topics: [{ name: 't' }] })
  const resources = [
    { resourceType: 4, resourceName: '0', configurationKeys: null },
    { resourceType: 8, resourceName: '0', configurationKeys: null },
    { resourceType: 2, resourceName: 't', configurationKeys: null },
  ]
  const described = await wire.send(describeConfigs, 4, {
    resources,
    includeSynonyms: true,
    includeDocumentation: true,
  })
  answers.push(JSON.stringify(described, (_, value) => (typeof value === 'bigint' ? String(value) : value)))
  for (const apiKey of [17, 36]) {
    const intruder = await connect({ port: broker.port })
    const body = Buffer.from(`\0admin\0${marker('sasl-plain')}`)
    const frame = Buffer.alloc(14 + body.length)
    frame.writeInt32BE(10 + body.length, 0)
    frame.writeInt16BE(apiKey, 4)
    frame.writeInt16BE(1, 6)
    frame.set(body, 14)
    await intruder.raw(frame)
    await intruder.closed
  }

  // A store that goes away, and one that takes another password from now on.
  await redis.ask('CONFIG', 'SET', 'requirepass', marker('another-redis-password'))
  await redis.stop('SIGKILL')
  await eventually('health that is down', async () => (await ask('/actuator/health/readiness')).status === 503, 20_000)
  for (const { path } of readable.slice(0, 20))
    await ask(path.replace(/:\w+/g, '0').replace('*', 'x'), { headers: session })
  await post('/api/v1/auth/login', signIn)
  await broker.kill('SIGTERM')

  const written = [broker.output(), ...answers]
  const answered = (what: RegExp) =>
    assert.ok(
      answers.some(text => what.test(text)),
      String(what),
    )
  for (const path of ['actuator/prometheus', 'actuator/info', 'actuator/loggers', 'api/v1/health', 'api/v1/users'])
    answered(new RegExp(`^GET /${path} 200 `))
  answered(/^POST \/api\/v1\/auth\/login 503 /)
  assert.match(broker.output(), /svc\.audit {2}create user/)
  for (const text of written) {
    const at = text.indexOf('MARKER-')
    assert.equal(at, -1, `${text.slice(0, 200)} … ${text.slice(Math.max(0, at - 100), at + 100)}`)
    assert.ok(!text.includes(cookie.slice('svc-admin-session='.length)), 'the session is in there')
  }
})

test('S5: a broker that does not start says why without the secret', async t => {
  const cases: Readonly<Record<string, string>>[] = [
    { 'svc.admin.jwt.secret': 'MARKER-short' },
    { 'svc.redis.uri': 'redis://user:MARKER-uri@127.0.0.1:1' },
    { 'svc.redis.uri': 'redis://user:MARKER%ZZ@127.0.0.1:1' },
    { 'svc.redis.uri': 'MARKER-not-a-uri' },
    { 'svc.redis.host': '127.0.0.1', 'svc.redis.port': '1', 'svc.redis.password': 'MARKER-password' },
    { 'svc.mcp.enabled': 'true', 'svc.mcp.token': 'MARKER-token' },
    { 'svc.admin.passwrd': 'MARKER-misspelt' },
  ]
  for (const settings of cases) {
    await assert.rejects(startBrokerProcess(t, { settings, folder: '/tmp/ketch-never' }), (error: Error) => {
      assert.match(error.message, /the broker ended with status 1/)
      assert.doesNotMatch(error.message, /MARKER/)
      return true
    })
  }
})
