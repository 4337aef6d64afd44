import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { SimulatedClock } from '../../testing/sim/clock.ts'
import { createMemoryStore } from '../../testing/sim/memory-store.ts'
import type { BrokerInfo } from '../cluster/broker-record.ts'
import { type Peers, PeerUnavailable } from '../cluster/peers.ts'
import type { RoundShare } from '../log/logs.ts'
import type { RoundReport } from '../log/round.ts'
import { isRefusal } from '../protocol/errors.ts'
import type { runStorageRound } from '../protocol/messages/run-storage-round.ts'
import type { RequestInput, ResponseOf } from '../protocol/schema.ts'
import { testSettings, type Values } from '../settings/settings.ts'
import { createLogger } from '../telemetry/logger.ts'
import { createMetrics } from '../telemetry/metrics.ts'
import { openLease } from './lease.ts'
import { NO_NEWS, type RoundRequest } from './own-rounds.ts'
import type { RemoteRounds } from './remote/remote-rounds.ts'
import { openStorageWorker } from './worker.ts'

const TICK_MS = 60_000
const LEASE_MS = 120_000
const REPORT: RoundReport = {
  partitions: 3,
  rolled: 1,
  droppedBytes: 10,
  due: 0,
  cleaned: 0,
  cleanedBytes: 0,
  failures: 0,
}

const info = (id: number, features: readonly string[] = ['rewrite', 'remote-tier']): BrokerInfo => ({
  ...{ id, incarnation: `start of ${id}`, rack: null, version: null, certificates: [], features, expiryMs: 5_000 },
  endpoints: [{ name: 'main', host: '127.0.0.1', port: 9092 + id, security: 'plaintext' }],
})

type Worker = Awaited<ReturnType<ReturnType<typeof open>['start']>>

/** Starts workers on one store. Each leads one partition of a topic, and they reach each other without a network. */
function open(t: TestContext, brokerIds: readonly number[], overrides: Partial<Values> = {}) {
  const clock = new SimulatedClock()
  const contents = createMemoryStore(clock)
  const settings = testSettings({
    'storage.worker.tick-interval': TICK_MS,
    'storage.worker.lease-duration': LEASE_MS,
    ...overrides,
  })
  const workers = new Map<number, Worker>()
  const living = { infos: brokerIds.map(id => info(id)) }
  const remotes = new Map<number, RemoteRounds>()
  const asked: (readonly [id: number, version: number])[] = []
  const topics = new Map([['orders', { id: 'topic', partitions: brokerIds.length }]])

  async function askPeer(
    id: number,
    body: RequestInput<typeof runStorageRound>,
  ): Promise<ResponseOf<typeof runStorageRound>> {
    const worker = workers.get(id)
    if (worker === undefined || worker.isSilent) throw new PeerUnavailable(id, 'cannot be reached', true)
    const answer = await worker.answer({ newsSince: -1, ...body } as RoundRequest)
    const none = {
      throttleTimeMs: 0,
      errorCode: 0,
      errorMessage: null,
      isRunning: false,
      report: REPORT,
      news: NO_NEWS,
    }
    if (isRefusal(answer)) return { ...none, errorCode: answer.code, errorMessage: answer.message }
    return answer === null ? { ...none, isRunning: true } : { ...none, ...answer }
  }

  async function start(brokerId: number) {
    const lines: string[] = []
    const store = contents.beside()
    const metrics = createMetrics()
    const logger = createLogger({ clock, write: line => lines.push(line), format: 'plain' })
    const incarnation = `start of ${brokerId}`
    const lost = (error: Error) => assert.fail(error)
    const lease = await openLease({
      ...{ store, clock, logger, brokerId, incarnation, isCandidate: settings.get('storage.worker.enabled') },
      ...{ durationMs: LEASE_MS, tickMs: TICK_MS, lost },
    })
    const shares: RoundShare[] = []
    const world = { runsMs: 0, shares, isSilent: false, atOnce: 0, mostAtOnce: 0 }
    const worker = openStorageWorker({
      ...{ lease, settings, clock, metrics, logger, lost },
      cluster: {
        ...{ brokerId, incarnation, brokers: () => living.infos, others: () => living.infos },
        leaderOf: (_, index) => living.infos[index]?.id ?? -1,
      },
      catalogue: { current: () => ({ topics }) as never },
      peers: {
        async ask(id, _api, version, body) {
          asked.push([id, version])
          return (await askPeer(id, body as never)) as never
        },
      } satisfies Peers,
      remoteNews: since => ({ to: since + brokerId, topics: [{ topicId: 'topic', partitions: [brokerId] }] }),
      remote: remotes.get(brokerId) ?? null,
      async runRound(share) {
        shares.push(share)
        world.mostAtOnce = Math.max(world.mostAtOnce, ++world.atOnce)
        if (world.runsMs > 0) await new Promise<void>(resolve => clock.timer(world.runsMs, resolve))
        world.atOnce--
        return REPORT
      },
    })
    t.after(async () => {
      store.faults.release()
      await clock.passing(worker.close())
    })
    const made = Object.assign(Object.create(worker, Object.getOwnPropertyDescriptors(worker)) as typeof worker, world)
    // `runRound` reads the world, and the test changes `made`.
    Object.defineProperty(world, 'runsMs', { get: () => made.runsMs })
    Object.defineProperty(made, 'mostAtOnce', { get: () => world.mostAtOnce })
    const all = Object.assign(made, { store, metrics, lines })
    workers.set(brokerId, all)
    return all
  }
  return { clock, living, remotes, asked, start }
}

const refusals = ({ metrics }: Worker, reason: string) =>
  Array.from(metrics.series('svc.storage.worker.refusals')).find(({ labels }) => labels.reason === reason)?.value ?? 0

const failures = ({ metrics }: Worker, type: string) =>
  Array.from(metrics.series('svc.storage.worker.failures')).find(({ labels }) => labels.error_type === type)?.value ?? 0

const outcomes = (worker: Worker) => worker.round()?.brokers.map(({ id, outcome }) => [id, outcome])

test('each tick the holder alone asks every leader to run its part, and adds up what they report', async t => {
  const { clock, start } = open(t, [1, 2, 3])
  const workers = [await start(1), await start(2), await start(3)]
  await clock.advance(TICK_MS + 2_000)
  assert.deepEqual(outcomes(workers[0]!), [
    [1, 'done'],
    [2, 'done'],
    [3, 'done'],
  ])
  const { number, tookMs, brokers } = workers[0]!.round()!
  assert.deepEqual([number, tookMs! < 100, brokers[2]], [1, true, { id: 3, outcome: 'done', ...REPORT, trouble: null }])
  assert.deepEqual([workers[1]!.round(), workers[2]!.round()], [null, null])
  assert.deepEqual(
    workers.map(({ metrics }) => metrics.read('svc.storage.worker.up', {})),
    [1, 0, 0],
  )
  await clock.advance(2 * TICK_MS)
  assert.deepEqual(
    workers.map(({ shares }) => shares.length),
    [3, 3, 3],
  )
})

test('the shares of the brokers add up to the concurrency, and brokers take turns if it is lower than their number', async t => {
  const wide = open(t, [1, 2, 3], { 'storage.worker.tick-concurrency': 8 })
  const workers = [await wide.start(1), await wide.start(2), await wide.start(3)]
  await wide.clock.advance(TICK_MS + 1_000)
  assert.deepEqual(
    workers.map(({ shares }) => shares[0]!.concurrency),
    [3, 3, 2],
  )
  const narrow = open(t, [1, 2, 3], { 'storage.worker.tick-concurrency': 1 })
  const few = [await narrow.start(1), await narrow.start(2), await narrow.start(3)]
  for (const each of few) each.runsMs = 500
  await narrow.clock.advance(TICK_MS + 200)
  assert.deepEqual(outcomes(few[0]!), [
    [1, 'running'],
    [2, 'waiting'],
    [3, 'waiting'],
  ])
  await narrow.clock.advance(5_000)
  assert.deepEqual(
    few.map(({ shares }) => shares.map(({ concurrency }) => concurrency)),
    [[1], [1], [1]],
  )
  assert.equal(
    outcomes(few[0]!)!.every(([, outcome]) => outcome === 'done'),
    true,
  )
})

test('a broker that needs longer than the holder waits goes on, joins the next round, and runs one round at a time', async t => {
  const { clock, start } = open(t, [1, 2])
  const [one, two] = [await start(1), await start(2)]
  two.runsMs = 1.5 * TICK_MS + 5_000
  await clock.advance(2 * TICK_MS + 3_000)
  assert.deepEqual(outcomes(one), [
    [1, 'done'],
    [2, 'running'],
  ])
  two.runsMs = 0
  await clock.advance(TICK_MS - 5_000)
  assert.equal(one.round()!.number, 2)
  assert.deepEqual(outcomes(one), [
    [1, 'done'],
    [2, 'done'],
  ])
  assert.deepEqual([two.shares.length, two.mostAtOnce, one.shares.length], [1, 1, 2])
})

test('a broker that goes on keeps its permits: the others share the rest, but at least one', async t => {
  const { clock, living, start } = open(t, [1, 2], { 'storage.worker.tick-concurrency': 8 })
  const [one, two] = [await start(1), await start(2)]
  const [first, second] = living.infos
  living.infos = [first!]
  one.runsMs = 1.5 * TICK_MS
  await clock.advance(TICK_MS + 1_000)
  living.infos = [first!, second!]
  await clock.advance(TICK_MS + 1_000)
  const granted = [one, two].map(({ shares }) => shares.map(({ concurrency }) => concurrency))
  assert.deepEqual(granted, [[8], [1]])
  one.runsMs = 0
  await clock.advance(2 * TICK_MS)
  assert.deepEqual([one.shares.at(-1)!.concurrency, two.shares.at(-1)!.concurrency], [4, 4])
})

test('when slow brokers have all permits, the others follow one after the other', async t => {
  const ids = [1, 2, 3, 4, 5]
  const { clock, start } = open(t, ids, { 'storage.worker.tick-concurrency': 2 })
  const workers: Worker[] = []
  for (const id of ids) workers.push(await start(id))
  for (const [i, worker] of workers.entries()) worker.runsMs = i < 2 ? 1.5 * TICK_MS : 1_000
  await clock.advance(2 * TICK_MS + 1_000)
  assert.deepEqual(outcomes(workers[0]!), [
    [1, 'running'],
    [2, 'running'],
    [3, 'running'],
    [4, 'waiting'],
    [5, 'waiting'],
  ])
  await clock.advance(TICK_MS / 2)
  assert.deepEqual(
    workers.map(({ shares }) => shares[0]?.concurrency),
    [1, 1, 1, 1, 1],
  )
})

test('a broker that does not answer, and one that refuses, have their own rows and are counted', async t => {
  const { clock, start } = open(t, [1, 2, 3])
  const [one, two, three] = [await start(1), await start(2), await start(3)]
  two.isSilent = true
  three.store.faults.failNext('load', 'unavailable', 100)
  await clock.advance(TICK_MS + 1_000)
  const { brokers } = one.round()!
  assert.deepEqual(outcomes(one), [
    [1, 'done'],
    [2, 'silent'],
    [3, 'refused'],
  ])
  assert.equal(brokers[1]!.trouble, 'It cannot be reached.')
  assert.equal(failures(one, 'PeerUnavailable'), 1)
})

test('a holder that was stopped past its lease starts nothing when it wakes, and the others refuse its requests', async t => {
  const { clock, start } = open(t, [1, 2])
  const [one, two] = [await start(1), await start(2)]
  await clock.advance(TICK_MS + 1_000)
  assert.deepEqual([one.shares.length, two.shares.length], [1, 1])
  const { incarnation } = one.holder()!
  const stale = {
    holderId: 1,
    incarnation,
    fence: 1,
    round: 99,
    concurrency: 8,
    isCleaningAllowed: true,
    newsSince: -1,
  }
  const resume = one.store.faults.hold('all')
  await clock.advance(LEASE_MS + TICK_MS)
  assert.deepEqual([one.isHolder, two.isHolder], [false, true])
  const before = [one.shares.length, two.shares.length]
  const refused = await two.answer(stale)
  assert(isRefusal(refused) && refused.name === 'STALE_CONTROLLER_EPOCH')
  assert.deepEqual([one.shares.length, two.shares.length], before)
  assert.equal(refusals(two, 'not_holder'), 1)
  assert(refusals(one, 'unconfirmed') >= 1)
  resume()
  await clock.settle()
  const own = await one.answer(stale)
  assert(isRefusal(own), 'the part of the holder itself needs the lease too')
  const started = one.start()
  assert(isRefusal(started) && started.name === 'NOT_CONTROLLER')
})

test('a request with a concurrency that no setting allows starts nothing', async t => {
  const { clock, start } = open(t, [1, 2])
  const [one, two] = [await start(1), await start(2)]
  await clock.advance(TICK_MS + 1_000)
  const { incarnation } = one.holder()!
  const before = two.shares.length
  for (const concurrency of [-1, 0, 1025, 2 ** 31 - 1]) {
    const refused = await two.answer({
      holderId: 1,
      incarnation,
      fence: 1,
      round: 99,
      concurrency,
      isCleaningAllowed: true,
      newsSince: -1,
    })
    assert(isRefusal(refused) && refused.name === 'INVALID_REQUEST')
    assert.equal(refused.message, `concurrency: got ${concurrency}, takes an integer from 1 to 1024.`)
  }
  assert.equal(two.shares.length, before)
})

test('a client that does not know the start of the holder starts nothing and does not learn it', async t => {
  const { clock, start } = open(t, [1, 2])
  const [one, two] = [await start(1), await start(2)]
  await clock.advance(TICK_MS + 1_000)
  const before = [one, two].map(({ shares }) => shares.length)
  const { incarnation } = one.holder()!
  for (const [asked, holderId, said] of [
    [one, 1, incarnation],
    [one, 2, 'a guess'],
    [two, 1, 'a guess'],
    [two, 2, incarnation],
    [two, -1, ''],
  ] as const) {
    const claim = { holderId, incarnation: said, fence: 1 }
    const refused = await asked.answer({ ...claim, round: 99, concurrency: 1, isCleaningAllowed: true, newsSince: -1 })
    assert(isRefusal(refused), `${holderId} ${said}`)
    assert.doesNotMatch(refused.message, /start of/)
  }
  assert.deepEqual(
    [one, two].map(({ shares }) => shares.length),
    before,
  )
})

test('a holder whose lease is not confirmed is not taken for an earlier start of its broker', async t => {
  const { clock, start } = open(t, [1])
  const one = await start(1)
  const resume = one.store.faults.hold('all')
  await clock.advance(LEASE_MS)
  const refused = one.start()
  assert(isRefusal(refused) && refused.name === 'NOT_CONTROLLER')
  assert.equal(refused.message, 'This broker does not hold the lease of the storage worker.')
  resume()
})

test('a round is remembered while others follow it', async t => {
  const { clock, start } = open(t, [1])
  const one = await start(1)
  await clock.advance(20 * TICK_MS)
  const newest = one.round()!
  const earlier = one.round(newest.number - 10)!
  assert.deepEqual([earlier.number, earlier.brokers[0]!.outcome], [newest.number - 10, 'done'])
  assert(earlier.tookMs !== null)
  assert.deepEqual([one.round(newest.number + 1), one.round(-1)], [newest, newest])
})

test('a round that is asked for joins the one in progress', async t => {
  const { clock, start } = open(t, [1])
  const one = await start(1)
  one.runsMs = 1_000
  const [first, second] = [one.start(), one.start()]
  assert(!isRefusal(first) && !isRefusal(second))
  assert.deepEqual([first.number, second.number, first.tookMs], [1, 1, null])
  await clock.advance(3_000)
  assert.deepEqual(outcomes(one), [[1, 'done']])
  const third = one.start()
  assert(!isRefusal(third) && third.number === 2)
})

test('no partition is cleaned while a living broker cannot read a cleaned log, and the log says which', async t => {
  const { clock, living, start } = open(t, [1, 2])
  living.infos = [info(1), info(2, [])]
  const [one, two] = [await start(1), await start(2)]
  await clock.advance(3 * TICK_MS)
  assert.deepEqual(one.withoutFeature(), [2])
  assert(one.shares.length >= 2 && one.shares.every(({ isCleaningAllowed }) => !isCleaningAllowed))
  assert.equal(one.lines.filter(line => /can read a cleaned log: 2/.test(line)).length, 1)
  living.infos = [info(1), info(2)]
  await clock.advance(TICK_MS + 1_000)
  assert.deepEqual([one.shares.at(-1)!.isCleaningAllowed, two.shares.at(-1)!.isCleaningAllowed], [true, true])
})

test('with svc.storage.worker.enabled=false everywhere no round starts and no broker is the holder', async t => {
  const { clock, start } = open(t, [1, 2], { 'storage.worker.enabled': false })
  const [one, two] = [await start(1), await start(2)]
  await clock.advance(4 * TICK_MS)
  assert.deepEqual([one.shares.length, two.shares.length, one.holder(), two.isHolder], [0, 0, null, false])
  assert.equal(one.metrics.read('svc.storage.worker.up', {}), 0)
})

test('a holder that closes gives the lease to another broker, which starts the next round', async t => {
  const { clock, start } = open(t, [1, 2])
  const [one, two] = [await start(1), await start(2)]
  await clock.passing(one.release())
  await clock.advance(LEASE_MS / 10)
  assert.deepEqual([one.isHolder, two.isHolder], [false, true])
  await clock.advance(TICK_MS)
  assert.deepEqual(outcomes(two), [
    [1, 'done'],
    [2, 'done'],
  ])
})

/** A part in the remote tier that notes its calls. */
function remoteFor(clock: SimulatedClock, runsMs = 0) {
  const calls: string[] = []
  const since = new Map<number, number>()
  const remote: RemoteRounds = {
    begin: fence => void calls.push(`begin ${fence}`),
    since: id => since.get(id) ?? 0,
    heard(id, incarnation, { to, topics }) {
      since.set(id, to)
      calls.push(`heard ${id} ${incarnation} ${to} ${topics.flatMap(({ partitions }) => partitions)}`)
    },
    async run() {
      calls.push('run')
      if (runsMs > 0) await new Promise<void>(resolve => clock.timer(runsMs, resolve))
    },
    report: () => ({ segments: 2, bytes: 30, failures: 0, waitingSegments: 1, waitingBytes: 15 }),
    end: () => void calls.push('end'),
    release: () => void calls.push('release'),
    async close() {
      calls.push('close')
    },
  }
  return { remote, calls }
}

test('the holder hears the news of each leader once, and does its part in the remote tier after theirs', async t => {
  const { clock, remotes, asked, start, living } = open(t, [1, 2, 3])
  const { remote, calls } = remoteFor(clock)
  remotes.set(1, remote)
  const [one] = [await start(1), await start(2), await start(3)]
  living.infos = [info(1), info(2), info(3, ['rewrite'])]
  await clock.advance(TICK_MS + 2_000)
  assert.deepEqual(calls.sort(), [
    'begin 1',
    'heard 1 start of 1 1 1',
    'heard 2 start of 2 2 2',
    'heard 3 start of 3 0 ',
    'run',
  ])
  assert.deepEqual(
    [...new Set(asked.map(String))].sort(),
    ['2,1', '3,0'],
    'a broker without the feature is asked in the version that it knows',
  )
  assert.deepEqual(one.round()!.offload, {
    ...{ segments: 2, bytes: 30, failures: 0, waitingSegments: 1, waitingBytes: 15 },
  })
  calls.length = 0
  await clock.advance(TICK_MS)
  assert.ok(calls.includes('heard 2 start of 2 4 2'), 'it asks for what came since')
})

test('an offload that takes long does not hold up the next rounds, and a lost lease ends it', async t => {
  const { clock, remotes, start } = open(t, [1, 2])
  const { remote, calls } = remoteFor(clock, 10 * TICK_MS)
  remotes.set(1, remote)
  const [one] = [await start(1), await start(2)]
  await clock.advance(3 * TICK_MS + 2_000)
  assert.equal(calls.filter(call => call === 'run').length, 3)
  assert.equal(calls.includes('end'), false)
  one.store.faults.hold('all')
  await clock.advance(2 * TICK_MS)
  assert.ok(calls.includes('end'))
})
