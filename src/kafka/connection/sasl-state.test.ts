import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../../testing/property.ts'
import {
  askVersions,
  awaitsRawToken,
  type Choice,
  choose,
  FAILED,
  gate,
  HANDSHAKE,
  hasIdentity,
  MOST_TOKENS,
  MOST_VERSIONS,
  NOT_NEEDED,
  prove,
  type SaslPart,
  type SaslState,
  takeToken,
} from './sasl-state.ts'

const choice = (fields: Partial<Choice> = {}): Choice => ({
  mechanism: 'A',
  version: 1,
  isServed: true,
  nowMs: 5000,
  ...fields,
})

const exchange = choose(HANDSHAKE, choice()).state
const raw = choose(HANDSHAKE, choice({ version: 0 })).state
const lasting = prove(exchange, 'User:alice', false).state
const expiring = prove(exchange, 'User:alice', true).state
const again = choose(expiring, choice()).state

const states: Readonly<Record<string, SaslState>> = {
  'not-needed': NOT_NEEDED,
  handshake: HANDSHAKE,
  asked: Array.from({ length: MOST_VERSIONS }).reduce<SaslState>(askVersions, HANDSHAKE),
  exchange,
  raw,
  lasting,
  expiring,
  again,
  failed: FAILED,
}

test('each state admits only the requests that its table names', () => {
  const parts: readonly SaslPart[] = ['versions', 'handshake', 'authenticate', 'other']
  const admitted = Object.entries(states).map(([name, state]) => [name, ...parts.map(part => gate(state, part))])
  assert.deepEqual(admitted, [
    ['not-needed', 'pass', 'pass', 'pass', 'pass'],
    ['handshake', 'pass', 'pass', 'pass', 'close'],
    ['asked', 'close', 'pass', 'pass', 'close'],
    ['exchange', 'refuse', 'pass', 'pass', 'close'],
    ['raw', 'refuse', 'pass', 'pass', 'close'],
    ['lasting', 'pass', 'pass', 'pass', 'pass'],
    ['expiring', 'pass', 'pass', 'pass', 'pass'],
    ['again', 'refuse', 'pass', 'pass', 'close'],
    ['failed', 'close', 'close', 'close', 'close'],
  ])
})

test('each state takes a handshake or a token as its table says, and all others fail or stay', () => {
  const named = (state: SaslState) => (state.at === 'exchange' && state.isRaw ? 'raw' : state.at)
  const steps = Object.entries(states).map(([name, state]) => {
    const chosen = choose(state, choice())
    const taken = takeToken(state)
    return [name, named(chosen.state), chosen.objection, named(taken.state), taken.objection]
  })
  assert.deepEqual(steps, [
    ['not-needed', 'not-needed', 'state', 'not-needed', 'state'],
    ['handshake', 'exchange', null, 'failed', 'state'],
    ['asked', 'exchange', null, 'failed', 'state'],
    ['exchange', 'failed', 'state', 'exchange', null],
    ['raw', 'failed', 'state', 'raw', null],
    ['lasting', 'authenticated', 'state', 'authenticated', 'state'],
    ['expiring', 'exchange', null, 'authenticated', 'state'],
    ['again', 'failed', 'state', 'exchange', null],
    ['failed', 'failed', 'state', 'failed', 'state'],
  ])
})

test('a mechanism that is not served ends an authentication and a re-authentication', () => {
  for (const state of [HANDSHAKE, expiring]) {
    assert.deepEqual(choose(state, choice({ isServed: false })), { state: FAILED, objection: 'mechanism' })
  }
})

test('an exchange takes five tokens and fails with the sixth', () => {
  for (let state = exchange, tokens = 1; tokens <= MOST_TOKENS + 1; tokens++) {
    const change = takeToken(state)
    assert.equal(change.objection, tokens > MOST_TOKENS ? 'tokens' : null)
    state = change.state
  }
})

test('a re-authentication keeps the mechanism and the principal', () => {
  assert.equal(prove(again, 'User:alice', true).objection, null)
  assert.deepEqual(prove(again, 'User:bob', true), { state: FAILED, objection: 'other-principal' })
  const other = choose(expiring, choice({ mechanism: 'B' }))
  assert.equal(other.objection, null)
  assert.deepEqual(takeToken(other.state), { state: FAILED, objection: 'other-mechanism' })
})

test('only an identity that expires is renewed, in Kafka requests, and at most once a second', () => {
  assert.equal(choose(expiring, choice({ version: 0 })).objection, 'state')
  const renewed = prove(again, 'User:alice', true).state
  assert.deepEqual(choose(renewed, choice({ nowMs: 5999 })), { state: renewed, objection: 'state' })
  assert.equal(choose(renewed, choice({ nowMs: 6000 })).objection, null)
})

test('a client has an identity from its first proof until it fails, and sends raw tokens only after version 0', () => {
  assert.deepEqual(
    Object.entries(states)
      .filter(([, state]) => hasIdentity(state))
      .map(([name]) => name),
    ['not-needed', 'lasting', 'expiring', 'again'],
  )
  assert.deepEqual(
    Object.entries(states)
      .filter(([, state]) => awaitsRawToken(state))
      .map(([name]) => name),
    ['raw'],
  )
})

test('whatever a client sends, it passes the gate only with an identity, which never changes, and nothing leaves failed', () => {
  const mechanism = fc.constantFrom('A', 'B')
  const event = fc.oneof(
    fc.record({
      kind: fc.constant('choose' as const),
      mechanism,
      version: fc.constantFrom(0, 1),
      isServed: fc.boolean(),
      afterMs: fc.nat(2000),
    }),
    fc.record({ kind: fc.constant('token' as const) }),
    fc.record({ kind: fc.constant('prove' as const), name: fc.constantFrom('a', 'b'), expires: fc.boolean() }),
    fc.record({ kind: fc.constant('fail' as const) }),
  )
  fc.assert(
    fc.property(fc.array(event, { maxLength: 60 }), events => {
      let state: SaslState = HANDSHAKE
      let nowMs = 0
      /** The first identity, and whether a token has come since the last handshake: only then can a proof follow. */
      let first: { mechanism: string; principal: string } | null = null
      let tokens = 0
      for (const each of events) {
        const before: SaslState = state
        if (each.kind === 'choose') {
          nowMs += each.afterMs
          state = choose(state, { ...each, nowMs }).state
          if (state !== before) tokens = 0
        } else if (each.kind === 'token') {
          state = takeToken(state).state
          tokens++
        } else if (each.kind === 'fail') state = FAILED
        else if (state.at === 'exchange' && tokens > 0) state = prove(state, `User:${each.name}`, each.expires).state

        if (before.at === 'failed') assert.equal(state.at, 'failed')
        if (state.at === 'exchange') assert.ok(state.tokens <= MOST_TOKENS)
        if (gate(state, 'other') === 'pass') {
          assert.ok(state.at === 'authenticated')
          first ??= { mechanism: state.mechanism, principal: state.principal }
          const { mechanism: now, principal } = state
          assert.deepEqual({ mechanism: now, principal }, first)
        }
        if (hasIdentity(state)) assert.ok(first !== null)
        if (first !== null) assert.ok(!awaitsRawToken(state))
      }
    }),
  )
})
