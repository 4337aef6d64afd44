// Producers with short-lived tokens, through everything that a provider does to them: tokens that expire, new keys, a
// group that is taken away, an outage. The Java client and librdkafka get their tokens from oidc-provider. A run takes
// each event with one of the producers, another one for each; the seed draws which. KETCH_LONG=1 takes each with all.

import assert from 'node:assert/strict'
import { suite, type TestContext, test } from 'node:test'
import { systemClock } from '../../src/base/clock.ts'
import { adminClient } from '../../testing/admin-client.ts'
import { drawnBy } from '../../testing/at-length.ts'
import { makeAuthority, noOpenssl } from '../../testing/certificate.ts'
import { eventually } from '../../testing/eventually.ts'
import { type BrokerProcess, freePort, startBrokerProcess } from '../../testing/process.ts'
import { seed } from '../../testing/seed.ts'
import { createTopic } from '../../testing/topic.ts'
import { confluentJs } from '../confluent-js/client.ts'
import { JAVA_VERSIONS, javaClients } from '../java/records.ts'
import { type OauthProvider, startOauthProvider } from '../oauth/provider.ts'
import { assertNothingLost, confluentLoad, javaLoad, type Load, type LoadOptions, PARTITIONS } from './load.ts'
import { NO_SECURITY, type TokenLogin } from './security.ts'

/** A token lives this long. The broker wants another one after `REAUTH_MS` at the latest. */
const TOKEN_SECONDS = 20
/** A token that is good for the whole outage, also on a busy machine. */
const LASTING_TOKEN_SECONDS = 40
const REAUTH_MS = 6_000

/** A busy machine delays a client by many seconds, and a deadline that it misses costs it the connection. */
const PATIENCE_MS = 60_000

/** The broker fetches no keys again before this time. */
const KEYS_COOL_DOWN_MS = 30_000

type Producing = (options: LoadOptions, use: (load: Load) => Promise<void>) => Promise<void>

const noJava = javaClients[0]!.absence() ?? javaClients[1]!.absence() ?? noOpenssl
const PRODUCERS: readonly { readonly name: string; readonly skip: string | false; readonly run: Producing }[] = [
  ...JAVA_VERSIONS.map(version => ({ name: `Java ${version}`, skip: noJava, run: javaLoad(version) })),
  { name: 'librdkafka', skip: confluentJs.absence() ?? noOpenssl, run: confluentLoad },
]
/** Returns the producers with which a run takes one of the events. */
const producersAt = (event: number) => drawnBy(event + seed, PRODUCERS.length, PRODUCERS)

const newestJava = PRODUCERS[JAVA_VERSIONS.length - 1]!

interface Scene {
  readonly provider: OauthProvider
  readonly broker: BrokerProcess
  readonly plaintext: { readonly port: number }
  readonly options: LoadOptions
  /** The same topic on the plaintext listener. kafkajs, which checks it, cannot log in for less than 10 s. */
  readonly open: LoadOptions
}

/** Starts a provider with the client `carol`, a broker that takes its tokens, and a topic. */
async function setUp(
  t: TestContext,
  settings: Readonly<Record<string, string>> = {},
  tokenSeconds = TOKEN_SECONDS,
): Promise<Scene> {
  const authority = await makeAuthority(t)
  const { certificateFile, keyFile } = authority.issue({ subject: '/CN=localhost', usage: 'serverAuth' })
  const provider = await startOauthProvider(t, {
    clients: { carol: { groups: ['writers'] } },
    tokenSeconds,
  })
  const plaintext = { port: await freePort() }
  const broker = await startBrokerProcess(t, {
    settings: {
      'svc.broker.advertised-host': 'localhost',
      'svc.admin.security-enabled': 'false',
      'svc.broker.tls': 'true',
      'svc.broker.cert-file': certificateFile,
      'svc.broker.key-file': keyFile,
      'svc.broker.sasl.enabled': 'true',
      'svc.broker.sasl.mechanisms': 'OAUTHBEARER',
      'svc.broker.sasl.oauth.issuer-uri': provider.issuer,
      'svc.broker.sasl.oauth.audience': provider.audience,
      'svc.broker.sasl.oauth.groups-claim': 'groups',
      'svc.broker.sasl.oauth.clock-skew': '0s',
      'svc.broker.sasl.oauth.max-reauth': `${REAUTH_MS}ms`,
      'svc.broker.listeners[0].name': 'open',
      'svc.broker.listeners[0].port': String(plaintext.port),
      'svc.broker.listeners[0].security': 'plaintext',
      ...settings,
    },
  })
  t.after(() => {
    if (!(t as TestContext & { readonly passed: boolean }).passed)
      t.diagnostic(`the broker said last: ${broker.output().slice(-5_000)}`)
  })
  const topic = 'numbers'
  // Over HTTP, because with ACLs the plaintext listener may create none.
  const made = await adminClient(broker.url).ask('POST', '/api/v1/topics', { name: topic, partitions: PARTITIONS })
  assert.equal(made.status, 201, JSON.stringify(made.body))
  const sasl: TokenLogin = {
    mechanism: 'OAUTHBEARER',
    tokenEndpoint: provider.tokenUri,
    clientId: 'carol',
    clientSecret: provider.clients.get('carol')!.secret,
    scope: 'kafka',
  }
  const security = { tls: { caFile: authority.certificateFile, own: null }, sasl }
  return {
    ...{ provider, broker, plaintext },
    options: { address: `localhost:${broker.port}`, topic, security },
    open: { address: `localhost:${plaintext.port}`, topic, security: NO_SECURITY },
  }
}

/** Resolves after the load has gone on for this time. */
async function goOn(load: Load, ms: number): Promise<void> {
  const until = systemClock.monotonic() + ms
  while (systemClock.monotonic() < until) {
    await load.more(1)
    // The next number comes so soon that to wait for it alone would keep a processor busy.
    await new Promise(resolve => setTimeout(resolve, 100))
  }
}

// Each has a provider and a broker of its own, and most of its time is the lifetime of a token.
suite('producers with tokens', { concurrency: 4 }, () => {
  for (const { name, skip, run } of producersAt(0))
    test(`${name} authenticates again at each deadline and loses no record`, { skip, timeout: 600_000 }, async t => {
      const { options, open } = await setUp(t)
      let sent: Load | undefined
      await run(options, async load => {
        sent = load
        await load.more(1)
        await goOn(load, (TOKEN_SECONDS + 5) * 1_000)
        await eventually('it authenticates again for the third time', () => (load.again ?? 3) >= 3, 3 * PATIENCE_MS)
      })
      await assertNothingLost(sent!, open)
    })

  for (const { name, skip, run } of producersAt(1))
    test(`${name} goes on when the provider signs with a new key`, { skip, timeout: 600_000 }, async t => {
      const { options, open, plaintext, provider } = await setUp(t)
      let sent: Load | undefined
      await run(options, async load => {
        sent = load
        await load.more(100)
        await goOn(load, KEYS_COOL_DOWN_MS)
        provider.rotateKeys({ keepsOld: true })
        // A client that comes now has a token of the new key, which the broker does not know yet.
        await createTopic(plaintext, 'late', PARTITIONS)
        await run({ ...options, topic: 'late' }, late => late.more(100))
        // By then the client has a token of the new key too.
        await goOn(load, (TOKEN_SECONDS + 5) * 1_000)
      })
      await assertNothingLost(sent!, open)
    })

  for (const { name, skip, run } of producersAt(2))
    test(`${name} goes on through an outage of the provider`, { skip, timeout: 600_000 }, async t => {
      const { options, open, provider, broker } = await setUp(t, {}, LASTING_TOKEN_SECONDS)
      let sent: Load | undefined
      await run(options, async load => {
        sent = load
        await load.more(100)
        await provider.stop()
        // The token is still good, and the broker has the key.
        await goOn(load, REAUTH_MS)
        // After its start the broker has no key until the provider is back.
        await broker.kill('SIGTERM')
        await broker.start()
        const { length } = provider.requests
        await provider.start()
        await load.more(100)
        const hasNewToken = () => provider.requests.slice(length).some(path => path.startsWith('/token'))
        await eventually('the client fetches another token', hasNewToken, PATIENCE_MS)
        await goOn(load, REAUTH_MS)
      })
      await assertNothingLost(sent!, open)
    })

  test('a group that the provider has taken away counts no longer with the next token', {
    skip: newestJava.skip,
    timeout: 600_000,
  }, async t => {
    const { options, provider, broker } = await setUp(t, { 'svc.broker.acl.enabled': 'true' })
    const admin = adminClient(broker.url)
    const rule = { principal: 'group:writers', topic: options.topic, operation: 'WRITE' }
    assert.equal((await admin.ask('POST', '/api/v1/acls', rule)).status, 201)
    await newestJava.run(options, async load => {
      await load.more(100)
      provider.clients.get('carol')!.groups = []
      const takenAt = systemClock.monotonic()
      await load.more(100)
      // The client fetches its next token when four fifths of the lifetime of the first one are over.
      const denied = () => load.failures.some(failure => failure.includes('TopicAuthorizationException'))
      await eventually('the broker denies a record', denied, PATIENCE_MS)
      assert(systemClock.monotonic() - takenAt > REAUTH_MS / 2, 'the first token still counted')
      const { size } = load.acknowledged
      await new Promise(resolve => setTimeout(resolve, 1_000))
      assert.equal(load.acknowledged.size, size, 'no record is accepted any more')
    })
  })
})
