// Three brokers with TLS, SASL and ACLs, as processes on one Redis. Each case advertises only one mechanism, and a
// broker can use neither of them: it has no account at the provider and no ticket. The test itself takes part as one
// more process without a listener, to send the request that only brokers may send.

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { BROKER_MECHANISM, greetBroker } from '../../src/auth/sasl/broker-mechanism.ts'
import { systemClock } from '../../src/base/clock.ts'
import { systemRandom } from '../../src/base/random.ts'
import { joinCluster } from '../../src/cluster/cluster.ts'
import { openPeers } from '../../src/kafka/peers.ts'
import {
  CLUSTER_AUTHORIZATION_FAILED,
  NONE,
  SASL_AUTHENTICATION_FAILED,
  UNSUPPORTED_SASL_MECHANISM,
} from '../../src/protocol/errors.ts'
import { betweenBrokers } from '../../src/protocol/messages/all.ts'
import { apiVersions } from '../../src/protocol/messages/api-versions.ts'
import { describeBrokerMetrics } from '../../src/protocol/messages/describe-broker-metrics.ts'
import { describeDeliveries } from '../../src/protocol/messages/describe-deliveries.ts'
import { describeTopicMetrics } from '../../src/protocol/messages/describe-topic-metrics.ts'
import { saslAuthenticate } from '../../src/protocol/messages/sasl-authenticate.ts'
import { saslHandshake } from '../../src/protocol/messages/sasl-handshake.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { adminClient } from '../../testing/admin-client.ts'
import { drawnBy } from '../../testing/at-length.ts'
import { makeCertificate, noOpenssl } from '../../testing/certificate.ts'
import { eventually } from '../../testing/eventually.ts'
import { type BrokerProcess, startBrokerProcess } from '../../testing/process.ts'
import { noRedis, startRedis } from '../../testing/redis.ts'
import { openTestStore } from '../../testing/redis-store.ts'
import { seed } from '../../testing/seed.ts'
import { createMemoryStore } from '../../testing/sim/memory-store.ts'
import { temporaryFolder } from '../../testing/temporary-folder.ts'
import { connect } from '../../testing/wire.ts'

const ids = [1, 2, 3]
const skip = noRedis || noOpenssl

/** A keytab with one key (MIT's format 0x0502). Its principal has no KDC: no client can get a ticket for it. */
function keytabOf(realm: string, parts: readonly string[]): Buffer {
  const counted = (value: Buffer | string) => {
    const bytes = Buffer.from(value)
    const length = Buffer.alloc(2)
    length.writeUInt16BE(bytes.length)
    return Buffer.concat([length, bytes])
  }
  const count = Buffer.of(0, parts.length)
  // Name type 1, the time 1, the key version 1; the key is of aes256-cts-hmac-sha1-96 (18).
  const middle = Buffer.of(0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 18)
  const entry = Buffer.concat([count, counted(realm), ...parts.map(counted), middle, counted(randomBytes(32))])
  const size = Buffer.alloc(4)
  size.writeInt32BE(entry.length)
  return Buffer.concat([Buffer.of(5, 2), size, entry])
}

async function gssapiSettings(t: TestContext): Promise<Readonly<Record<string, string>>> {
  const folder = await temporaryFolder(t, 'ketch-keytab-')
  const file = join(folder, 'kafka.keytab')
  await writeFile(file, keytabOf('KETCH.TEST', ['kafka', 'localhost']), { mode: 0o600 })
  return {
    'svc.broker.sasl.mechanisms': 'GSSAPI',
    'svc.broker.sasl.gssapi.keytab-file': file,
    'svc.broker.sasl.gssapi.principal': 'kafka/localhost@KETCH.TEST',
  }
}

/** No broker asks the provider before a client has sent a token, so its address may lead nowhere. */
async function oauthSettings(): Promise<Readonly<Record<string, string>>> {
  return {
    'svc.broker.sasl.mechanisms': 'OAUTHBEARER',
    'svc.broker.sasl.oauth.issuer-uri': 'http://127.0.0.1:1',
    'svc.broker.sasl.oauth.audience': 'kafka',
  }
}

type Changes = Readonly<Record<string, string>>

/** Starts the brokers with TLS, SASL and ACLs, and with the changes of the test. */
async function startThree(t: TestContext, changes: Changes | ((id: number) => Changes)) {
  const redis = await startRedis(t)
  const start = async (id: number): Promise<BrokerProcess & { readonly ca: Buffer }> => {
    const { certificateFile, keyFile } = await makeCertificate(t)
    const broker = await startBrokerProcess(t, {
      settings: {
        'svc.redis.uri': redis.uri,
        'svc.broker.id': String(id),
        'svc.broker.tls': 'true',
        'svc.broker.cert-file': certificateFile,
        'svc.broker.key-file': keyFile,
        'svc.broker.sasl.enabled': 'true',
        'svc.broker.acl.enabled': 'true',
        'svc.admin.security-enabled': 'false',
        ...(typeof changes === 'function' ? changes(id) : changes),
      },
    })
    return Object.assign(broker, { ca: await readFile(certificateFile) })
  }
  return { redis, brokers: await Promise.all(ids.map(start)) }
}

/** Joins the cluster as broker 9 without a listener. */
async function joinAsNinth(t: TestContext, uri: string) {
  const { store } = await openTestStore(t, { 'redis.uri': uri })
  const logger = createLogger({ clock: systemClock, write: () => {}, format: 'plain' })
  const rooms = { store, clock: systemClock, random: systemRandom, logger }
  const lost = (error: Error) => assert.fail(error)
  const cluster = await joinCluster({ ...rooms, brokerId: 9, rack: null, expiryMs: 5_000, lost })
  t.after(() => cluster.close())
  await cluster.look()
  const peers = openPeers({ ...rooms, cluster, certificate: null })
  t.after(() => peers.close())
  return { cluster, peers }
}

const BY_MECHANISM = [
  ['GSSAPI', gssapiSettings],
  ['OAUTHBEARER', oauthSettings],
] as const

// Each starts three brokers. Brokers use no mechanism of their clients among themselves, so one stands for both: the
// one that the seed draws. KETCH_LONG=1 takes both.
for (const [mechanism, settingsOf] of drawnBy(seed, BY_MECHANISM.length, BY_MECHANISM)) {
  test(`three brokers that advertise only ${mechanism} authenticate to each other with full rights`, {
    skip,
    timeout: 120_000,
  }, async t => {
    const { redis, brokers } = await startThree(t, await settingsOf(t))
    await answerEachOther(brokers)

    const { cluster, peers } = await joinAsNinth(t, redis.uri)
    assert.deepEqual(
      cluster.brokers().map(({ id, endpoints }) => [id, endpoints[0]?.security]),
      ids.map(id => [id, 'sasl-tls']),
    )
    for (const id of ids) {
      const { groups } = await peers.ask(id, describeDeliveries, 0, { groups: ['workers'], readers: [] })
      // Without the right the list is empty.
      assert.deepEqual(groups, [{ groupId: 'workers', members: [] }])
    }

    await assertHidden(brokers[0]!, mechanism)
    for (const broker of brokers) assert.doesNotMatch(broker.output(), / ERROR /)
  })
}

test('where client certificates are demanded, brokers show their own, and a stranger gets no Kafka byte', {
  skip,
  timeout: 120_000,
}, async t => {
  const authority = await makeCertificate(t)
  const { brokers } = await startThree(t, {
    ...(await oauthSettings()),
    'svc.broker.client-auth-required': 'true',
    'svc.broker.trust-cert-file': authority.certificateFile,
  })
  await answerEachOther(brokers)
  const stranger = await makeCertificate(t)
  for (const shown of [{}, { cert: await readFile(stranger.certificateFile), key: await readFile(stranger.keyFile) }]) {
    const { port, ca } = brokers[0]!
    const to = { port, tls: { ca, ...shown } }
    await assert.rejects(async () => {
      const wire = await connect(to)
      await wire.send(apiVersions, 3, { clientSoftwareName: 'test', clientSoftwareVersion: '1' })
    })
  }
})

test('brokers reach each other while an operator secures them one by one', { skip, timeout: 120_000 }, async t => {
  const oauth = await oauthSettings()
  const without = { 'svc.broker.acl.enabled': 'false', 'svc.broker.sasl.enabled': 'false' }
  const { brokers } = await startThree(t, id => {
    if (id === 1) return { ...without, 'svc.broker.tls': 'false' }
    return id === 2 ? without : oauth
  })
  await answerEachOther(brokers)
})

test('a user with the name of a broker has the rights of a user', { skip, timeout: 120_000 }, async t => {
  const { brokers } = await startThree(t, { 'svc.broker.sasl.mechanisms': 'PLAIN' })
  await answerEachOther(brokers)
  const { url, port, ca } = brokers[0]!
  const credential = { username: 'ketch-broker-2', password: 'correct horse battery', mechanism: 'PLAIN' }
  assert.equal((await adminClient(url).ask('POST', '/api/v1/credentials', credential)).status, 201)
  const to = { port, tls: { ca } }
  const wire = await connect(to)
  await wire.send(saslHandshake, 1, { mechanism: 'PLAIN' })
  const authBytes = Buffer.from(`\0${credential.username}\0${credential.password}`)
  assert.equal((await wire.send(saslAuthenticate, 2, { authBytes })).errorCode, NONE)
  const { groups } = await wire.send(describeDeliveries, 0, { groups: ['workers'], readers: [] })
  assert.deepEqual(groups, [])
  const measured = await wire.send(describeBrokerMetrics, 0, { withHistory: true })
  assert.deepEqual([measured.errorCode, measured.metrics.memoryBytes], [CLUSTER_AUTHORIZATION_FAILED.code, 0])
  const topics = await wire.send(describeTopicMetrics, 0, { names: null, samples: 0 })
  assert.deepEqual([topics.errorCode, topics.topics], [CLUSTER_AUTHORIZATION_FAILED.code, []])
  await wire.close()
})

/** Each broker asks the two others about their groups and their metrics. */
async function answerEachOther(brokers: readonly BrokerProcess[]): Promise<void> {
  for (const { url } of brokers)
    await eventually(
      'each broker is answered by the two others',
      async () => {
        const paths = ['/api/v1/groups', '/api/v1/metrics?scope=cluster', '/api/v1/metrics/topics?scope=cluster']
        const answers = await Promise.all(paths.map(path => adminClient(url).ask('GET', path)))
        const areWhole = answers.every(({ body }) => body?.unavailableBrokers?.length === 0)
        return areWhole && (await countBrokers(url)) === ids.length
      },
      60_000,
    )
}

async function countBrokers(url: string): Promise<number> {
  const { body } = await adminClient(url).ask('GET', '/api/v1/brokers')
  return body?.brokers?.length ?? 0
}

/** The mechanism of brokers is in no answer, and a client without the key gets a nonce and a refusal. */
async function assertHidden({ port, ca }: BrokerProcess & { readonly ca: Buffer }, mechanism: string): Promise<void> {
  const to = { port, tls: { ca } }
  const refused = await connect(to)
  const { apiKeys } = await refused.send(apiVersions, 3, { clientSoftwareName: 'test', clientSoftwareVersion: '1' })
  for (const { key } of betweenBrokers) assert.ok(!apiKeys.some(({ apiKey }) => apiKey === key))
  const unknown = await refused.send(saslHandshake, 1, { mechanism: 'NONE' })
  assert.deepEqual(unknown, { errorCode: UNSUPPORTED_SASL_MECHANISM.code, mechanisms: [mechanism] })
  await refused.close()

  const stranger = await connect(to)
  const chosen = await stranger.send(saslHandshake, 1, { mechanism: BROKER_MECHANISM })
  assert.deepEqual(chosen, { errorCode: NONE, mechanisms: [mechanism] })
  const greeting = await greetBroker(
    { store: createMemoryStore(systemClock), clock: systemClock, random: systemRandom },
    { self: { id: 2, incarnation: 'x' }, other: { id: 1, incarnation: 'x' }, bound: Buffer.alloc(32) },
  )
  const { authBytes } = await stranger.send(saslAuthenticate, 2, { authBytes: greeting.hello })
  const last = await stranger.send(saslAuthenticate, 2, { authBytes: greeting.prove(authBytes) })
  assert.equal(last.errorCode, SASL_AUTHENTICATION_FAILED.code)
  assert.equal(last.authBytes.length, 0)
  if (!stranger.socket.destroyed) await once(stranger.socket, 'close')
  await assert.rejects(stranger.send(describeDeliveries, 0, { groups: [], readers: [] }))
}
