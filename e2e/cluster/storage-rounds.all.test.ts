// Rounds of the storage worker over three brokers on one Redis, started as users start them: each leader rolls, drops
// and cleans its partitions, nothing happens while no broker may run the worker, and a broker of an older version
// prevents cleaning as long as it lives. two-workers.all.test.ts has the broker that loses the lease.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { systemClock } from '../../src/base/clock.ts'
import { adminClient } from '../../testing/admin-client.ts'
import { eventually } from '../../testing/eventually.ts'
import { type BrokerProcess, startBrokerProcess } from '../../testing/process.ts'
import { noRedis, type RedisServer, startRedis } from '../../testing/redis.ts'
import { openTestStore } from '../../testing/redis-store.ts'
import { createTopicOfAll } from '../../testing/topic.ts'
import { runToEnd } from '../command.ts'
import { openKafka } from '../kafkajs/client.ts'

const IDS = [1, 2, 3]
const PARTITIONS = 6
const KEYS = 3
const MIB = 1024 * 1024
const STATE = { 'cleanup.policy': 'compact', 'segment.bytes': String(MIB), 'min.cleanable.dirty.ratio': '0' }
const LOGS = { 'segment.bytes': String(MIB), 'retention.bytes': String(MIB) }

// biome-ignore lint/suspicious/noExplicitAny: rows of answers, the test reads their members without types
type Row = any

async function startThree(
  t: TestContext,
  { uri }: RedisServer,
  settings: Readonly<Record<string, string>> = {},
): Promise<readonly BrokerProcess[]> {
  const start = (id: number) =>
    startBrokerProcess(t, {
      settings: {
        'svc.redis.uri': uri,
        'svc.broker.id': String(id),
        'svc.admin.security-enabled': 'false',
        // The test starts each round.
        'svc.storage.worker.tick-interval': '1h',
        'svc.storage.worker.lease-duration': '2h',
        ...settings,
      },
    })
  return await Promise.all(IDS.map(start))
}

/** Creates a compacted topic and one with retention. Each broker leads partitions of both. */
async function createTopics([one]: readonly BrokerProcess[]): Promise<void> {
  await createTopicOfAll(one!, 'state', PARTITIONS, IDS, STATE)
  await createTopicOfAll(one!, 'logs', PARTITIONS, IDS, LOGS)
}

/** Writes about 3 MiB into each partition of both topics: many values of few keys. */
async function fill(brokers: readonly BrokerProcess[], tag: string): Promise<void> {
  const producer = openKafka(brokers.map(each => each.address).join(','), { retries: 30 }).producer()
  await producer.connect()
  for (let i = 0; i < 32; i++) {
    const value = `${tag} ${i} ${'x'.repeat(100_000)}`
    const messages = Array.from({ length: PARTITIONS }, (_, partition) => ({ partition, key: `${i % KEYS}`, value }))
    await producer.sendBatch({ acks: -1, topicMessages: ['state', 'logs'].map(topic => ({ topic, messages })) })
  }
  await producer.disconnect()
}

const ask = async ({ url }: BrokerProcess, method: string, path: string) => await adminClient(url).ask(method, path)

async function run(broker: BrokerProcess): Promise<Row> {
  const { status, body } = await ask(broker, 'POST', '/api/v1/storage/worker/run')
  assert.equal(status, 200, JSON.stringify(body))
  return body.round
}

/** Runs rounds until each broker has done its part of one: a lead may just have moved. Resolves with the rows. */
async function runByAll(broker: BrokerProcess): Promise<Row[]> {
  let rows: Row[] = []
  await eventually('all three brokers run their parts', async () => {
    const { brokers } = await run(broker)
    rows = brokers
    return rows.length === 3 && rows.every(({ outcome }) => outcome === 'done')
  })
  return rows
}

/** Resolves with the segments of every partition of a topic, as this broker tells them. */
async function segmentsOf(broker: BrokerProcess, topic: string): Promise<Row[]> {
  const all = Array.from({ length: PARTITIONS }, async (_, partition) => {
    const { body } = await ask(broker, 'GET', `/api/v1/topics/${topic}/partitions/${partition}/segments`)
    assert.equal(body.trouble, null)
    return body
  })
  return await Promise.all(all)
}

async function metric({ url }: BrokerProcess, name: RegExp): Promise<number> {
  const text = await (await fetch(`${url}/actuator/prometheus`)).text()
  return [...text.matchAll(name)].reduce((sum, [, value]) => sum + Number(value), 0)
}

const UP = /^svc_storage_worker_up (\d)/gm

async function health(broker: BrokerProcess): Promise<Row> {
  const { status, body } = await ask(broker, 'GET', '/actuator/health')
  assert.equal(status, 200)
  assert.equal(body.components.storageWorker.status, 'UP')
  return body.components.storageWorker.details
}

const ketch = (line: string) =>
  runToEnd(['./ketch', ...line.split(' ')], {
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    env: { PATH: process.env.PATH },
  })

test('each leader rolls, drops and cleans its partitions in a round, which any broker starts and reports', {
  skip: noRedis,
}, async t => {
  const brokers = await startThree(t, await startRedis(t))
  const [one, two, three] = brokers as [BrokerProcess, BrokerProcess, BrokerProcess]
  await createTopics(brokers)
  await fill(brokers, 'first')
  const json = await ketch(`storage run --json --url=${two.url}`)
  assert.deepEqual([json.status, json.err], [0, ''])
  const rows: Row[] = JSON.parse(json.out).brokers
  assert.deepEqual(
    rows.map(({ id, outcome, trouble, failures }) => [id, outcome, trouble, failures]),
    IDS.map(id => [id, 'done', null, 0]),
  )
  const sum = (name: string) => rows.reduce((all, row) => all + row[name], 0)
  for (const row of rows) {
    assert.ok(row.rolled > 0 && row.cleaned > 0, JSON.stringify(row))
    assert.ok(row.droppedBytes > MIB && row.cleanedBytes > MIB, JSON.stringify(row))
  }
  assert.deepEqual([sum('partitions'), sum('cleaned')], [2 * PARTITIONS, PARTITIONS])
  const [state, logs] = [await segmentsOf(three, 'state'), await segmentsOf(three, 'logs')]
  for (const { segments, cleanedTo, startOffset, endOffset } of state) {
    assert.deepEqual([startOffset, endOffset], [0, 32])
    assert.ok(cleanedTo > 0 && segments[0].cleanedAt !== null)
    assert.equal(segments.filter(({ isActive }: Row) => !isActive).at(-1).next, cleanedTo)
  }
  for (const { startOffset, endOffset } of logs) assert.ok(startOffset > 0 && endOffset === 32)
  for (const broker of brokers) assert.deepEqual(await segmentsOf(broker, 'state'), state)

  const text = await ketch(`storage run --url=${one.url}`)
  assert.equal(text.status, 0)
  const quiet = IDS.map(id => `${id} +done +\\d+ +0 +0 +0 +0 +0 +0 +-\\n`).join('')
  assert.match(text.out, new RegExp(`^Round \\d+ took \\d+ ms\\.\\n\\nBROKER .*\\n${quiet}$`))

  // Two requests at once get the same round, or two that follow each other.
  const [first, second] = (await Promise.all([run(two), run(three)])).map(({ number }: Row) => number)
  assert.ok(Math.abs(first - second) <= 1, `${first} and ${second}`)
  assert.deepEqual(await Promise.all(brokers.map(each => metric(each, UP))).then(ups => ups.toSorted()), [0, 0, 1])
})

test('while no broker may run the worker, nothing is rolled, dropped or cleaned, and health says so', {
  skip: noRedis,
}, async t => {
  const redis = await startRedis(t)
  const brokers = await startThree(t, redis, {
    'svc.storage.worker.enabled': 'false',
    'svc.storage.worker.tick-interval': '200ms',
    'svc.broker.producer-id-expiration': '1s',
  })
  await createTopics(brokers)
  await fill(brokers, 'first')
  const idempotent = openKafka(brokers[0]!.address).producer({ idempotent: true })
  await idempotent.connect()
  await idempotent.send({ topic: 'state', acks: -1, messages: [{ partition: 0, key: '0', value: 'last' }] })
  await idempotent.disconnect()
  const producers = async () => {
    const keys = (await redis.ask('KEYS', 'svc:stream:*:rows')) as string[]
    const rows = await Promise.all(keys.map(async key => (await redis.ask('HKEYS', key)) as string[]))
    return rows.flat().filter(row => row.startsWith('p')).length
  }
  await eventually('the brokers forget the producer', async () => (await producers()) === 0)
  for (const topic of ['state', 'logs'])
    for (const { startOffset, segments, cleanedTo } of await segmentsOf(brokers[0]!, topic))
      assert.deepEqual([startOffset, segments.length, cleanedTo], [0, 1, 0])
  const why =
    'No broker holds the lease of the storage worker: nothing is rolled, dropped or cleaned; svc.storage.worker.enabled is false on this broker.'
  for (const broker of brokers) {
    assert.deepEqual(await health(broker), { holder: null, warning: why })
    assert.equal(await metric(broker, UP), 0)
    assert.equal(await metric(broker, /^svc_storage_worker_(?:rolled_segments|dropped_bytes)_total (\d+)/gm), 0)
    const { status, code } = await ask(broker, 'POST', '/api/v1/storage/worker/run')
    assert.deepEqual([status, code], [503, 'NO_STORAGE_WORKER'])
    const { status: exit, err } = await ketch(`storage run --url=${broker.url}`)
    assert.deepEqual([exit, err.includes('NO_STORAGE_WORKER')], [69, true])
  }
})

const OLD = 9
const EXPIRY_MS = 3_000

test('nothing is cleaned while a broker of an older version lives, and retention goes on', {
  skip: noRedis,
}, async t => {
  const redis = await startRedis(t)
  const brokers = await startThree(t, redis, { 'svc.broker.expiry': `${EXPIRY_MS}ms` })
  const [one] = brokers as [BrokerProcess]
  await createTopics(brokers)
  const leave = await joinAsOldBroker(t, redis)
  const worker = async (broker = one) => (await ask(broker, 'GET', '/api/v1/storage/worker')).body
  for (const broker of brokers)
    await eventually('the brokers see the old one', async () => (await worker(broker)).withoutFeature.includes(OLD))
  await fill(brokers, 'first')
  const prevented = await runByAll(one)
  for (const { rolled, droppedBytes, cleaned, cleanedBytes, trouble } of prevented) {
    assert.deepEqual([cleaned, cleanedBytes, trouble], [0, 0, null])
    assert.ok(rolled > 0 && droppedBytes > 0)
  }
  const { isCleaningAllowed, withoutFeature } = await worker()
  assert.deepEqual([isCleaningAllowed, withoutFeature], [false, [OLD]])
  const why = `No partition is cleaned until these brokers run a version that can read a cleaned log: ${OLD}.`
  for (const broker of brokers) assert.equal((await health(broker)).warning, why)

  leave()
  // Any of them may hold the lease, and each looks at the store at times of its own.
  for (const broker of brokers)
    await eventually('the old broker is gone', async () => (await worker(broker)).isCleaningAllowed)
  for (const row of await runByAll(one)) assert.ok(row.cleaned > 0 && row.cleanedBytes > 0, JSON.stringify(row))
  for (const broker of brokers) assert.equal((await health(broker)).warning, undefined)
})

/**
 * Writes the record of a broker of a version that declares no features, and raises its version as this broker would.
 * The broker serves no clients yet, so it leads nothing. Returns a function with which it falls silent.
 */
async function joinAsOldBroker(t: TestContext, { uri }: RedisServer): Promise<() => void> {
  const { store } = await openTestStore(t, { 'redis.uri': uri })
  const record = { incarnation: 'of an old version', rack: null, endpoints: [], version: '0.9.0', expiryMs: EXPIRY_MS }
  const document = { kind: 'broker', name: String(OLD) } as const
  const changes = [{ key: 'broker', value: Buffer.from(JSON.stringify(record)) }]
  let outcome = await store.commit({ ...document, expect: 0, changes })
  let hasLeft = false
  const beating = (async () => {
    while (!hasLeft) {
      assert.equal(outcome.kind, 'committed')
      await new Promise<void>(resolve => systemClock.timer(EXPIRY_MS / 10, resolve))
      if (!hasLeft && outcome.kind === 'committed')
        outcome = await store.commit({ ...document, expect: outcome.version, changes: [] })
    }
  })()
  const leave = () => {
    hasLeft = true
  }
  t.after(async () => {
    leave()
    await beating
  })
  return leave
}
