import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../../testing/property.ts'
import { CHANNEL } from '../../../testing/scram-client.ts'
import { createMemoryStore, type MemoryStore } from '../../../testing/sim/memory-store.ts'
import { systemClock } from '../../base/clock.ts'
import { seededRandom } from '../../base/random.ts'
import { StoreUnavailable } from '../../store/store.ts'
import { type Credential, KIND, makeCredential, rowsOf } from '../clients/credential-record.ts'
import type { Step } from './mechanism.ts'
import { openPlain } from './plain.ts'

const PASSWORD = 'correct horse ü'
const INVALID = 'Authentication failed during authentication due to invalid credentials with SASL mechanism PLAIN'
const WRONG = 'Authentication failed: Invalid username or password'

async function open() {
  const store: MemoryStore = createMemoryStore(systemClock)
  const random = seededRandom(1)
  const add = async (name: string, change: Partial<Credential> = {}, password = PASSWORD) => {
    const asked = { mechanism: 'PLAIN', iterations: 4_096, tenantId: null, ...change } as const
    const changes = rowsOf(await makeCredential(asked, password, random))
    await store.commit({ kind: KIND, name, expect: await store.version(KIND, name), changes })
  }
  await add('ada', { tenantId: 'acme' })
  const mechanism = openPlain({ store, clock: systemClock, random })
  const ask = async (token: string | Uint8Array): Promise<Step> =>
    await mechanism.begin(CHANNEL).step(Buffer.from(token as string))
  return { store, add, mechanism, ask }
}

test('the right password gives a client its name and tenant, for the name, for a look-alike and for itself as authzid', async () => {
  const { ask } = await open()
  const client = { name: 'ada', tenant: 'acme', groups: [], validUntilMs: null }
  for (const token of [
    `\0ada\0${PASSWORD}`,
    `ada\0ada\0${PASSWORD}`,
    `\0ａda\0${PASSWORD}`,
    `\0a\u00adda\0${PASSWORD}`,
  ])
    assert.deepEqual(await ask(token), { kind: 'success', token: new Uint8Array(), client })
})

test('an unknown user and a wrong password get the same answer, and the log tells them apart', async () => {
  const { ask, add } = await open()
  await add('scram', { mechanism: 'SCRAM-SHA-256' })
  await add('group:x')
  for (const [claimed, password, why] of [
    ['ada', 'wrong', 'invalid password'],
    ['ada', PASSWORD.normalize('NFD'), 'invalid password'],
    ['ada', `${PASSWORD} `, 'invalid password'],
    ['ada', 'x'.repeat(1_025), 'invalid password: longer than any'],
    ['zoe', PASSWORD, 'user not found'],
    ['scram', PASSWORD, 'user not found: the stored credential is for SCRAM-SHA-256'],
    ['group:x', PASSWORD, 'user not found'],
    ['a\u0007b', PASSWORD, 'user not found'],
    ['x'.repeat(257), PASSWORD, 'user not found'],
  ] as const) {
    const step = await ask(`\0${claimed}\0${password}`)
    assert.deepEqual(step, { kind: 'failure', message: WRONG, why, claimed })
  }
})

test('a message that breaks RFC 4616, or asks for the rights of another user, is refused', async () => {
  const { ask } = await open()
  const form = 'a message that is not in the form of RFC 4616'
  for (const [token, why] of [
    ['', form],
    ['ada', form],
    ['\0ada', form],
    ['\0\0secret', form],
    ['\0ada\0', form],
    [`\0ada\0${PASSWORD}\0`, form],
    [`\0\0ada\0${PASSWORD}`, form],
    ['x'.repeat(10_241), 'a message of 10241 bytes; at most 10240 are read'],
    [Buffer.from('\0ada\0\xff', 'latin1'), 'a message that is not UTF-8'],
  ] as const)
    assert.deepEqual(await ask(token as string), { kind: 'failure', message: INVALID, why, claimed: null })
  const message = 'Authentication failed: Client requested an authorization id that is different from username'
  const why = 'an authorization id that is not the user'
  assert.deepEqual(await ask(`root\0ada\0${PASSWORD}`), { kind: 'failure', message, why, claimed: 'ada' })
})

test('a credential that was replaced or deleted counts at once, also if its password was right a moment ago', async () => {
  const { ask, add, store } = await open()
  const outcome = async (password: string) => {
    const step = await ask(`\0ada\0${password}`)
    return step.kind === 'failure' ? step.why : step.kind
  }
  assert.equal(await outcome(PASSWORD), 'success')
  await add('ada', {}, 'a new password')
  assert.equal(await outcome(PASSWORD), 'invalid password')
  assert.equal(await outcome('a new password'), 'success')
  store.faults.loseDocument(KIND, 'ada')
  assert.equal(await outcome('a new password'), 'user not found')
  store.faults.failNext('load', 'unavailable', 9)
  await assert.rejects(outcome('a new password'), StoreUnavailable)
})

test('an exchange takes one message', async () => {
  const { mechanism } = await open()
  for (const first of [`\0ada\0${PASSWORD}`, '\0ada\0wrong']) {
    const exchange = mechanism.begin(CHANNEL)
    await exchange.step(Buffer.from(first))
    const why = 'a message after the end of the exchange'
    const again = await exchange.step(Buffer.from(`\0ada\0${PASSWORD}`))
    assert.deepEqual(again, { kind: 'failure', message: INVALID, why, claimed: null })
  }
})

test('random and mutated messages never throw and never succeed', async () => {
  const { ask } = await open()
  const token = `\0ada\0${PASSWORD}`
  const mutated = fc.record({ at: fc.nat(), by: fc.integer({ min: 1, max: 255 }) }).map(({ at, by }) => {
    const bytes = Buffer.from(token)
    bytes[at % bytes.length]! ^= by
    return bytes
  })
  const parts = fc.array(fc.constantFrom('\0', 'ada', 'zoe', 'secret', 'ä')).map(each => Buffer.from(each.join('')))
  await fc.assert(
    fc.asyncProperty(fc.oneof(fc.uint8Array({ maxLength: 100 }), parts, mutated), async bytes => {
      assert.equal((await ask(bytes)).kind, 'failure')
    }),
    { numRuns: 300 },
  )
})
