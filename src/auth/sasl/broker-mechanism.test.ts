import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../../testing/property.ts'
import { SimulatedClock } from '../../../testing/sim/clock.ts'
import { createMemoryStore } from '../../../testing/sim/memory-store.ts'
import { systemRandom } from '../../base/random.ts'
import { makeSharedKey } from '../shared-key.ts'
import { type BrokerName, BrokerNotProven, createBrokerMechanism, greetBroker } from './broker-mechanism.ts'
import type { Channel, Step } from './mechanism.ts'

const ONE: BrokerName = { id: 1, incarnation: 'one' }
const TWO: BrokerName = { id: 2, incarnation: 'two' }
const TLS = Buffer.alloc(32, 7)
const OTHER_TLS = Buffer.alloc(32, 8)

/** Broker 2 as a server in a cluster of brokers 1 and 2. */
function openCluster() {
  const clock = new SimulatedClock()
  const store = createMemoryStore(clock)
  const rooms = { store, clock, random: systemRandom }
  const labels = new Set<string>()
  const channel = (bound: Uint8Array | null): Channel => ({
    address: '127.0.0.1',
    exportKey(label) {
      labels.add(label)
      return bound
    },
  })
  const serve = (bound: Uint8Array | null = TLS, self = TWO) =>
    createBrokerMechanism({
      ...rooms,
      self,
      isMember: async ({ id, incarnation }) =>
        [ONE, TWO].some(each => each.id === id && each.incarnation === incarnation),
    }).begin(channel(bound))
  const greet = (bound: Uint8Array | null = TLS, self = ONE, other = TWO) => greetBroker(rooms, { self, other, bound })
  return { store, rooms, serve, greet, labels }
}

type Cluster = ReturnType<typeof openCluster>
type Greeting = Awaited<ReturnType<Cluster['greet']>>
type Server = ReturnType<Cluster['serve']>

async function challengeOf(server: Server, hello: Uint8Array): Promise<Uint8Array> {
  const step = await server.step(hello)
  assert.equal(step.kind, 'continue')
  return (step as Step & { kind: 'continue' }).token
}

/** Lets both sides run the whole exchange, and returns how the server decided. */
async function run(greeting: Greeting, server: Server): Promise<Step> {
  return await server.step(greeting.prove(await challengeOf(server, greeting.hello)))
}

function assertRefused(step: Step, why: RegExp): void {
  assert.equal(step.kind, 'failure')
  if (step.kind !== 'failure') return
  assert.equal(step.message, 'the broker did not prove that it belongs to this cluster')
  assert.match(step.why, why)
}

const WRONG = /^the proof is wrong/

for (const [name, bound] of [
  ['over TLS', TLS],
  ['without TLS', null],
] as const) {
  test(`two brokers with the key prove it to each other ${name}`, async () => {
    const { greet, serve } = openCluster()
    const greeting = await greet(bound)
    const step = await run(greeting, serve(bound))
    assert.ok(step.kind === 'success')
    assert.deepEqual(step.client, {
      name: 'ketch-broker-1',
      tenant: null,
      groups: [],
      validUntilMs: null,
      isBroker: true,
    })
    greeting.confirm(step.token)
  })
}

test('the exporter value has the label of RFC 9266', async () => {
  const { greet, serve, labels } = openCluster()
  await run(await greet(), serve())
  assert.deepEqual([...labels], ['EXPORTER-Channel-Binding'])
})

test('no token contains the key or the exporter value', async () => {
  const { rooms, greet, serve } = openCluster()
  const key = await makeSharedKey(rooms, 'brokers')
  const [greeting, server] = [await greet(), serve()]
  const challenge = await challengeOf(server, greeting.hello)
  const proof = greeting.prove(challenge)
  const last = await server.step(proof)
  assert.ok(last.kind === 'success')
  const all = Buffer.concat([greeting.hello, challenge, proof, last.token])
  for (const secret of [Buffer.from(key), TLS]) assert.ok(!all.includes(secret))
})

test('a client with another key is refused, and a server with another key is not believed', async () => {
  const [cluster, stranger] = [openCluster(), openCluster()]
  await makeSharedKey(cluster.rooms, 'brokers')
  assertRefused(await run(await stranger.greet(), cluster.serve()), WRONG)

  const theirs = await run(await stranger.greet(), stranger.serve())
  assert.ok(theirs.kind === 'success')
  const greeting = await cluster.greet()
  greeting.prove(Buffer.alloc(32))
  assert.throws(() => greeting.confirm(theirs.token), BrokerNotProven)
})

test('without a key in the store every client is refused', async () => {
  const [cluster, stranger] = [openCluster(), openCluster()]
  assertRefused(await run(await stranger.greet(), cluster.serve()), /^no broker has made the shared key/)
})

test('a replayed proof is wrong, because each exchange has its own challenge', async () => {
  const { greet, serve } = openCluster()
  const greeting = await greet()
  const first = serve()
  const proof = greeting.prove(await challengeOf(first, greeting.hello))
  assert.equal((await first.step(proof)).kind, 'success')
  const second = serve()
  await challengeOf(second, greeting.hello)
  assertRefused(await second.step(proof), WRONG)
})

test("a replayed confirmation is wrong, and so is the client's own proof", async () => {
  const { greet, serve } = openCluster()
  const step = await run(await greet(), serve())
  assert.ok(step.kind === 'success')
  const greeting = await greet()
  const proof = greeting.prove(Buffer.alloc(32, 1))
  for (const reflected of [step.token, proof, greeting.hello, Buffer.alloc(0), proof.subarray(0, 31)])
    assert.throws(() => greeting.confirm(reflected), /did not prove that it knows the key/)
})

test('a man in the middle between two TLS connections, or between TLS and plaintext, is refused', async () => {
  const { greet, serve } = openCluster()
  for (const [ofClient, ofServer] of [
    [TLS, OTHER_TLS],
    [TLS, null],
    [null, TLS],
  ] as const)
    assertRefused(await run(await greet(ofClient), serve(ofServer)), WRONG)
})

test('a greeting for another broker, or for an earlier start of this one, is refused', async () => {
  const { greet, serve } = openCluster()
  const other = /^the client wants to reach broker 3 .*, and this is broker 2/
  assertRefused(await run(await greet(TLS, ONE, { id: 3, incarnation: 'two' }), serve()), other)
  const earlier = /wants to reach broker 2 \(incarnation "before"\)/
  assertRefused(await run(await greet(TLS, ONE, { id: 2, incarnation: 'before' }), serve()), earlier)
})

test('a client that knows the key but is no living broker is refused', async () => {
  const { greet, serve } = openCluster()
  for (const gone of [{ id: 7, incarnation: 'one' }, { id: 1, incarnation: 'before' }, TWO])
    assertRefused(await run(await greet(TLS, gone), serve()), /is not a living broker of this cluster$/)
})

test('a stranger cannot tell which brokers live: every greeting gets a challenge, and every proof the same answer', async () => {
  const [cluster, stranger] = [openCluster(), openCluster()]
  await makeSharedKey(cluster.rooms, 'brokers')
  const messages = new Set<string>()
  for (const self of [ONE, TWO, { id: 99, incarnation: '' }])
    for (const other of [ONE, TWO, { id: 99, incarnation: '' }]) {
      const step = await run(await stranger.greet(TLS, self, other), cluster.serve())
      assert.ok(step.kind === 'failure')
      assert.match(step.why, WRONG)
      messages.add(step.message)
    }
  assert.equal(messages.size, 1)
})

test('a hello whose incarnations are shifted has another proof', async () => {
  const { greet, serve } = openCluster()
  const greeting = await greet(TLS, { id: 1, incarnation: 'ab' }, { id: 2, incarnation: 'c' })
  const shifted = await greet(TLS, { id: 1, incarnation: 'a' }, { id: 2, incarnation: 'bc' })
  const server = serve()
  assertRefused(await server.step(greeting.prove(await challengeOf(server, shifted.hello))), WRONG)
})

test('a truncated, lengthened or unknown hello ends the exchange', async () => {
  const { greet, serve } = openCluster()
  const { hello } = await greet()
  const cut = Array.from({ length: hello.length }, (_, length) => hello.subarray(0, length))
  for (const token of [...cut, Buffer.concat([hello, Buffer.of(0)]), Buffer.from(hello).fill(2, 0, 1)]) {
    const step = await serve().step(token)
    assertRefused(step, /are not a greeting of a broker$/)
    assert.equal(step.kind === 'failure' && step.claimed, null)
  }
})

test('a proof of the wrong length is refused, and an exchange takes no token after its end', async () => {
  const { greet, serve } = openCluster()
  for (const change of [
    (proof: Uint8Array) => proof.subarray(1),
    (proof: Uint8Array) => Buffer.concat([proof, proof]),
  ]) {
    const [greeting, server] = [await greet(), serve()]
    const proof = greeting.prove(await challengeOf(server, greeting.hello))
    assertRefused(await server.step(change(proof)), /^the proof has (31|64) bytes, and not 32$/)
    await assert.rejects(async () => server.step(proof), /takes no token after its end/)
  }
})

test('a challenge of the wrong length is refused by the client', async () => {
  const { greet } = openCluster()
  for (const length of [0, 31, 33, 1_000]) {
    const greeting = await greet()
    assert.throws(() => greeting.prove(Buffer.alloc(length)), /sent a challenge of \d+ bytes, and not of 32/)
  }
})

test('no sequence of random tokens throws or succeeds', async () => {
  const { rooms, greet, serve } = openCluster()
  await makeSharedKey(rooms, 'brokers')
  const { hello } = await greet()
  const token = fc.oneof(
    fc.uint8Array({ maxLength: 300 }),
    fc.uint8Array({ minLength: 32, maxLength: 32 }),
    fc.tuple(fc.nat(hello.length - 1), fc.nat(255)).map(([at, byte]) => Buffer.from(hello).fill(byte, at, at + 1)),
  )
  await fc.assert(
    fc.asyncProperty(token, token, async (first, second) => {
      const server = serve()
      const step = await server.step(first)
      assert.ok(step.kind === 'continue' || step.kind === 'failure')
      if (step.kind === 'continue') assert.equal((await server.step(second)).kind, 'failure')
    }),
  )
})

test('while the store does not answer, nothing is decided', async () => {
  const { store, greet, serve } = openCluster()
  const [greeting, server] = [await greet(), serve()]
  const proof = greeting.prove(await challengeOf(server, greeting.hello))
  store.faults.failNext('load', 'unavailable')
  await assert.rejects(async () => server.step(proof), { name: 'StoreUnavailable' })
})
