// Tests TLS on the Kafka listeners: versions and suites, client certificates, hostile and slow handshakes, changed
// files, and that everything that holds for a plaintext connection holds for an encrypted one.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { appendFile, copyFile, readFile, writeFile } from 'node:fs/promises'
import { type AddressInfo, connect as connectPlain, createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from 'node:tls'
import { askHttp } from '../../../testing/ask-http.ts'
import { startBroker } from '../../../testing/broker.ts'
import {
  type Authority,
  type Certificate,
  type Issued,
  makeAuthority,
  makeCertificate,
  noOpenssl,
} from '../../../testing/certificate.ts'
import { eventually } from '../../../testing/eventually.ts'
import {
  batchOf,
  fetchFrom,
  fetchOne,
  type Ground,
  LATE,
  produceTo,
  readLate,
  startGround,
  valuesOf,
} from '../../../testing/kafka.ts'
import { hasProgram } from '../../../testing/programs.ts'
import { SimulatedClock } from '../../../testing/sim/clock.ts'
import { connect, type Wire } from '../../../testing/wire.ts'
import { type Clock, systemClock } from '../../base/clock.ts'
import { encodeRequest } from '../../protocol/codec.ts'
import { requestHeader } from '../../protocol/header.ts'
import { alterClientQuotas } from '../../protocol/messages/alter-client-quotas.ts'
import { apiVersions } from '../../protocol/messages/api-versions.ts'
import { fetch } from '../../protocol/messages/fetch.ts'
import { produce } from '../../protocol/messages/produce.ts'
import { SettingsError, testSettings, type Values } from '../../settings/settings.ts'
import { createLogger } from '../../telemetry/logger.ts'
import { createMetrics } from '../../telemetry/metrics.ts'
import { LOOK_MS, openServerCertificate } from '../../tls/server-certificate.ts'
import { type ClientCertificate, type HandshakeFailure, openHandshakes } from './handshake.ts'
import { Transport } from './transport.ts'
import { LOOK_EVERY_MS } from './unasked-bytes.ts'

interface TlsGround extends Ground {
  readonly authority: Authority
  readonly served: Certificate
  readonly tlsPort: number
  /** Resolves with a client over TLS that trusts the broker. */
  join(options?: ConnectionOptions): Promise<Wire>
}

/** Starts a broker whose second listener uses TLS, on a plaintext first one for the test's own requests. */
async function start(t: TestContext, more: Partial<Values> = {}, clock: Clock = systemClock): Promise<TlsGround> {
  const authority = await makeAuthority(t)
  const served = authority.issue({ subject: '/CN=broker', usage: 'serverAuth' })
  const ground = await startGround(
    t,
    {
      'broker.cert-file': served.certificateFile,
      'broker.key-file': served.keyFile,
      'broker.listeners': [
        { name: 'TLS', host: null, port: 0, advertisedHost: null, advertisedPort: null, security: 'tls' },
      ],
      ...more,
    },
    clock,
  )
  const tlsPort = ground.broker.kafkaPorts[1]!
  const ca = await readFile(authority.certificateFile)
  return {
    ...ground,
    authority,
    served,
    tlsPort,
    async join(options = {}) {
      const wire = await connect({ port: tlsPort, tls: { ca, ...options } })
      t.after(() => wire.close())
      return wire
    },
  }
}

/** The files of the certificate, and the encrypted bytes of connections, are looked at all the time. */
const hasty: Clock = {
  ...systemClock,
  timer: (delayMs, fn) => systemClock.timer([LOOK_MS, LOOK_EVERY_MS].includes(delayMs) ? 10 : delayMs, fn),
}

const mtls = (authority: Authority): Partial<Values> => ({
  'broker.client-auth-required': true,
  'broker.trust-cert-file': authority.certificateFile,
})

async function pairOf({ certificateFile, keyFile }: Certificate): Promise<ConnectionOptions> {
  return { cert: await readFile(certificateFile), key: await readFile(keyFile) }
}

/** A request that the broker answers without authentication. */
const QUESTION = (() => {
  const parts = [requestHeader(apiVersions, 0, 7, 'raw'), ...encodeRequest(apiVersions, 0, {})]
  const size = Buffer.alloc(4)
  size.writeInt32BE(parts.reduce((sum, part) => sum + part.length, 0))
  return Buffer.concat([size, ...parts])
})()

/** Sends the request at once, and resolves with the bytes that the client gets before the connection is closed. */
async function answerTo(port: number, options: ConnectionOptions): Promise<number> {
  const socket = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false, ...options })
  let bytes = 0
  socket.on('error', () => {}).on('data', (chunk: Buffer) => (bytes += chunk.length))
  socket.write(QUESTION)
  await new Promise(resolve => socket.once('close', resolve))
  return bytes
}

async function connectRaw(t: TestContext, port: number): Promise<Socket> {
  const socket = connectPlain({ port, host: '127.0.0.1' })
  socket.on('error', () => {})
  t.after(() => void socket.destroy())
  await once(socket, 'connect')
  return socket
}

const isEmpty = async (ground: Ground) =>
  (await ground.sample('svc_broker_connections')) === 0 && (await ground.sample('svc_broker_pending_bytes')) === 0

test('records go in and out over TLS 1.2 and 1.3, and only suites with forward secrecy are spoken', {
  skip: noOpenssl,
}, async t => {
  const ground = await start(t)
  for (const [at, version] of (['TLSv1.2', 'TLSv1.3'] as const).entries()) {
    const wire = await ground.join({ minVersion: version, maxVersion: version })
    await produceTo(wire, batchOf([version]))
    assert.deepEqual((await valuesOf(await fetchOne(wire, at)))[0], [at, version])
    assert.equal((wire.socket as TLSSocket).getProtocol(), version)
    assert.match((wire.socket as TLSSocket).getCipher().name, /GCM|CHACHA20/)
  }
  // At security level 0 the client would accept all of these.
  for (const offered of [
    { minVersion: 'TLSv1', maxVersion: 'TLSv1', ciphers: 'ALL:@SECLEVEL=0' },
    { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'ALL:@SECLEVEL=0' },
    { maxVersion: 'TLSv1.2', ciphers: 'ECDHE-ECDSA-AES128-SHA256:AES128-GCM-SHA256' },
  ] as const)
    await assert.rejects(ground.join(offered), /alert/)
  assert.equal(await ground.failures('connection', 'tls-handshake'), 3)
  assert.match(ground.log(), /the TLS handshake has failed: unsupported protocol .*listener=TLS/)
})

test('plaintext on the TLS port and TLS on the plaintext port are closed, counted and named', {
  skip: noOpenssl,
}, async t => {
  const ground = await start(t)
  for (const bytes of [QUESTION, Buffer.from('GET / HTTP/1.1\r\n\r\n')]) {
    const socket = await connectRaw(t, ground.tlsPort)
    let answered = ''
    socket.on('data', chunk => (answered += chunk.toString('latin1')))
    socket.write(bytes)
    await once(socket, 'close')
    assert.ok(answered.length <= 7, 'at most a TLS alert')
  }
  assert.equal(await ground.failures('connection', 'plaintext'), 2)
  assert.match(ground.log(), /plaintext on a TLS port .*listener=TLS/)
  assert.equal(await answerTo(ground.port, {}), 0)
  assert.equal(await ground.failures('connection', 'tls'), 1)
  assert.match(ground.log(), /TLS on a plaintext Kafka port/)
  assert.equal(await ground.sample('svc_broker_malformed_frames_total'), 3)
})

test('a client that does not trust the broker, and one that only connects and leaves, leave nothing behind', {
  skip: noOpenssl,
}, async t => {
  const ground = await start(t)
  const wary = ['s_client', '-connect', `127.0.0.1:${ground.tlsPort}`, '-no-CAfile', '-verify_return_error']
  const client = spawn('openssl', wary, { stdio: 'ignore' })
  await once(client, 'close')
  await eventually('the alert is counted', async () => (await ground.failures('connection', 'tls-handshake')) === 1)
  assert.match(
    ground.log(),
    /the TLS handshake has failed: tls.* alert unknown ca, so the client does not accept the certificate of the broker/,
  )
  const probe = await connectRaw(t, ground.tlsPort)
  await eventually('it is counted', async () => (await ground.sample('svc_broker_connections')) === 1)
  probe.end()
  await eventually('nothing is left', () => isEmpty(ground))
  assert.equal(await ground.failures('connection', 'tls-handshake'), 1, 'a probe is no failure')
})

const REFUSED: readonly (readonly [what: string, issued: Issued | 'other' | 'self-signed' | null, said: RegExp])[] = [
  ['no certificate', null, /the client has shown no certificate/],
  ['one of another authority', 'other', /trust-cert-file does not have its authority/],
  ['a self-signed one', 'self-signed', /is self-signed/],
  ['an expired one', { days: -1 }, /has expired/],
  ['one for servers', { usage: 'serverAuth' }, /is not for clients \(extended key usage\)/],
]

for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
  test(`without a valid client certificate no Kafka byte is answered, ${version}`, { skip: noOpenssl }, async t => {
    const [authority, other] = [await makeAuthority(t), await makeAuthority(t)]
    const ground = await start(t, mtls(authority))
    const versions = { minVersion: version, maxVersion: version } as const
    for (const [at, [what, issued, said]] of REFUSED.entries()) {
      const shown =
        issued === 'other' ? other.issue() : issued === 'self-signed' ? other : authority.issue(issued ?? {})
      const pair = issued === null ? {} : await pairOf(shown)
      const logged = ground.log().length
      assert.equal(await answerTo(ground.tlsPort, { ...versions, ...pair }), 0, what)
      assert.equal(await ground.failures('auth', 'client-certificate'), at + 1, what)
      // The log is limited to one line in a while, so only the first refusal is certain to be there.
      if (at === 0) assert.match(ground.log().slice(logged), said)
    }
    assert.equal(await ground.received('ApiVersions'), 0)
    const wire = await ground.join({ ...versions, ...(await pairOf(authority.issue())) })
    await wire.send(apiVersions, 0, {})
    assert.equal((wire.socket as TLSSocket).isSessionReused(), false)
  })
}

test('a chain of certificates of megabytes is refused for its size, and the next client is served', {
  skip: noOpenssl,
}, async t => {
  const authority = await makeAuthority(t)
  const ground = await start(t, mtls(authority))
  const { cert, key } = await pairOf(authority.issue())
  const other = await readFile((await makeAuthority(t)).certificateFile)
  for (const [at, count] of [400, 8000].entries()) {
    const chain = Buffer.concat([cert as Buffer, ...Array.from({ length: count }, () => other)])
    assert.equal(await answerTo(ground.tlsPort, { cert: chain, key }), 0, `${chain.length} bytes`)
    assert.equal(await ground.failures('connection', 'tls-handshake'), at + 1)
  }
  assert.match(ground.log(), /the TLS handshake has failed: excessive message size/)
  const wire = await ground.join({ cert, key })
  await wire.send(apiVersions, 0, {})
})

test('a session is not resumed if certificates are demanded: each connection has its certificate checked', {
  skip: noOpenssl,
}, async t => {
  const authority = await makeAuthority(t)
  const [open, closed] = [await start(t), await start(t, mtls(authority))]
  const pair = await pairOf(authority.issue())
  for (const [ground, isResumed] of [
    [open, true],
    [closed, false],
  ] as const) {
    let session: Buffer | undefined
    const first = await ground.join({ ...pair, maxVersion: 'TLSv1.3' })
    first.socket.on('session', (made: Buffer) => (session = made))
    await first.send(apiVersions, 0, {})
    if (isResumed) await eventually('a ticket has come', () => session !== undefined)
    const second = await ground.join({ ...pair, ...(session && { session }) })
    await second.send(apiVersions, 0, {})
    assert.equal((second.socket as TLSSocket).isSessionReused(), isResumed)
  }
})

test('on a listener without SASL the distinguished name of the certificate is the principal', {
  skip: noOpenssl,
}, async t => {
  const authority = await makeAuthority(t)
  const ground = await start(t, mtls(authority))
  const admin = await ground.connect()
  const entity = [{ entityType: 'user', entityName: 'CN=alice,OU=orders' }]
  const ops = [{ key: 'producer_byte_rate', value: 1, remove: false }]
  await admin.send(alterClientQuotas, 1, { entries: [{ entity, ops }], validateOnly: false })
  for (const [subject, isLimited] of [
    ['/OU=orders/CN=alice', true],
    ['/OU=orders/CN=bob', false],
  ] as const) {
    const wire = await ground.join(await pairOf(authority.issue({ subject })))
    const topicData = [{ name: 't', partitionData: [{ index: 0, records: batchOf([Buffer.alloc(100_000)]) }] }]
    const { throttleTimeMs } = await wire.send(produce, 9, { acks: -1, timeoutMs: 30_000, topicData })
    assert.equal(throttleTimeMs > 0, isLimited, subject)
  }
})

/** Makes handshakes without a broker behind them. `secured` gets each encrypted socket, and the one below it. */
async function startHandshakes(
  t: TestContext,
  authority: Authority,
  told: {
    secured(socket: TLSSocket, client: ClientCertificate, accepted: Socket): void
    failed?(failure: HandshakeFailure | null): void
  },
  more: Partial<Values> = {},
  acceptsPeer: (fingerprint256: string) => boolean = () => false,
  clock: Clock = systemClock,
) {
  const served = authority.issue({ usage: 'serverAuth' })
  const files = { 'broker.cert-file': served.certificateFile, 'broker.key-file': served.keyFile }
  const settings = testSettings({ 'broker.tls': true, ...files, ...more })
  const logger = createLogger({ clock: systemClock, write: () => {}, format: 'plain', levels: new Map() })
  const rooms = { settings, clock, logger, metrics: createMetrics() }
  const certificate = (await openServerCertificate('broker', rooms))!
  t.after(() => certificate.close())
  const handshakes = openHandshakes({ ...rooms, certificate, acceptsPeer })
  const server = createServer({ pauseOnConnect: true }, accepted => {
    const secured = (socket: TLSSocket, client: ClientCertificate) => told.secured(socket, client, accepted)
    handshakes.begin(accepted, { secured, failed: told.failed ?? (() => {}), flooded() {} })
  }).listen(0, '127.0.0.1')
  t.after(() => void server.close())
  await once(server, 'listening')
  return { handshakes, port: (server.address() as AddressInfo).port }
}

test('a certificate that no authority has signed is accepted if it is pinned, and gives no name', {
  skip: noOpenssl,
}, async t => {
  const [authority, pinned, other] = [await makeAuthority(t), await makeAuthority(t), await makeAuthority(t)]
  const fingerprint = new X509Certificate(await readFile(pinned.certificateFile)).fingerprint256
  const asked: string[] = []
  const acceptsPeer = (shown: string) => {
    asked.push(shown)
    return shown === fingerprint
  }
  const ended: unknown[] = []
  const told = {
    secured(socket: TLSSocket, { name }: ClientCertificate) {
      ended.push(`accepted as ${name}`)
      socket.on('error', () => {}).end()
    },
    failed: (failure: HandshakeFailure | null) => void ended.push(failure?.reason),
  }
  const { port, handshakes } = await startHandshakes(t, authority, told, mtls(authority), acceptsPeer)
  for (const shown of [pinned, other, authority.issue()]) await answerTo(port, await pairOf(shown))
  assert.deepEqual(ended, ['accepted as null', 'client-certificate', 'accepted as CN=alice'])
  assert.equal(asked.length, 2, 'an authority needs no pin')
  assert.equal(handshakes.size, 0)
})

test('a transport counts the encrypted bytes that the network has taken, and exports the key of the client', {
  skip: noOpenssl,
}, async t => {
  const made = Promise.withResolvers<Transport>()
  const { port } = await startHandshakes(t, await makeAuthority(t), {
    secured: (socket, _, accepted) => made.resolve(new Transport(socket, accepted)),
  })
  const client = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false })
  t.after(() => void client.destroy())
  await once(client, 'secureConnect')
  const transport = await made.promise
  assert.deepEqual(
    Buffer.from(transport.exportKey('LABEL')!),
    client.exportKeyingMaterial(32, 'LABEL', Buffer.alloc(0)),
  )
  assert.equal(transport.exportKey('LABEL')!.length, 32)
  assert.notDeepEqual(transport.exportKey('LABEL'), transport.exportKey('OTHER'))
  client.pause()
  const size = 20_000_000
  const handshakeBytes = transport.takenBytes
  let isTaken = false
  transport.write([Buffer.alloc(size / 2), Buffer.alloc(size / 2)], () => {
    isTaken = true
  })
  assert.equal(transport.isBehind, true)
  let before = -1
  await eventually('the network takes no more', async () => {
    const last = before
    before = transport.takenBytes
    await new Promise(resolve => setTimeout(resolve, 50))
    return before === last
  })
  assert.ok(transport.takenBytes > handshakeBytes && transport.takenBytes < size, `${transport.takenBytes} bytes`)
  assert.equal(isTaken, false)
  client.on('data', () => {})
  client.resume()
  await eventually('all is taken', () => isTaken)
  const encrypted = transport.takenBytes - handshakeBytes
  assert.ok(encrypted > size && encrypted < size * 1.01, `${encrypted} bytes`)
  assert.equal(transport.isBehind, false)
  transport.destroy()
  assert.equal(transport.exportKey('LABEL'), null)
})

test('half-open handshakes count against the limits, hold little memory, and are closed at the timeout', {
  skip: noOpenssl,
}, async t => {
  const count = 200
  const ground = await start(t, {
    'broker.authentication-timeout': 1500,
    'broker.max-connections-per-address': count + 1,
  })
  // The first bytes of a ClientHello, up to half of it.
  const hello = Buffer.from('16030100c8010000c40303', 'hex')
  const before = process.memoryUsage().rss
  const startedAtMs = performance.now()
  const sockets = await Promise.all(Array.from({ length: count }, () => connectRaw(t, ground.tlsPort)))
  for (const [at, socket] of sockets.entries()) if (at % 2 === 0) socket.write(hello)
  await eventually('all are counted', async () => (await ground.sample('svc_broker_connections')) === count)
  const grown = process.memoryUsage().rss - before
  assert.ok(grown < count * 200_000, `${Math.round(grown / count)} bytes each, both ends of the connection`)
  const wire = await ground.join()
  await wire.send(apiVersions, 0, {})
  await assert.rejects(
    ground.connect().then(late => late.send(apiVersions, 0, {})),
    'it is one too many',
  )
  assert.equal(await ground.failures('connection', 'max-connections-per-address'), 1)
  for (const socket of sockets) if (!socket.destroyed) await once(socket, 'close')
  assert.ok(performance.now() - startedAtMs >= 1500)
  assert.equal(await ground.failures('connection', 'tls-handshake-timeout'), count)
  assert.match(ground.log(), /the TLS handshake was not complete after 1500 ms/)
  await wire.send(apiVersions, 0, {})
  await wire.close()
  await eventually('nothing is left', () => isEmpty(ground))
})

test('a client cannot renegotiate', { skip: noOpenssl }, async t => {
  const ground = await start(t)
  const child = spawn('openssl', ['s_client', '-connect', `127.0.0.1:${ground.tlsPort}`, '-tls1_2'], {
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  t.after(() => void child.kill())
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', chunk => (output += chunk))
  const gone = once(child, 'close')
  await eventually('the handshake is complete', () => output.includes('Verify return code'))
  assert.match(output, /Compression: NONE/)
  child.stdin.write('R\n')
  await eventually('it asked for another handshake', () => output.includes('RENEGOTIATING'))
  await gone
  assert.match(output, /no renegotiation/)
  const wire = await ground.join()
  await wire.send(apiVersions, 0, {})
})

const noPython: string | false = hasProgram('python3') ? false : 'SKIPPED python3: apt-get install python3'

/** Asks for new keys again and again, and reads nothing. Prints the number of requests until the broker closes. */
const ASK_FOR_KEYS = `
import ctypes, ctypes.util, socket, sys
ssl = ctypes.CDLL(ctypes.util.find_library('ssl'))
for made in (ssl.TLS_client_method, ssl.SSL_CTX_new, ssl.SSL_new): made.restype = ctypes.c_void_p
link = socket.create_connection(('127.0.0.1', int(sys.argv[1])))
it = ctypes.c_void_p(ssl.SSL_new(ctypes.c_void_p(ssl.SSL_CTX_new(ctypes.c_void_p(ssl.TLS_client_method())))))
ssl.SSL_set_fd(it, link.fileno())
assert ssl.SSL_connect(it) == 1
asked = 0
while asked < 10_000_000 and ssl.SSL_key_update(it, 1) == 1 and ssl.SSL_do_handshake(it) == 1: asked += 1
print(asked)
`

test('a client that asks for new keys without end, and takes no answer, is closed', {
  skip: noOpenssl || noPython,
}, async t => {
  const ground = await start(t, {}, hasty)
  const child = spawn('python3', ['-c', ASK_FOR_KEYS, String(ground.tlsPort)], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => void child.kill())
  let asked = ''
  child.stdout.on('data', chunk => (asked += chunk))
  await once(child, 'close')
  assert.ok(Number(asked) > 1000 && Number(asked) < 10_000_000, `${asked} requests`)
  assert.equal(await ground.failures('connection', 'tls-flood'), 1)
  await eventually('nothing is left', () => isEmpty(ground))
})

test('large records go in, and large answers out to a reader that stops, and nothing stays counted', {
  skip: noOpenssl,
}, async t => {
  const ground = await start(t, LATE, hasty)
  const [wire, other] = [await ground.join(), await ground.join()]
  const { size, answers } = await readLate(ground, wire, other)
  for (const { responses } of await Promise.all(answers)) {
    const values = await valuesOf(responses[0]!.partitions[0]! as never)
    for (const [offset, value] of values) assert.equal(Buffer.from(value)[size - 1], offset)
    assert.ok(values.length > 0)
  }
  await eventually('nothing is pending', async () => (await ground.sample('svc_broker_pending_bytes')) === 0)
  assert.equal(await ground.sample('svc_broker_backpressure_connections'), 0)
  assert.equal(await ground.failures('connection', 'tls-flood'), 0)
})

test('a connection that is made while no connection is read is not read either', { skip: noOpenssl }, async t => {
  const budget = 500_000
  const ground = await start(t, {
    'broker.global-max-pending-bytes': budget,
    'broker.global-resume-pending-bytes': budget / 2,
  })
  const [plain, watcher] = [await ground.connect(), await ground.connect()]
  await watcher.send(apiVersions, 0, {})
  const release = ground.store.faults.hold('append')
  const first = Array.from({ length: 6 }, () => produceTo(plain, batchOf([Buffer.alloc(budget / 5)])))
  const pending = () => ground.sample('svc_broker_pending_bytes')
  await eventually('all are suspended', async () => (await pending()) > budget)
  const wire = await ground.join()
  const others = Array.from({ length: 50 }, () => produceTo(wire, batchOf([Buffer.alloc(budget / 5)])))
  for (let i = 0; i < 50; i++) await new Promise(resolve => setImmediate(resolve))
  assert.ok((await pending()) < 1.5 * budget, `${await pending()} bytes`)
  release()
  await Promise.all([...first, ...others])
  await eventually('nothing is pending', async () => (await pending()) === 0)
})

test('if a client leaves in the middle of its answers, or half-closes, nothing stays counted', {
  skip: noOpenssl,
}, async t => {
  const ground = await start(t)
  const other = await ground.join()
  for (let i = 0; i < 8; i++) await produceTo(other, batchOf([Buffer.alloc(900_000, i)]))
  await other.close()
  for (const leave of ['destroy', 'resetAndDestroy', 'end'] as const) {
    const wire = await ground.join()
    wire.socket.pause()
    const answers = Array.from({ length: 20 }, () => wire.send(fetch, 12, fetchFrom(0)).catch(() => null))
    await eventually('answers wait', async () => (await ground.sample('svc_broker_pending_bytes')) > 5_000_000)
    if (leave === 'resetAndDestroy') (wire.socket as unknown as { _parent?: Socket })._parent?.resetAndDestroy()
    wire.socket[leave === 'end' ? 'end' : 'destroy']()
    if (leave === 'end') wire.socket.resume()
    await Promise.all(answers)
    await eventually(`nothing is left after ${leave}`, () => isEmpty(ground))
  }
})

test('draining answers what is in flight over TLS, and ends a handshake in progress', {
  skip: noOpenssl,
}, async t => {
  const ground = await start(t)
  const wire = await ground.join()
  const half = await connectRaw(t, ground.tlsPort)
  const parked = wire.send(fetch, 12, fetchFrom(0, { maxWaitMs: 30_000 }))
  await eventually('both are there', async () => (await ground.sample('svc_broker_connections')) === 2)
  await eventually('it is parked', async () => (await ground.received('Fetch')) === 1)
  await ground.broker.close()
  assert.equal((await parked).responses[0]!.partitions[0]!.errorCode, 0)
  await wire.closed
  if (!half.destroyed) await once(half, 'close')
})

test('changed files hold for new handshakes, bad ones change nothing, and open connections stay', {
  skip: noOpenssl,
}, async t => {
  const [trusted, later] = [await makeAuthority(t), await makeAuthority(t)]
  const ground = await start(t, mtls(trusted), hasty)
  const [alice, bob] = [await pairOf(trusted.issue()), await pairOf(later.issue())]
  const kept = await ground.join(alice)
  await kept.send(apiVersions, 0, {})
  const shown = async () => {
    const wire = await ground.join(alice)
    const found = (wire.socket as TLSSocket).getPeerX509Certificate()!.fingerprint256
    await wire.close()
    return found
  }
  const before = await shown()

  const next = ground.authority.issue({ subject: '/CN=next', usage: 'serverAuth' })
  await copyFile(next.certificateFile, ground.served.certificateFile)
  await copyFile(next.keyFile, ground.served.keyFile)
  await eventually('the new certificate is shown', async () => (await shown()) !== before)

  await writeFile(trusted.certificateFile, await readFile(later.certificateFile))
  const serves = async (pair: ConnectionOptions) => {
    const wire = await ground.join(pair)
    const isServed = await wire.send(apiVersions, 0, {}).then(
      () => true,
      () => false,
    )
    await wire.close()
    return isServed
  }
  await eventually('the new authority is trusted', () => serves(bob))
  assert.equal(await serves(alice), false)

  await appendFile(trusted.certificateFile, '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n')
  await eventually('the bad file is logged', () => / ERROR .*the broker keeps its certificate/.test(ground.log()))
  assert.match(ground.log(), /svc\.broker\.trust-cert-file .* cannot be used: certificate 2 of 2 cannot be read/)
  assert.equal(await serves(bob), true)
  await kept.send(apiVersions, 0, {})
})

test('health shows the certificate of the Kafka listeners, and why new files are not in use', {
  skip: noOpenssl,
}, async t => {
  const { certificateFile, keyFile } = await makeCertificate(t)
  const settings = {
    'broker.tls': true,
    'broker.cert-file': certificateFile,
    'broker.key-file': keyFile,
    'admin.security-enabled': false,
  }
  const { url } = await startBroker(t, settings, { hasHttp: true, clock: hasty })
  const ssl = async () => {
    const health = await askHttp(url)<Health>('/api/v1/health')
    const { status, details } = health.details.components.ssl!
    assert.equal(status, 'UP')
    return details.certificates
  }
  const [shown] = await ssl()
  assert.deepEqual([shown!.port, shown!.subject, shown!.failure], ['broker', 'CN=localhost', undefined])
  await writeFile(keyFile, 'no PEM\n')
  await eventually('the failure is shown', async () => (await ssl())[0]!.failure !== undefined)
  assert.match((await ssl())[0]!.failure!, /^svc\.broker\.key-file .* holds no PEM private key$/)
})

interface Health {
  readonly details: {
    readonly components: Readonly<
      Record<
        string,
        {
          readonly status: string
          readonly details: {
            readonly certificates: readonly {
              readonly port: string
              readonly subject: string
              readonly failure?: string
            }[]
          }
        }
      >
    >
  }
}

test('a trust file without a certificate ends the start', { skip: noOpenssl }, async t => {
  const authority = await makeAuthority(t)
  await writeFile(authority.certificateFile, 'no PEM\n')
  await assert.rejects(start(t, mtls(authority)), error => {
    assert.ok(error instanceof SettingsError)
    assert.match(error.message, /^svc\.broker\.trust-cert-file .* holds no PEM certificate$/)
    return true
  })
})

test('clients that send nothing cost no TLS state, and their handshakes are made when they send something', {
  skip: noOpenssl,
}, async t => {
  const ground = await start(t)
  const silent = await Promise.all(Array.from({ length: 300 }, () => connectRaw(t, ground.tlsPort)))
  await eventually('all are counted', async () => (await ground.sample('svc_broker_connections')) === 300)
  const wire = await ground.join()
  await wire.send(apiVersions, 0, {})
  const secured = silent.map(socket => connectTls({ socket, rejectUnauthorized: false }))
  await Promise.all(secured.map(socket => once(socket, 'secureConnect')))
  for (const socket of secured) {
    socket.write(QUESTION)
    await once(socket, 'data')
  }
  for (const socket of silent) socket.destroy()
  await wire.close()
  await eventually('nothing is left', () => isEmpty(ground))
})

test('a client whose turn does not come is closed when its time to authenticate is over, and a silent one before', {
  skip: noOpenssl,
}, async t => {
  const clock = new SimulatedClock()
  let isTurnDue = false
  clock.soon = () => {
    isTurnDue = true
  }
  const ended: unknown[] = []
  const told = {
    secured: () => assert.fail('no turn came'),
    failed: (failure: HandshakeFailure | null) => void ended.push(failure?.reason),
  }
  const { port, handshakes } = await startHandshakes(t, await makeAuthority(t), told, {}, () => false, clock)
  const [silent, waiting] = [await connectRaw(t, port), await connectRaw(t, port)]
  waiting.write('a')
  await eventually('both are accepted, and one waits', () => handshakes.size === 2 && isTurnDue)
  await clock.advance(10_000)
  assert.deepEqual(ended, ['tls-handshake-timeout'])
  if (!silent.destroyed) await once(silent, 'close')
  await clock.advance(19_999)
  assert.equal(handshakes.size, 1)
  await clock.advance(1)
  assert.deepEqual(ended, ['tls-handshake-timeout', 'tls-handshake-timeout'])
  if (!waiting.destroyed) await once(waiting, 'close')
})
