// Three brokers on one Redis whose clocks are an hour apart. The holder of the lease of the storage worker is stopped
// with SIGSTOP in the middle of a round, until another broker has taken the lease and its partitions. When it wakes, it
// must change nothing. src/tier/lease.test.ts has the decisions on a simulated clock.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { systemClock } from '../../src/base/clock.ts'
import { adminClient } from '../../testing/admin-client.ts'
import { eventually } from '../../testing/eventually.ts'
import { type BrokerProcess, startBrokerProcess } from '../../testing/process.ts'
import { noRedis, type RedisServer, startRedis } from '../../testing/redis.ts'
import { createTopicOfAll } from '../../testing/topic.ts'
import { runCommand } from '../command.ts'
import { openKafka } from '../kafkajs/client.ts'
import { kcat } from '../kcat/client.ts'

const LEASE_MS = 12_000
const TICK_MS = 5_000
const HOUR_MS = 3_600_000
const IDS = [1, 2, 3]
const PARTITIONS = 12
const MIB = 1024 * 1024

// biome-ignore lint/suspicious/noExplicitAny: rows of answers, the test reads their members without types
type Row = any

/** Returns a flag of Node that sets the system clock of the process forward. Durations stay as they are. */
function shifted(byMs: number): string {
  const source = `const { now } = Date; Date.now = () => now() + ${byMs}`
  return `--import=data:text/javascript,${encodeURIComponent(source)}`
}

async function startThree(t: TestContext, { uri }: RedisServer): Promise<readonly BrokerProcess[]> {
  const start = (id: number) =>
    startBrokerProcess(t, {
      nodeFlags: [shifted((id - 2) * HOUR_MS)],
      settings: {
        'svc.redis.uri': uri,
        'svc.broker.id': String(id),
        'svc.broker.expiry': '2s',
        'svc.admin.security-enabled': 'false',
        'svc.storage.worker.lease-duration': `${LEASE_MS}ms`,
        'svc.storage.worker.tick-interval': `${TICK_MS}ms`,
      },
    })
  return await Promise.all(IDS.map(start))
}

/** Writes about 2 MiB into each partition: new values of few keys. Resolves with the newest value of each key. */
async function fill(brokers: readonly BrokerProcess[], tag: string): Promise<Map<string, string>> {
  const newest = new Map<string, string>()
  const producer = openKafka(brokers.map(each => each.address).join(','), { retries: 30 }).producer()
  await producer.connect()
  for (let i = 0; i < 24; i++) {
    const messages = Array.from({ length: PARTITIONS }, (_, partition) => {
      const key = `${partition}-${i % 3}`
      newest.set(key, `${tag}-${i}`)
      return { partition, key, value: `${tag}-${i} ${'x'.repeat(100_000)}` }
    })
    await producer.send({ topic: 'state', acks: -1, messages })
  }
  await producer.disconnect()
  return newest
}

async function metric({ url }: BrokerProcess, name: RegExp): Promise<number> {
  const text = await (await fetch(`${url}/actuator/prometheus`)).text()
  return [...text.matchAll(name)].reduce((sum, [, value]) => sum + Number(value), 0)
}

const UP = /^svc_storage_worker_up (\d)/gm
const refusals = (reason: string) =>
  new RegExp(`^svc_storage_worker_refusals_total\\{reason="${reason}"\\} (\\d+)`, 'gm')

const upOf = (brokers: readonly BrokerProcess[]) => Promise.all(brokers.map(each => metric(each, UP)))

const workerOf = async ({ url }: BrokerProcess): Promise<Row> =>
  (await adminClient(url).ask('GET', '/api/v1/storage/worker')).body

async function run({ url }: BrokerProcess): Promise<Row> {
  const { status, body } = await adminClient(url).ask('POST', '/api/v1/storage/worker/run')
  return status === 200 ? body.round.brokers : []
}

/** Resolves when a round of exactly these many brokers had nothing to do. */
async function isQuiet(broker: BrokerProcess, brokers: number): Promise<void> {
  await eventually(
    `a round of ${brokers} brokers has nothing to do`,
    async () => {
      const rows: Row[] = await run(broker)
      const isIdle = ({ outcome, rolled, cleaned, failures }: Row) =>
        outcome === 'done' && rolled + cleaned + failures === 0
      return rows.length === brokers && rows.every(isIdle)
    },
    60_000,
  )
}

/** Resolves with what the worker changes: digests of the entries of the streams, and the sealed segments. */
async function contents(redis: RedisServer, broker: BrokerProcess): Promise<Row> {
  const keys = ((await redis.ask('KEYS', 'svc:stream:*')) as string[]).filter(key => !/:(meta|rows)$/.test(key)).sort()
  const digests = await redis.session(ask =>
    Promise.all(
      keys.map(async key => {
        const entries = JSON.stringify(await ask('XRANGE', key, '-', '+'))
        return [key, entries.length, createHash('sha256').update(entries).digest('hex')]
      }),
    ),
  )
  const segments: Row[] = []
  for (let partition = 0; partition < PARTITIONS; partition++) {
    const path = `/api/v1/topics/state/partitions/${partition}/segments`
    let shown: Row
    await eventually('the leader tells the segments', async () => {
      shown = (await adminClient(broker.url).ask('GET', path)).body
      return shown.trouble === null
    })
    const { startOffset, endOffset, cleanedTo, segments: all } = shown
    segments.push({ startOffset, endOffset, cleanedTo, sealed: all.filter(({ isActive }: Row) => !isActive) })
  }
  return { digests, segments }
}

test('a holder that is stopped in a round is followed within a lease and a tick, and changes nothing when it wakes', {
  skip: kcat.absence() ?? noRedis,
  timeout: 300_000,
}, async t => {
  const redis = await startRedis(t)
  const brokers = await startThree(t, redis)
  const configs = { 'cleanup.policy': 'compact', 'segment.bytes': String(MIB), 'min.cleanable.dirty.ratio': '0' }
  await createTopicOfAll(brokers[0]!, 'state', PARTITIONS, IDS, configs)
  let first: number | undefined
  await eventually('the brokers agree on the holder', async () => {
    const seen = new Set(await Promise.all(brokers.map(async each => (await workerOf(each)).holder?.id)))
    first = [...seen][0]
    return seen.size === 1 && first !== undefined
  })
  const stopped = brokers[first! - 1]!
  const rest = brokers.filter(each => each !== stopped)

  // Stop it while its round goes on: then its cleaner and the requests to the others are on their way.
  let newest = new Map<string, string>()
  for (let i = 0, isRunning = false; !isRunning; i++) {
    assert.ok(i < 20, 'no round lasted long enough')
    newest = await fill(brokers, `before ${i}`)
    const untilMs = systemClock.monotonic() + 2 * TICK_MS
    while (!isRunning && systemClock.monotonic() < untilMs)
      isRunning = (await workerOf(stopped)).lastRound?.tookMs === null
  }
  stopped.pause()
  t.after(() => stopped.resume())
  const fromMs = systemClock.monotonic()
  await eventually('another broker holds the lease', async () => (await upOf(rest)).includes(1), 60_000)
  const tookMs = systemClock.monotonic() - fromMs
  t.diagnostic(`another broker held the lease after ${Math.round(tookMs)} ms`)
  assert.ok(tookMs > LEASE_MS / 2 && tookMs <= LEASE_MS + TICK_MS, `${tookMs} ms`)
  const second = (await upOf(brokers.filter(each => each !== stopped))).indexOf(1)
  const holder = rest[second]!

  // The others lead its partitions, and clean them and what was written meanwhile.
  for (const [key, value] of await fill(rest, 'meanwhile')) newest.set(key, value)
  await isQuiet(holder, 2)
  const before = await contents(redis, holder)
  const lease = (await workerOf(holder)).holder

  stopped.resume()
  await eventually('it counts the round that it does not start or go on with', async () => {
    assert.equal((await upOf([stopped]))[0], 0, 'it never holds the lease again')
    return (await metric(stopped, refusals('unconfirmed'))) > 0
  })
  // It leads partitions again, and takes part in rounds of the other one.
  await isQuiet(stopped, 3)
  assert.deepEqual(await upOf([stopped, holder]), [0, 1])
  assert.deepEqual(await contents(redis, stopped), before)
  for (const broker of brokers) assert.deepEqual((await workerOf(broker)).holder, lease)
  assert.match(stopped.output(), /no longer holds the lease of the storage worker: broker \d has taken it over/)
  for (const reason of ['unconfirmed', 'not_holder', 'fenced'])
    t.diagnostic(`refusals, ${reason}: ${await Promise.all(brokers.map(each => metric(each, refusals(reason))))}`)

  const read = await runCommand('kcat', ['-C', '-b', holder.address, '-t', 'state', '-e', '-q', '-f', '%k %s\n'])
  const found = new Map<string, string>()
  for (const line of read.toString().trimEnd().split('\n')) {
    const [key, value] = line.split(' ')
    found.set(key!, value!)
  }
  assert.deepEqual(found, newest)
})
