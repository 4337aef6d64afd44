import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../../testing/property.ts'
import { authenticate, CHANNEL, type ScramClient } from '../../../testing/scram-client.ts'
import { createMemoryStore, type MemoryStore } from '../../../testing/sim/memory-store.ts'
import { systemClock } from '../../base/clock.ts'
import { seededRandom } from '../../base/random.ts'
import { StoreUnavailable } from '../../store/store.ts'
import { type Credential, KIND, makeCredential, rowsOf } from '../clients/credential-record.ts'
import type { SaslExchange, Step } from './mechanism.ts'
import { beginScram, openScram } from './scram.ts'

const PASSWORD = 'correct horse'
const INVALID =
  'Authentication failed during authentication due to invalid credentials with SASL mechanism SCRAM-SHA-256'

async function put(store: MemoryStore, name: string, credential: Credential) {
  const expect = await store.version(KIND, name)
  await store.commit({ kind: KIND, name, expect, changes: rowsOf(credential) })
}

function roomsOn(store: MemoryStore, seed = 1) {
  const unreadable: string[] = []
  return {
    store,
    clock: systemClock,
    random: seededRandom(seed),
    unreadable: ({ what }: { what: string }) => void unreadable.push(what),
    named: unreadable,
  }
}

async function open() {
  const store = createMemoryStore(systemClock)
  const rooms = roomsOn(store)
  const add = async (name: string, change: Partial<Credential> = {}, password = PASSWORD) => {
    const asked = { mechanism: 'SCRAM-SHA-256', iterations: 10_000, tenantId: null, ...change } as const
    await put(store, name, await makeCredential(asked, password, rooms.random))
  }
  await add('ada', { tenantId: 'acme' })
  return { store, rooms, add, mechanism: openScram(rooms) }
}

/** Returns the principal of a success, or why it failed. */
function said(step: Step): string {
  if (step.kind === 'failure') return step.why
  return step.kind === 'success' ? `User:${step.client.name}` : 'goes on'
}

async function say(exchange: SaslExchange, text: string | Uint8Array) {
  return await exchange.step(Buffer.from(text as string))
}

test('the exchange is the example of RFC 7677', async () => {
  const { rooms, store } = await open()
  await put(store, 'user', {
    mechanism: 'SCRAM-SHA-256',
    passwordHash: 'WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=',
    serverKey: 'wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=',
    salt: 'W22ZaJ0SNY7soEsUEjb6gQ==',
    iterations: 4_096,
    tenantId: null,
  })
  const exchange = beginScram(rooms, new Uint8Array(32), '%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0')
  const first = await say(exchange, 'n,,n=user,r=rOprNGfwEbeRWgbNEkqO')
  assert.equal(
    first.kind === 'continue' && Buffer.from(first.token).toString(),
    'r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096',
  )
  const last = await say(
    exchange,
    'c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=',
  )
  assert.deepEqual(last, {
    kind: 'success',
    token: Buffer.from('v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4='),
    client: { name: 'user', tenant: null, groups: [], validUntilMs: null },
  })
})

test('a client with the right password gets its name, its tenant and the signature of the server', async () => {
  const { mechanism, add } = await open()
  await add('a=2Cb,=3D', { tenantId: 'blue' })
  for (const [client, name, tenant] of [
    [{}, 'ada', 'acme'],
    [{ header: 'y,,' }, 'ada', 'acme'],
    [{ header: 'n,a=ada,' }, 'ada', 'acme'],
    [{ extensions: ',tokenauth=false,x=1' }, 'ada', 'acme'],
    // An escape in the name itself is decoded once.
    [{ username: 'a=2Cb,=3D' }, 'a=2Cb,=3D', 'blue'],
  ] as const) {
    const { outcome, signature } = await authenticate(mechanism, { username: 'ada', password: PASSWORD, ...client })
    assert.deepEqual(outcome, {
      kind: 'success',
      token: Buffer.from(`v=${signature}`),
      client: { name, tenant, groups: [], validUntilMs: null },
    })
  }
})

test('an unknown user and a wrong password look the same to a client, and the log tells them apart', async () => {
  const { mechanism, add, store } = await open()
  await add('plain', { mechanism: 'PLAIN' })
  const strange = [{ key: 'mechanism', value: Buffer.from('SCRAM-SHA-512') }]
  await store.commit({ kind: KIND, name: 'strange', expect: 0, changes: strange })
  await add('group:x')
  const shapes = new Set<string>()
  const reasons: Record<string, string> = {}
  for (const username of [
    'ada',
    'zoe',
    'plain',
    'strange',
    'group:x',
    'a\u0007b',
    'x'.repeat(257),
    'x'.repeat(9_000),
  ]) {
    const { serverFirst, outcome, exchange } = await authenticate(mechanism, { username, password: 'wrong' })
    assert.equal(outcome.kind, 'failure')
    const { message, why, claimed } = outcome as Extract<Step, { kind: 'failure' }>
    const [, nonce, salt, iterations] = /^r=(.*),s=(.*),i=(\d+)$/.exec(serverFirst!)!
    shapes.add(JSON.stringify([message, nonce!.length, Buffer.from(salt!, 'base64').length, iterations]))
    reasons[username.slice(0, 8)] = why
    assert.equal(claimed, username)
    assert.equal(said(await say(exchange, 'n,,n=ada,r=x')), 'a message after the end of the exchange')
  }
  assert.deepEqual([...shapes], [JSON.stringify([INVALID, 44, 16, '10000'])])
  assert.deepEqual(reasons, {
    ada: 'invalid password',
    zoe: 'user not found',
    plain: 'user not found: the stored credential is for PLAIN',
    strange:
      'user not found: The stored credential of "strange" cannot be read: it has no mechanism that this version knows.',
    'group:x': 'user not found',
    'a\u0007b': 'user not found',
    xxxxxxxx: 'user not found',
  })
  // The password of the decoy is not the password of another mechanism.
  assert.equal((await authenticate(mechanism, { username: 'plain', password: PASSWORD })).outcome.kind, 'failure')
})

test('the salt of an unknown user is the same on every broker and after a restart, and another for each user', async () => {
  const { mechanism, store } = await open()
  const saltOf = async (each: typeof mechanism, username: string) =>
    /,s=([^,]*),/.exec((await authenticate(each, { username, password: 'x' })).serverFirst!)![1]
  const salt = await saltOf(mechanism, 'zoe')
  assert.equal(await saltOf(openScram(roomsOn(store.beside(), 2)), 'zoe'), salt)
  assert.equal(await saltOf(openScram(roomsOn(store.beside(), 2)), 'zoë'), await saltOf(mechanism, 'zoe\u0308'))
  assert.notEqual(await saltOf(mechanism, 'bob'), salt)
  assert.equal(await saltOf(openScram(roomsOn(store.reopen(), 3)), 'zoe'), salt)
})

test('a known user signs in while the shared key cannot be read, and an unknown one still gets a stable salt', async () => {
  const { rooms, store, mechanism } = await open()
  const changes = [{ key: 'key', value: Buffer.from('short') }]
  await store.commit({ kind: 'signing-key', name: 'unknown-users', expect: 0, changes })
  assert.equal(said((await authenticate(mechanism, { username: 'ada', password: PASSWORD })).outcome), 'User:ada')
  const saltOf = async () => (await authenticate(mechanism, { username: 'zoe', password: 'x' })).serverFirst!.slice(46)
  assert.equal(await saltOf(), await saltOf())
  assert.deepEqual(new Set(rooms.named), new Set(['the stored key of unknown users']))
})

test('a credential that was replaced or deleted counts at once, also if its key was removed from the store', async () => {
  const { mechanism, add, store } = await open()
  const outcome = async (password: string) =>
    said((await authenticate(mechanism, { username: 'ada', password })).outcome)
  assert.equal(await outcome(PASSWORD), 'User:ada')
  await add('ada', {}, 'a new password')
  assert.equal(await outcome(PASSWORD), 'invalid password')
  assert.equal(await outcome('a new password'), 'User:ada')
  store.faults.loseDocument(KIND, 'ada')
  assert.equal(await outcome('a new password'), 'user not found')
})

test('an exchange throws if the store is away, because nothing can be decided then', async () => {
  const { mechanism, store } = await open()
  store.faults.failNext('load', 'unavailable', 9)
  await assert.rejects(authenticate(mechanism, { username: 'ada', password: PASSWORD }), StoreUnavailable)
})

test('look-alikes of a name are the same user, or no user', async () => {
  const { mechanism, add } = await open()
  await add('zoë')
  const outcome = async (username: string) =>
    said((await authenticate(mechanism, { username, password: PASSWORD })).outcome)
  for (const name of ['zoë', 'zoe\u0308', 'zo\u00adë', 'ｚｏë', 'z\u200boë'])
    assert.equal(await outcome(name), 'User:zoë')
  for (const name of ['Zoë', 'zоë', 'zoë ', '\u202ezoë', 'zoë\u0000'])
    assert.equal(await outcome(name), 'user not found')
})

test('a first message that breaks RFC 5802 is refused with its reason', async () => {
  const { mechanism } = await open()
  const form = 'a first message that is not in the form of RFC 5802'
  const reserved = 'an extension with a name that RFC 5802 reserves'
  const name = "a name with '=' that is not '=2C' or '=3D'"
  for (const [text, why] of [
    ['', form],
    ['n,,', form],
    ['n=ada,r=x', form],
    ['n,,n=,r=x', form],
    ['n,,n=ada,r=', form],
    ['n,,n=ada', form],
    ['n,,r=x,n=ada', form],
    ['n,,n=ada,r=nönce', form],
    ['n,,n=ada,r=a b', form],
    ['n,,n=ada,r=x,', form],
    ['n,,n=ada,r=x,extension', form],
    ['N,,n=ada,r=x', form],
    ['n,ada,n=ada,r=x', form],
    [' n,,n=ada,r=x', form],
    ['n,,n=ada,r=x\n', form],
    ['p=tls-exporter,,n=ada,r=x', 'a first message that asks for channel binding, which was not offered'],
    ['n,,m=more,n=ada,r=x', reserved],
    ['n,,n=ada,r=x,m=more', reserved],
    ['n,,n=ada,r=x,r=y', reserved],
    ['n,,n=ada,r=x,i=1', reserved],
    ['n,,n=token,r=x,tokenauth=true', 'a delegation token, which this broker does not have'],
    ['n,,n=a=b,r=x', name],
    ['n,,n=a=2cb,r=x', name],
    ['n,,n=ada=,r=x', name],
    ['n,a=a=b,n=ada,r=x', name],
    [`n,,n=ada,r=${'x'.repeat(257)}`, 'a nonce of more than 256 characters'],
    [`n,,n=${'x'.repeat(10_240)},r=x`, 'a message of 10249 bytes; at most 10240 are read'],
    [Buffer.from('n,,n=\xff,r=x', 'latin1'), 'a message that is not UTF-8'],
  ] as const) {
    const exchange = mechanism.begin(CHANNEL)
    const failure = { kind: 'failure', message: INVALID, why, claimed: null }
    assert.deepEqual(await say(exchange, text as string), failure, String(text))
    // The refusal ends the exchange: a good message does not begin it anew.
    assert.equal((await say(exchange, 'n,,n=ada,r=x')).kind, 'failure')
  }
})

test('a user that asks for the rights of another is refused, with the same answer whether it exists or not', async () => {
  const { mechanism } = await open()
  const message = 'Authentication failed: Client requested an authorization id that is different from username'
  for (const [text, claimed] of [
    ['n,a=root,n=ada,r=x', 'ada'],
    ['n,a=Ada,n=ada,r=x', 'ada'],
    ['n,a=root,n=zoe,r=x', 'zoe'],
  ] as const) {
    const why = 'an authorization id that is not the user'
    assert.deepEqual(await say(mechanism.begin(CHANNEL), text), { kind: 'failure', message, why, claimed })
  }
})

test('a final message with another nonce, binding, proof or extension is refused', async () => {
  const { mechanism } = await open()
  const form = 'a final message that is not in the form of RFC 5802'
  const binding = 'a final message whose channel binding is not the header of the first message'
  const otherNonce = 'a final message with another nonce'
  const cases: readonly (readonly [NonNullable<ScramClient['final']>, string])[] = [
    [() => '', form],
    [message => message.slice(0, message.indexOf(',p=')), form],
    [message => `${message},x=1`, form],
    [message => message.replace('c=biws', 'c='), binding],
    [message => message.replace('c=biws', 'c=eSws'), binding],
    [message => message.replace('c=biws', 'c=biwsbiws'), binding],
    [(message, { nonce }) => message.replace(nonce, nonce.slice(0, -1)), otherNonce],
    [(message, { nonce }) => message.replace(nonce, `${nonce}x`), otherNonce],
    [(message, { nonce }) => message.replace(nonce, 'rOprNGfwEbeRWgbNEkqO'), otherNonce],
    [(message, { proof }) => message.replace(proof, ''), 'a proof of 0 bytes; it must have 32'],
    [
      (message, { proof }) => message.replace(proof, `${proof.slice(0, 42)}B=`),
      'a proof that is not in canonical Base64',
    ],
    [(message, { proof }) => message.replace(proof, proof.slice(0, 40)), 'a proof of 30 bytes; it must have 32'],
    [
      (message, { proof }) => message.replace(proof, `${proof.slice(0, 40)}AAAA`),
      'a proof of 33 bytes; it must have 32',
    ],
    [(message, { proof }) => message.replace(proof, Buffer.alloc(32).toString('base64')), 'invalid password'],
    [message => message.replace(',p=', ',m=1,p='), 'an extension with a name that RFC 5802 reserves'],
    [message => message.replace(',p=', ',p=AAAA,p='), 'an extension with a name that RFC 5802 reserves'],
    // The signed text differs, because an extension belongs to it.
    [message => message.replace(',p=', ',x=1,p='), 'invalid password'],
  ]
  for (const [final, why] of cases) {
    const { outcome, exchange } = await authenticate(mechanism, { username: 'ada', password: PASSWORD, final })
    assert.deepEqual(outcome, { kind: 'failure', message: INVALID, why, claimed: 'ada' }, final.toString())
    assert.equal(said(await say(exchange, 'n,,n=ada,r=x')), 'a message after the end of the exchange')
  }
})

test('the messages of an exchange do not authenticate a client a second time', async () => {
  const { mechanism } = await open()
  let sent = ''
  const keep = (message: string) => (sent = message)
  const { outcome, exchange } = await authenticate(mechanism, { username: 'ada', password: PASSWORD, final: keep })
  assert.equal(outcome.kind, 'success')
  assert.equal(said(await say(exchange, sent)), 'a message after the end of the exchange')
  const again = await authenticate(mechanism, { username: 'ada', password: PASSWORD, final: () => sent })
  assert.equal(said(again.outcome), 'a final message with another nonce')
})

test('of two messages that come at once only one is taken', async () => {
  const { mechanism } = await open()
  const exchange = mechanism.begin(CHANNEL)
  const steps = await Promise.all([say(exchange, 'n,,n=ada,r=x'), say(exchange, 'n,,n=ada,r=x')])
  assert.deepEqual(steps.map(said), ['goes on', 'a message after the end of the exchange'])
})

test('random and mutated messages never throw and never succeed', async () => {
  const { mechanism } = await open()
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    fc.string().map(text => Buffer.from(text)),
    fc
      .array(
        fc.constantFrom('n', 'y', ',', 'n=', 'r=', 'c=', 'p=', 'a=', 'm=', 'ada', 'biws', '=2C', '=', 'x', '\0', 'ä'),
      )
      .map(parts => Buffer.from(parts.join(''))),
  )
  await fc.assert(
    fc.asyncProperty(bytes, bytes, async (first, second) => {
      const exchange = mechanism.begin(CHANNEL)
      assert.notEqual((await exchange.step(first)).kind, 'success')
      assert.equal((await exchange.step(second)).kind, 'failure')
    }),
    { numRuns: 300 },
  )
  // Each change of one character of a good final message.
  const at = fc.record({ at: fc.nat(), by: fc.integer({ min: 1, max: 127 }) })
  await fc.assert(
    fc.asyncProperty(at, async ({ at, by }) => {
      const final = (message: string) => {
        const bytes = Buffer.from(message)
        bytes[at % bytes.length]! ^= by
        return bytes.toString('latin1')
      }
      const { outcome } = await authenticate(mechanism, { username: 'ada', password: PASSWORD, final })
      assert.equal(outcome.kind, 'failure')
    }),
    { numRuns: 60 },
  )
})
