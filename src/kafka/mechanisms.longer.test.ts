// The mechanisms of the settings on a TLS listener of a broker, by a client that decides each byte: right and hostile
// tokens, and sessions that end. The tests in auth/sasl/ have the rules of each mechanism, and
// authentication.test.ts has those of the connection.

import assert from 'node:assert/strict'
import { createHmac, createPublicKey, type JsonWebKey } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { startBroker } from '../../testing/broker.ts'
import { makeAuthority, makeCertificate, noOpenssl } from '../../testing/certificate.ts'
import { type Claims, encoded, makeKey, signAsTold, startProvider } from '../../testing/identity-provider.ts'
import { batchOf, fetchOne, linesOf, produceTo } from '../../testing/kafka.ts'
import { makeToken, makeWrap, type TokenOptions, writeKeytab } from '../../testing/kerberos-client.ts'
import { closedByBroker, handshake, sendToken } from '../../testing/sasl.ts'
import { authenticate as scram } from '../../testing/scram-client.ts'
import { SimulatedClock } from '../../testing/sim/clock.ts'
import { createMemoryStore } from '../../testing/sim/memory-store.ts'
import { temporaryFolder } from '../../testing/temporary-folder.ts'
import { connect, type Wire } from '../../testing/wire.ts'
import { KIND, makeCredential, rowsOf } from '../auth/clients/credential-record.ts'
import type { SaslMechanism } from '../auth/sasl/mechanism.ts'
import { type Clock, systemClock } from '../base/clock.ts'
import { seededRandom } from '../base/random.ts'
import { NONE, SASL_AUTHENTICATION_FAILED, TOPIC_AUTHORIZATION_FAILED } from '../protocol/errors.ts'
import { deleteTopics } from '../protocol/messages/delete-topics.ts'
import { metadata } from '../protocol/messages/metadata.ts'
import type { MechanismName, Values } from '../settings/settings.ts'

const PASSWORD = 'correct horse battery'
const SERVICE = 'kafka/broker.test@KETCH.TEST'
const MECHANISMS: readonly MechanismName[] = ['SCRAM-SHA-256', 'PLAIN', 'OAUTHBEARER', 'GSSAPI']
const random = seededRandom(7)

/** The client's message that ends a failed exchange of OAUTHBEARER (RFC 7628, section 3.2.3). */
const CONTROL_A = '\u0001'

async function start(t: TestContext, { clock = systemClock as Clock, more = {} as Partial<Values> } = {}) {
  const { certificateFile, keyFile } = await makeCertificate(t)
  const provider = await startProvider(t, await makeKey('RS256'))
  const folder = await temporaryFolder(t, 'ketch-mechanisms-')
  const keytab = join(folder, 'kafka.keytab')
  const serviceKey = { principal: SERVICE, kvno: 3, enctype: 18, bytes: random.bytes(32) }
  await writeFile(keytab, writeKeytab([serviceKey]), { mode: 0o600 })
  const store = createMemoryStore(clock)
  const settings: Partial<Values> = {
    'broker.tls': true,
    'broker.cert-file': certificateFile,
    'broker.key-file': keyFile,
    'broker.sasl.enabled': true,
    'broker.sasl.mechanisms': MECHANISMS,
    'broker.sasl.oauth.issuer-uri': provider.issuer,
    'broker.sasl.oauth.audience': 'kafka',
    'broker.sasl.oauth.groups-claim': 'groups',
    'broker.sasl.oauth.tenant-claim': 'tenant',
    'broker.sasl.gssapi.keytab-file': keytab,
    'broker.sasl.gssapi.principal': SERVICE,
    'broker.failed-authentication-delay': 0,
    'logging.structured.format.console': 'logstash',
    'logging.level': new Map([['svc', 'TRACE']]),
    ...more,
  }
  const broker = await startBroker(t, settings, { clock, openStore: async () => store })
  for (const [name, mechanism] of [
    ['ada', 'SCRAM-SHA-256'],
    ['bob', 'PLAIN'],
  ] as const) {
    const credential = await makeCredential({ mechanism, iterations: 10_000, tenantId: 'acme' }, PASSWORD, random)
    await store.commit({ kind: KIND, name, expect: 0, changes: rowsOf(credential) })
  }
  const claims = (changes: Claims = {}): Claims => {
    const now = Math.floor(clock.now() / 1000)
    return { iss: provider.issuer, aud: 'kafka', sub: 'eve', iat: now, exp: now + 600, ...changes }
  }
  return {
    ...broker,
    store,
    provider,
    claims,
    sign: (changes: Claims = {}, header = {}) => provider.sign(claims(changes), header),
    ticket: (options: Partial<TokenOptions> = {}) => makeToken({ serviceKey, random, atMs: clock.now(), ...options }),
    lines: () => linesOf(broker),
    async join(mechanism: MechanismName): Promise<Wire> {
      const wire = await connect({ port: broker.port, tls: { rejectUnauthorized: false } })
      t.after(() => wire.close())
      assert.equal((await handshake(wire, mechanism)).errorCode, NONE)
      return wire
    },
  }
}

/** The mechanism at the other end of the connection. A token that the broker accepts is a continuation here. */
function across(wire: Wire): SaslMechanism {
  return {
    name: 'SCRAM-SHA-256',
    begin: () => ({
      async step(token) {
        const { errorCode, errorMessage, authBytes } = await sendToken(wire, token)
        if (errorCode === NONE) return { kind: 'continue', token: authBytes }
        return { kind: 'failure', message: `${errorCode} ${errorMessage}`, why: '', claimed: null }
      },
    }),
  }
}

const bearer = (token: string) => `n,,\u0001auth=Bearer ${token}\u0001\u0001`

/** Produces to a topic and reads from it. Returns the two error codes. */
async function use(wire: Wire) {
  await wire.send(metadata, 4, { topics: [{ name: 't' }], allowAutoTopicCreation: true })
  const { errorCode } = await produceTo(wire, batchOf(['v']))
  return [errorCode, (await fetchOne(wire, 0)).errorCode]
}

/** The first token of Kerberos, and the client's answer to the offer of layers: no layer, no other identity. */
async function byTicket(wire: Wire, ticket: ReturnType<typeof makeToken>) {
  const offer = await sendToken(wire, ticket.token)
  if (offer.errorCode !== NONE) return offer
  return await sendToken(wire, makeWrap(ticket, Buffer.from([1, 0, 0, 0]), random))
}

test('clients of every mechanism authenticate beside each other, each with its principal and tenant', {
  skip: noOpenssl,
}, async t => {
  const { join: to, sign, ticket, lines } = await start(t)
  const ada = await to('SCRAM-SHA-256')
  const { outcome, signature } = await scram(across(ada), { username: 'ada', password: PASSWORD })
  assert.deepEqual(outcome, { kind: 'continue', token: Buffer.from(`v=${signature}`) })
  const bob = await to('PLAIN')
  assert.equal((await sendToken(bob, `\0bob\0${PASSWORD}`)).errorCode, NONE)
  await bob.send(deleteTopics, 5, { topicNames: ['none'], timeoutMs: 1000 })
  const audited = lines().find(({ message }) => message === 'delete topics')!
  assert.deepEqual([audited.logger_name, audited.who, audited.tenant], ['svc.audit', 'User:bob', 'acme'])
  const eve = await to('OAUTHBEARER')
  const { sessionLifetimeMs } = await sendToken(eve, bearer(await sign({ tenant: 'blue' })))
  assert.ok(sessionLifetimeMs > 290_000 && sessionLifetimeMs <= 300_000, 'svc.broker.sasl.oauth.max-reauth')
  const alice = await to('GSSAPI')
  assert.equal((await byTicket(alice, ticket({ client: 'alice/host@KETCH.TEST' }))).errorCode, NONE)
  // Without ACLs each of them may use every topic.
  for (const wire of [ada, bob, eve, alice]) assert.deepEqual(await use(wire), [NONE, NONE])
  const told = lines().filter(({ message }) => message === 'a client has authenticated')
  assert.deepEqual(
    told.map(({ mechanism, principal, tenant }) => [mechanism, principal, tenant]),
    [
      ['SCRAM-SHA-256', 'User:ada', 'acme'],
      ['PLAIN', 'User:bob', 'acme'],
      ['OAUTHBEARER', 'User:eve', 'blue'],
      ['GSSAPI', 'User:alice', undefined],
    ],
  )
})

test('no password, token or proof is in the log at any level, whether it was accepted or refused', {
  skip: noOpenssl,
}, async t => {
  const { join: to, sign, ticket, log } = await start(t)
  const secrets: string[] = [PASSWORD, 'a wrong password']
  for (const password of [PASSWORD, 'a wrong password']) {
    const final = (message: string, { proof }: { readonly proof: string }) => {
      secrets.push(proof)
      return message
    }
    await scram(across(await to('SCRAM-SHA-256')), { username: 'ada', password, final })
    await sendToken(await to('PLAIN'), `\0bob\0${password}`)
  }
  for (const changes of [{}, { aud: 'other' }]) {
    const token = await sign(changes)
    secrets.push(...token.split('.'))
    await sendToken(await to('OAUTHBEARER'), bearer(token))
  }
  for (const client of ['alice@KETCH.TEST', 'alice@OTHER.TEST']) {
    const made = ticket({ client })
    secrets.push(made.token.toString('base64').slice(100, 200), made.token.toString('hex').slice(100, 200))
    await byTicket(await to('GSSAPI'), made)
  }
  const text = log()
  assert.match(text, /SaslAuthenticate is received/)
  for (const secret of secrets)
    for (const form of [secret, Buffer.from(secret).toString('base64').replace(/=*$/, '')])
      assert.ok(!text.includes(form), form)
})

test('a credential that is removed from the store counts at the next authentication, and open connections stay', {
  skip: noOpenssl,
}, async t => {
  const { join: to, store } = await start(t)
  const open = await to('PLAIN')
  assert.equal((await sendToken(open, `\0bob\0${PASSWORD}`)).errorCode, NONE)
  store.faults.loseDocument(KIND, 'bob')
  const late = await to('PLAIN')
  assert.equal((await sendToken(late, `\0bob\0${PASSWORD}`)).errorCode, SASL_AUTHENTICATION_FAILED.code)
  await closedByBroker(late)
  assert.deepEqual(await use(open), [NONE, NONE])
})

test('with client certificates and SASL both are demanded, and SASL names the client', {
  skip: noOpenssl,
}, async t => {
  const authority = await makeAuthority(t)
  const demands = { 'broker.client-auth-required': true, 'broker.trust-cert-file': authority.certificateFile }
  const { port, lines } = await start(t, { more: demands })
  const { certificateFile, keyFile } = authority.issue({ subject: '/CN=alice' })
  const pair = { cert: await readFile(certificateFile), key: await readFile(keyFile) }
  const wire = await connect({ port, tls: { rejectUnauthorized: false, ...pair } })
  t.after(() => wire.close())
  const early = await connect({ port, tls: { rejectUnauthorized: false, ...pair } })
  await assert.rejects(early.send(metadata, 4, { topics: [] }), 'a certificate is no identity here')
  await handshake(wire, 'PLAIN')
  assert.equal((await sendToken(wire, `\0bob\0${PASSWORD}`)).errorCode, NONE)
  await wire.send(metadata, 4, { topics: [] })
  const received = lines().filter(({ message }) => message === 'Metadata is received')
  assert.deepEqual(
    received.map(({ principal }) => principal),
    ['User:bob'],
  )
  const stranger = await connect({ port, tls: { rejectUnauthorized: false, maxVersion: 'TLSv1.3' } })
  await assert.rejects(handshake(stranger, 'PLAIN'))
})

test('a wrong password and an unknown user get the same bytes, and the log tells them apart with the name', {
  skip: noOpenssl,
}, async t => {
  const { join: to, lines } = await start(t)
  const [scrams, plains] = [new Set<string>(), new Set<string>()]
  for (const username of ['ada', 'bob', 'zoe']) {
    const wire = await to('SCRAM-SHA-256')
    const { outcome, serverFirst } = await scram(across(wire), { username, password: 'a wrong password' })
    const [, nonce, salt, iterations] = /^r=(.*),s=(.*),i=(\d+)$/.exec(serverFirst!)!
    scrams.add(JSON.stringify([nonce!.length, salt!.length, iterations, outcome]))
    await closedByBroker(wire)
    const other = await to('PLAIN')
    plains.add(JSON.stringify(await sendToken(other, `\0${username}\0a wrong password`)))
    await closedByBroker(other)
  }
  for (const seen of [scrams, plains]) {
    assert.equal(seen.size, 1)
    assert.match([...seen][0]!, new RegExp(`${SASL_AUTHENTICATION_FAILED.code}`))
  }
  const told = lines().filter(({ message }) => message === 'an authentication failed')
  const said = (name: string) =>
    told.filter(({ user }) => user === name).map(({ mechanism, why, level }) => [level, mechanism, why])
  assert.deepEqual(said('ada'), [
    ['WARN', 'SCRAM-SHA-256', 'invalid password'],
    ['WARN', 'PLAIN', 'user not found: the stored credential is for SCRAM-SHA-256'],
  ])
  assert.deepEqual(said('zoe'), [['WARN', 'SCRAM-SHA-256', 'user not found']])
})

test('each hostile access token is refused with the JSON of RFC 7628, and its client gets no further', {
  skip: noOpenssl,
}, async t => {
  const { join: to, provider, sign, claims, lines } = await start(t)
  const { key } = provider
  const now = Math.floor(Date.now() / 1000)
  const publicKey = createPublicKey({ key: key.jwk as JsonWebKey, format: 'jwk' })
  const byHmac = `${encoded({ alg: 'HS256', kid: key.kid })}.${encoded(claims())}`
  const hmac = createHmac('sha256', publicKey.export({ type: 'spki', format: 'pem' })).update(byHmac)
  const other = await makeKey('RS256', key.kid)
  const deep = (levels: number): unknown => (levels === 0 ? 1 : [deep(levels - 1)])
  const hostile: readonly (readonly [what: string, token: string, why: RegExp])[] = [
    ['alg none', `${encoded({ alg: 'none' })}.${encoded(claims())}.`, /"alg"/],
    ['alg none, signed', `${encoded({ alg: 'none', kid: key.kid })}.${encoded(claims())}.AAAA`, /"alg"/],
    ['HS256 with the public key as its secret', `${byHmac}.${hmac.digest('base64url')}`, /"alg"/],
    ['the signature of another key', await provider.sign(claims(), {}, other), /signature verification failed/],
    [
      'a changed claim',
      (await sign()).replace(/\.[^.]+\./, `.${encoded(claims({ sub: 'root' }))}.`),
      /signature verification failed/,
    ],
    ['another issuer', await sign({ iss: 'https://other.example' }), /"iss"/],
    ['another audience', await sign({ aud: 'other' }), /"aud"/],
    ['an unknown kid', await sign({}, { kid: 'unknown' }), /no applicable key/],
    [
      'a critical extension',
      signAsTold(key, { alg: 'RS256', kid: key.kid, crit: ['x'], x: 1 }, claims()),
      /unknown extension/,
    ],
    ['an expired token', await sign({ exp: now - 31, iat: now - 100 }), /"exp" claim timestamp/],
    ['a token that is not yet valid', await sign({ nbf: now + 60 }), /"nbf"/],
    ['no end', await sign({ exp: undefined }), /missing required "exp"/],
    [
      'deeply nested claims',
      signAsTold(key, { alg: 'RS256', kid: key.kid }, claims({ other: deep(3000) })),
      /more than 16 levels/,
    ],
    ['the principal of a group', await sign({ sub: 'group:admins' }), /the claim sub/],
    ['text', 'x', /Invalid Compact JWS/],
  ]
  for (const [what, token] of hostile) {
    const wire = await to('OAUTHBEARER')
    const challenge = await sendToken(wire, bearer(token))
    assert.deepEqual([challenge.errorCode, String(challenge.authBytes)], [NONE, '{"status":"invalid_token"}'], what)
    assert.equal(challenge.sessionLifetimeMs, 0, what)
    const behind = wire.send(metadata, 4, { topics: null })
    await assert.rejects(behind, what)
    await closedByBroker(wire)
    const patient = await to('OAUTHBEARER')
    await sendToken(patient, bearer(token))
    const { errorCode, errorMessage } = await sendToken(patient, CONTROL_A)
    assert.deepEqual([errorCode, errorMessage], [SASL_AUTHENTICATION_FAILED.code, '{"status":"invalid_token"}'], what)
    await closedByBroker(patient)
  }
  for (const first of [bearer(await sign({ padding: 'x'.repeat(16_384) })), bearer('a').replace('auth', 'mac')]) {
    const wire = await to('OAUTHBEARER')
    assert.equal((await sendToken(wire, first)).errorCode, SASL_AUTHENTICATION_FAILED.code)
    await closedByBroker(wire)
  }
  const told = lines().map(({ why }) => String(why))
  for (const [what, , why] of hostile)
    assert.ok(
      told.some(each => why.test(each)),
      what,
    )
  assert.equal(lines().filter(({ message }) => message === 'a client has authenticated').length, 0)
})

test('while the keys of the provider cannot be used, a client with a good token is closed without an error code', {
  skip: noOpenssl,
}, async t => {
  const { join: to, provider, sign } = await start(t)
  provider.instead.set('/keys', response =>
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ keys: provider.keys }).padEnd(10 * 1024 * 1024)),
  )
  const token = bearer(await sign())
  const wire = await to('OAUTHBEARER')
  await assert.rejects(sendToken(wire, token), /the connection was closed/)
  const plain = await to('PLAIN')
  assert.equal((await sendToken(plain, `\0bob\0${PASSWORD}`)).errorCode, NONE, 'passwords need no provider')
})

test('an empty token, random bytes and the tokens of another mechanism fail, whatever mechanism was chosen', {
  skip: noOpenssl,
}, async t => {
  const { join: to, sign, ticket } = await start(t)
  const good: Readonly<Record<string, string | Buffer>> = {
    'SCRAM-SHA-256': 'n,,n=ada,r=nonce',
    PLAIN: `\0bob\0${PASSWORD}`,
    OAUTHBEARER: bearer(await sign()),
    GSSAPI: ticket().token,
  }
  for (const mechanism of MECHANISMS) {
    const others = MECHANISMS.filter(each => each !== mechanism).map(each => good[each]!)
    const bad = ['', Buffer.from(random.bytes(16)), Buffer.from(random.bytes(200_000)), '\0'.repeat(3), ...others]
    for (const token of bad) {
      const wire = await to(mechanism)
      const { errorCode, authBytes } = await sendToken(wire, token)
      assert.equal(errorCode, SASL_AUTHENTICATION_FAILED.code, `${mechanism}: ${token.length} bytes`)
      assert.equal(authBytes.length, 0)
      await closedByBroker(wire)
    }
  }
})

test('a Kerberos token counts on one connection, for this service and within five minutes', {
  skip: noOpenssl,
}, async t => {
  const { join: to, ticket, lines } = await start(t)
  const used = ticket()
  assert.equal((await byTicket(await to('GSSAPI'), used)).errorCode, NONE)
  for (const [what, token] of [
    ['the token was used before', used],
    ['another service', ticket({ service: 'http/broker.test@KETCH.TEST' })],
    ['a clock that is ahead', ticket({ atMs: Date.now() + 6 * 60_000 })],
    ['a clock that is behind', ticket({ atMs: Date.now() - 6 * 60_000 })],
    ['another key', ticket({ serviceKey: { enctype: 18, bytes: random.bytes(32) } })],
  ] as const) {
    const wire = await to('GSSAPI')
    assert.equal((await byTicket(wire, token)).errorCode, SASL_AUTHENTICATION_FAILED.code, what)
    await closedByBroker(wire)
  }
  const failures = lines().filter(({ message }) => message === 'an authentication failed')
  assert.deepEqual(
    failures.map(
      ({ why }) => /used before|is for 'http|clock differs|not encrypted with the key/.exec(String(why))?.[0],
    ),
    ['used before', "is for 'http", 'clock differs', 'not encrypted with the key'],
    'the second wrong clock has no line of its own',
  )
  assert.equal(lines().filter(({ message }) => message === 'a client has authenticated').length, 1)
})

test('a fresh token before the deadline gives a new deadline and the rules of its groups, and past it the connection closes', {
  skip: noOpenssl,
}, async t => {
  const clock = new SimulatedClock()
  const more = { 'broker.acl.enabled': true, 'broker.acl.super-users': ['group:admins'] } as const
  const { join: to, sign } = await start(t, { clock, more })
  const wire = await to('OAUTHBEARER')
  const now = Math.floor(clock.now() / 1000)
  const first = await sendToken(wire, bearer(await sign({ groups: ['staff', 'admins'], exp: now + 120 })))
  assert.equal(first.sessionLifetimeMs, 120_000, 'the token expires before the cap')
  const creates = async () => {
    const { topics } = await wire.send(metadata, 4, { topics: [{ name: 't' }], allowAutoTopicCreation: true })
    return topics[0]!.errorCode
  }
  assert.equal(await creates(), NONE)

  await clock.advance(100_000)
  await handshake(wire, 'OAUTHBEARER')
  const second = await sendToken(wire, bearer(await sign({ groups: ['staff'], exp: now + 10_000 })))
  assert.equal(second.sessionLifetimeMs, 300_000, 'the cap ends the session before the token')
  assert.equal(await creates(), TOPIC_AUTHORIZATION_FAILED.code, 'the group is gone')
  await clock.advance(299_999)
  assert.equal(await creates(), TOPIC_AUTHORIZATION_FAILED.code, 'the old deadline does not count')
  await clock.advance(1)
  await assert.rejects(creates())
  await closedByBroker(wire)
})
