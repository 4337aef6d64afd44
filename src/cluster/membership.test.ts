import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { SimulatedClock } from '../../testing/sim/clock.ts'
import { createMemoryStore, type MemoryStore } from '../../testing/sim/memory-store.ts'
import { seededRandom } from '../base/random.ts'
import { UnreadableDocument } from '../store/store.ts'
import { createLogger } from '../telemetry/logger.ts'
import { type BrokerInfo, brokerOf, type Endpoint } from './broker-record.ts'
import { BrokerIdHeld, joinCluster, type Membership } from './membership.ts'

const EXPIRY_MS = 5_000
const TICK_MS = EXPIRY_MS / 10

const endpoint = (port: number): Endpoint => ({ name: 'PLAINTEXT', host: '127.0.0.1', port, security: 'plaintext' })

interface Member extends Membership {
  readonly store: MemoryStore
  living(): readonly number[]
  lostTo(): Error | null
  readonly lines: readonly string[]
}

/**
 * Starts several brokers on one store. Each has its own handle of the store, so that a test can pause it or cut it
 * off.
 */
function open(t: TestContext) {
  const clock = new SimulatedClock()
  const contents = createMemoryStore(clock)
  let seed = 0
  const start = async (brokerId: number, port = 9092 + brokerId, store = contents.beside()): Promise<Member> => {
    const lines: string[] = []
    let brokers: readonly BrokerInfo[] = []
    let lost: Error | null = null
    const membership = await joinCluster({
      store,
      clock,
      random: seededRandom(++seed),
      logger: createLogger({ clock, write: line => lines.push(line), format: 'plain' }),
      brokerId,
      rack: null,
      expiryMs: EXPIRY_MS,
      changed: now => (brokers = now),
      looked: () => {},
      lost: error => (lost = error),
    })
    t.after(() => membership.close())
    const announced = membership.announce([endpoint(port)])
    await clock.settle()
    await announced
    const member = Object.create(membership, Object.getOwnPropertyDescriptors(membership))
    return Object.assign(member, { store, lines, living: () => brokers.map(each => each.id), lostTo: () => lost })
  }
  return { clock, contents, start }
}

test('brokers see each other within two signs of life, and one that leaves is gone as fast', async t => {
  const { clock, start } = open(t)
  const [one, two] = [await start(1), await start(2)]
  await clock.advance(2 * TICK_MS)
  assert.deepEqual(
    [one.living(), two.living()],
    [
      [1, 2],
      [1, 2],
    ],
  )
  two.withdraw()
  assert.deepEqual(two.living(), [1])
  assert.equal(two.isConfirmed, false)
  await two.leave()
  await clock.advance(TICK_MS)
  assert.deepEqual([one.living(), two.living()], [[1], [1]])
  await clock.advance(4 * EXPIRY_MS)
  assert.deepEqual(one.living(), [1])
})

test('a broker that announces itself while a sign of life is under way is seen by the others', async t => {
  const { clock, contents, start } = open(t)
  const one = await start(1)
  const store = contents.beside()
  const membership = await joinCluster({
    store,
    clock,
    random: seededRandom(99),
    logger: createLogger({ clock, write: () => {}, format: 'plain' }),
    brokerId: 2,
    rack: null,
    expiryMs: EXPIRY_MS,
    changed: () => {},
    looked: () => {},
    lost: assert.fail,
  })
  t.after(() => membership.close())
  const release = store.faults.hold('commit')
  await clock.advance(TICK_MS)
  const announced = membership.announce([endpoint(9094)])
  release()
  await clock.settle()
  await clock.advance(2 * TICK_MS)
  await announced
  assert.deepEqual(one.living(), [1, 2])
})

test('a broker that the others know, and that has not seen them yet, does not believe that it is alone', async t => {
  const { clock, contents, start } = open(t)
  await start(1)
  const store = contents.beside()
  store.faults.failNext('list', 'unavailable')
  const two = await start(2, 9094, store)
  assert.deepEqual(two.living(), [])
  await clock.advance(TICK_MS)
  assert.deepEqual(two.living(), [1, 2])
})

test('a broker without a sign of life stops after half an expiry, and is considered dead after its expiry', async t => {
  const { clock, start } = open(t)
  const [one, two] = [await start(1), await start(2)]
  await clock.advance(2 * TICK_MS)
  const resume = two.store.faults.hold('all')
  await clock.advance(EXPIRY_MS / 2 + TICK_MS)
  assert.deepEqual([one.living(), two.isConfirmed], [[1, 2], false])
  await clock.advance(EXPIRY_MS / 2 + TICK_MS)
  assert.deepEqual(one.living(), [1])
  assert.match(one.lines.join(''), /broker 2 at 127\.0\.0\.1:9094 .* considered dead/)
  resume()
  await clock.advance(2 * TICK_MS)
  assert.deepEqual([one.living(), two.living(), two.isConfirmed], [[1, 2], [1, 2], true])
  assert.match(two.lines.join(''), /considered this broker dead/)
})

test('a broker that is removed sees itself gone before it is announced again', async t => {
  const { clock, contents, start } = open(t)
  const one = await start(1)
  await clock.advance(2 * TICK_MS)
  const { version: expect } = (await contents.load('broker', '1'))!
  await contents.commit({ kind: 'broker', name: '1', expect, changes: [], remove: true })
  await clock.advance(TICK_MS)
  assert.deepEqual([one.living(), one.isConfirmed], [[], false])
  await clock.advance(TICK_MS)
  assert.deepEqual([one.living(), one.isConfirmed], [[1], true])
})

test('if no broker can reach the store for a long time, no broker is considered dead', async t => {
  const { clock, start } = open(t)
  const [one, two] = [await start(1), await start(2)]
  await clock.advance(2 * TICK_MS)
  const back = [one, two].map(each => each.store.faults.hold('all'))
  await clock.advance(10 * EXPIRY_MS)
  assert.deepEqual([one.isConfirmed, two.isConfirmed], [false, false])
  back[0]!()
  await clock.advance(EXPIRY_MS / 2)
  assert.deepEqual(one.living(), [1, 2])
  back[1]!()
  await clock.advance(2 * TICK_MS)
  assert.deepEqual(
    [one.living(), two.living()],
    [
      [1, 2],
      [1, 2],
    ],
  )
  assert.doesNotMatch(one.lines.join('') + two.lines.join(''), /dead/)
})

test('a broker is refused if its id belongs to a living broker, and the error names that broker', async t => {
  const { clock, start } = open(t)
  await start(1, 7001)
  const second = start(1, 7002)
  const refused = assert.rejects(second, (error: Error) => {
    assert.ok(error instanceof BrokerIdHeld)
    assert.match(
      error.message,
      /svc\.broker\.id: got 1, which is the id of broker 1 at 127\.0\.0\.1:7001 .*, and this broker lives/,
    )
    return true
  })
  await clock.advance(TICK_MS * 2)
  await refused
})

test('a broker that was killed can start again with its id after one expiry', async t => {
  const { clock, start } = open(t)
  const killed = await start(1, 7001)
  const kill = killed.store.faults.hold('all')
  t.after(kill)
  let back: Member | null = null
  void start(1, 7002).then(member => (back = member))
  await clock.advance(EXPIRY_MS - TICK_MS)
  assert.equal(back, null)
  await clock.advance(2 * TICK_MS)
  assert.deepEqual(back!.living(), [1])
  // The killed broker was only paused. It finds that another broker has its id, and ends.
  kill()
  await clock.advance(2 * TICK_MS)
  assert.ok(killed.lostTo() instanceof BrokerIdHeld)
  assert.match(killed.lostTo()!.message, /taken over by broker 1 at 127\.0\.0\.1:7002/)
  assert.equal(killed.isConfirmed, false)
  assert.deepEqual(back!.living(), [1])
})

test('if two brokers start with one id at the same time, one is refused', async t => {
  const { clock, start } = open(t)
  const outcomes = Promise.allSettled([start(1, 7001), start(1, 7002)])
  await clock.advance(2 * EXPIRY_MS)
  assert.deepEqual((await outcomes).map(each => each.status).sort(), ['fulfilled', 'rejected'])
})

for (const fault of ['unavailable', 'unknown-lost', 'unknown-done'] as const) {
  test(`a broker whose beats get a fault from the store (${fault}) stays alive`, async t => {
    const { clock, start } = open(t)
    const [one, two] = [await start(1), await start(2)]
    await clock.advance(2 * TICK_MS)
    two.store.faults.failNext('commit', fault, 3)
    await clock.advance(3 * EXPIRY_MS)
    assert.deepEqual([one.living(), two.living(), two.isConfirmed], [[1, 2], [1, 2], true])
    assert.doesNotMatch(one.lines.join(''), /dead/)
  })
}

test('a record without its field is refused because it is not JSON', () => {
  assert.throws(
    () => brokerOf({ kind: 'broker', name: '2', version: 1, fields: new Map() }),
    error => error instanceof UnreadableDocument && /end of JSON/.test(String(error.cause)),
  )
})

test('an older record has plaintext endpoints and no certificates, and an unknown security is the strictest', () => {
  const read = (security?: string) => {
    const record = { incarnation: 'i', endpoints: [{ name: 'A', host: 'h', port: 1, security }], expiryMs: 1 }
    const fields = new Map([['broker', Buffer.from(JSON.stringify(record))]])
    return brokerOf({ kind: 'broker', name: '2', version: 1, fields })
  }
  assert.deepEqual(read().certificates, [])
  assert.deepEqual(
    [undefined, 'tls', 'sasl-quantum'].map(security => read(security).endpoints[0]!.security),
    ['plaintext', 'tls', 'sasl-tls'],
  )
})

test('a broker that changes its certificates stays confirmed, and the others see them one look later', async t => {
  const { clock, contents, start } = open(t)
  const [one, two] = [await start(1), await start(2)]
  await clock.advance(2 * TICK_MS)
  const presented = two.present(['bmV3', 'b2xk'])
  assert.equal(two.isConfirmed, true)
  await clock.settle()
  await presented
  await clock.advance(TICK_MS)
  assert.deepEqual(one.others()[0]!.certificates, ['bmV3', 'b2xk'])
  assert.deepEqual(
    [one.living(), two.living()],
    [
      [1, 2],
      [1, 2],
    ],
  )

  // The store does not answer for a while: the record follows as soon as it does.
  const release = two.store.faults.hold('commit')
  const later = two.present(['bmV3'])
  await clock.advance(TICK_MS)
  release()
  await clock.advance(2 * TICK_MS)
  await later
  const stored = brokerOf((await contents.load('broker', '2'))!)
  assert.deepEqual(stored.certificates, ['bmV3'])
})
