// Operators who change the security of a broker under load: new certificates, and a cluster that moves from plaintext
// to TLS and SASL, listener by listener.

import assert from 'node:assert/strict'
import { cp } from 'node:fs/promises'
import { type TestContext, test } from 'node:test'
import { connect } from 'node:tls'
import { adminClient } from '../../testing/admin-client.ts'
import { type Certificate, makeAuthority, noOpenssl } from '../../testing/certificate.ts'
import { eventually } from '../../testing/eventually.ts'
import { type BrokerProcess, freePort, startBrokerProcess } from '../../testing/process.ts'
import { noRedis, startRedis } from '../../testing/redis.ts'
import { createTopic, createTopicOfAll } from '../../testing/topic.ts'
import { JAVA_VERSIONS, javaClients } from '../java/records.ts'
import { kafkaJs, openKafka } from '../kafkajs/client.ts'
import { assertNothingLost, javaLoad, type Load, type LoadOptions, PARTITIONS } from './load.ts'
import { type ClientSecurity, NO_SECURITY } from './security.ts'

type Settings = Readonly<Record<string, string>>

const skip = noOpenssl || (javaClients.at(-1)!.absence() ?? false)
const produce = javaLoad(JAVA_VERSIONS.at(-1)!)

const LONGEST_MS = 60_000

const tlsSettings = ({ certificateFile, keyFile }: Certificate): Settings => ({
  'svc.broker.cert-file': certificateFile,
  'svc.broker.key-file': keyFile,
})

/** Returns the serial number of the certificate that the port shows to a new connection. */
async function shownSerial(port: number): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false })
  try {
    await new Promise((resolve, reject) => socket.once('secureConnect', resolve).once('error', reject))
    return socket.getPeerCertificate().serialNumber
  } finally {
    socket.destroy()
  }
}

test('clients go on, and new ones come, while the certificate is replaced', { skip, timeout: 600_000 }, async t => {
  const authority = await makeAuthority(t)
  const issue = () => authority.issue({ subject: '/CN=localhost', usage: 'serverAuth' })
  const served = issue()
  const open = { port: await freePort() }
  const broker = await startBrokerProcess(t, {
    settings: {
      ...{ 'svc.broker.advertised-host': 'localhost', 'svc.broker.tls': 'true' },
      ...tlsSettings(served),
      ...listener(0, 'OPEN', open.port, 'plaintext'),
    },
  })
  const security: ClientSecurity = { tls: { caFile: authority.certificateFile, own: null }, sasl: null }
  const options = { address: `localhost:${broker.port}`, topic: 'numbers', security }
  await createTopic(open, options.topic, PARTITIONS)
  let sent: Load | undefined
  await produce(options, async load => {
    sent = load
    await load.more(100)
    for (let round = 0; round < 3; round++) {
      const before = await shownSerial(broker.port)
      const next = issue()
      await cp(next.keyFile, served.keyFile)
      await cp(next.certificateFile, served.certificateFile)
      await eventually(
        'a new connection gets the new certificate',
        async () => before !== (await shownSerial(broker.port)),
        LONGEST_MS,
      )
      const { size } = load.acknowledged
      await kafkaJs.consume(options.address, options.topic, `late-${round}`, size, security)
      await load.more(100)
    }
  })
  await assertNothingLost(sent!, options)
})

/** A member of a group that reads the topic while `use` runs, and passes the numbers that it has read. */
async function reading(
  { address, topic, security }: LoadOptions,
  use: (read: ReadonlySet<number>) => Promise<void>,
): Promise<void> {
  const consumer = openKafka(address, { retries: 60, maxRetryTime: 1_000 }, security).consumer({
    groupId: `readers-of-${topic}`,
    maxWaitTimeInMs: 200,
  })
  const read = new Set<number>()
  await consumer.connect()
  try {
    await consumer.subscribe({ topic, fromBeginning: true })
    await consumer.run({ eachMessage: async ({ message }) => void read.add(Number(message.value)) })
    await use(read)
  } finally {
    await consumer.disconnect()
  }
}

/** A producer and a reader of its topic while `use` runs. Asserts that the reader got all that was acknowledged. */
async function busy(options: LoadOptions, use: () => Promise<void>): Promise<Load> {
  let sent: Load | undefined
  await reading(options, async read => {
    await produce(options, async load => {
      sent = load
      await load.more(100)
      await use()
      await load.more(100)
    })
    await eventually(
      'the reader has all numbers',
      () => [...sent!.acknowledged].every(value => read.has(value)),
      LONGEST_MS,
    )
  })
  return sent!
}

interface Node {
  readonly id: number
  readonly ports: { readonly first: number; readonly second: number; readonly old: number }
  readonly certificate: Certificate
  process: BrokerProcess | null
}

/** Starts the broker, after an orderly end of its earlier process, with these settings. */
async function startWith(t: TestContext, node: Node, uri: string, settings: Settings): Promise<void> {
  if (node.process !== null) await node.process.kill('SIGTERM')
  node.process = await startBrokerProcess(t, {
    port: node.ports.first,
    settings: {
      'svc.redis.uri': uri,
      'svc.broker.id': String(node.id),
      'svc.broker.advertised-host': 'localhost',
      'svc.admin.security-enabled': 'false',
      ...settings,
    },
  })
}

const listener = (at: number, name: string, port: number, security: string): Settings => ({
  [`svc.broker.listeners[${at}].name`]: name,
  [`svc.broker.listeners[${at}].port`]: String(port),
  [`svc.broker.listeners[${at}].advertised-host`]: 'localhost',
  [`svc.broker.listeners[${at}].security`]: security,
})

test('a cluster moves from plaintext to TLS and SASL, listener by listener, and loses nothing', {
  skip: noRedis || skip,
  timeout: 600_000,
}, async t => {
  const { uri } = await startRedis(t)
  const authority = await makeAuthority(t)
  const nodes: readonly Node[] = await Promise.all(
    [0, 1].map(async id => ({
      id,
      ports: { first: await freePort(), second: await freePort(), old: await freePort() },
      certificate: authority.issue({ subject: '/CN=localhost', usage: 'serverAuth' }),
      process: null,
    })),
  )
  const roll = async (settingsOf: (node: Node) => Settings) => {
    for (const node of nodes) await startWith(t, node, uri, settingsOf(node))
  }
  const addresses = (port: keyof Node['ports']) => nodes.map(({ ports }) => `localhost:${ports[port]}`).join()

  await roll(() => ({}))
  for (const topic of ['before', 'between', 'after'])
    await createTopicOfAll({ port: nodes[0]!.ports.first }, topic, PARTITIONS, [0, 1])
  const alice = { username: 'alice', password: 'the password of alice' }
  const stored = await adminClient(nodes[0]!.process!.url).ask('POST', '/api/v1/credentials', alice)
  assert.equal(stored.status, 201)
  const security: ClientSecurity = {
    tls: { caFile: authority.certificateFile, own: null },
    sasl: { mechanism: 'SCRAM-SHA-256', ...alice },
  }
  const secure = { 'svc.broker.tls': 'true', 'svc.broker.sasl.enabled': 'true' }

  const before = { address: addresses('first'), topic: 'before', security: NO_SECURITY }
  const between = { address: addresses('second'), topic: 'between', security }
  const after = { address: addresses('first'), topic: 'after', security }
  const loads = new Map<LoadOptions, Load>()
  loads.set(
    before,
    await busy(before, () =>
      roll(({ ports, certificate }) => ({
        ...tlsSettings(certificate),
        ...listener(0, 'SECURE', ports.second, 'sasl-tls'),
      })),
    ),
  )
  // The clients have moved to the second listener, so that the first one may change. A late one still needs plaintext.
  loads.set(
    between,
    await busy(between, () =>
      roll(({ ports, certificate }) => ({
        ...{ ...tlsSettings(certificate), ...secure },
        ...listener(0, 'SECURE', ports.second, 'sasl-tls'),
        ...listener(1, 'OLD', ports.old, 'plaintext'),
      })),
    ),
  )
  loads.set(after, await busy(after, () => roll(({ certificate }) => ({ ...tlsSettings(certificate), ...secure }))))
  for (const [{ topic }, load] of loads) await assertNothingLost(load, { ...after, topic })
})
