import assert from 'node:assert/strict'
import { get, type IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { startBroker, type TestBroker } from '../../testing/broker.ts'
import { eventually } from '../../testing/eventually.ts'
import { createTopic } from '../../testing/topic.ts'
import type { Values } from '../settings/settings.ts'
import { HTTP_LIMITS, type HttpLimits } from './listener.ts'

const GRACE_MS = 20
const LIVENESS = '/actuator/health/liveness'
const TAIL = '/api/v1/topics/t/messages/tail'

async function start(t: TestContext, limits: Partial<HttpLimits>, settings: Partial<Values> = {}) {
  const broker = await startBroker(
    t,
    { 'admin.security-enabled': false, 'broker.drain-timeout': 200, ...settings },
    { http: { limits: { graceMs: GRACE_MS, ...limits } } },
  )
  await createTopic(broker, 't', 1)
  return broker
}

interface Opened {
  readonly socket: Socket
  /** Resolves with the first bytes of an answer, or when the connection is closed. */
  readonly answered: Promise<unknown>
  isClosed: boolean
}

/** Opens a connection that sends this and nothing more. */
async function open(t: TestContext, { url }: TestBroker, text: string, localAddress = '127.0.0.1'): Promise<Opened> {
  const socket = connect({ host: '127.0.0.1', port: Number(new URL(url).port), localAddress })
  const answered = new Promise(resolve => socket.once('data', resolve).once('close', resolve))
  const opened: Opened = { socket, answered, isClosed: false }
  t.after(() => socket.destroy())
  socket.on('error', () => {})
  socket.on('close', () => (opened.isClosed = true))
  socket.resume()
  await new Promise<void>(resolve => socket.once('connect', () => socket.write(text, () => resolve())))
  return opened
}

async function openMany(count: number, openOne: () => Promise<Opened>): Promise<readonly Opened[]> {
  const all: Opened[] = []
  for (let i = 0; i < count; i++) all.push(await openOne())
  return all
}

const closedOf = (all: readonly Opened[]) => all.map(({ isClosed }) => isClosed)
const firsts = (closed: number, of: number) => Array.from({ length: of }, (_, i) => i < closed)

/** Returns the head of the answer, from its own connection. */
async function ask(t: TestContext, { url }: TestBroker, path: string, localAddress = '127.0.0.1') {
  const request = get(`${url}${path}`, { agent: false, localAddress })
  t.after(() => request.destroy())
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    request.once('response', resolve)
    request.once('error', reject)
  })
  answer.on('error', () => {})
  answer.resume()
  return { status: answer.statusCode, headers: answer.headers, end: () => request.destroy() }
}

const HALF = 'GET / HTTP/1.1\r\nHost: x\r\n'
const KEPT = `GET ${LIVENESS} HTTP/1.1\r\nHost: x\r\n\r\n`
const SLOW_HEAD = 'POST /api/v1/topics HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: '
const SLOW_BODY = `${SLOW_HEAD}12\r\n\r\n{`

for (const [what, text] of [
  ['a part of a request', HALF],
  ['a part of a body', SLOW_BODY],
  ['nothing after an answer', KEPT],
  ['nothing at all', ''],
] as const)
  test(`of connections that bring ${what}, the longest idle ones of one address are closed`, async t => {
    const broker = await start(t, { maxConnectionsOfAddress: 8 })
    const tail = await ask(t, broker, TAIL)
    assert.equal(tail.status, 200)
    const elsewhere = await open(t, broker, text, '127.0.0.2')
    const all = await openMany(20, async () => {
      const opened = await open(t, broker, text)
      // The connections are in the order in which they were answered.
      if (text === KEPT) await opened.answered
      return opened
    })
    await eventually('those beyond are closed', () => closedOf(all).filter(Boolean).length >= 13)
    assert.deepEqual(closedOf(all), firsts(13, 20))
    assert.equal((await ask(t, broker, LIVENESS)).status, 200)
    assert.equal(elsewhere.isClosed, false)
    const lines = broker.log().match(/.*no request was complete was closed: its address has 8 .*/g)
    assert.equal(lines?.length, 1)
    assert.match(lines[0]!, /WARN .*address=127\.0\.0\.1/)
    // The stream is still open.
    assert.equal((await ask(t, broker, '/api/v1/brokers')).status, 200)
    tail.end()
  })

test('if there are too many connections in total, the longest idle ones of any address are closed', async t => {
  const broker = await start(t, { maxConnections: 6 })
  let last = 1
  const all = await openMany(15, () => open(t, broker, HALF, `127.0.0.${++last}`))
  await eventually('those beyond are closed', () => closedOf(all).filter(Boolean).length >= 9)
  assert.deepEqual(closedOf(all), firsts(9, 15))
  assert.equal((await ask(t, broker, LIVENESS)).status, 200)
  assert.match(broker.log(), /no request was complete was closed: there are 6 /)
})

for (const [what, limits] of [
  ['one address waits', { maxBusyOfAddress: 3 }],
  ['all wait', { maxBusy: 3 }],
] as const)
  test(`while ${what} for three answers, including streams, other requests are refused and health is answered`, async t => {
    const broker = await start(t, limits)
    const tails = []
    for (let i = 0; i < 3; i++) tails.push(await ask(t, broker, TAIL))
    for (const path of [TAIL, '/api/v1/brokers']) {
      const { status, headers } = await ask(t, broker, path)
      assert.deepEqual([status, headers['retry-after']], [503, '1'])
    }
    assert.equal((await ask(t, broker, '/api/v1/brokers', '127.0.0.2')).status, what === 'all wait' ? 503 : 200)
    for (const path of [LIVENESS, '/actuator/health/readiness', '/actuator/health', '/api/v1/health'])
      assert.equal((await ask(t, broker, path)).status, 200)
    assert.equal(broker.log().match(/WARN .* an HTTP request was refused: 3 others/g)?.length, 1)
    tails[0]!.end()
    await eventually('there is room', async () => (await ask(t, broker, '/api/v1/brokers')).status === 200)
  })

test('a change is refused if there is no room when its body arrives, even if there was when its head came', async t => {
  const broker = await start(t, { maxBusyOfAddress: 1 })
  const change = await open(t, broker, SLOW_BODY)
  let text = ''
  change.socket.on('data', chunk => (text += chunk))
  const tail = await ask(t, broker, TAIL)
  assert.equal(tail.status, 200)
  change.socket.write('"name":"u"}')
  await eventually('the request is answered', () => text.includes('\r\n\r\n'))
  assert.match(text, /^HTTP\/1\.1 503 /)
  tail.end()
  await eventually('there is room', async () => (await ask(t, broker, '/api/v1/brokers')).status === 200)
  assert.equal((await ask(t, broker, '/api/v1/topics/u')).status, 404)
})

test('only the limits of all connections apply to a trusted proxy', async t => {
  const broker = await start(
    t,
    { maxConnectionsOfAddress: 2, maxBusyOfAddress: 1 },
    { 'admin.trusted-proxies': ['127.0.0.0/8', '::1'] },
  )
  const all = await openMany(5, () => open(t, broker, HALF))
  const tails = [await ask(t, broker, TAIL), await ask(t, broker, TAIL)]
  assert.deepEqual(
    tails.map(({ status }) => status),
    [200, 200],
  )
  assert.deepEqual(closedOf(all), firsts(0, 5))
})

test('if there is no room at all, a new connection is closed at once, and a line is written', async t => {
  const broker = await start(t, { maxConnections: 2, maxNew: 1, graceMs: 60_000 })
  await openMany(3, () => open(t, broker, HALF))
  const last = await open(t, broker, HALF)
  await eventually('the last connection is closed', () => last.isClosed)
  assert.match(
    broker.log(),
    /WARN .* an HTTP connection was closed as it came: there are too many address=127\.0\.0\.1/,
  )
})

test('the limits leave room for requests for health', () => {
  const { maxConnections, maxConnectionsOfAddress, maxBusy, maxBusyOfAddress } = HTTP_LIMITS
  assert.ok(maxBusy < maxConnections)
  assert.ok(maxBusyOfAddress < maxConnectionsOfAddress)
  assert.ok(maxConnectionsOfAddress < maxBusy)
})
