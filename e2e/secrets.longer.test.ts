// Secrets never appear in the log, in errors, over HTTP or over Kafka. Each secret of a broker gets a marker of its
// own and is used, refused and broken in many ways. Then the test searches everything that the broker wrote or
// returned for the markers.

import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { test } from 'node:test'
import { allRoutes } from '../src/http/routes/all.ts'
import { alterUserScramCredentials } from '../src/protocol/messages/alter-user-scram-credentials.ts'
import { describeConfigs } from '../src/protocol/messages/describe-configs.ts'
import { describeUserScramCredentials } from '../src/protocol/messages/describe-user-scram-credentials.ts'
import { metadata } from '../src/protocol/messages/metadata.ts'
import { fullKey, type Key, keys, settingsTable } from '../src/settings/settings.ts'
import { eventually } from '../testing/eventually.ts'
import { CLIENT, startProvider } from '../testing/identity-provider.ts'
import { freePort, startBrokerProcess } from '../testing/process.ts'
import { noRedis, startRedis } from '../testing/redis.ts'
import { connect } from '../testing/wire.ts'

/** Returns a marker that is long enough for every rule, and that no other text contains. */
const marker = (what: string) => `MARKER-${what}-7f3a9c2e5b8d4f60a1c3e5`

/** Every setting of the table that is a secret. */
const SECRETS: readonly Key[] = keys.filter(key => {
  const { shape } = settingsTable[key]
  return shape.kind === 'one' && shape.type.name === 'secret'
})

/** The beginning of every marker: as plain text, and in base64 at each position in a group of three bytes. */
const TELLTALES: readonly string[] = [
  'MARKER',
  ...[0, 1, 2].map(before =>
    Buffer.from(`${' '.repeat(before)}MARKER`)
      .toString('base64')
      .slice(Math.ceil((before * 8) / 6), Math.floor(((before + 6) * 8) / 6)),
  ),
]

/** Fails if the text contains a marker or one of `others`, and shows the place. */
function assertHoldsNone(text: string, others: readonly string[] = []): void {
  for (const secret of [...TELLTALES, ...others]) {
    const at = text.indexOf(secret)
    assert.equal(at, -1, `${text.slice(0, 200)} … ${text.slice(Math.max(0, at - 100), at + 100)}`)
  }
}

const JSON_TYPE = { 'content-type': 'application/json' }

test('no secret is logged or returned, for any request and any failure', {
  skip: noRedis,
  timeout: 120_000,
}, async t => {
  assert.ok(SECRETS.length >= 7)
  const redis = await startRedis(t, { password: marker('redis.password') })
  const streams = await startRedis(t, { password: marker('storage.local.redis.password') })
  const provider = await startProvider(t)
  const settings = Object.fromEntries(SECRETS.map(key => [fullKey(key), marker(key)]))
  const httpPort = await freePort()
  const broker = await startBrokerProcess(t, {
    settings: {
      ...settings,
      'svc.redis.host': '127.0.0.1',
      'svc.redis.port': String(redis.port),
      'svc.storage.local.redis.host': '127.0.0.1',
      'svc.storage.local.redis.port': String(streams.port),
      'svc.storage.remote.path': 's3://lake',
      'svc.storage.remote.s3.endpoint': 'http://127.0.0.1:1',
      'svc.storage.remote.s3.region': 'eu-central-1',
      'svc.storage.remote.s3.access-key-id': 'key',
      'server.port': String(httpPort),
      'svc.mcp.enabled': 'true',
      'svc.admin.oauth.enabled': 'true',
      'svc.admin.oauth.issuer-uri': provider.issuer,
      'svc.admin.oauth.client-id': CLIENT.id,
      'svc.admin.oauth.audience': CLIENT.id,
      'svc.admin.oauth.roles.admin-group': 'ketch-admins',
      'logging.level.root': 'TRACE',
      'management.endpoints.web.exposure.include': '*',
      'svc.broker.drain-timeout': '2s',
    },
  })
  const url = `http://127.0.0.1:${httpPort}`
  const answers: string[] = []
  /** Sessions, and the tokens of the provider. They are as secret as a password, and are made during the test. */
  const issued: string[] = []
  const ask = async (path: string, init: RequestInit = {}) => {
    const response = await fetch(`${url}${path}`, init)
    const headers = [...response.headers].filter(([name]) => name !== 'set-cookie').map(pair => pair.join(': '))
    const asked = `${init.method ?? 'GET'} ${path.split('?', 1)[0]}`
    answers.push(`${asked} ${response.status} ${headers.join('\n')}\n${await response.text()}`)
    return response
  }
  const post = (path: string, body: unknown, headers: Record<string, string> = {}, method = 'POST') => {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    return ask(path, { method, headers: { ...JSON_TYPE, ...headers }, body: text })
  }

  // Sign in, correctly and wrongly.
  const signIn = { username: 'admin', password: marker('admin.password') }
  const signedIn = await post('/api/v1/auth/login', signIn)
  assert.equal(signedIn.status, 200)
  /** Returns the first cookie that is set, `name=value`. */
  const cookieOf = ({ headers }: Response): string => {
    const cookie = headers.getSetCookie()[0]!.split(';', 1)[0]!
    issued.push(cookie.slice(cookie.indexOf('=') + 1))
    return cookie
  }
  const cookie = cookieOf(signedIn)
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

  // Tools of agents with the right token, with a wrong one, and with one in the address.
  const askAgent = (token: string, query = '') =>
    post(
      `/mcp${query}`,
      { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'list_topics', arguments: { q: 'a' } } },
      { accept: 'application/json, text/event-stream', authorization: `Bearer ${token}` },
    )
  assert.equal((await askAgent(marker('mcp.token'))).status, 200)
  assert.equal((await askAgent(marker('mcp-wrong'))).status, 401)
  assert.equal((await askAgent(marker('mcp.token'), `?token=${marker('mcp-query')}`)).status, 401)
  assert.equal((await ask('/api/v1/agent-tools', { headers: session })).status, 200)

  // Passwords of Kafka clients, stored, changed and refused.
  const stored = { username: 'admin', password: marker('sasl'), iterations: 4_096 }
  assert.equal((await post('/api/v1/credentials', stored, session)).status, 201)
  const plain = { username: 'plain', password: marker('sasl-in-plain'), mechanism: 'PLAIN' }
  assert.equal((await post('/api/v1/credentials', plain, session)).status, 201)
  const changed = { password: marker('sasl-changed'), iterations: 5_000 }
  assert.equal((await post('/api/v1/credentials/admin', changed, session, 'PUT')).status, 200)
  assert.equal((await post('/api/v1/credentials/stranger', changed, session, 'PUT')).status, 404)
  for (const wrong of [
    { username: 'group:a' },
    { iterations: 1 },
    { mechanism: 'SCRAM-SHA-512' },
    { password: [marker('sasl-in-a-list')] },
    { password: marker('sasl-long').repeat(100) },
    { secret: marker('sasl-unknown-field') },
  ])
    assert.equal((await post('/api/v1/credentials', { ...stored, ...wrong }, session)).status, 400)
  assert.equal((await post('/api/v1/credentials', stored)).status, 401)

  // Single sign-on with a token endpoint that returns the secret that it was sent, and then with one that grants.
  const signOn = async (tell: (response: ServerResponse, told: string, nonce: string) => Promise<unknown>) => {
    const begun = await ask('/api/v1/auth/oidc/login', { redirect: 'manual' })
    const sent = begun.headers.get('location')!
    const query = provider.signIn(sent, () => ({}))
    issued.push(query.get('code')!)
    provider.instead.set('/token', (response: ServerResponse, { headers: { authorization = '' } }: IncomingMessage) => {
      const [, told] = Buffer.from(authorization.slice('Basic '.length), 'base64')
        .toString()
        .split(':')
        .map(decodeURIComponent)
      assert.equal(told, marker('admin.oauth.client-secret'))
      void tell(response, told, new URL(sent).searchParams.get('nonce')!)
    })
    const headers = { cookie: cookieOf(begun) }
    return await ask(`/api/v1/auth/oidc/callback?${query}`, { redirect: 'manual', headers })
  }
  const tokens = { access_token: marker('access'), refresh_token: marker('refresh'), token_type: 'Bearer' }
  const json = JSON_TYPE['content-type']
  for (const [status, type, word, sayBack] of [
    [400, json, 'sso-refused', (told: string) => JSON.stringify({ error: told, error_description: told })],
    [200, 'text/plain', 'sso-unavailable', (told: string) => told],
    [200, json, 'sso-invalid', (told: string) => told],
  ] as const) {
    const refused = await signOn(async (response, told) =>
      response.writeHead(status, { 'content-type': type }).end(sayBack(told)),
    )
    assert.deepEqual([refused.status, refused.headers.get('location')], [302, `/login?error=${word}`])
  }
  const granted = await signOn(async (response, _told, nonce) => {
    const id_token = await provider.sign(provider.claims(nonce, Date.now()))
    issued.push(id_token)
    response.writeHead(200, JSON_TYPE).end(JSON.stringify({ ...tokens, id_token }))
  })
  assert.deepEqual([granted.status, granted.headers.get('location')], [302, '/'])
  cookieOf(granted)

  // Everything that can be read: without signing in, with a session, and with Basic authentication.
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

  // The Kafka side: the configs, a topic, and a password on a listener without SASL.
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
  // The salted password of a client is as secret as its password, stored or refused.
  const salted = { name: 'salted', mechanism: 1, iterations: 4_096, salt: Buffer.from('salt') }
  for (const saltedPassword of [marker('salted').padEnd(32).slice(0, 32), marker('salted-wrongly').repeat(9)])
    await wire.send(alterUserScramCredentials, 0, {
      deletions: [],
      upsertions: [{ ...salted, saltedPassword: Buffer.from(saltedPassword) }],
    })
  const users = await wire.send(describeUserScramCredentials, 0, { users: null })
  answers.push(JSON.stringify([described, users], (_, value) => (typeof value === 'bigint' ? String(value) : value)))
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

  // A store that goes away, and one whose password changes.
  await redis.ask('CONFIG', 'SET', 'requirepass', marker('another-redis-password'))
  await redis.stop('SIGKILL')
  await eventually('health that is down', async () => (await ask('/actuator/health/readiness')).status === 503, 60_000)
  for (const { path } of readable.slice(0, 20))
    await ask(path.replace(/:\w+/g, '0').replace('*', 'x'), { headers: session })
  await post('/api/v1/auth/login', signIn)
  assert.equal((await askAgent(marker('mcp.token'))).status, 503)
  assert.equal((await askAgent(marker('mcp.token'), `?access_token=${marker('mcp-query')}`)).status, 503)
  await broker.kill('SIGTERM')

  const written = [broker.output(), ...answers]
  const answered = (what: RegExp) =>
    assert.ok(
      answers.some(text => what.test(text)),
      String(what),
    )
  for (const path of ['actuator/prometheus', 'actuator/info', 'actuator/loggers', 'api/v1/health', 'api/v1/users'])
    answered(new RegExp(`^GET /${path} 200 `))
  answered(/^GET \/api\/v1\/credentials\/admin 200 /)
  answered(/^POST \/api\/v1\/auth\/login 503 /)
  assert.match(broker.output(), /svc\.audit {2}create user/)
  assert.match(broker.output(), /svc\.audit {2}change credential/)
  for (const word of ['sso-refused', 'sso-unavailable', 'sso-invalid'])
    assert.match(broker.output(), new RegExp(`single sign-on failed error=${word} `))
  for (const text of written) assertHoldsNone(text, issued)
})

test('a broker that crashes logs the reason without a secret, although the error contains one', async t => {
  // The error is like that of a driver: its message comes from the server, and it also has the command that was
  // refused. The script reads the secret from the arguments, because the frames of the stack name the whole script.
  const secret = "process.argv.find(each => each.startsWith('--svc.admin.password='))"
  const error = `Object.assign(new Error('NOPERM', { cause: new Error('no such user') }), { command: ['AUTH', ${secret}] })`
  for (const crash of [`throw ${error}`, `void Promise.reject(${error})`]) {
    const script = `process.on('SIGUSR2', () => { ${crash} })`
    const broker = await startBrokerProcess(t, {
      settings: {
        'svc.admin.password': marker('admin.password'),
        'svc.admin.jwt.secret': marker('admin.jwt.secret'),
        'logging.level.root': 'TRACE',
      },
      nodeFlags: [`--import=data:text/javascript,${encodeURIComponent(script)}`],
    })
    const credentials = JSON.stringify({ username: 'admin', password: marker('admin.password') })
    const signIn = { method: 'POST', headers: JSON_TYPE, body: credentials }
    assert.equal((await fetch(`${broker.url}/api/v1/auth/login`, signIn)).status, 200)
    process.kill(broker.pid, 'SIGUSR2')
    assert.equal(await broker.exited, 70)
    assert.match(
      broker.output(),
      /the broker ends because of a defect in it error="Error: NOPERM, caused by Error: no such user"/,
    )
    assertHoldsNone(broker.output())
    const left = readdirSync(broker.folder, { recursive: true, withFileTypes: true }).filter(each => each.isFile())
    for (const { parentPath, name } of left) assertHoldsNone(readFileSync(join(parentPath, name), 'latin1'))
  }
})

test('a broker that does not start prints the reason without the secret', async t => {
  const cases: Readonly<Record<string, string>>[] = [
    { 'svc.admin.jwt.secret': 'MARKER-short' },
    { 'svc.redis.uri': 'redis://user:MARKER-uri@127.0.0.1:1' },
    { 'svc.redis.uri': 'redis://user:MARKER%ZZ@127.0.0.1:1' },
    { 'svc.redis.uri': 'MARKER-not-a-uri' },
    { 'svc.redis.host': '127.0.0.1', 'svc.redis.port': '1', 'svc.redis.password': 'MARKER-password' },
    { 'svc.mcp.enabled': 'true', 'svc.mcp.token': 'MARKER-token', 'svc.mcp.allowed-hosts': 'http://host' },
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
