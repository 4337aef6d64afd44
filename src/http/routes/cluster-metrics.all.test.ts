// Tests the metrics of the whole cluster (scope=cluster) and the numbers of each broker, with two brokers on one Redis.

import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import { type TestContext, test } from 'node:test'
import { type AdminClient, adminClient } from '../../../testing/admin-client.ts'
import { startBroker, type TestBroker } from '../../../testing/broker.ts'
import { createCluster } from '../../../testing/cluster.ts'
import { eventually } from '../../../testing/eventually.ts'
import { startBrokerProcess } from '../../../testing/process.ts'
import { noRedis, startRedis } from '../../../testing/redis.ts'
import { createTopicOfAll } from '../../../testing/topic.ts'
import { systemClock } from '../../base/clock.ts'
import { systemRandom } from '../../base/random.ts'
import { joinCluster } from '../../cluster/cluster.ts'
import { metadata } from '../../protocol/messages/metadata.ts'
import { createLogger } from '../../telemetry/logger.ts'

// biome-ignore lint/suspicious/noExplicitAny: rows of answers, the test reads their members without types
type Row = any

const INTERVAL_MS = 500

const SETTINGS = {
  'admin.security-enabled': false,
  'admin.metrics-history.interval': INTERVAL_MS,
  'broker.expiry': 3_000,
} as const

const PATHS = ['/metrics', '/metrics/topics', '/metrics/history'] as const

function apiOf({ url }: Pick<TestBroker, 'url'>): AdminClient {
  return adminClient(`${url}/api/v1`)
}

async function bodyOf(api: AdminClient, path: string): Promise<Row> {
  const { status, body } = await api.ask('GET', path)
  assert.equal(status, 200, `${path}: ${JSON.stringify(body)}`)
  return body
}

/** Starts two brokers on a Redis of their own. */
async function startTwo(t: TestContext) {
  const { uri } = await startRedis(t)
  const start = (id: number) => startBroker(t, { ...SETTINGS, 'redis.uri': uri, 'broker.id': id }, { hasHttp: true })
  const brokers = [await start(1), await start(2)] as const
  for (const broker of brokers) {
    const wire = await broker.connect()
    const sees = async () => (await wire.send(metadata, 9, { topics: [] })).brokers.length === 2
    await eventually('each broker sees both', sees, 60_000)
  }
  return { brokers, apis: brokers.map(apiOf) as [AdminClient, AdminClient] }
}

/** Returns a partition of the topic for each of the brokers 1 and 2, which leads it. */
async function ledBy({ connect }: TestBroker, name: string): Promise<readonly [number, number]> {
  const wire = await connect()
  const { topics } = await wire.send(metadata, 9, { topics: [{ name }] })
  const led = (id: number) => topics[0]!.partitions.find(({ leaderId }) => leaderId === id)!.partitionIndex
  return [led(1), led(2)]
}

/** Produces through the broker that leads the partition. */
async function produce(api: AdminClient, topic: string, partition: number, count: number): Promise<void> {
  const messages = Array.from({ length: count }, () => ({ partition, value: { text: 'v' } }))
  await eventually(`partition ${partition} of ${topic} takes records`, async () => {
    const { body } = await api.ask('POST', `/topics/${topic}/messages`, { messages })
    return body.messages?.every((row: Row) => row.error === null) ?? false
  })
}

const countOf = ({ samples }: Row): number =>
  Math.round(samples.reduce((sum: number, each: Row) => sum + each.messagesInPerSecond * (INTERVAL_MS / 1000), 0))

test('both brokers of a cluster show the same sums', { skip: noRedis, timeout: 240_000 }, async t => {
  const { brokers, apis } = await startTwo(t)
  await createTopicOfAll(brokers[0], 'orders', 6, [1, 2])
  const partitions = await ledBy(brokers[0], 'orders')
  await produce(apis[0], 'orders', partitions[0], 30)
  await produce(apis[1], 'orders', partitions[1], 70)

  for (const [i, api] of apis.entries()) {
    assert.equal((await bodyOf(api, '/metrics')).messages, i === 0 ? 30 : 70, 'by default the numbers of one broker')
    await eventually(
      'the snapshot has the sum',
      async () => (await bodyOf(api, '/metrics?scope=cluster')).messages === 100,
    )
    await eventually(
      'the history has the sum',
      async () => countOf(await bodyOf(api, '/metrics/history?scope=cluster')) === 100,
    )
    const own = await bodyOf(api, '/metrics')
    const sum = await bodyOf(api, '/metrics?scope=cluster')
    assert.deepEqual([sum.topicCount, sum.groupCount, sum.unavailableBrokers], [1, 0, []])
    assert.ok(sum.activeConnections > own.activeConnections && sum.bytes > own.bytes && sum.requests > own.requests)
    assert.ok(sum.uptimeMs >= own.uptimeMs && sum.requestLatencyMs.p99 > 0)

    const history = await bodyOf(api, '/metrics/history?scope=cluster')
    assert.deepEqual(history.unavailableBrokers, [])
    assert.ok(history.samples.at(-1).brokers === 2)
    for (const [index, { timestamp }] of history.samples.entries()) {
      assert.equal(timestamp % INTERVAL_MS, 0)
      assert.equal(timestamp, history.samples[0].timestamp + index * INTERVAL_MS, 'no step is missing or double')
    }
    const page = await bodyOf(api, '/metrics/topics?scope=cluster')
    assert.deepEqual([page.total, page.unavailableBrokers], [1, []])
    const produced = page.topics[0].samples.reduce(
      (sum: number, each: Row) => sum + each.recordsPerSecond * (INTERVAL_MS / 1000),
      0,
    )
    assert.equal(Math.round(produced), 100)
  }
  await eventually('both have the same steps', async () => {
    const [one, two] = await Promise.all(apis.map(api => bodyOf(api, '/metrics/history?scope=cluster')))
    const byStep = new Map<number, Row>(one.samples.map((each: Row) => [each.timestamp, each]))
    const shared = two.samples.filter(({ timestamp }: Row) => byStep.has(timestamp))
    for (const each of shared) assert.deepEqual(each, byStep.get(each.timestamp))
    return shared.length >= 3
  })
})

test('topics are sorted by the sum of their rates before they are paged', {
  skip: noRedis,
  timeout: 240_000,
}, async t => {
  const { brokers, apis } = await startTwo(t)
  const [one, two] = apis
  for (const name of ['here', 'spread', 'there']) await createTopicOfAll(brokers[0], name, 6, [1, 2])
  const led = await Promise.all(['here', 'spread', 'there'].map(name => ledBy(brokers[0], name)))
  let isOver = false
  const producing = (async () => {
    while (!isOver) {
      await produce(one, 'here', led[0]![0], 15)
      await produce(one, 'spread', led[1]![0], 10)
      await produce(two, 'spread', led[1]![1], 10)
      await produce(two, 'there', led[2]![1], 15)
    }
  })()
  const first = async (api: AdminClient, scope: string) =>
    (await bodyOf(api, `/metrics/topics?sort=produce.recordsPerSecond&limit=1&samples=2&scope=${scope}`)).topics[0]
  for (const [i, api] of apis.entries()) {
    // The newest step may have cut a round of the producing above in two, and then the order is another one.
    await eventually('the spread topic is first', async () => (await first(api, 'cluster')).name === 'spread')
    const own = i === 0 ? 'here' : 'there'
    await eventually(`${own} is first on its broker`, async () => (await first(api, 'broker')).name === own)
    assert.ok((await first(api, 'cluster')).samples.length <= 2)
  }
  isOver = true
  await producing

  for (const path of ['/metrics/topics?scope=cluster', '/metrics/history?scope=cluster']) {
    await eventually('polling between two steps is answered that nothing has changed', async () => {
      const { headers } = await one.ask('GET', path)
      const again = await one.ask('GET', path, undefined, { 'if-none-match': headers.get('etag')! })
      return again.status === 304
    })
    const { headers } = await one.ask('GET', path)
    await eventually('a step of any broker changes the answer', async () => {
      const again = await one.ask('GET', path, undefined, { 'if-none-match': headers.get('etag')! })
      return again.status === 200
    })
  }
})

test('a broker that is stopped is named after about 2 s, and everything else is answered', {
  skip: noRedis,
  timeout: 240_000,
}, async t => {
  const { uri } = await startRedis(t)
  // The paused broker stays in the list for longer than the test pauses it.
  const expiryMs = 20_000
  const settings = { ...SETTINGS, 'redis.uri': uri, 'broker.id': 1, 'broker.expiry': expiryMs }
  const one = await startBroker(t, settings, { hasHttp: true })
  const two = await startBrokerProcess(t, {
    settings: {
      'svc.redis.uri': uri,
      'svc.broker.id': '2',
      'svc.broker.expiry': `${expiryMs}ms`,
      'svc.admin.security-enabled': 'false',
      'svc.admin.metrics-history.interval': `${INTERVAL_MS}ms`,
    },
  })
  const api = apiOf(one)
  await createTopicOfAll(one, 'orders', 6, [1, 2])
  const partitions = await ledBy(one, 'orders')
  await produce(api, 'orders', partitions[0], 30)
  await produce(apiOf(two), 'orders', partitions[1], 70)
  await eventually('the sum has both', async () => (await bodyOf(api, '/metrics?scope=cluster')).messages === 100)

  const rows = async (): Promise<Row[]> => (await bodyOf(api, '/brokers')).brokers
  for (const row of await rows()) {
    assert.equal(row.silentReason, null)
    assert.ok(row.uptimeMs > 0 && row.activeConnections > 0 && row.memoryBytes > 10_000_000 && row.pendingBytes >= 0)
    assert.ok(row.cpuUsage >= 0 && row.cpuUsage <= 1 && row.requestsPerSecond >= 0)
    assert.equal(row.backpressureConnections, 0)
    assert.deepEqual(Object.keys(row.requestLatencyMs), ['p50', 'p95', 'p99'])
  }

  two.pause()
  const isNamed = async (path: string) => {
    const begunAtMs = systemClock.monotonic()
    const { unavailableBrokers } = await bodyOf(api, `${path}?scope=cluster`)
    const tookMs = systemClock.monotonic() - begunAtMs
    assert.ok(tookMs < 4_000, `${path} took ${tookMs} ms`)
    if (unavailableBrokers.length === 0) return false
    assert.equal(unavailableBrokers[0].brokerId, 2)
    assert.match(unavailableBrokers[0].reason, /^broker 2 /)
    return true
  }
  await Promise.all(PATHS.map(path => eventually(`${path} names the silent broker`, () => isNamed(path))))
  assert.equal((await bodyOf(api, '/metrics?scope=cluster')).messages, 30)
  const begunAtMs = systemClock.monotonic()
  const [first, second] = await rows()
  assert.ok(systemClock.monotonic() - begunAtMs < 4_000)
  assert.deepEqual([first.silentReason, first.uptimeMs > 0], [null, true])
  const { id, leads, silentReason, uptimeMs, requestLatencyMs, memoryBytes, cpuUsage, requestsPerSecond } = second
  assert.deepEqual(
    [id, uptimeMs, requestLatencyMs, memoryBytes, cpuUsage, requestsPerSecond],
    [2, ...Array(5).fill(null)],
  )
  assert.ok(leads > 0)
  assert.match(silentReason, /^broker 2 has not answered within 2000 ms/)

  two.resume()
  for (const path of PATHS)
    await eventually(`${path} has broker 2 again`, async () => {
      return (await bodyOf(api, `${path}?scope=cluster`)).unavailableBrokers.length === 0
    })
  assert.equal((await bodyOf(api, '/metrics?scope=cluster')).messages, 100)
  assert.equal((await rows())[1].silentReason, null)
})

test('a broker that does not know the question, and one with other steps, are named with the reason', async t => {
  const cluster = createCluster(t, SETTINGS, { hasHttp: true })
  const one = await cluster.start(1)
  const two = await cluster.start(2, { 'admin.metrics-history.interval': 2 * INTERVAL_MS })
  const three = await cluster.start(3, { 'admin.metrics-history.enabled': false })
  // An older version closes the connection after a request that it does not know.
  const older = createServer(socket => socket.on('error', () => {}).once('data', () => socket.destroy()))
  await new Promise<void>(resolve => older.listen(0, '127.0.0.1', resolve))
  t.after(() => older.close())
  const record = await joinCluster({
    store: cluster.contents.beside(),
    clock: systemClock,
    random: systemRandom,
    logger: createLogger({ clock: systemClock, write: () => {}, format: 'plain' }),
    brokerId: 4,
    rack: null,
    expiryMs: 3_000,
    lost: error => assert.fail(error),
  })
  t.after(() => record.close())
  const { port } = older.address() as { port: number }
  await record.announce([{ name: 'PLAINTEXT', host: '127.0.0.1', port, security: 'plaintext' }])
  await cluster.agreed([one, two, three], [1, 2, 3, 4])

  const api = apiOf(one)
  const reasons = async (path: string) => {
    const { unavailableBrokers } = await bodyOf(api, path)
    return unavailableBrokers.map(({ brokerId, reason }: Row) => [brokerId, reason])
  }
  const unknown = [4, 'broker 4 has closed the connection']
  assert.deepEqual(await reasons('/metrics?scope=cluster'), [unknown])
  assert.deepEqual(await reasons('/metrics/topics?scope=cluster&samples=false'), [unknown])
  assert.deepEqual(await reasons('/metrics/history?scope=cluster'), [
    [2, `broker 2 has steps of 1000 ms and this broker steps of 500 ms (svc.admin.metrics-history.interval)`],
    [3, 'broker 3 serves no history: svc.admin.metrics-history.enabled is false'],
    unknown,
  ])
  const { brokers } = await bodyOf(api, '/brokers')
  assert.deepEqual(
    brokers.map(({ silentReason }: Row) => silentReason),
    [null, null, null, unknown[1]],
  )
  const disabled = await bodyOf(apiOf(three), '/metrics/history?scope=cluster')
  assert.deepEqual([disabled.enabled, disabled.samples, disabled.unavailableBrokers], [false, [], []])
  for (const path of PATHS) assert.equal((await api.ask('GET', `${path}?scope=all`)).status, 400, path)
})

test('a broker on the embedded store is the whole cluster', async t => {
  const api = apiOf(await startBroker(t, SETTINGS, { hasHttp: true }))
  await api.ask('POST', '/topics', { name: 'orders', partitions: 1 })
  await produce(api, 'orders', 0, 30)
  await eventually(
    'the history has the records',
    async () => countOf(await bodyOf(api, '/metrics/history?scope=cluster')) === 30,
  )
  const [own, sum] = [await bodyOf(api, '/metrics'), await bodyOf(api, '/metrics?scope=cluster')]
  assert.deepEqual([sum.messages, sum.bytes, sum.unavailableBrokers], [30, own.bytes, []])
  const { topics, unavailableBrokers } = await bodyOf(api, '/metrics/topics?scope=cluster')
  assert.deepEqual([topics[0].name, topics[0].samples.length > 0, unavailableBrokers], ['orders', true, []])
  const { brokers } = await bodyOf(api, '/brokers')
  assert.deepEqual([brokers.length, brokers[0].silentReason, brokers[0].uptimeMs > 0], [1, null, true])
})
