import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startBroker } from '../../testing/broker.ts'
import { createTopic } from '../../testing/topic.ts'
import { ListenFailed } from '../settings/listen-failed.ts'

test('a broker lists itself', async t => {
  const { url, port } = await startBroker(t, { 'admin.security-enabled': false }, { hasHttp: true })
  const response = await fetch(`${url}/api/v1/brokers`)
  assert.equal(response.status, 200)
  const { brokers } = (await response.json()) as { brokers: { version: string; uptimeMs: number }[] }
  assert.equal(brokers.length, 1)
  assert.match(brokers[0]!.version, /^\d+\.\d+\.\d+/)
  assert.ok(brokers[0]!.uptimeMs > 0)
  assert.partialDeepStrictEqual(brokers[0], {
    id: 0,
    rack: null,
    leads: 0,
    isServing: true,
    isSelf: true,
    isConfirmed: true,
    silentReason: null,
    listeners: [{ name: 'PLAINTEXT', host: '127.0.0.1', port }],
  })
})

test('without a session every route answers with the same problem', async t => {
  const { url } = await startBroker(t, {}, { hasHttp: true })
  const response = await fetch(`${url}/api/v1/brokers`)
  assert.equal(response.status, 401)
  assert.equal(response.headers.get('content-type'), 'application/problem+json')
  const { requestId, ...body } = (await response.json()) as Record<string, unknown>
  assert.match(String(requestId), /^[\w-]{16}$/)
  assert.deepEqual(body, {
    type: 'about:blank',
    title: 'The caller is not signed in.',
    status: 401,
    detail: 'A session is required.',
    code: 'UNAUTHENTICATED',
  })
})

test('a path that is not in the table is not found, and another method is not allowed', async t => {
  const { url } = await startBroker(t, { 'admin.security-enabled': false }, { hasHttp: true })
  assert.equal((await fetch(`${url}/api/v1/nothing`)).status, 404)
  const response = await fetch(`${url}/api/v1/brokers`, { method: 'DELETE' })
  assert.deepEqual([response.status, response.headers.get('allow')], [405, 'GET, HEAD'])
})

test('a port that is in use ends the start, and the error names the setting to change', async t => {
  const { broker } = await startBroker(t, {}, { hasHttp: true })
  const port = broker.httpPort!
  await assert.rejects(startBroker(t, { 'server.port': port }, { hasHttp: true }), error => {
    assert.ok(error instanceof ListenFailed)
    assert.match(error.message, new RegExp(`^cannot listen for HTTP clients on 127.0.0.1:${port}: the port is taken`))
    assert.match(error.message, new RegExp(`--server.port=${port + 1} or SERVER_PORT=${port + 1}$`))
    return true
  })
})

test('HEAD is answered as GET is, without the body', async t => {
  const { url } = await startBroker(t, { 'admin.security-enabled': false }, { hasHttp: true })
  const paths = ['/', '/actuator/health', '/actuator/health/readiness', '/api/v1/topics', '/api/v1/topics/none', '/no']
  for (const path of paths) {
    const [get, head] = [await fetch(url + path), await fetch(url + path, { method: 'HEAD' })]
    assert.deepEqual([head.status, await head.text()], [get.status, ''], path)
    const [type, length] = [head.headers.get('content-type'), head.headers.get('content-length')]
    assert.equal(type, get.headers.get('content-type'), path)
    // Some bodies contain the time when they were made, and each problem has its own id of the same length.
    if (length !== null) assert.equal(Number(length), (await get.arrayBuffer()).byteLength, path)
    else await get.body?.cancel()
  }
  // HEAD never makes a change.
  const login = await fetch(`${url}/api/v1/auth/login`, { method: 'HEAD' })
  assert.deepEqual([login.status, login.headers.get('allow')], [405, 'POST'])
})

test('without a session HEAD is answered like GET, and health needs no session', async t => {
  const { url } = await startBroker(t, {}, { hasHttp: true })
  const head = async (path: string) => (await fetch(url + path, { method: 'HEAD' })).status
  assert.deepEqual([await head('/actuator/health/liveness'), await head('/api/v1/topics')], [200, 401])
  assert.equal(await head('/actuator/info'), 401)
})

test('HEAD of a stream ends at once and gives its place back', async t => {
  const broker = await startBroker(t, { 'admin.security-enabled': false }, { hasHttp: true })
  await createTopic(broker, 'orders', 1)
  // More requests than tails at one time.
  for (let at = 0; at < 40; at++) {
    const { status, headers } = await fetch(`${broker.url}/api/v1/topics/orders/messages/tail`, { method: 'HEAD' })
    assert.deepEqual([status, headers.get('content-type')], [200, 'text/event-stream'])
  }
  const file = await fetch(`${broker.url}/api/v1/topics/orders/messages/export?format=csv`, { method: 'HEAD' })
  assert.deepEqual([file.status, await file.text()], [200, ''])
  assert.match(file.headers.get('content-disposition')!, /^attachment/)
})

test('without a built console the root links the reference, health and the guides: a page for browsers, JSON for programs', async t => {
  const { url, log } = await startBroker(t, {}, { http: { consoleFolder: '/nonexistent' } })
  const json = await fetch(url)
  assert.equal(json.headers.get('content-type'), 'application/json; charset=utf-8')
  const { links, guides } = (await json.json()) as { links: Record<string, string>; guides: string }
  assert.equal(guides, 'docs/README.md')
  const page = await fetch(url, { headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' } })
  assert.equal(page.headers.get('content-type'), 'text/html; charset=utf-8')
  assert.match(page.headers.get('content-security-policy')!, /^default-src 'none'/)
  const html = await page.text()
  assert.deepEqual(
    [...html.matchAll(/href="(\/[^"]*)"/g)].map(([, path]) => path),
    Object.values(links),
  )
  assert.ok(html.includes(guides))
  // The page shows nothing of this broker: no version, no address.
  assert.doesNotMatch(html + JSON.stringify(links), /\d\.\d|127\.0\.0\.1/)
  for (const path of Object.values(links)) assert.ok([200, 401].includes((await fetch(url + path)).status), path)
  assert.doesNotMatch(log(), / ERROR /)
})

test('the paths where people look for the reference lead to it', async t => {
  const { url } = await startBroker(t, { 'admin.security-enabled': false }, { hasHttp: true })
  for (const path of ['/swagger-ui', '/swagger-ui/', '/swagger-ui.html']) {
    const { status, headers } = await fetch(url + path, { redirect: 'manual' })
    assert.deepEqual([status, headers.get('location')], [302, '/swagger-ui/index.html'], path)
  }
  assert.equal((await fetch(`${url}/swagger-ui`)).headers.get('content-type'), 'text/html; charset=utf-8')
})
