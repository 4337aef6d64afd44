import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../testing/eventually.ts'
import { batchOf, fetchFrom, produceTo, startGround } from '../../testing/kafka.ts'
import {
  accepted,
  authenticate,
  byPassword,
  closedByBroker,
  handshake,
  mechanismOf,
  rejected,
  type StepOf,
  sendToken,
  startSaslBroker,
} from '../../testing/sasl.ts'
import { SimulatedClock } from '../../testing/sim/clock.ts'
import type { Wire } from '../../testing/wire.ts'
import { ProviderUnavailable } from '../auth/provider-fetch.ts'
import { ILLEGAL_SASL_STATE, NONE, SASL_AUTHENTICATION_FAILED, UNSUPPORTED_SASL_MECHANISM } from '../protocol/errors.ts'
import { requestHeader } from '../protocol/header.ts'
import { apiVersions } from '../protocol/messages/api-versions.ts'
import { fetch } from '../protocol/messages/fetch.ts'
import { metadata } from '../protocol/messages/metadata.ts'
import { saslAuthenticate } from '../protocol/messages/sasl-authenticate.ts'
import { saslHandshake } from '../protocol/messages/sasl-handshake.ts'
import { testSettings } from '../settings/settings.ts'
import { StoreUnavailable } from '../store/store.ts'
import { createLogger } from '../telemetry/logger.ts'
import { createMetrics } from '../telemetry/metrics.ts'
import { openAuthentication } from './authentication.ts'
import { Session } from './connection/session.ts'

const KIB = 1024

function framed(bytes: Uint8Array): Buffer {
  const size = Buffer.alloc(4)
  size.writeInt32BE(bytes.length)
  return Buffer.concat([size, bytes])
}

/** Fails if the broker sends anything before it closes the connection. */
async function closedWithoutAnswer(wire: Wire): Promise<void> {
  let received = 0
  wire.socket.on('data', chunk => (received += chunk.length))
  await closedByBroker(wire)
  assert.equal(received, 0)
}

test('before a client has authenticated, every API except three closes the connection without an answer', async t => {
  const { connect, failures } = await startSaslBroker(t)
  const passing = [apiVersions.key, saslHandshake.key, saslAuthenticate.key] as number[]
  const keys = Array.from({ length: 93 }, (_, key) => key).filter(key => !passing.includes(key))
  for (const key of [...keys, 999, -1]) {
    for (const hasChosen of [false, true]) {
      const wire = await connect()
      if (hasChosen) await handshake(wire)
      // The byte behind the header has no tagged fields, if the broker reads the header as a flexible one.
      const header = requestHeader({ ...metadata, key, flexible: null }, 1, 5, 'c')
      const closed = closedWithoutAnswer(wire)
      await wire.raw(framed(Buffer.concat([header, Buffer.of(0)])))
      await closed
    }
  }
  const refused = (await failures('request', 'unauthenticated')) + (await failures('request', 'unknown-api'))
  assert.equal(refused, (keys.length + 2) * 2)
})

test('ApiVersions is served before the handshake, and refused behind it as in Apache Kafka', async t => {
  const { connect } = await startSaslBroker(t)
  const wire = await connect()
  for (const version of [0, 3]) {
    const named = { clientSoftwareName: 'c', clientSoftwareVersion: '1' }
    const { apiKeys } = await wire.send(apiVersions, version, version < 3 ? {} : named)
    assert.ok(apiKeys.some(({ apiKey }) => apiKey === saslAuthenticate.key))
  }
  await handshake(wire)
  assert.equal((await wire.send(apiVersions, 0, {})).errorCode, ILLEGAL_SASL_STATE.code)
  await closedByBroker(wire)
})

test('a client may ask for versions ten times before it authenticates, and as often as it likes afterwards', async t => {
  const { connect, failures } = await startSaslBroker(t)
  const flood = await connect()
  for (let i = 0; i < 10; i++) await flood.send(apiVersions, 0, {})
  await assert.rejects(flood.send(apiVersions, 0, {}), /closed/)
  assert.equal(await failures('request', 'unauthenticated'), 1)
  const wire = await connect()
  for (let i = 0; i < 10; i++) await wire.send(apiVersions, 0, {})
  await authenticate(wire)
  for (let i = 0; i < 20; i++) await wire.send(apiVersions, 0, {})
})

test('a client that authenticates is served, in every version of SaslAuthenticate, and an empty token is answered', async t => {
  const { connect, sample, lines } = await startSaslBroker(t, {
    mechanisms: [mechanismOf((token, taken) => (taken === 0 ? more('') : accepted(token, { tenant: 'acme' }, 'bye')))],
    overrides: { 'logging.level': new Map([['svc.kafka', 'TRACE']]) },
  })
  for (const version of [0, 1, 2]) {
    const wire = await connect()
    assert.deepEqual(await handshake(wire), { errorCode: NONE, mechanisms: ['PLAIN'] })
    const going = await sendToken(wire, '', version)
    assert.deepEqual([going.errorCode, going.authBytes.toString()], [NONE, ''])
    const done = await sendToken(wire, 'alice', version)
    assert.deepEqual(done, {
      errorCode: NONE,
      errorMessage: null,
      authBytes: Buffer.from('bye'),
      sessionLifetimeMs: 0,
    })
    await wire.send(metadata, 4, { topics: [{ name: 't' }] })
    await wire.close()
  }
  assert.equal(await sample('svc_broker_authentications_total{mechanism="PLAIN",kind="first"}'), 3)
  const [success] = lines().filter(({ message }) => message === 'a client has authenticated')
  assert.deepEqual([success!.mechanism, success!.principal, success!.tenant], ['PLAIN', 'User:alice', 'acme'])
  for (const text of ['Metadata is received', 'Metadata is answered']) {
    const line = lines().find(({ message }) => message === text)!
    assert.deepEqual([line.principal, line.tenant], ['User:alice', 'acme'], text)
  }
})

const more = (token: string) => ({ kind: 'continue', token: Buffer.from(token) }) as const

test('a mechanism that is not advertised is refused with the exact list, and named in the log', async t => {
  const mechanisms = [mechanismOf(byPassword, 'SCRAM-SHA-256'), mechanismOf(byPassword, 'GSSAPI')]
  const { connect, lines, failures } = await startSaslBroker(t, { mechanisms })
  for (const [mechanism, version] of [
    ['PLAIN', 1],
    ['PLAIN', 0],
    ['scram-sha-256', 1],
    ['', 1],
    ['x'.repeat(5000), 1],
    ['GSSAPI', 0],
  ] as const) {
    const wire = await connect()
    const answer = await handshake(wire, mechanism, version)
    assert.deepEqual(answer, {
      errorCode: UNSUPPORTED_SASL_MECHANISM.code,
      mechanisms: ['SCRAM-SHA-256', 'GSSAPI'],
    })
    await closedByBroker(wire)
  }
  assert.equal(await failures('auth', 'UNSUPPORTED_SASL_MECHANISM'), 5)
  assert.equal(await failures('auth', 'GSSAPI'), 1)
  const line = lines().find(({ message }) => message === 'an authentication failed')!
  assert.deepEqual([line.mechanism, line.why, line.level], ['PLAIN', 'unsupported mechanism', 'WARN'])
})

test('SaslAuthenticate before the handshake, and a second handshake, are refused and close the connection', async t => {
  const { connect, failures } = await startSaslBroker(t)
  const wire = await connect()
  const early = await sendToken(wire, 'alice:right')
  assert.deepEqual(
    [early.errorCode, early.errorMessage],
    [ILLEGAL_SASL_STATE.code, 'SaslAuthenticate is not expected now'],
  )
  await closedByBroker(wire)
  assert.equal(await failures('auth', 'ILLEGAL_SASL_STATE'), 1)
  const other = await connect()
  await handshake(other)
  assert.equal((await handshake(other)).errorCode, ILLEGAL_SASL_STATE.code)
  await closedByBroker(other)
})

test('SASL on a listener without it, and inside a session that does not end, is refused and changes nothing', async t => {
  const plain = await (await startGround(t)).connect()
  const authenticated = await (await startSaslBroker(t)).connect()
  await authenticate(authenticated)
  for (const wire of [plain, authenticated]) {
    assert.equal((await handshake(wire)).errorCode, ILLEGAL_SASL_STATE.code)
    assert.equal((await sendToken(wire, 'bob:right')).errorCode, ILLEGAL_SASL_STATE.code)
    assert.equal((await handshake(wire, 'NONE', 0)).errorCode, ILLEGAL_SASL_STATE.code)
    assert.equal((await wire.send(apiVersions, 0, {})).errorCode, NONE)
  }
})

test('a failed client is told after the delay, is counted and logged without its password, and is closed', async t => {
  const clock = new SimulatedClock()
  const { connect, failures, lines, log } = await startSaslBroker(t, { clock })
  const wire = await connect()
  await handshake(wire)
  let isAnswered = false
  const failing = sendToken(wire, 'mallory\n:wrong-password').then(answer => {
    isAnswered = true
    return answer
  })
  await eventually('the failure is counted', async () => (await failures('auth', 'PLAIN')) === 1)
  await clock.advance(99)
  assert.equal(isAnswered, false)
  await clock.advance(1)
  const answer = await failing
  assert.equal(answer.errorCode, SASL_AUTHENTICATION_FAILED.code)
  assert.equal(answer.errorMessage, 'Authentication failed: Invalid username or password')
  await closedByBroker(wire)
  const line = lines().find(({ message }) => message === 'an authentication failed')!
  assert.deepEqual(
    [line.level, line.mechanism, line.address, line.user, line.why],
    ['WARN', 'PLAIN', '127.0.0.1', 'mallory\n', 'invalid password'],
  )
  assert.doesNotMatch(log(), /wrong-password/)
})

test('a failure that is certain before the last step is counted and logged once, also if the client sends no more', async t => {
  const failed = { kind: 'failure', message: 'no', why: 'invalid token: it is too old', claimed: null } as const
  const step: StepOf = (_token, taken) => (taken === 0 ? { ...more('no'), failed } : failed)
  const { connect, failures, lines } = await startSaslBroker(t, { mechanisms: [mechanismOf(step)] })
  const told = () => lines().filter(({ message }) => message === 'an authentication failed')
  const patient = await connect()
  await handshake(patient)
  assert.equal((await sendToken(patient, 'bad')).errorCode, NONE)
  assert.deepEqual([await failures('auth', 'PLAIN'), told().map(({ why }) => why)], [1, [failed.why]])
  assert.equal((await sendToken(patient, '\u0001')).errorCode, SASL_AUTHENTICATION_FAILED.code)
  await closedByBroker(patient)
  assert.deepEqual([await failures('auth', 'PLAIN'), told().length], [1, 1])
  // kafkajs takes the challenge for a success.
  const hasty = await connect()
  await handshake(hasty)
  await sendToken(hasty, 'bad')
  await assert.rejects(hasty.send(metadata, 4, { topics: [] }))
  assert.equal(await failures('auth', 'PLAIN'), 2)
})

/** Returns the bytes of requests that follow each other without waiting for an answer. */
async function pipelined(wire: Wire, token: string) {
  const sent: Promise<unknown>[] = []
  wire.socket.cork()
  sent.push(handshake(wire))
  sent.push(sendToken(wire, token))
  sent.push(wire.send(metadata, 4, { topics: [{ name: 'piped' }], allowAutoTopicCreation: true }))
  sent.push(wire.send(fetch, 12, fetchFrom(0, { maxWaitMs: 0 })))
  wire.socket.uncork()
  return await Promise.allSettled(sent)
}

test('requests behind an authentication in the same packet run after it succeeds', async t => {
  const slow: StepOf = async token => {
    await new Promise(resolve => setTimeout(resolve, 20))
    return await byPassword(token, 0)
  }
  const { connect } = await startSaslBroker(t, { mechanisms: [mechanismOf(slow)] })
  const results = await pipelined(await connect(), 'alice:right')
  assert.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'fulfilled', 'fulfilled', 'fulfilled'],
  )
})

test('requests behind an authentication that fails are never run, in the same packet or in the delay', async t => {
  const clock = new SimulatedClock()
  const ground = await startSaslBroker(t, { clock })
  const wire = await ground.connect()
  const results = pipelined(wire, 'alice:wrong')
  await eventually('the failure is counted', async () => (await ground.failures('auth', 'PLAIN')) === 1)
  wire.send(metadata, 4, { topics: [{ name: 'later' }], allowAutoTopicCreation: true }).catch(() => {})
  await clock.advance(50)
  await clock.advance(50)
  assert.deepEqual(
    (await results).map(({ status }) => status),
    ['fulfilled', 'fulfilled', 'rejected', 'rejected'],
  )
  assert.equal(await ground.sample('svc_broker_frame_size_count{direction="in",api_key="Metadata"}'), 0)
  const other = await ground.connect()
  await authenticate(other)
  const { topics } = await other.send(metadata, 4, { topics: null })
  assert.deepEqual(topics, [])
})

test('after SaslHandshake 0 the tokens have no header, may be empty, and are answered without one', async t => {
  const step: StepOf = (token, taken) => (taken === 0 ? more(`seen ${token.length}`) : byPassword(token, taken))
  const { connect } = await startSaslBroker(t, { mechanisms: [mechanismOf(step)] })
  const wire = await connect()
  assert.equal((await handshake(wire, 'PLAIN', 0)).errorCode, NONE)
  await wire.raw(Buffer.concat([framed(Buffer.alloc(0)), framed(Buffer.from('alice:right'))]))
  assert.equal((await wire.answer()).toString(), 'seen 0')
  assert.equal((await wire.answer()).toString(), '')
  assert.equal((await wire.send(apiVersions, 0, {})).errorCode, NONE)
  await wire.send(metadata, 4, { topics: [{ name: 't' }] })
  await produceTo(wire, batchOf(['v']))
})

test('a raw token that fails closes the connection after the delay without an answer', async t => {
  const clock = new SimulatedClock()
  const { connect, failures } = await startSaslBroker(t, { clock })
  const wire = await connect()
  await handshake(wire, 'PLAIN', 0)
  const closed = closedWithoutAnswer(wire)
  await wire.raw(framed(Buffer.from('alice:wrong')))
  await eventually('the failure is counted', async () => (await failures('auth', 'PLAIN')) === 1)
  await clock.advance(99)
  assert.equal(wire.socket.readyState, 'open')
  await clock.advance(1)
  await closed
})

test('a frame has at most 64 KiB before the handshake, and 512 KiB until the client has authenticated', async t => {
  const { connect, failures, lines } = await startSaslBroker(t, {
    mechanisms: [mechanismOf(token => (token.startsWith('long') ? more(String(token.length)) : byPassword(token, 0)))],
  })
  const sizeOf = (size: number) => {
    const bytes = Buffer.alloc(4)
    bytes.writeInt32BE(size)
    return bytes
  }
  const first = await connect()
  await first.raw(sizeOf(64 * KIB + 1))
  await closedByBroker(first)
  for (const version of [0, 1]) {
    const wire = await connect()
    await handshake(wire, 'PLAIN', version)
    await wire.raw(sizeOf(512 * KIB + 1))
    await closedByBroker(wire)
  }
  assert.equal(await failures('connection', 'too-large-unauthenticated'), 3)
  assert.match(String(lines().at(-1)!.message), /65537 bytes .* before it has chosen a SASL mechanism \(65536\)/)

  const wire = await connect()
  const [long] = [`long${'x'.repeat(500 * KIB)}`]
  await handshake(wire)
  assert.equal((await sendToken(wire, long!)).authBytes.toString(), String(long!.length))
  await sendToken(wire, 'alice:right')
  await wire.send(metadata, 4, { topics: [{ name: 't' }] })
  const { errorCode } = await produceTo(wire, batchOf([Buffer.alloc(600 * KIB)]))
  assert.equal(errorCode, NONE)
})

test('clients that have not authenticated cannot close another by the sizes of their frames', async t => {
  const { connect, failures, sample } = await startSaslBroker(t, {
    overrides: {
      'broker.global-max-pending-bytes': 8 * 1024 * KIB,
      'broker.global-resume-pending-bytes': 4 * 1024 * KIB,
    },
  })
  const framedHead = (size: number) => {
    const bytes = Buffer.alloc(4)
    bytes.writeInt32BE(size)
    return bytes
  }
  const slow = await connect()
  await authenticate(slow)
  await slow.raw(Buffer.concat([framedHead(700 * KIB), Buffer.alloc(1)]))
  for (let i = 0; i < 20; i++) {
    const wire = await connect()
    await handshake(wire)
    await wire.raw(framedHead(512 * KIB))
  }
  const held = 700 * KIB + 2 * 512 * KIB
  await eventually('two of them are left', async () => (await sample('svc_broker_pending_bytes')) === held)
  assert.equal(await failures('connection', 'shed'), 18)
  assert.equal(slow.socket.readyState, 'open')
})

test('the frame of a token is not held while its mechanism decides', async t => {
  let taken = 0
  const decide = (token: string) => {
    taken = token.length
    return new Promise<never>(() => {})
  }
  const { connect, sample } = await startSaslBroker(t, { mechanisms: [mechanismOf(decide)] })
  const wire = await connect()
  await handshake(wire)
  sendToken(wire, 'x'.repeat(400 * KIB)).catch(() => {})
  await eventually('the token is taken', () => taken === 400 * KIB)
  assert.equal(await sample('svc_broker_pending_bytes'), 0)
})

test('a client that has not authenticated in time is closed, whatever it waits for, and any other client stays', async t => {
  const clock = new SimulatedClock()
  const mechanisms = [mechanismOf(token => (token === 'hang' ? new Promise(() => {}) : byPassword(token, 0)))]
  const { connect, failures, lines } = await startSaslBroker(t, { clock, mechanisms })
  const silent = await connect()
  const trickling = await connect()
  const chosen = await connect()
  await handshake(chosen)
  const hanging = await connect()
  await handshake(hanging)
  const unanswered = sendToken(hanging, 'hang').catch(() => 'closed')
  const good = await connect()
  await authenticate(good)
  for (const byte of [0, 0, 1]) {
    await trickling.raw(Buffer.of(byte))
    await clock.advance(9000)
  }
  await clock.advance(2999)
  assert.equal(await failures('connection', 'authentication-timeout'), 0)
  await clock.advance(1)
  await Promise.all([silent, trickling, chosen, hanging].map(closedByBroker))
  assert.equal(await unanswered, 'closed')
  assert.equal(await failures('connection', 'authentication-timeout'), 4)
  assert.equal((await good.send(apiVersions, 0, {})).errorCode, NONE)
  const timeouts = lines().filter(({ reason }) => reason === 'authentication-timeout')
  assert.deepEqual(
    timeouts.map(({ message }) => message),
    ['the client has not authenticated within 30000 ms'],
  )
})

test('a client that disconnects during its step is noticed, and its identity is given to no other connection', async t => {
  const step = Promise.withResolvers<ReturnType<typeof accepted>>()
  const { connect, sample } = await startSaslBroker(t, { mechanisms: [mechanismOf(() => step.promise)] })
  const wire = await connect()
  await handshake(wire)
  sendToken(wire, 'x').catch(() => {})
  await eventually('the token is there', async () => {
    return (await sample('svc_broker_frame_size_count{direction="in",api_key="SaslAuthenticate"}')) === 1
  })
  await wire.close()
  await eventually('the connection is closed', async () => (await sample('svc_broker_connections')) === 0)
  step.resolve(accepted('alice'))
  const other = await connect()
  assert.equal((await other.send(apiVersions, 0, {})).errorCode, NONE)
})

test('an exchange has at most five tokens', async t => {
  const { connect, lines } = await startSaslBroker(t, { mechanisms: [mechanismOf(() => more('again'))] })
  const wire = await connect()
  await handshake(wire)
  for (let round = 1; round <= 5; round++) assert.equal((await sendToken(wire, 'x')).errorCode, NONE)
  const sent = Array.from({ length: 95 }, () => sendToken(wire, 'x'))
  const results = await Promise.allSettled(sent)
  assert.equal((results[0] as { value: { errorCode: number } }).value.errorCode, SASL_AUTHENTICATION_FAILED.code)
  assert.ok(results.slice(1).every(({ status }) => status === 'rejected'))
  assert.ok(lines().some(({ why }) => why === 'too many tokens'))
})

test('a name that cannot be a principal is refused', async t => {
  const { connect } = await startSaslBroker(t, { mechanisms: [mechanismOf(token => accepted(token))] })
  for (const name of ['', 'group:admins', 'a\nb', 'a\0', 'x'.repeat(257)]) {
    const wire = await connect()
    assert.equal((await authenticate(wire, name)).errorCode, SASL_AUTHENTICATION_FAILED.code, JSON.stringify(name))
    await closedByBroker(wire)
  }
  for (const name of ['x'.repeat(256), 'Zoë', 'a b']) {
    assert.equal((await authenticate(await connect(), name)).errorCode, NONE)
  }
})

test('while nothing can be decided, the connection closes without an error code, and the log says why', async t => {
  const throws: Record<string, Error> = {
    store: new StoreUnavailable('the store is away'),
    provider: new ProviderUnavailable('the provider is away'),
    defect: new TypeError('we did not think of that'),
  }
  const { connect, lines, failures } = await startSaslBroker(t, {
    mechanisms: [
      mechanismOf(async token => {
        throw throws[token]!
      }),
    ],
  })
  for (const [token, error] of Object.entries(throws)) {
    for (const version of [0, 1]) {
      const wire = await connect()
      await handshake(wire, 'PLAIN', version)
      const closed = closedWithoutAnswer(wire)
      if (version === 0) await wire.raw(framed(Buffer.from(token)))
      else sendToken(wire, token).catch(() => {})
      await closed
    }
    assert.equal(await failures('auth', error.name), 2)
    const told = lines().filter(line => line.logger_name === 'svc.kafka.authentication' && line.mechanism === 'PLAIN')
    assert.equal(told.at(-1)!.level, token === 'defect' ? 'ERROR' : 'WARN')
    assert.match(String(told.at(-1)!.error), new RegExp(error.message))
  }
})

test('a mechanism that throws when it begins closes the connection', async t => {
  const broken = {
    name: 'PLAIN',
    begin() {
      throw new TypeError('broken')
    },
  }
  const { connect } = await startSaslBroker(t, { mechanisms: [broken] })
  const wire = await connect()
  const closed = closedWithoutAnswer(wire)
  handshake(wire).catch(() => {})
  await closed
})

// ------------------------------------------------------------------------------------------------ re-authentication

/** A broker whose sessions last for the time that the token names in milliseconds: `name:password:ms`. */
async function startExpiring(t: Parameters<typeof startSaslBroker>[0], overrides = {}) {
  const clock = new SimulatedClock()
  const step: StepOf = token => {
    const [name = '', password, ms] = token.split(':')
    if (password !== 'right') return rejected('invalid password', name)
    return accepted(name, { validUntilMs: clock.now() + Number(ms), tenant: password })
  }
  const mechanisms = [mechanismOf(step, 'OAUTHBEARER'), mechanismOf(step)]
  return { ...(await startSaslBroker(t, { clock, mechanisms, overrides })), clock }
}

test('a session lasts as long as its proof and the setting allow, and the first request past that closes it', async t => {
  const { connect, clock, failures } = await startExpiring(t)
  const capped = await authenticate(await connect(), 'alice:right:999000', 'OAUTHBEARER')
  assert.equal(capped.sessionLifetimeMs, 300_000)
  const wire = await connect()
  const { sessionLifetimeMs } = await authenticate(wire, 'alice:right:60000', 'OAUTHBEARER')
  assert.equal(sessionLifetimeMs, 60_000)
  await clock.advance(59_000)
  assert.equal((await wire.send(apiVersions, 0, {})).errorCode, NONE)
  await clock.advance(1000)
  const closed = closedWithoutAnswer(wire)
  wire.send(apiVersions, 0, {}).catch(() => {})
  await closed
  assert.equal(await failures('request', 'session-expired'), 1)
  // A proof that ends now, which only the clock skew made valid, gives no session without an end.
  const late = await authenticate(await connect(), 'alice:right:0', 'OAUTHBEARER')
  assert.equal(late.sessionLifetimeMs, 1)
})

test('a client authenticates again on its connection, before and past its deadline, and its requests in flight go on', async t => {
  const { connect, clock, sample, lines } = await startExpiring(t, {
    'logging.level': new Map([['svc.kafka.authentication', 'DEBUG']]),
  })
  const wire = await connect()
  await authenticate(wire, 'alice:right:10000', 'OAUTHBEARER')
  await wire.send(metadata, 4, { topics: [{ name: 't' }] })
  const waiting = wire.send(fetch, 12, fetchFrom(0, { maxWaitMs: 400 }))
  const renewed = authenticate(wire, 'alice:right:20000', 'OAUTHBEARER')
  await clock.advance(400)
  assert.equal((await waiting).errorCode, NONE)
  assert.equal((await renewed).sessionLifetimeMs, 20_000)
  await clock.advance(15_000)
  assert.equal((await wire.send(apiVersions, 0, {})).errorCode, NONE)
  await clock.advance(6000)
  assert.equal((await authenticate(wire, 'alice:right:20000', 'OAUTHBEARER')).errorCode, NONE)
  assert.equal((await wire.send(apiVersions, 0, {})).errorCode, NONE)
  assert.equal(await sample('svc_broker_authentications_total{mechanism="OAUTHBEARER",kind="again"}'), 2)
  assert.equal(lines().filter(({ message }) => message === 'a client has authenticated again').length, 2)
})

test('a re-authentication as somebody else, or by another mechanism, fails with the words of Apache Kafka', async t => {
  const { connect, clock } = await startExpiring(t)
  for (const [token, mechanism, message] of [
    ['bob:right:9000', 'OAUTHBEARER', 'Cannot change principals during re-authentication from User.alice: User.bob'],
    [
      'alice:right:9000',
      'PLAIN',
      "SASL mechanism 'PLAIN' requested by client is not supported for re-authentication of mechanism 'OAUTHBEARER'",
    ],
    ['alice:wrong:9000', 'OAUTHBEARER', 'Authentication failed: Invalid username or password'],
  ] as const) {
    const wire = await connect()
    await authenticate(wire, 'alice:right:9000', 'OAUTHBEARER')
    assert.equal((await handshake(wire, mechanism)).errorCode, NONE)
    const failing = sendToken(wire, token)
    const behind = wire.send(metadata, 4, { topics: [{ name: 'behind' }] })
    behind.catch(() => {})
    const answer = await passingUntil(clock, failing)
    assert.deepEqual([answer.errorCode, answer.errorMessage], [SASL_AUTHENTICATION_FAILED.code, message])
    await assert.rejects(behind)
    await closedByBroker(wire)
  }
})

/** Advances the clock until work that also waits for the network is done. */
async function passingUntil<T>(clock: SimulatedClock, work: Promise<T>): Promise<T> {
  let isDone = false
  const done = () => {
    isDone = true
  }
  work.then(done, done)
  await eventually('the work is done', async () => {
    await clock.advance(10)
    return isDone
  })
  return await work
}

test('during a re-authentication only SASL is served, and a second one within a second is refused', async t => {
  const { connect } = await startExpiring(t)
  const wire = await connect()
  await authenticate(wire, 'alice:right:9000', 'OAUTHBEARER')
  await authenticate(wire, 'alice:right:9000', 'OAUTHBEARER')
  assert.equal((await handshake(wire, 'OAUTHBEARER')).errorCode, ILLEGAL_SASL_STATE.code)
  assert.equal((await wire.send(apiVersions, 0, {})).errorCode, NONE)
  const other = await connect()
  await authenticate(other, 'alice:right:9000', 'OAUTHBEARER')
  await handshake(other, 'OAUTHBEARER')
  const closed = closedByBroker(other)
  await assert.rejects(other.send(metadata, 4, { topics: [] }))
  await closed
})

// -------------------------------------------------------------------------------------------------- without a socket

function open(given: Partial<Parameters<typeof openAuthentication>[0]> = {}) {
  const clock = new SimulatedClock()
  const lines: string[] = []
  const authentication = openAuthentication({
    settings: testSettings(),
    clock,
    metrics: createMetrics(),
    logger: createLogger({ clock, write: line => void lines.push(line), format: 'plain' }),
    mechanisms: [mechanismOf()],
    hidden: [mechanismOf(token => accepted(token, { isBroker: true }), 'BROKERS')],
    resolve: async () => null,
    ...given,
  })
  const listener = { name: 'SASL', host: 'h', port: 1, security: 'sasl-plaintext' } as const
  return { authentication, clock, lines, session: new Session(1, listener, '10.0.0.1', null) }
}

const bytes = (text: string) => Buffer.from(text)

test('a hidden mechanism is accepted but never advertised, and its tokens have headers', async () => {
  const { authentication, session, clock } = open()
  assert.deepEqual(authentication.advertised, ['PLAIN'])
  assert.equal((await authentication.choose(session, 'BROKERS', 1)).kind, 'chosen')
  assert.equal((await authentication.take(session, bytes('broker'))).kind, 'token')
  assert.equal(session.principal, 'User:broker')
  const other = open()
  const raw = other.authentication.choose(other.session, 'BROKERS', 0)
  await other.clock.advance(100)
  assert.equal((await raw).kind, 'refused')
  await clock.settle()
})

test('the policy comes with the identity, and if it cannot be read the connection closes', async () => {
  const policy = { allows: () => false }
  const { authentication, session } = open({ resolve: async client => (client.name === 'alice' ? policy : null) })
  await authentication.choose(session, 'PLAIN', 1)
  await authentication.take(session, bytes('alice:right'))
  assert.equal(session.policy, policy)

  const away = open({
    resolve: async () => {
      throw new StoreUnavailable('the rules are away')
    },
  })
  await away.authentication.choose(away.session, 'PLAIN', 1)
  assert.deepEqual(await away.authentication.take(away.session, bytes('alice:right')), { kind: 'close' })
  assert.equal(away.session.principal, 'User:ANONYMOUS')
  assert.match(away.lines[0]!, /WARN .*the rules are away/)
})
