import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { SimulatedClock } from '../../testing/sim/clock.ts'
import { createMemoryStore, type MemoryStore } from '../../testing/sim/memory-store.ts'
import type { Clock } from '../base/clock.ts'
import { createLogger } from '../telemetry/logger.ts'
import { type Lease, leaseAlone, openLease } from './lease.ts'

const LEASE_MS = 10_000
const TICK_MS = 4_000
const BEAT_MS = LEASE_MS / 10

interface Candidate extends Lease {
  readonly store: MemoryStore
  readonly lines: readonly string[]
}

function open(t: TestContext) {
  const clock = new SimulatedClock()
  const contents = createMemoryStore(clock)
  t.after(() => contents.faults.release())
  const start = async (
    brokerId: number,
    {
      isCandidate = true,
      wallMs = (): number => 0,
      durationMs = LEASE_MS,
      store = contents.beside(),
      awaited = true,
    } = {},
  ): Promise<Candidate> => {
    const lines: string[] = []
    const own: Clock = {
      now: () => clock.now() + wallMs(),
      monotonic: () => clock.monotonic(),
      timer: (delayMs, fn) => clock.timer(delayMs, fn),
      soon: fn => clock.soon(fn),
    }
    const opening = openLease({
      ...{ store, clock: own, brokerId, incarnation: `start of ${brokerId}`, isCandidate, durationMs, tickMs: TICK_MS },
      logger: createLogger({ clock, write: line => lines.push(line), format: 'plain' }),
      lost: error => assert.fail(error),
    })
    if (awaited) await clock.settle()
    const lease = await opening
    t.after(async () => {
      store.faults.release()
      await clock.passing(lease.close())
    })
    return Object.assign(Object.create(lease, Object.getOwnPropertyDescriptors(lease)), { store, lines })
  }
  const fenceInStore = async () => await contents.version('worker', 'lease')
  return { clock, contents, start, fenceInStore }
}

const claimOf = (lease: Lease, holderId: number) => ({
  ...{ holderId, incarnation: `start of ${holderId}`, fence: lease.fence },
})

/** Returns which of the leases are held, and whom each sees as the holder. */
const view = (...leases: readonly Lease[]) => leases.map(each => [each.isHeld, each.holder()?.id ?? null])

test('the first candidate takes a free lease, keeps it, and the others see it', async t => {
  const { clock, start } = open(t)
  const [one, two] = [await start(1), await start(2)]
  const { fence } = one
  assert(fence > 0)
  for (let i = 0; i < 50; i++) {
    await clock.advance(BEAT_MS)
    assert.deepEqual(view(one, two), [
      [true, 1],
      [false, 1],
    ])
  }
  assert.deepEqual([one.fence, two.fence], [fence, 0])
  assert.equal(one.holder()!.sinceMs, 1_700_000_000_000)
})

test('of two candidates that ask at the same moment, one gets the lease', async t => {
  const { clock, start, contents } = open(t)
  const two = contents.beside()
  const release = two.faults.hold('commit')
  const late = start(2, { store: two, awaited: false })
  await clock.settle()
  const one = await start(1)
  release()
  const second = await late
  assert.deepEqual(view(one, second), [
    [true, 1],
    [false, 1],
  ])
})

test('a holder that stops is replaced within a lease and a tick, and is not confirmed from half a lease on', async t => {
  const { clock, start } = open(t)
  const [one, two] = [await start(1), await start(2)]
  await clock.advance(3 * BEAT_MS)
  const { fence } = one
  const resume = one.store.faults.hold('all')
  await clock.advance(LEASE_MS / 2 + BEAT_MS)
  assert.deepEqual(view(one, two), [
    [false, 1],
    [false, 1],
  ])
  await clock.advance(LEASE_MS / 2 - 2 * BEAT_MS)
  assert.deepEqual(view(two), [[false, 1]], 'a lease has not passed yet')
  await clock.advance(BEAT_MS + TICK_MS)
  assert.deepEqual(view(two), [[true, 2]])
  assert(two.fence > fence)
  assert.match(two.lines.join(''), /holds the lease of the storage worker: broker 1 gave no sign of life for 10000 ms/)
  // It wakes with a beat in flight, which the store refuses.
  const version = await two.store.version('worker', 'lease')
  resume()
  await clock.settle()
  assert.deepEqual(view(one, two), [
    [false, 2],
    [true, 2],
  ])
  assert.equal(await two.store.version('worker', 'lease'), version, 'the one that wakes has written nothing')
  assert.match(one.lines.join(''), /no longer holds the lease of the storage worker: broker 2 has taken it over/)
  assert.match((await two.refute({ ...claimOf(one, 1), fence }))!, /^Broker 2 holds the lease .* and not broker 1/)
  assert.equal(await one.refute(claimOf(two, 2)), null)
})

test('the pause of an observer does not count as silence of the holder', async t => {
  const { clock, start } = open(t)
  const [one, two] = [await start(1), await start(2)]
  await clock.advance(3 * BEAT_MS)
  const [resumeOne, resumeTwo] = [one.store.faults.hold('all'), two.store.faults.hold('all')]
  await clock.advance(5 * LEASE_MS)
  resumeTwo()
  await clock.advance(BEAT_MS)
  assert.deepEqual(view(two), [[false, 1]], 'the observer was paused too')
  resumeOne()
  await clock.advance(2 * BEAT_MS)
  assert.deepEqual(view(one, two), [
    [true, 1],
    [false, 1],
  ])
})

test('clocks that are an hour apart and jump by a day change nothing', async t => {
  const { clock, start } = open(t)
  const DAY_MS = 86_400_000
  let jumpMs = 0
  const one = await start(1, { wallMs: () => jumpMs })
  const two = await start(2, { wallMs: () => 3_600_000 - jumpMs })
  const { fence } = one
  for (const jump of [DAY_MS, -DAY_MS]) {
    jumpMs = jump
    await clock.advance(3 * LEASE_MS)
    assert.deepEqual(view(one, two), [
      [true, 1],
      [false, 1],
    ])
  }
  assert.equal(one.fence, fence)
})

test('a holder that releases the lease is followed at the next look, by a higher fence', async t => {
  const { clock, start } = open(t)
  const [one, two] = [await start(1), await start(2)]
  const { fence } = one
  await clock.passing(one.release())
  assert.equal(one.isHeld, false)
  await clock.advance(BEAT_MS)
  assert.deepEqual(view(one, two), [
    [false, null],
    [true, 2],
  ])
  assert(two.fence > fence)
  await clock.passing(two.release())
  await clock.advance(2 * LEASE_MS)
  assert.deepEqual(view(one, two), [
    [false, null],
    [false, null],
  ])
  assert.equal(await one.refute(claimOf(one, 1)), 'No broker holds the lease of the storage worker.')
})

test('a broker that may not run the worker never takes the lease', async t => {
  const { clock, start, contents } = open(t)
  const [one, two] = [await start(1, { isCandidate: false }), await start(2)]
  assert.deepEqual(view(one, two), [
    [false, null],
    [true, 2],
  ])
  two.store.faults.hold('all')
  await clock.advance(4 * LEASE_MS)
  assert.deepEqual(view(one), [[false, null]], 'the holder is silent, so no broker holds the lease')
  assert.equal((await contents.load('worker', 'lease'))!.fields.size, 1)
})

for (const fault of ['unknown-done', 'unknown-lost'] as const) {
  test(`a lease that was taken, kept and given back with unknown outcomes (${fault}) is in order`, async t => {
    const { clock, start, contents } = open(t)
    const store = contents.beside()
    store.faults.failNext('commit', fault)
    const one = await start(1, { store })
    await clock.advance(2 * BEAT_MS)
    assert.deepEqual(view(one), [[true, 1]])
    const { fence } = one
    for (let beat = 0; beat < 20; beat++) {
      if (beat % 3 === 0) store.faults.failNext('commit', fault)
      await clock.advance(BEAT_MS)
      assert.deepEqual(view(one), [[true, 1]])
    }
    assert.equal(one.fence, fence)
    // The last beat, and the removal.
    store.faults.failNext('commit', fault, 2)
    await clock.passing(one.release())
    assert.equal(await contents.load('worker', 'lease'), null)
  })
}

test('a store that does not answer at the start is asked again, and a holder of another duration is given its own', async t => {
  const { clock, start, contents } = open(t)
  const store = contents.beside()
  store.faults.failNext('load', 'unavailable')
  const one = await start(1, { store, durationMs: 3 * LEASE_MS })
  assert.deepEqual(view(one), [[false, null]])
  await clock.advance(3 * BEAT_MS)
  assert.deepEqual(view(one), [[true, 1]])
  const two = await start(2)
  one.store.faults.hold('all')
  await clock.advance(2.5 * LEASE_MS)
  assert.deepEqual(view(two), [[false, 1]])
  await clock.advance(LEASE_MS)
  assert.deepEqual(view(two), [[true, 2]])
})

test('a document that cannot be read is left alone while it changes, and replaced after a lease', async t => {
  const { clock, start, contents } = open(t)
  const one = await start(1)
  const write = async () => {
    const { version: expect } = (await contents.load('worker', 'lease'))!
    const changes = [{ key: 'holder', value: Buffer.from('{"shards":3}') }]
    await contents.commit({ kind: 'worker', name: 'lease', expect, changes })
  }
  for (let i = 0; i < 30; i++) {
    await write()
    await clock.advance(BEAT_MS)
    assert.equal(String((await contents.load('worker', 'lease'))!.fields.get('holder')), '{"shards":3}')
  }
  assert.deepEqual(view(one), [[false, null]])
  assert.match(one.lines.join(''), /another program changed its document/)
  await clock.advance(LEASE_MS + TICK_MS)
  assert.deepEqual(view(one), [[true, 1]])
})

test('a lease whose document is gone is taken again with a new fence', async t => {
  const { clock, start, contents } = open(t)
  const one = await start(1)
  const { fence } = one
  await clock.advance(BEAT_MS)
  const { version: expect } = (await contents.load('worker', 'lease'))!
  await contents.commit({ kind: 'worker', name: 'lease', expect, changes: [], remove: true })
  await clock.advance(BEAT_MS)
  assert.deepEqual(view(one), [[true, 1]])
  assert(one.fence > fence)
})

test('the only broker of a store holds the lease without a document until it ends', async () => {
  const lease = leaseAlone(7, true)
  assert.deepEqual([lease.isHeld, lease.fence, lease.holder()], [true, 0, { id: 7, incarnation: '', sinceMs: null }])
  assert.equal(await lease.refute({ holderId: 7, incarnation: '', fence: 0 }), null)
  assert.match((await lease.refute({ holderId: 8, incarnation: '', fence: 0 }))!, /^Only this broker/)
  await lease.close()
  assert.match((await lease.refute({ holderId: 7, incarnation: '', fence: 0 }))!, /^No broker holds/)
  assert.deepEqual(view(lease, leaseAlone(7, false)), [
    [false, null],
    [false, null],
  ])
})
