// Tests the connections between brokers over real TLS sockets, with real records in one store. The answering side is
// a small server of this file with the broker's own mechanism, so that a test can decide how it misbehaves.

import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { copyFile, readFile } from 'node:fs/promises'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { connect as connectTls, createServer as createTlsServer, type SecureContextOptions, TLSSocket } from 'node:tls'
import { type Certificate, makeCertificate, noOpenssl } from '../../testing/certificate.ts'
import { eventually } from '../../testing/eventually.ts'
import { outputOf } from '../../testing/programs.ts'
import { SimulatedClock } from '../../testing/sim/clock.ts'
import { createMemoryStore, type MemoryStore } from '../../testing/sim/memory-store.ts'
import { createBrokerMechanism } from '../auth/sasl/broker-mechanism.ts'
import type { SaslExchange } from '../auth/sasl/mechanism.ts'
import { systemClock } from '../base/clock.ts'
import { systemRandom } from '../base/random.ts'
import type { BrokerInfo } from '../cluster/broker-record.ts'
import { type Cluster, joinCluster } from '../cluster/cluster.ts'
import { PeerUnavailable } from '../cluster/peers.ts'
import { acceptsPeer, fingerprintOf, isMember, presentCertificate } from '../cluster/trust.ts'
import { decodeRequest, encodeResponse } from '../protocol/codec.ts'
import { NONE, SASL_AUTHENTICATION_FAILED, UNSUPPORTED_SASL_MECHANISM } from '../protocol/errors.ts'
import { headerLookup, readRequestHeader, responseHeader } from '../protocol/header.ts'
import { describeCluster } from '../protocol/messages/describe-cluster.ts'
import { saslAuthenticate } from '../protocol/messages/sasl-authenticate.ts'
import { saslHandshake } from '../protocol/messages/sasl-handshake.ts'
import type { Api, ResponseInput } from '../protocol/schema.ts'
import { usesSasl, usesTls } from '../settings/endpoints.ts'
import { LISTENER_SECURITIES, type ListenerSecurity, testSettings } from '../settings/settings.ts'
import { createLogger } from '../telemetry/logger.ts'
import { createMetrics } from '../telemetry/metrics.ts'
import { LOOK_MS, openServerCertificate, type ServerCertificate } from '../tls/server-certificate.ts'
import { type OpenPeers, openPeers, type PeersRooms } from './peers.ts'

const EXPIRY_MS = 1_000
const ASKED = { includeClusterAuthorizedOperations: false }

interface MemberOptions {
  readonly security: ListenerSecurity
  /** By default the member makes one. */
  readonly certificate?: Certificate
  readonly demandsCertificate?: boolean
  /** The pair that the server uses; by default the one of its record. */
  readonly presents?: SecureContextOptions
  /** The mechanism that the server uses; by default the one of brokers. With null it takes none. */
  readonly mechanismOf?: (member: Omit<Member, 'peers'>) => { begin: Begin } | null
  /** Replaces the server's port in the record. */
  readonly announcedPort?: number
}

type Begin = ReturnType<typeof createBrokerMechanism>['begin']

interface Member {
  readonly id: number
  readonly store: MemoryStore
  readonly cluster: Cluster
  readonly peers: OpenPeers
  readonly port: number
  readonly files: Certificate | null
  readonly certificate: ServerCertificate | null
  /** Reads the files of the certificate again. */
  reread(): Promise<void>
  /** The names of the requests that arrived. */
  readonly requests: readonly string[]
  /** The reasons for which the server refused clients. */
  readonly refusals: readonly string[]
  readonly lines: readonly string[]
  readonly rooms: PeersRooms
}

function openCluster(t: TestContext) {
  const contents = createMemoryStore(systemClock)
  let nextId = 1

  async function start(options: MemberOptions): Promise<Member> {
    const { security } = options
    const id = nextId++
    const store = contents.beside()
    const lines: string[] = []
    const logger = createLogger({ clock: systemClock, write: line => lines.push(line), format: 'plain' })
    const base = { store, clock: systemClock, random: systemRandom, logger }
    const files = usesTls(security) ? (options.certificate ?? (await makeCertificate(t))) : null
    const clock = new SimulatedClock(Date.now())
    const certificate = files === null ? null : await openCertificate(t, files, clock)
    const cluster = await joinCluster({
      ...base,
      brokerId: id,
      rack: null,
      expiryMs: EXPIRY_MS,
      lost: error => assert.fail(error),
    })
    t.after(() => cluster.close())
    if (certificate !== null) presentCertificate(cluster, certificate, systemClock)
    const requests: string[] = []
    const refusals: string[] = []
    const rooms: PeersRooms = { ...base, cluster, certificate }
    const peers = openPeers(rooms)
    t.after(() => peers.close())
    const reread = () => clock.advance(LOOK_MS)
    const partial = { id, store, cluster, files, certificate, reread, requests, refusals, lines, rooms, port: 0 }
    const port = await serve(t, options, partial)
    await cluster.announce([{ name: 'PLAINTEXT', host: '127.0.0.1', port: options.announcedPort ?? port, security }])
    return { ...partial, peers, port }
  }

  /** Resolves when each member sees each other one. */
  async function agreed(members: readonly Member[]): Promise<void> {
    for (const { cluster } of members)
      await eventually('the members see each other', () => cluster.brokers().length === members.length)
  }

  return { start, agreed }
}

async function openCertificate(t: TestContext, { certificateFile, keyFile }: Certificate, clock: SimulatedClock) {
  const rooms = {
    settings: testSettings({ 'broker.tls': true, 'broker.cert-file': certificateFile, 'broker.key-file': keyFile }),
    clock,
    logger: createLogger({ clock, write: () => {}, format: 'plain' }),
    metrics: createMetrics(),
  }
  const certificate = await openServerCertificate('broker', rooms)
  t.after(() => certificate!.close())
  return certificate
}

/** Listens as the security says. Resolves with the port. */
async function serve(
  t: TestContext,
  { security, demandsCertificate = false, presents, mechanismOf }: MemberOptions,
  member: Omit<Member, 'peers'> & { requests: string[]; refusals: string[] },
): Promise<number> {
  const { cluster, certificate, id, rooms } = member
  const self = { id, incarnation: cluster.incarnation }
  const own = createBrokerMechanism({ ...rooms, self, isMember: broker => isMember(cluster, broker) })
  const mechanism = mechanismOf === undefined ? own : mechanismOf(member)
  const sockets = new Set<Socket>()
  const takeClient = (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    answer(socket, usesSasl(security) ? { begin: mechanism?.begin ?? null } : null, member)
  }
  let server: Server
  if (certificate !== null) {
    const asking = { requestCert: demandsCertificate, rejectUnauthorized: false }
    const tls = createTlsServer({ ...(presents ?? certificate.secureOptions), ...asking }, socket => {
      const { fingerprint256 = '' } = demandsCertificate ? socket.getPeerCertificate() : {}
      if (!demandsCertificate || acceptsPeer(cluster, fingerprint256)) return takeClient(socket)
      member.refusals.push('certificate')
      return socket.destroy()
    })
    certificate.watch(options => tls.setSecureContext(options))
    server = tls
  } else server = createServer(takeClient)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

/** Answers SASL, and DescribeCluster to those who need no authentication or have one. */
function answer(
  socket: Socket,
  sasl: { readonly begin: Begin | null } | null,
  { id, requests, refusals }: { id: number; requests: string[]; refusals: string[] },
): void {
  const apis: readonly Api[] = [saslHandshake, saslAuthenticate, describeCluster]
  const isFlexible = headerLookup(apis)
  let exchange: SaslExchange | null = null
  let isAllowed = sasl === null
  let rest = Buffer.alloc(0)
  const exportKey = (label: string) =>
    socket instanceof TLSSocket ? socket.exportKeyingMaterial(32, label, Buffer.alloc(0)) : null

  async function take(frame: Buffer): Promise<void> {
    const { apiKey, apiVersion, correlationId, bodyOffset } = readRequestHeader(frame, isFlexible)
    const api = apis.find(({ key }) => key === apiKey)!
    requests.push(api.name)
    const reply = <A extends Api>(of: A, body: ResponseInput<A>) => {
      const parts = [responseHeader(of, apiVersion, correlationId), ...encodeResponse(of, apiVersion, body)]
      const size = Buffer.alloc(4)
      size.writeInt32BE(parts.reduce((sum, part) => sum + part.length, 0))
      socket.write(Buffer.concat([size, ...parts]))
    }
    if (api === saslHandshake) {
      const { mechanism } = decodeRequest(saslHandshake, apiVersion, frame, bodyOffset)
      const isKnown = mechanism === 'KETCH-BROKER' && sasl?.begin != null
      exchange = isKnown ? sasl!.begin!({ address: '127.0.0.1', exportKey }) : null
      const errorCode = isKnown ? NONE : UNSUPPORTED_SASL_MECHANISM.code
      return reply(saslHandshake, { errorCode, mechanisms: ['SCRAM-SHA-256'] })
    }
    if (api === saslAuthenticate && exchange !== null) {
      const step = await exchange.step(decodeRequest(saslAuthenticate, apiVersion, frame, bodyOffset).authBytes)
      if (step.kind === 'failure') {
        refusals.push(step.why)
        const errorCode = SASL_AUTHENTICATION_FAILED.code
        return reply(saslAuthenticate, { errorCode, errorMessage: step.message, authBytes: Buffer.alloc(0) })
      }
      isAllowed = step.kind === 'success' && step.client.isBroker === true
      return reply(saslAuthenticate, { errorCode: NONE, errorMessage: null, authBytes: step.token })
    }
    if (!isAllowed) return void socket.destroy()
    return reply(describeCluster, {
      throttleTimeMs: 0,
      errorCode: NONE,
      clusterId: 'test',
      controllerId: id,
      brokers: [],
    })
  }

  socket.on('data', chunk => {
    rest = Buffer.concat([rest, chunk])
    while (rest.length >= 4 && rest.length >= 4 + rest.readInt32BE(0)) {
      const end = 4 + rest.readInt32BE(0)
      void take(rest.subarray(4, end))
      rest = rest.subarray(end)
    }
  })
}

async function ask(peers: OpenPeers, { id }: Pick<Member, 'id'>): Promise<void> {
  assert.equal((await peers.ask(id, describeCluster, 1, ASKED)).controllerId, id)
}

/** Asks and expects that nothing is sent, with this reason. */
async function assertUnsent(from: Pick<Member, 'peers'>, to: Member, message: RegExp): Promise<void> {
  await assert.rejects(ask(from.peers, to), error => {
    assert.ok(error instanceof PeerUnavailable, String(error))
    assert.match(error.message, message)
    assert.ok(error.isUnsent)
    return true
  })
  assert.ok(!to.requests.includes('DescribeCluster'), to.requests.join())
}

async function optionsOf({ certificateFile, keyFile }: Certificate): Promise<SecureContextOptions> {
  return { cert: await readFile(certificateFile), key: await readFile(keyFile) }
}

/** A certificate that another one has signed, as if that were an authority. */
function signedBy(t: TestContext, issuer: Certificate): Promise<Certificate> {
  return makeCertificate(t).then(made => {
    const request = join(made.keyFile, '..', 'request.csr')
    outputOf('openssl', ['req', '-new', '-key', made.keyFile, '-out', request, '-subj', '/CN=signed'])
    const by = ['-CA', issuer.certificateFile, '-CAkey', issuer.keyFile, '-CAcreateserial', '-days', '2']
    outputOf('openssl', ['x509', '-req', '-in', request, '-out', made.certificateFile, ...by])
    return made
  })
}

const skip = noOpenssl

test('brokers whose listeners have different security reach each other', { skip }, async t => {
  const { start, agreed } = openCluster(t)
  const members = await Promise.all(LISTENER_SECURITIES.map(security => start({ security })))
  await agreed(members)
  for (const from of members) for (const to of members) if (from !== to) await ask(from.peers, to)
  for (const { requests, cluster, refusals } of members) {
    const [first] = cluster.brokers().filter(({ id }) => id === cluster.brokerId)
    const isSasl = usesSasl(first!.endpoints[0]!.security)
    assert.equal(requests.filter(name => name === 'SaslHandshake').length, isSasl ? 3 : 0)
    assert.deepEqual(refusals, [])
  }
})

test('requests wait for one authentication, and share its connection', { skip }, async t => {
  const { start, agreed } = openCluster(t)
  const [one, two] = [await start({ security: 'plaintext' }), await start({ security: 'sasl-tls' })]
  await agreed([one, two])
  await Promise.all(Array.from({ length: 20 }, () => ask(one.peers, two)))
  const setUp = ['SaslHandshake', 'SaslAuthenticate', 'SaslAuthenticate']
  assert.deepEqual(two.requests, [...setUp, ...Array.from({ length: 20 }, () => 'DescribeCluster')])
})

test('neither the names of a certificate nor its authority matter, only that the record has it', { skip }, async t => {
  const { start, agreed } = openCluster(t)
  const authority = await makeCertificate(t, 'DNS:authority.example')
  const one = await start({ security: 'plaintext' })
  const named = await start({ security: 'tls', certificate: await makeCertificate(t, 'DNS:other.example') })
  const signed = await start({ security: 'tls', certificate: await signedBy(t, authority) })
  await agreed([one, named, signed])
  await ask(one.peers, named)
  await ask(one.peers, signed)
})

test('a server with another certificate gets no request, and the log says so once', { skip }, async t => {
  const { start, agreed } = openCluster(t)
  const certificate = await makeCertificate(t)
  const presents = await optionsOf(await makeCertificate(t))
  const [one, two] = [await start({ security: 'plaintext' }), await start({ security: 'tls', certificate, presents })]
  await agreed([one, two])
  for (let times = 0; times < 3; times++)
    await assertUnsent(one, two, /^broker 2 presents another certificate than the one in its record in the store$/)
  assert.deepEqual(two.requests, [])
  assert.equal(one.lines.filter(line => line.includes(' WARN ') && line.includes('another certificate')).length, 1)
})

test('a certificate that the recorded one has signed is another one', { skip }, async t => {
  const { start, agreed } = openCluster(t)
  const certificate = await makeCertificate(t)
  const presents = await optionsOf(await signedBy(t, certificate))
  const [one, two] = [await start({ security: 'plaintext' }), await start({ security: 'tls', certificate, presents })]
  await agreed([one, two])
  await assertUnsent(one, two, /^broker 2 presents another certificate/)
})

test('a broker presents its own certificate where one is demanded, and a stranger is refused', { skip }, async t => {
  const { start, agreed } = openCluster(t)
  const one = await start({ security: 'tls' })
  const two = await start({ security: 'sasl-tls', demandsCertificate: true })
  await agreed([one, two])
  await ask(one.peers, two)
  const { cert, key } = await optionsOf(await makeCertificate(t))
  const stranger = connectTls({ port: two.port, host: '127.0.0.1', cert, key, ca: two.certificate!.leaf.toString() })
  stranger.on('error', () => {})
  await once(stranger, 'close')
  assert.deepEqual(two.refusals, ['certificate'])
})

test('while a broker replaces its certificate, no request of another one fails', { skip }, async t => {
  const { start, agreed } = openCluster(t)
  const [one, two] = [
    await start({ security: 'tls', demandsCertificate: true }),
    await start({ security: 'sasl-tls', demandsCertificate: true }),
  ]
  await agreed([one, two])
  const served = async () => {
    const socket = connectTls({ port: two.port, host: '127.0.0.1', rejectUnauthorized: false })
    await once(socket, 'secureConnect')
    const { fingerprint256 } = socket.getPeerCertificate()
    socket.destroy()
    return fingerprint256
  }
  const before = await served()
  const next = await makeCertificate(t)
  await copyFile(next.keyFile, two.files!.keyFile)
  await copyFile(next.certificateFile, two.files!.certificateFile)
  const { fingerprint256: after } = new X509Certificate(await readFile(next.certificateFile))
  await two.reread()
  let asked = 0
  for (let seen = before; seen !== after; seen = await served()) {
    // A new connection each time, in both directions.
    for (const [from, to] of [
      [one, two],
      [two, one],
    ] as const) {
      const peers = openPeers(from.rooms)
      await ask(peers, to)
      peers.close()
      asked++
    }
  }
  assert.ok(asked >= 4, `${asked} requests were sent while the certificate was replaced`)
  const peers = openPeers(one.rooms)
  t.after(() => peers.close())
  await ask(peers, two)
  const recorded = one.cluster.others()[0]!.certificates.map(fingerprintOf)
  assert.deepEqual(recorded, [after, before])
})

test('a broker with an old view of the certificate looks at the store and asks again', { skip }, async t => {
  const { start, agreed } = openCluster(t)
  const [one, two] = [await start({ security: 'plaintext' }), await start({ security: 'tls' })]
  await agreed([one, two])
  const stale = (brokers: readonly BrokerInfo[]) => {
    let looks = 0
    const cluster = {
      ...one.rooms.cluster,
      brokers: () => (looks === 0 ? brokers : one.cluster.brokers()),
      look: async () => void looks++,
    }
    const peers = openPeers({ ...one.rooms, cluster })
    t.after(() => peers.close())
    return { peers, looks: () => looks }
  }
  const other = new X509Certificate(await readFile((await makeCertificate(t)).certificateFile)).raw.toString('base64')
  const old = stale(one.cluster.brokers().map(each => ({ ...each, certificates: [other] })))
  await ask(old.peers, two)
  assert.equal(old.looks(), 1)
  const none = stale(one.cluster.brokers().map(each => ({ ...each, certificates: [] })))
  await ask(none.peers, two)
})

test('a record of an earlier start leads to a new look, because its broker refuses the authentication', {
  skip,
}, async t => {
  const { start, agreed } = openCluster(t)
  const [one, two] = [await start({ security: 'plaintext' }), await start({ security: 'sasl-plaintext' })]
  await agreed([one, two])
  let looks = 0
  const old = one.cluster.brokers().map(each => ({ ...each, incarnation: 'before' }))
  const cluster = {
    ...one.rooms.cluster,
    brokers: () => (looks === 0 ? old : one.cluster.brokers()),
    look: async () => void looks++,
  }
  const peers = openPeers({ ...one.rooms, cluster })
  t.after(() => peers.close())
  await ask(peers, two)
  assert.equal(looks, 1)
  assert.match(two.refusals.join(), /^the client wants to reach broker 2 \(incarnation "before"\)/)
})

test('a server that takes every proof but does not know the key gets no request', { skip }, async t => {
  const { start, agreed } = openCluster(t)
  const one = await start({ security: 'plaintext' })
  const two = await start({
    security: 'sasl-plaintext',
    mechanismOf: () => ({
      begin: () => {
        let steps = 0
        const client = { name: 'x', tenant: null, groups: [], validUntilMs: null, isBroker: true } as const
        return {
          step: async token =>
            steps++ === 0
              ? { kind: 'continue', token: Buffer.alloc(32) }
              : { kind: 'success', token: Buffer.from(token), client },
        }
      },
    }),
  })
  await agreed([one, two])
  await assertUnsent(one, two, /^broker 2 did not prove that it knows the key of the cluster$/)
})

test('a server that does not take the mechanism of brokers gets no request', { skip }, async t => {
  const { start, agreed } = openCluster(t)
  const one = await start({ security: 'plaintext' })
  const two = await start({ security: 'sasl-plaintext', mechanismOf: () => null })
  await agreed([one, two])
  await assertUnsent(one, two, /^broker 2 does not take the authentication of brokers \(UNSUPPORTED_SASL_MECHANISM\)$/)
})

test('a man in the middle who has stolen the key of the certificate cannot relay the authentication', {
  skip,
}, async t => {
  const { start, agreed } = openCluster(t)
  const certificate = await makeCertificate(t)
  let target = 0
  const relay = createTlsServer(await optionsOf(certificate), socket => {
    const onward = connectTls({ port: target, host: '127.0.0.1', rejectUnauthorized: false })
    socket.pipe(onward).pipe(socket)
    for (const each of [socket, onward]) each.on('error', () => {})
    t.after(() => onward.destroy())
  }).listen(0, '127.0.0.1')
  await once(relay, 'listening')
  t.after(() => void relay.close())
  const one = await start({ security: 'plaintext' })
  const announcedPort = (relay.address() as AddressInfo).port
  const two = await start({ security: 'sasl-tls', certificate, announcedPort })
  target = two.port
  await agreed([one, two])
  await assertUnsent(one, two, /^broker 2 refused the authentication of this broker \(SASL_AUTHENTICATION_FAILED: /)
  assert.match(two.refusals.join(), /^the proof is wrong: the key, or the TLS connection, is another one$/)
})

test('a broker that speaks no TLS where its record says so is not trusted', { skip }, async t => {
  const { start, agreed } = openCluster(t)
  const plain = createServer(socket => void socket.end('SSH-2.0-OpenSSH\r\n')).listen(0, '127.0.0.1')
  await once(plain, 'listening')
  t.after(() => void plain.close())
  const one = await start({ security: 'plaintext' })
  const two = await start({ security: 'tls', announcedPort: (plain.address() as AddressInfo).port })
  await agreed([one, two])
  await assertUnsent(one, two, /^broker 2 does not complete the TLS handshake$/)
})

test('a request is not sent while the store does not give the key', { skip }, async t => {
  const { start, agreed } = openCluster(t)
  const [one, two] = [await start({ security: 'plaintext' }), await start({ security: 'sasl-tls' })]
  await agreed([one, two])
  const store = one.store.beside()
  const peers = openPeers({ ...one.rooms, store })
  t.after(() => peers.close())
  store.faults.failNext('load', 'unavailable')
  await assertUnsent({ peers }, two, /^broker 2 could not be asked, because the store did not give the key/)
  await ask(peers, two)
})
