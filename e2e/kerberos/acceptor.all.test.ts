import assert from 'node:assert/strict'
import { copyFile } from 'node:fs/promises'
import { type TestContext, test } from 'node:test'
import { openGssapi } from '../../src/auth/sasl/gssapi/gssapi.ts'
import { unframe } from '../../src/auth/sasl/gssapi/initial-token.ts'
import { readApReq } from '../../src/auth/sasl/gssapi/messages.ts'
import type { SaslExchange, Step } from '../../src/auth/sasl/mechanism.ts'
import { type Clock, systemClock } from '../../src/base/clock.ts'
import { seededRandom, systemRandom } from '../../src/base/random.ts'
import { testSettings } from '../../src/settings/settings.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { type Kdc, noKdc, startKdc } from '../../testing/kdc.ts'
import { mutate } from '../../testing/mutation.ts'
import { seed } from '../../testing/seed.ts'
import { type Answer, type Initiator, noJava, startInitiator } from './initiator.ts'

const skip = noKdc || noJava
const SERVICE = 'kafka/localhost'
/** The client's choice of no security layer (RFC 4752). */
const NO_LAYER = Buffer.from([1, 0, 0, 0])

interface Realm {
  readonly kdc: Kdc
  /** The keytab of the broker, and of alice. */
  readonly keytab: string
  readonly alice: string
}

async function startRealm(t: TestContext, flags?: string): Promise<Realm> {
  const kdc = await startKdc(t)
  return { kdc, keytab: kdc.addPrincipal(SERVICE, flags), alice: kdc.addPrincipal('alice') }
}

/** Opens the mechanism and returns a function that begins an exchange. The broker's clock is `aheadMs` fast. */
async function openAcceptor({ kdc, keytab }: Realm, aheadMs = 0): Promise<() => SaslExchange> {
  const clock: Clock = { ...systemClock, now: () => systemClock.now() + aheadMs }
  const logger = createLogger({ clock, write: () => {}, format: 'plain', levels: new Map() })
  const settings = testSettings({
    'broker.sasl.gssapi.keytab-file': keytab,
    'broker.sasl.gssapi.principal': `${SERVICE}@${kdc.realm}`,
  })
  const mechanism = await openGssapi({ settings, clock, random: systemRandom, logger }, kdc.confFile)
  return () => mechanism.begin({ address: '127.0.0.1', exportKey: () => null })
}

async function startJava(t: TestContext, { kdc, alice }: Realm): Promise<Initiator> {
  const java = startInitiator(t, kdc)
  await java.ask('login', 'alice', alice)
  return java
}

/** Starts MIT Kerberos with a ticket that may be delegated. */
async function startMit(t: TestContext, { kdc, alice }: Realm): Promise<Initiator> {
  return startInitiator(t, kdc, kdc.login('alice', alice, ['-f']))
}

const CLIENTS = [
  { name: 'Java', start: startJava },
  { name: 'MIT Kerberos', start: startMit },
]

/** Goes on with the exchange, from the client's first token, until the broker decides. */
async function exchangeTokens(client: Initiator, exchange: SaslExchange, first: Answer): Promise<Step> {
  for (let answer = first; ; ) {
    const step = await exchange.step(answer.token)
    if (step.kind !== 'continue') return step
    answer = await client.ask('step', step.token)
  }
}

/** Establishes a context without javax.security.sasl, and answers the offer by hand. */
async function exchangeContext(
  client: Initiator,
  exchange: SaslExchange,
  { mutual, delegate = false, sealed = false }: { mutual: boolean; delegate?: boolean; sealed?: boolean },
): Promise<{ readonly first: Answer; readonly step: Step }> {
  const first = await client.ask('gss', 'localhost', String(mutual), String(delegate))
  let offer = await exchange.step(first.token)
  if (mutual && offer.kind === 'continue') {
    const answer = await client.ask('step', offer.token)
    assert.deepEqual(answer, { token: Buffer.alloc(0), isComplete: true })
    offer = await exchange.step(answer.token)
  }
  if (offer.kind !== 'continue') return { first, step: offer }
  assert.deepEqual((await client.ask('unwrap', offer.token)).token, NO_LAYER)
  const choice = await client.ask('wrap', String(sealed), NO_LAYER)
  return { first, step: await exchange.step(choice.token) }
}

function assertAlice(step: Step): void {
  const client = { name: 'alice', tenant: null, groups: [], validUntilMs: null }
  assert.deepEqual(step, { kind: 'success', token: Buffer.alloc(0), client })
}

function whyOf(step: Step): string {
  assert(step.kind === 'failure')
  return step.why
}

const ENCTYPES = [
  [17, 'aes128-cts'],
  [18, 'aes256-cts'],
  [19, 'aes128-sha2'],
  [20, 'aes256-sha2'],
] as const

for (const { name, start } of CLIENTS) {
  test(`${name} authenticates with each enctype, with and without an AP-REP, signed and sealed`, { skip }, async t => {
    for (const [enctype, kadminName] of ENCTYPES) {
      const realm = await startRealm(t, `-e ${kadminName}:normal`)
      realm.kdc.admin(`setstr ${SERVICE} session_enctypes ${kadminName}`)
      const begin = await openAcceptor(realm)
      const client = await start(t, realm)
      for (const mutual of [false, true])
        for (const sealed of [false, true]) {
          const { first, step } = await exchangeContext(client, begin(), { mutual, sealed })
          assertAlice(step)
          const { ticket, authenticator } = readApReq(unframe(first.token))
          assert.deepEqual([ticket.enctype, authenticator.enctype], [enctype, enctype])
        }
    }
  })

  test(`${name} authenticates through SASL as Kafka's clients do, as itself and as no other`, { skip }, async t => {
    const realm = await startRealm(t)
    const begin = await openAcceptor(realm)
    const client = await start(t, realm)
    for (const identity of ['-', 'alice', 'alice@KETCH.TEST'])
      assertAlice(await exchangeTokens(client, begin(), await client.ask('sasl', 'localhost', 'auth', identity)))
    const asBob = await exchangeTokens(client, begin(), await client.ask('sasl', 'localhost', 'auth', 'bob'))
    assert.equal(whyOf(asBob), "the client asks to act as 'bob'")
  })

  test(`${name} finds no common protection if it demands integrity, and else takes auth`, { skip }, async t => {
    const realm = await startRealm(t)
    const begin = await openAcceptor(realm)
    const client = await start(t, realm)
    for (const qop of ['auth-int', 'auth-conf']) {
      const first = await client.ask('sasl', 'localhost', qop, '-')
      await assert.rejects(exchangeTokens(client, begin(), first), /No common protection layer/)
    }
    assertAlice(await exchangeTokens(client, begin(), await client.ask('sasl', 'localhost', 'auth-conf,auth', '-')))
  })

  test(`a token of ${name} counts once, and not with a changed bit of what is encrypted`, { skip }, async t => {
    const realm = await startRealm(t)
    const client = await start(t, realm)
    const { token } = await client.ask('gss', 'localhost', 'true', 'false')
    const begin = await openAcceptor(realm)
    const { ticket, authenticator } = readApReq(unframe(token))
    for (const cipher of [ticket.cipher, authenticator.cipher])
      for (let at = 0; at < cipher.length; at++) {
        cipher[at]! ^= 1
        assert.match(whyOf(await begin().step(token)), /was changed, or not encrypted with/)
        cipher[at]! ^= 1
      }
    assert.equal((await begin().step(token)).kind, 'continue')
    assert.equal(whyOf(await begin().step(token)), 'replay: this authenticator was used before')
  })

  test(`changed tokens of ${name} never throw, and never make a client of changed encrypted parts`, {
    skip,
  }, async t => {
    const realm = await startRealm(t)
    const random = seededRandom(seed)
    const client = await start(t, realm)
    const { token } = await client.ask('gss', 'localhost', 'true', 'false')
    const begin = await openAcceptor(realm)
    const original = readApReq(unframe(token))
    for (let times = 0; times < 5_000; times++) {
      const changed = mutate(token, random)
      if ((await begin().step(changed)).kind !== 'continue') continue
      const { ticket, authenticator } = readApReq(unframe(changed))
      assert.deepEqual(ticket.cipher, original.ticket.cipher)
      assert.deepEqual(authenticator.cipher, original.authenticator.cipher)
    }
  })
}

test('a delegated ticket of a client is tolerated', { skip }, async t => {
  const realm = await startRealm(t)
  realm.kdc.admin(`modprinc +ok_as_delegate ${SERVICE}`)
  const begin = await openAcceptor(realm)
  const client = await startMit(t, realm)
  const plain = await exchangeContext(client, begin(), { mutual: true })
  const delegated = await exchangeContext(client, begin(), { mutual: true, delegate: true })
  assertAlice(plain.step)
  assertAlice(delegated.step)
  assert(delegated.first.token.length > plain.first.token.length + 500)
})

test('a ticket for another service of the realm is refused', { skip }, async t => {
  const realm = await startRealm(t)
  realm.kdc.addPrincipal('kafka/other.test')
  const begin = await openAcceptor(realm)
  const client = await startJava(t, realm)
  const { token } = await client.ask('gss', 'other.test', 'false', 'false')
  assert.match(
    whyOf(await begin().step(token)),
    /^the ticket is for 'kafka\/other.test@KETCH.TEST', and this broker is/,
  )
})

test('a client with another clock, or with an expired ticket, is refused', { skip }, async t => {
  const realm = await startRealm(t)
  const client = await startJava(t, realm)
  const stepAt = async (aheadMs: number) => {
    const begin = await openAcceptor(realm, aheadMs)
    const { token } = await client.ask('gss', 'localhost', 'false', 'false')
    return await begin().step(token)
  }
  const minuteMs = 60_000
  for (const minutes of [-4, 4]) assert.equal((await stepAt(minutes * minuteMs)).kind, 'continue')
  // Ten minutes before the KDC gave it, the ticket is not valid yet.
  assert.match(whyOf(await stepAt(-10 * minuteMs)), /^the ticket is not valid yet/)
  assert.match(whyOf(await stepAt(6 * minuteMs)), /^the client's clock differs by 3\d\d s; at most 300 s are accepted$/)
  assert.match(whyOf(await stepAt(25 * 60 * minuteMs)), /^the ticket expired \d+ s ago$/)
})

test('when the key of the broker changes, old and new tickets count without a restart', { skip }, async t => {
  const realm = await startRealm(t)
  const { kdc, keytab, alice } = realm
  const begin = await openAcceptor(realm)
  const stale = `${keytab}.stale`
  await copyFile(keytab, stale)
  const client = await startJava(t, realm)
  const versionOf = ({ first, step }: { readonly first: Answer; readonly step: Step }) => {
    assertAlice(step)
    return readApReq(unframe(first.token)).ticket.kvno
  }
  assert.equal(versionOf(await exchangeContext(client, begin(), { mutual: false })), 1)
  kdc.changeKeys(SERVICE, keytab)
  assert.equal(versionOf(await exchangeContext(client, begin(), { mutual: false })), 1)
  await client.ask('login', 'alice', alice)
  assert.equal(versionOf(await exchangeContext(client, begin(), { mutual: false })), 2)
  const withoutNewKey = await openAcceptor({ ...realm, keytab: stale })
  const { step } = await exchangeContext(client, withoutNewKey(), { mutual: false })
  assert.match(whyOf(step), /^the keytab does not hold the key of kafka\/localhost@KETCH.TEST, .*, version 2$/)
})
