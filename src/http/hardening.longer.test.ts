// Tests the rules that every route must follow, against routes of its own.

import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { z } from 'zod'
import { startBroker } from '../../testing/broker.ts'
import { insideOf } from '../../testing/contract-walk.ts'
import { eventually } from '../../testing/eventually.ts'
import { sendRaw } from '../../testing/http.ts'
import type { Values } from '../settings/settings.ts'
import { StoreUnavailable } from '../store/store.ts'
import { HTTP_LIMITS, type HttpLimits } from './listener.ts'
import { problem } from './problems.ts'
import { type AnyRoute, reply, route } from './route.ts'
import { allRoutes } from './routes/all.ts'
import { makeSlowRoute, makeTailRoute } from './waiting-routes.ts'

const common = { tag: 'things', doc: 'A thing.', needs: 'viewer' } as const

/** Returns its own input. */
const echo = route({
  ...common,
  method: 'POST',
  path: '/api/v1/things/:name',
  verb: 'change thing',
  body: z
    .object({ value: z.unknown().optional(), count: z.int().optional(), secret: z.string().optional() })
    .optional(),
  query: z.object({ limit: z.coerce.number().int().min(1).max(1000).optional() }),
  audited: ['count'],
  answers: { 200: z.object({ name: z.string(), value: z.unknown(), limit: z.number().optional() }) },
  answer: ({ params, query, body }) =>
    reply(200, { name: (params as unknown as { name: string }).name, value: body?.value ?? null, limit: query.limit }),
})

const list = route({
  ...common,
  method: 'GET',
  path: '/api/v1/things',
  verb: 'list things',
  answers: { 200: z.object({ things: z.array(z.string()) }) },
  answer: () => reply(200, { things: Array.from({ length: 2_000 }, (_, at) => `thing ${at}`) }),
})

const failures: Readonly<Record<string, () => unknown>> = {
  'a mistake': () => {
    throw new Error('at /home/ketch/src/store/embedded.ts:12 of svc:broker:users')
  },
  'the store': () => {
    throw new StoreUnavailable('redis://:secret@10.0.0.1:6379 does not answer svc:broker:acls')
  },
  'another shape': () => reply(200, { other: 1 }),
  'another status': () => reply(299, {}),
}

const fail = route({
  ...common,
  method: 'GET',
  path: '/api/v1/failures/:kind',
  verb: 'fail',
  params: z.object({ kind: z.string() }),
  answers: { 200: z.object({ isFine: z.boolean() }) },
  answer: ({ params }) => failures[params.kind]!() as never,
})

const limits: Partial<HttpLimits> = {}

async function start(
  t: TestContext,
  routes: readonly AnyRoute[] = [echo, list, fail],
  settings: Partial<Values> = { 'admin.security-enabled': false },
) {
  const started = await startBroker(t, settings, { http: { routes, limits } })
  return {
    ...started,
    post: (body?: string | Uint8Array, headers: Record<string, string> = {}, path = 'a') =>
      send(started.url, path, body, headers),
  }
}

async function send(url: string, path: string, body: string | Uint8Array | undefined, headers: Record<string, string>) {
  const type: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' }
  const response = await fetch(`${url}/api/v1/things/${path}`, {
    method: 'POST',
    headers: { ...type, ...headers },
    ...(body === undefined ? {} : { body: body as string }),
  })
  const answer = (await response.json()) as Record<string, unknown>
  return { status: response.status, headers: response.headers, ...answer } as {
    status: number
    headers: Headers
    code?: string
    detail?: string
    [member: string]: unknown
  }
}

test('a path has one form, and every other form is not found', async t => {
  const { url } = await start(t)
  const target = async (path: string) =>
    (await sendRaw(url, `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)).status
  assert.equal(await target('/api/v1/things'), 200)
  assert.equal(await target(`${url}/api/v1/things`), 200, 'the absolute form is the same path (RFC 9112, 3.2.2)')
  const others = [
    '/api/v1/things/',
    '//api/v1/things',
    '/api/v1//things',
    '/api/v1/x/../things',
    '/api/v1/x/%2e%2e/things',
    '/api/v1/./things',
    '/api/v1/things;x=1',
    '/API/v1/things',
    '/api/v1/Things',
    '/api/v1/things.',
    '/api/v1/things%00',
    '/api/v1%2Fthings',
    '/api/v1/failures/',
    '/assets/../../etc/passwd',
    '/assets/%2e%2e/%2e%2e/etc/passwd',
  ]
  for (const path of others) assert.equal(await target(path), 404, path)
  for (const path of ['/api/v1/%ZZ', '/%c3%28']) assert.ok([400, 404].includes(await target(path)), path)
})

test('with security on every form of a path is refused or not found', async t => {
  const { url } = await start(t, [list], {})
  for (const path of ['/api/v1/things', '/api/v1/%74hings', `${url}/api/v1/things`])
    assert.equal((await sendRaw(url, `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)).status, 401, path)
})

test('only the request line decides the method', async t => {
  const { url } = await start(t)
  for (const method of ['HEAD', 'OPTIONS', 'TRACE', 'PUT', 'PATCH', 'DELETE', 'PROPFIND', 'QUERY']) {
    const { status, headers } = await sendRaw(
      url,
      `${method} /api/v1/things/a HTTP/1.1\r\nHost: x\r\nX-HTTP-Method-Override: POST\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`,
    )
    assert.deepEqual([status, headers.allow], [405, 'POST'], method)
  }
  const overridden = await fetch(`${url}/api/v1/things?_method=POST`, {
    headers: { 'x-http-method-override': 'DELETE' },
  })
  assert.equal(overridden.status, 200)
})

test('no answer has a CORS header, not even to a preflight', async t => {
  const { url } = await start(t)
  const preflight = { origin: 'https://evil.example', 'access-control-request-method': 'POST' }
  for (const [method, path] of [
    ['OPTIONS', 'things/a'],
    ['GET', 'things'],
  ] as const) {
    const { headers } = await fetch(`${url}/api/v1/${path}`, { method, headers: preflight })
    assert.deepEqual(
      [...headers.keys()].filter(name => name.startsWith('access-control-')),
      [],
    )
  }
})

test('a change from another site is refused before its body is read and before the caller is looked up', async t => {
  const { url, post } = await start(t, [echo], {})
  const { host } = new URL(url)
  const refused = [
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { origin: `http://${host}.evil.example` },
    { origin: `http://${host}`, 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
  ]
  // With security on and without a session the answer is 403 and not 401.
  for (const headers of refused) {
    const { status, code } = await post('{', headers)
    assert.deepEqual([status, code], [403, 'CROSS_SITE'], JSON.stringify(headers))
  }
  for (const type of [
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/json; charset=utf-16',
    'application/jsonx',
    '',
  ]) {
    const { status, code } = await post('{}', { 'content-type': type })
    assert.deepEqual([status, code], [415, 'UNSUPPORTED_MEDIA_TYPE'], type)
  }
  const form = await sendRaw(
    url,
    `POST /api/v1/things/a HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`,
  )
  assert.equal(form.status, 415, 'an empty form')
  // The refusal comes although the body never arrives.
  const early = await sendRaw(
    url,
    `POST /api/v1/things/a HTTP/1.1\r\nHost: ${host}\r\nOrigin: https://evil.example\r\nContent-Type: application/json\r\nContent-Length: 10\r\nConnection: close\r\n\r\n`,
  )
  assert.equal(early.status, 403)
  // A default port is the same port whether it is written or not (RFC 6454, 4), and a name before an @ does not
  // count.
  const fromTo = async (origin: string, named: string) => {
    const head = `POST /api/v1/things/a HTTP/1.1\r\nHost: ${named}\r\nOrigin: ${origin}\r\nConnection: close\r\n`
    return (await sendRaw(url, `${head}\r\n`)).status
  }
  for (const [origin, named] of [
    ['https://console.example', 'console.example:443'],
    ['https://console.example:443', 'console.example'],
    ['http://console.example', 'Console.Example:80'],
  ] as const)
    assert.equal(await fromTo(origin, named), 401, `${origin} ${named}`)
  for (const [origin, named] of [
    ['http://console.example', 'console.example:443'],
    ['https://console.example', 'console.example:80'],
    ['https://console.example', 'a@console.example'],
    ['https://console.example', 'console.example/a'],
    ['https://console.example:8443', 'console.example'],
    ['null', 'null'],
    ['null', ''],
  ] as const)
    assert.equal(await fromTo(origin, named), 403, `${origin} ${named}`)
  for (const headers of [
    { origin: `http://${host}`, 'sec-fetch-site': 'same-origin' },
    { origin: `https://${host}` },
    { 'sec-fetch-site': 'none' },
    {},
  ])
    assert.equal((await post('{}', headers)).status, 401, JSON.stringify(headers))
})

test('a body needs the JSON content type, and a request without a body needs no type', async t => {
  const { url, post } = await start(t)
  assert.equal((await post()).status, 200)
  assert.equal((await post(undefined, { 'content-type': 'application/json' })).status, 200)
  assert.equal((await post('{"value":1}', { 'content-type': 'application/json; charset=UTF-8' })).value, 1)
  const untyped = await sendRaw(
    url,
    'POST /api/v1/things/a HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}',
  )
  assert.equal(untyped.status, 415)
  assert.equal((await post('{}', { 'content-encoding': 'gzip' })).status, 415)
})

test('a body that is too large is 413, and a body that two readers could understand differently is 400', async t => {
  const { post } = await start(t)
  const large = await post(`{"value":"${'x'.repeat(10 * 1024 * 1024)}"}`)
  assert.deepEqual(
    [large.status, large.code, large.detail],
    [413, 'PAYLOAD_TOO_LARGE', 'A body takes 1048576 bytes at most.'],
  )
  const bad: readonly (string | Uint8Array)[] = [
    `{"value":${'['.repeat(10_000)}${']'.repeat(10_000)}}`,
    '{"value":1,"value":2}',
    '{"value":1e400}',
    '{"count":9007199254740993}',
    '{"value":NaN}',
    '\uFEFF{}',
    Buffer.from([0x22, 0xc3, 0x28, 0x22]),
    '{"value":',
  ]
  for (const body of bad) {
    const { status, code } = await post(body)
    assert.deepEqual([status, code], [400, 'INVALID_REQUEST'], Buffer.from(body).subarray(0, 40).toString())
  }
  const keys = (count: number) => `{"value":{${Array.from({ length: count }, (_, at) => `"k${at}":1`).join(',')}}}`
  assert.equal((await post(keys(4_900))).status, 200)
  const many = await post(keys(50_000))
  assert.deepEqual([many.status, many.detail], [400, 'The body has more than 10000 values.'])
  assert.equal((await post(keys(1_000_000))).status, 413)
})

test('a path that cannot be decoded is refused in a sentence', async t => {
  const { url } = await start(t)
  const answer = await fetch(`${url}/api/v1/things/%ZZ`)
  const { detail } = (await answer.json()) as { detail: string }
  assert.deepEqual([answer.status, detail], [400, 'The path has a % that does not begin an escape of UTF-8.'])
})

test('the keys of a body are only members, and set no prototype', async t => {
  const { post } = await start(t)
  assert.match((await post('{"__proto__":{"isAdmin":true}}')).detail!, /__proto__/)
  assert.match((await post('{"value":{"\\u005f_proto__":1}}')).detail!, /__proto__/)
  const { value } = await post('{"value":{"constructor":{"prototype":{"isAdmin":true}},"toString":"x"}}')
  assert.deepEqual(value, { constructor: { prototype: { isAdmin: true } }, toString: 'x' })
  assert.equal((await post('{}', {}, '__proto__')).name, '__proto__')
  assert.equal((await post('{}', {}, 'a?__proto__=1')).status, 400)
  assert.equal('isAdmin' in {}, false)
})

test('a route refuses fields that it does not name, and names them', async t => {
  const { post } = await start(t)
  const body = await post('{"valeu":1}')
  assert.deepEqual([body.status, body.fields], [400, { valeu: 'is not taken here' }])
  const query = await post('{}', {}, 'a?limti=1')
  assert.deepEqual([query.status, query.detail], [400, 'limti: is not taken here'])
  assert.deepEqual(Object.keys((await post('{"count":"many"}')).fields as object), ['count'])
  // A part that is wrong as a whole has no name of its own.
  assert.deepEqual(Object.keys((await post('[]')).fields as object), ['body'])
  const near = await post('{"valu":1}')
  assert.equal(near.detail, 'valu: is not taken here; did you mean value?')
})

test('a query that is out of its range, not a number or given twice is refused', async t => {
  const { post } = await start(t)
  for (const query of ['limit=-1', 'limit=1e9', 'limit=abc', 'limit=1&limit=2', 'limit[]=1', 'limit='])
    assert.equal((await post('{}', {}, `a?${query}`)).status, 400, query)
  assert.equal((await post('{}', {}, 'a?limit=7')).limit, 7)
})

test('a request that two servers could parse differently is refused, and the connection ends', async t => {
  const { url } = await start(t)
  const head = 'POST /api/v1/things/a HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n'
  const requests: readonly (readonly [what: string, status: number, text: string])[] = [
    ['chunked and a length', 400, `${head}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`],
    ['two lengths', 400, `${head}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`],
    ['a length with a sign', 400, `${head}Content-Length: +2\r\n\r\n{}`],
    ['another encoding last', 400, `${head}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n`],
    ['space before the colon', 400, `${head}X-A : b\r\n\r\n`],
    ['bare line feeds', 400, 'GET /api/v1/things HTTP/1.1\nHost: x\n\n'],
    ['no host', 400, 'GET /api/v1/things HTTP/1.1\r\nConnection: close\r\n\r\n'],
    ['two hosts', 400, 'GET /api/v1/things HTTP/1.1\r\nHost: x\r\nHost: y\r\nConnection: close\r\n\r\n'],
    ['two hosts in HTTP/1.0', 400, 'GET /api/v1/things HTTP/1.0\r\nHost: x\r\nHost: y\r\n\r\n'],
    ['a folded header', 400, `${head}X-A: b\r\n Transfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n`],
    ['a folded encoding', 400, `${head}Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n`],
    ['NUL in a header', 400, 'GET /api/v1/things HTTP/1.1\r\nHost: x\r\nX-A: \0\r\n\r\n'],
    ['not HTTP', 400, '\x16\x03\x01\x02\x00\x01\x00'],
    ['100 KB of header', 431, `GET /api/v1/things HTTP/1.1\r\nHost: x\r\nX-A: ${'a'.repeat(100_000)}\r\n\r\n`],
    ['100 KB of path', 431, `GET /${'a'.repeat(100_000)} HTTP/1.1\r\nHost: x\r\n\r\n`],
  ]
  for (const [what, status, text] of requests) {
    const answer = await sendRaw(url, text)
    assert.equal(answer.status, status, what)
    assert.equal(answer.headers['content-type'], 'application/problem+json', what)
    assert.ok(JSON.parse(answer.body).code, what)
  }
})

test('the number of headers is bounded, and so is the number of connections', async t => {
  const { url } = await start(t)
  const many = Array.from({ length: 101 }, (_, at) => `X-${at}: 1\r\n`).join('')
  const answer = await sendRaw(url, `GET /api/v1/things HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${many}\r\n`)
  assert.deepEqual([answer.status, JSON.parse(answer.body).code], [431, 'HEADERS_TOO_LARGE'])
  const { url: narrow } = await startBroker(
    t,
    {},
    { http: { routes: [list], limits: { maxConnections: 0, maxNew: 0 } } },
  )
  await assert.rejects(fetch(`${narrow}/api/v1/things`))
})

test('slow headers and slow bodies are answered 408 and closed', async t => {
  const slow = { headersTimeoutMs: 40, requestTimeoutMs: 80, checkIntervalMs: 10 }
  const { url } = await startBroker(t, { 'admin.security-enabled': false }, { http: { routes: [echo], limits: slow } })
  const head = await sendRaw(url, 'POST /api/v1/things/a HTTP/1.1\r\nHost: x\r\n')
  const body = await sendRaw(
    url,
    'POST /api/v1/things/a HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{',
  )
  for (const { status, body: text, headers } of [head, body])
    assert.deepEqual([status, JSON.parse(text).code, headers.connection], [408, 'REQUEST_TIMEOUT', 'close'])
  assert.deepEqual([HTTP_LIMITS.headersTimeoutMs, HTTP_LIMITS.requestTimeoutMs], [10_000, 30_000])
})

test('no path leads to a file', async t => {
  const { url } = await startBroker(t, { 'admin.security-enabled': false }, { hasHttp: true })
  for (const path of [
    '/assets/../../etc/passwd',
    '/swagger-ui/../package.json',
    '/swagger-ui/%2e%2e%2fpackage.json',
    '/swagger-ui/static/index.html',
    '/swagger-ui/swagger-ui-bundle.js.map',
  ]) {
    const { status } = await sendRaw(url, `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
    assert.equal(status, 404, path)
  }
})

test('an error has its code and says what is wrong, without internals', async t => {
  const { url, post, log } = await start(t)
  const answers = await Promise.all([
    ...Object.keys(failures).map(kind => fetch(`${url}/api/v1/failures/${kind}`)),
    fetch(`${url}/api/v1/nothing`),
    fetch(`${url}/api/v1/things/a`),
    fetch(`${url}/api/v1/%ZZ`),
    fetch(`${url}/api/v1/things/a?limit=x`, { method: 'POST' }),
  ])
  const texts = await Promise.all(answers.map(answer => answer.text()))
  const bodies = ['{', '[]', '{"count":{}}', '{"a":1,"a":1}', '\uFEFF{}', `"${'x'.repeat(2 * 1024 * 1024)}"`]
  const headers = [{ origin: 'https://evil.example' }, { 'content-type': 'text/plain' }, { 'content-encoding': 'gzip' }]
  const more = await Promise.all([
    ...bodies.map(body => post(body)),
    ...headers.map(each => post('{}', each)),
    ...['a?limti=1', 'a?limit=1&limit=2'].map(path => post('{}', {}, path)),
  ])
  // Node's HTTP parser refuses this one, before there is a request.
  const unread = ['nonsense\r\n\r\n', `GET /${'a'.repeat(100_000)} HTTP/1.1\r\nHost: x\r\n\r\n`]
  const raw = await Promise.all(unread.map(text => sendRaw(url, text)))
  const errors = [...texts, ...raw.map(({ body }) => body)].map(text => JSON.parse(text)).concat(more)
  assert.ok(errors.length >= 20)
  for (const error of errors) {
    assert.ok(error.status >= 400)
    assert.match(error.code, /^[A-Z_]+$/)
    assert.match(error.requestId, /^[\w-]{16}$/)
    // The address is the name that the client itself used for this server.
    const detail = error.detail.replaceAll(new URL(url).host, '')
    assert.equal(insideOf({ ...error, detail }), null, JSON.stringify(error))
  }
  assert.deepEqual(
    answers.map(({ status }) => status),
    [500, 503, 500, 500, 404, 405, 400, 400],
  )
  const { requestId } = JSON.parse(texts[0]!)
  assert.ok(log().includes(requestId), 'the log has the reason under the request id')
  assert.match(log(), /embedded\.ts:12/)
})

// Over TLS an answer has one header more, which tls.longer.test.ts checks.
test('every answer has the security headers, an error too', async t => {
  const { url } = await start(t, [list, fail], {})
  const answers = await Promise.all(['/api/v1/things', '/nothing', '/api/v1/%ZZ'].map(path => fetch(url + path)))
  const raw = await sendRaw(url, 'nonsense\r\n\r\n')
  for (const headers of [...answers.map(answer => answer.headers), new Headers(raw.headers)]) {
    assert.equal(
      headers.get('content-security-policy'),
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    )
    assert.equal(headers.get('x-content-type-options'), 'nosniff')
    assert.equal(headers.get('referrer-policy'), 'no-referrer')
    assert.equal(headers.get('cross-origin-opener-policy'), 'same-origin')
    assert.equal(headers.get('cache-control'), 'no-store')
    assert.equal(headers.get('strict-transport-security'), null, 'not without TLS')
    assert.equal(headers.get('server') ?? headers.get('x-powered-by'), null)
  }
})

test('no path takes a WebSocket, and an offer of HTTP/2 is ignored', async t => {
  const { url } = await startBroker(t, { 'admin.security-enabled': false }, { hasHttp: true })
  const upgrade = (path: string, protocol: string, connection: string) =>
    sendRaw(
      url,
      `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: ${connection}\r\nUpgrade: ${protocol}\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n`,
    )
  const paths = new Set(['/', '/nothing', ...allRoutes.map(({ path }) => path.replace(/:\w+/g, 'x'))])
  for (const path of paths) assert.equal((await upgrade(path, 'websocket', 'Upgrade, close')).status, 400, path)
  assert.equal((await upgrade('/api/v1/topics', 'h2c', 'Upgrade, HTTP2-Settings, close')).status, 200)
  // A client that accepts only events gets the usual answer from a route without events.
  const plain = await fetch(`${url}/api/v1/topics`, { headers: { accept: 'text/event-stream' } })
  assert.equal(plain.headers.get('content-type'), 'application/json; charset=utf-8')
  await plain.body?.cancel()
})

test('an unknown expectation is ignored, and the answer has the form of this server', async t => {
  const { url } = await start(t)
  const { status, headers } = await sendRaw(
    url,
    'GET /api/v1/things HTTP/1.1\r\nHost: x\r\nExpect: nonsense\r\nConnection: close\r\n\r\n',
  )
  assert.deepEqual([status, headers['x-content-type-options']], [200, 'nosniff'])
})

test('only the actuator and the reference request and take HTTP Basic', async t => {
  const byBasic = route({
    ...common,
    needs: 'basic-viewer',
    method: 'GET',
    path: '/actuator/thing',
    verb: 'show thing',
    answers: { 200: z.object({}) },
    answer: () => reply(200, {}),
  })
  const { url } = await start(t, [list, byBasic], {})
  const basic = (text: string) => ({ authorization: `Basic ${Buffer.from(text).toString('base64')}` })
  const wrong: readonly Record<string, string>[] = [
    {},
    { authorization: '' },
    { authorization: 'Basic' },
    { authorization: 'Basic !!!' },
    { authorization: 'Bearer abc' },
    basic(''),
    basic('admin'),
    basic(':'),
    basic('admin:wrong'),
    basic('stranger:wrong'),
    { ...basic('a:b'), cookie: 'svc-admin-session=x' },
  ]
  for (const headers of wrong) {
    const actuator = await fetch(`${url}/actuator/thing`, { headers })
    assert.deepEqual(
      [actuator.status, actuator.headers.get('www-authenticate')],
      [401, 'Basic realm="ketch", charset="UTF-8"'],
      JSON.stringify(headers),
    )
    const rest = await fetch(`${url}/api/v1/things`, { headers })
    assert.deepEqual([rest.status, rest.headers.get('www-authenticate')], [401, null], JSON.stringify(headers))
  }
})

test('a change writes a line with the user, the address, the change and the result, and no secret', async t => {
  const { post, log } = await start(t)
  await post('{"count":3,"secret":"hunter2"}', {}, 'a%0Ab?limit=2')
  await post('{"count":"hunter3","secret":1}')
  await post('{"count":{"secret":"hunter2"}}')
  await post(undefined, { origin: 'https://evil.example' })
  const lines = () =>
    log()
      .split('\n')
      .filter(line => line.includes('svc.audit'))
  await eventually('four lines', () => lines().length === 4)
  const [good, bad, nested, foreign] = lines()
  assert.match(good!, /change thing/)
  assert.match(good!, /who=anonymous sso=false from=127\.0\.0\.1 status=200/)
  assert.ok(good!.includes(String.raw`\"name\":\"a`) && good!.includes(String.raw`\"limit\":2,\"count\":3`), good)
  assert.match(bad!, /status=400 code=INVALID_REQUEST/)
  assert.match(nested!, /status=400 code=INVALID_REQUEST/)
  assert.match(foreign!, /who=null .*status=403 code=CROSS_SITE/)
  assert.doesNotMatch(log(), /hunter2/)
})

test('a change writes its line if its client disconnects, and also if it is refused for its headers', async t => {
  const begun = Promise.withResolvers<void>()
  const gone = Promise.withResolvers<void>()
  const slow = route({
    ...common,
    method: 'DELETE',
    path: '/api/v1/slow/:name',
    verb: 'delete slowly',
    answers: { 204: null },
    async answer({ ended }) {
      ended.addEventListener('abort', () => gone.resolve())
      begun.resolve()
      await gone.promise
      return reply(204)
    },
  })
  const { url, log } = await start(t, [slow])
  const head = 'DELETE /api/v1/slow/a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n'
  const many = Array.from({ length: 101 }, (_, at) => `X-${at}: 1\r\n`).join('')
  assert.equal((await sendRaw(url, `${head}${many}\r\n`)).status, 431)
  await eventually('the line of the refused change', () =>
    /delete slowly.* status=431 code=HEADERS_TOO_LARGE/.test(log()),
  )
  const { hostname, port } = new URL(url)
  const client = connect({ host: hostname, port: Number(port) }, () => client.write(`${head}\r\n`))
  await begun.promise
  client.resetAndDestroy()
  await gone.promise
  await eventually('the line of the change that was made', () => /delete slowly.* status=204/.test(log()))
})

test('JSON is compressed for a client that asks for it', async t => {
  const { url } = await start(t)
  const ask = (encoding: string) =>
    sendRaw(url, `GET /api/v1/things HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAccept-Encoding: ${encoding}\r\n\r\n`)
  for (const [encoding, inflate] of [
    ['br', brotliDecompressSync],
    ['gzip', gunzipSync],
  ] as const) {
    const { headers, body } = await ask(encoding)
    assert.deepEqual([headers['content-encoding'], headers.vary], [encoding, 'accept-encoding'])
    const { things } = JSON.parse(inflate(Buffer.from(body, 'latin1')).toString())
    assert.equal(things.length, 2_000)
  }
  assert.equal((await ask('identity')).headers['content-encoding'], undefined)
})

test('a stream sends its headers at once, and each chunk as it comes, compressed or not', async t => {
  const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const stream = route({
    ...common,
    method: 'GET',
    path: '/api/v1/tail',
    verb: 'tail',
    contentType: 'text/event-stream',
    answers: { 200: z.string() },
    async answer() {
      async function* chunks() {
        for (const gate of gates) {
          await gate.promise
          yield 'data: x\n\n'
        }
      }
      return { kind: 'streaming', contentType: 'text/event-stream', chunks: chunks() }
    },
  })
  const { url } = await start(t, [stream])
  const response = await fetch(`${url}/api/v1/tail`, { headers: { 'accept-encoding': 'br, gzip' } })
  assert.deepEqual(
    [response.headers.get('content-type'), response.headers.get('content-encoding')],
    ['text/event-stream', null],
  )
  const reader = response.body!.getReader()
  for (const gate of gates) {
    gate.resolve()
    const { value } = await reader.read()
    assert.equal(new TextDecoder().decode(value), 'data: x\n\n')
  }
  assert.equal((await reader.read()).done, true)
})

test('a stream ends when its client goes', async t => {
  const { tail, over } = makeTailRoute()
  const { url } = await start(t, [tail])
  const client = new AbortController()
  const response = await fetch(`${url}/api/v1/tail`, { signal: client.signal })
  await response.body!.getReader().read()
  client.abort()
  await over
})

test('a connection takes 64 requests ahead of their answers, and is cut beyond', async t => {
  const { slow, requests, release } = makeSlowRoute()
  const { url } = await start(t, [slow])
  const request = (more = '') => `GET /api/v1/slow HTTP/1.1\r\nHost: x\r\n${more}\r\n`
  // All requests come in one piece, so that none is read after the cut.
  const cut = await sendRaw(url, request().repeat(1_000)).catch(() => null)
  assert.equal(cut?.text ?? '', '')
  await eventually('64 requests are under way', () => requests() === 64)
  const all = sendRaw(url, request().repeat(63) + request('Connection: close\r\n'))
  await eventually('64 requests of another connection are under way, and no others', () => requests() === 128)
  release()
  assert.equal((await all).text.match(/HTTP\/1\.1 200/g)?.length, 64)
})

test('a client that does not read the answers is cut off, and one that waits for an answer is not', async t => {
  const cut = Promise.withResolvers<void>()
  const { slow, begun, release } = makeSlowRoute()
  const large = route({
    ...common,
    method: 'GET',
    path: '/api/v1/large',
    verb: 'show much',
    answers: { 200: z.string() },
    answer({ ended }) {
      ended.addEventListener('abort', () => cut.resolve())
      return reply(200, 'x'.repeat(32 * 1024 * 1024))
    },
  })
  const http = { routes: [slow, large], limits: { stallMs: 200 } }
  const { url } = await startBroker(t, { 'admin.security-enabled': false }, { http })
  const waiting = fetch(`${url}/api/v1/slow`)
  await begun
  const { hostname, port } = new URL(url)
  const client = connect({ host: hostname, port: Number(port) })
  t.after(() => client.destroy())
  client.pause().write('GET /api/v1/large HTTP/1.1\r\nHost: x\r\n\r\n')
  await cut.promise
  release()
  assert.equal((await waiting).status, 200)
})

test('a drain answers requests in flight, ends streams, takes no new request and keeps no connection', async t => {
  const { slow, begun, release } = makeSlowRoute()
  const { tail } = makeTailRoute()
  const { url, broker } = await start(t, [slow, tail, list])
  // Four connections: one is answered and kept alive by its client, one has no request, one waits for an answer, one
  // reads a stream.
  const unused = sendRaw(url)
  await (await fetch(`${url}/api/v1/things`)).json()
  const waiting = fetch(`${url}/api/v1/slow`)
  await begun
  const reader = (await fetch(`${url}/api/v1/tail`)).body!.getReader()
  await reader.read()
  const startedAtMs = performance.now()
  const closed = broker.close()
  assert.equal(new TextDecoder().decode((await reader.read()).value), 'last')
  assert.equal((await reader.read()).done, true)
  await assert.rejects(fetch(`${url}/api/v1/things`), 'the port is closed')
  release()
  const answer = await waiting
  assert.deepEqual([answer.status, await answer.json()], [200, { isDone: true }])
  await closed
  assert.equal((await unused).text, '')
  assert.ok(
    performance.now() - startedAtMs < 3_000,
    'well before the keep-alive timeout, and before the drain timeout of 5 s',
  )
})

test('connections without an answer are closed when the drain timeout is over', async t => {
  const { slow, begun } = makeSlowRoute()
  const { url, broker } = await start(t, [slow], { 'admin.security-enabled': false, 'broker.drain-timeout': 50 })
  const waiting = assert.rejects(fetch(`${url}/api/v1/slow`))
  await begun
  await broker.close()
  await waiting
})

test('a request on a connection that was kept is refused while the broker drains', async t => {
  const { slow, begun, release } = makeSlowRoute()
  const { url, broker } = await start(t, [slow, list])
  // The second request waits behind the first one, in the same connection.
  const request = (path: string) => `GET /api/v1/${path} HTTP/1.1\r\nHost: x\r\n\r\n`
  const answered = sendRaw(url, request('slow'))
  await begun
  const closed = broker.close()
  release()
  const { status, headers } = await answered
  assert.deepEqual([status, headers.connection], [200, 'close'])
  await closed
})

test('a problem that a route returns is answered with its headers', async t => {
  const refused = route({
    ...common,
    method: 'GET',
    path: '/api/v1/refused',
    verb: 'be refused',
    answers: { 200: z.object({}) },
    answer: () =>
      problem('TOO_MANY_REQUESTS', 'Not so fast.', { headers: { 'retry-after': '3' }, fields: { name: 'is odd' } }),
  })
  const { url } = await start(t, [refused])
  const response = await fetch(`${url}/api/v1/refused`)
  assert.deepEqual([response.status, response.headers.get('retry-after')], [429, '3'])
  const { requestId: _, ...body } = (await response.json()) as Record<string, unknown>
  assert.deepEqual(body, {
    type: 'about:blank',
    title: 'Too many attempts.',
    status: 429,
    detail: 'Not so fast.',
    code: 'TOO_MANY_REQUESTS',
    fields: { name: 'is odd' },
  })
})

test('if a trusted proxy reports that the client came by TLS, the client is told to use TLS again', async t => {
  const forwarded = { headers: { 'x-forwarded-proto': 'https' } }
  const behind = await start(t, [list], { 'admin.security-enabled': false, 'admin.trusted-proxies': ['127.0.0.1'] })
  const { headers } = await fetch(`${behind.url}/api/v1/things`, forwarded)
  assert.equal(headers.get('strict-transport-security'), 'max-age=31536000')
  const { url } = await start(t, [list])
  const believed = await fetch(`${url}/api/v1/things`, forwarded)
  assert.equal(believed.headers.get('strict-transport-security'), null, 'anybody can send such a header')
})
