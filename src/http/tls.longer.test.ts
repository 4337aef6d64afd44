// Tests the HTTP port over TLS: clients can see that it uses TLS, the files may change while it runs, and the limits
// of connections apply as without TLS.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { copyFile, readFile } from 'node:fs/promises'
import { Agent, type RequestOptions, request } from 'node:https'
import { connect as connectPlain } from 'node:net'
import { type TestContext, test } from 'node:test'
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls'
import { startBroker, type TestBrokerOptions } from '../../testing/broker.ts'
import { type Certificate, makeCertificate, noOpenssl } from '../../testing/certificate.ts'
import { eventually } from '../../testing/eventually.ts'
import { sendRaw } from '../../testing/http.ts'
import { type Clock, systemClock } from '../base/clock.ts'
import { SettingsError, type Values } from '../settings/settings.ts'
import { LOOK_MS } from '../tls/server-certificate.ts'
import { makeSlowRoute } from './waiting-routes.ts'

const PASSWORD = 'correct horse battery'

const tlsOf = ({ certificateFile, keyFile }: Certificate): Partial<Values> => ({
  'server.tls': true,
  'server.cert-file': certificateFile,
  'server.key-file': keyFile,
})

async function start(t: TestContext, options: TestBrokerOptions = { hasHttp: true }, more: Partial<Values> = {}) {
  const certificate = await makeCertificate(t)
  const started = await startBroker(t, { ...tlsOf(certificate), ...more }, options)
  const ca = await readFile(certificate.certificateFile)
  const port = Number(new URL(started.url).port)
  const open = async (options: ConnectionOptions = {}): Promise<TLSSocket> => {
    const socket = connect({ host: '127.0.0.1', port, ca, ...options })
    t.after(() => socket.destroy())
    await once(socket, 'secureConnect')
    return socket
  }
  return { ...started, certificate, ca, port, open }
}

interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
}

function ask(url: string, options: RequestOptions, body = ''): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const asking = request(url, options, answer => {
      let text = ''
      answer.setEncoding('utf8').on('data', chunk => (text += chunk))
      answer.on('end', () => resolve({ status: answer.statusCode!, headers: answer.headers, text }))
    })
    asking.on('error', reject).end(body)
  })
}

test('over TLS the port reports https, sets Secure cookies, and shows its certificate in health', {
  skip: noOpenssl,
}, async t => {
  const { url, ca, log } = await start(t, { hasHttp: true }, { 'admin.password': PASSWORD })
  assert.match(log(), /the admin API answers at https:\/\/127\.0\.0\.1:\d+/)
  const { host } = new URL(url)
  const headers = { 'content-type': 'application/json', origin: `https://${host}`, 'sec-fetch-site': 'same-origin' }
  const credentials = JSON.stringify({ username: 'admin', password: PASSWORD })
  const signedIn = await ask(`${url}/api/v1/auth/login`, { method: 'POST', ca, headers }, credentials)
  assert.equal(signedIn.status, 200, signedIn.text)
  const [cookie] = signedIn.headers['set-cookie'] as string[]
  assert.match(cookie!, /^svc-admin-session=[^;]+; .*; Secure$/)
  assert.equal(signedIn.headers['strict-transport-security'], 'max-age=31536000')
  const health = await ask(`${url}/api/v1/health`, { ca, headers: { cookie: cookie!.split(';', 1)[0]! } })
  const { ssl } = JSON.parse(health.text).details.components
  assert.deepEqual([ssl.status, ssl.details.certificates[0].port], ['UP', 'server'])
  assert.match(ssl.details.certificates[0].subject, /CN=localhost/)
})

test('TLS 1.2 and 1.3 are spoken, older versions and plain HTTP are not', { skip: noOpenssl }, async t => {
  const { url, open } = await start(t)
  for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
    const socket = await open({ minVersion: version, maxVersion: version })
    assert.equal(socket.getProtocol(), version)
  }
  // At this security level the client would accept the old version.
  const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'ALL:@SECLEVEL=0' } as const
  await assert.rejects(open(old), /protocol version|alert/i)
  const plain = await sendRaw(url, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n').catch(() => ({ text: '' }))
  assert.doesNotMatch(plain.text, /HTTP\/1\.1/)
  const { status } = await ask(url, { rejectUnauthorized: false })
  assert.equal(status, 200, 'it goes on')
})

test('a certificate and a key that do not match end the start, and nothing is left open', {
  skip: noOpenssl,
}, async t => {
  const [one, other] = [await makeCertificate(t), await makeCertificate(t)]
  const settings = { ...tlsOf(one), 'server.key-file': other.keyFile }
  await assert.rejects(startBroker(t, settings, { hasHttp: true }), error => {
    assert.ok(error instanceof SettingsError)
    assert.match(error.message, /^svc\.server\.key-file .* is not the key of the certificate/)
    return true
  })
})

/** The files are checked all the time. */
const hasty: Clock = {
  ...systemClock,
  timer: (delayMs, fn) => systemClock.timer(delayMs === LOOK_MS ? 10 : delayMs, fn),
}

test('new files are used without a restart, and open connections stay', { skip: noOpenssl }, async t => {
  const { url, certificate, ca, open } = await start(t, { hasHttp: true, clock: hasty })
  const agent = new Agent({ keepAlive: true, maxSockets: 1, ca })
  t.after(() => agent.destroy())
  const health = () => ask(`${url}/actuator/health`, { agent })
  assert.equal((await health()).status, 200)
  const [kept] = Object.values(agent.freeSockets)[0]!
  const before = (await open()).getPeerX509Certificate()!.fingerprint256
  const next = await makeCertificate(t, 'IP:127.0.0.1,DNS:next')
  await copyFile(next.certificateFile, certificate.certificateFile)
  await copyFile(next.keyFile, certificate.keyFile)
  const nextCa = await readFile(next.certificateFile)
  const shown = async () => {
    const socket = await open({ ca: [ca, nextCa] })
    const found = socket.getPeerX509Certificate()!
    socket.destroy()
    return found
  }
  await eventually('the new certificate is shown', async () => (await shown()).fingerprint256 !== before)
  assert.match((await shown()).subjectAltName!, /DNS:next/)
  assert.equal((await health()).status, 200)
  assert.equal(Object.values(agent.freeSockets)[0]![0], kept, 'by the connection that was open before')
})

test('the limits of connections apply over TLS, before the handshake and after it', { skip: noOpenssl }, async t => {
  const { slow, requests, release } = makeSlowRoute()
  const limits = { maxConnections: 2, graceMs: 0, maxBusy: 1, headersTimeoutMs: 300, checkIntervalMs: 10 }
  const { url, ca, port, open, broker } = await start(t, { http: { routes: [slow], limits } })
  // This connection makes no handshake.
  const mute = connectPlain({ host: '127.0.0.1', port })
  t.after(() => mute.destroy())
  await once(mute, 'close')
  const idle = await open()
  const ended = once(idle, 'close')
  const first = ask(`${url}/api/v1/slow`, { ca })
  await eventually('it waits', () => requests() === 1)
  // This is the third connection, so the idle one must be closed.
  const second = await ask(`${url}/api/v1/slow`, { ca, agent: new Agent() })
  assert.deepEqual([second.status, JSON.parse(second.text).code], [503, 'BUSY'])
  await ended
  // An idle connection does not keep the broker from ending either.
  await open()
  const closed = broker.close()
  release()
  assert.equal((await first).status, 200)
  await closed
})
