import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { pattern, startBroker } from '../../../testing/broker.ts'
import { commit } from '../../../testing/group-calls.ts'
import { batchOf } from '../../../testing/kafka.ts'
import { readOpenMetrics } from '../../../testing/openmetrics.ts'
import { SimulatedClock } from '../../../testing/sim/clock.ts'
import { createMemoryStore } from '../../../testing/sim/memory-store.ts'
import { fetch as fetchApi } from '../../protocol/messages/fetch.ts'
import { metadata } from '../../protocol/messages/metadata.ts'
import { offsetCommit } from '../../protocol/messages/offset-commit.ts'
import { produce } from '../../protocol/messages/produce.ts'
import type { Values } from '../../settings/settings.ts'
import { metricRows } from '../../telemetry/metrics.ts'

const STEP_MS = 15_000

/** Starts a broker whose clock the test moves, with a client for its metrics. */
async function begin(t: TestContext, overrides: Partial<Values> = {}) {
  const clock = new SimulatedClock()
  const store = createMemoryStore(clock)
  const options = { clock, openStore: async () => store, hasHttp: true }
  const test = await startBroker(t, { 'admin.security-enabled': false, ...overrides }, options)
  const wire = await test.connect()
  const get = async (path: string, headers: Readonly<Record<string, string>> = {}) => {
    const response = await fetch(`${test.url}/api/v1/${path}`, { headers })
    const body = response.status === 304 ? null : await response.json()
    // biome-ignore lint/suspicious/noExplicitAny: a program reads its members without types.
    return { status: response.status, etag: response.headers.get('etag'), body: body as any }
  }
  const create = (...names: readonly string[]) => wire.send(metadata, 4, { topics: names.map(name => ({ name })) })
  const send = async (topic: string, records: Buffer) => {
    const topicData = [{ name: topic, partitionData: [{ index: 0, records }] }]
    const { responses } = await wire.send(produce, 9, { acks: -1, timeoutMs: 30_000, topicData })
    assert.equal(responses[0]!.partitionResponses[0]!.errorCode, 0)
  }
  return { ...test, clock, store, wire, get, create, send }
}

test('100,000 records that a client counted are as many in the scrape, the snapshot and the history', async t => {
  const { broker, clock, create, send, get } = await begin(t)
  await create('a', 'b')
  const batch = batchOf(Array.from({ length: 1000 }, (_, i) => `record ${i}`))
  let counted = 0
  for (let step = 0; step < 4; step++) {
    for (let i = 0; i < 25; i++) {
      await send(i % 3 === 0 ? 'a' : 'b', Buffer.from(batch))
      counted += 1000
    }
    // The clock does not stop at whole steps: records count when they arrive, not when the history is read.
    await clock.advance(STEP_MS + 1)
  }
  assert.equal(counted, 100_000)

  let text = ''
  for await (const chunk of broker.metrics.exposition('application/openmetrics-text', clock).chunks) text += chunk
  const { samples } = readOpenMetrics(text).get('svc_broker_produce_records')!
  const scraped = [...samples.values()].reduce((sum, each) => sum + each, 0)
  assert.equal(scraped, counted)

  const snapshot = (await get('metrics')).body
  assert.equal(snapshot.messages, counted)
  assert.equal(snapshot.bytes, batch.length * 100)
  assert.equal(snapshot.topicCount, 2)

  const history = (await get('metrics/history')).body
  const total = (field: string) =>
    history.samples.reduce((sum: number, each: Record<string, number>) => sum + each[field]! * (STEP_MS / 1000), 0)
  assert.equal(history.intervalMs, STEP_MS)
  assert.equal(Math.round(total('messagesInPerSecond') * 1e6) / 1e6, counted)
  assert.equal(Math.round(total('produceRequestsPerSecond') * 1e6) / 1e6, 100)
  assert.ok(history.samples[0].produceLatencyMs.p99 >= 0)

  const page = (await get('metrics/topics')).body
  assert.deepEqual([page.total, page.topics.map((each: { name: string }) => each.name)], [2, ['a', 'b']])
  const ofTopics = page.topics.flatMap((each: { samples: { recordsPerSecond: number }[] }) => each.samples)
  const produced = ofTopics.reduce(
    (sum: number, each: { recordsPerSecond: number }) => sum + each.recordsPerSecond * 15,
    0,
  )
  assert.equal(Math.round(produced), counted)
})

test('records that are produced over HTTP count like those of Kafka clients', async t => {
  const { url, create, get, send } = await begin(t)
  await create('a')
  await send('a', batchOf(['first']))
  const messages = [{ value: { text: 'second' } }, { value: { text: 'third' } }]
  const response = await fetch(`${url}/api/v1/topics/a/messages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ messages }),
  })
  assert.equal(response.status, 200)
  assert.equal((await get('metrics')).body.messages, 3)
})

test('a strict parser reads the scrape of a working broker, and it has every metric whose room exists', async t => {
  const { url, create, send, clock, wire } = await begin(t, { topics: [pattern('*', { partitions: 128 })] })
  await create('a', 'b')
  await send('a', batchOf(['v']))
  await wire.send(offsetCommit, 8, {
    ...{ groupId: 'a "group"\n', memberId: '' },
    topics: [{ name: 'a', partitions: [{ partitionIndex: 0, committedOffset: 0, committedMetadata: null }] }],
  })
  await clock.advance(STEP_MS + 1_000)
  const scrapeUrl = new URL('/actuator/prometheus', url)
  const response = await fetch(scrapeUrl, { headers: { accept: 'application/openmetrics-text' } })
  assert.equal(response.headers.get('content-type'), 'application/openmetrics-text; version=1.0.0; charset=utf-8')
  const families = readOpenMetrics(await response.text())
  for (const { name, scrapedName, kind, notYet, isRemote } of metricRows) {
    const family = families.get(kind === 'counter' ? scrapedName.slice(0, -'_total'.length) : scrapedName)
    // This broker has no remote tier.
    assert.equal(family === undefined, notYet !== null || isRemote, name)
  }
  assert.equal(families.get('svc_broker_max_offset')!.samples.get('svc_broker_max_offset{topic="a",partition="0"}'), 1)
  assert.equal(families.get('svc_broker_log_start_offset')!.samples.size, 256)
  assert.equal(families.get('svc_group_lag')!.samples.get('svc_group_lag{group="a \\"group\\"\\n"}'), 1)
  const plain = await fetch(scrapeUrl)
  assert.equal(plain.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8')
})

test('the snapshot has all its members before anything has happened', async t => {
  const { clock, get } = await begin(t)
  await clock.advance(2_500)
  const { status, body } = await get('metrics')
  assert.equal(status, 200)
  const { requests, activeConnections, uptimeMs, ...rest } = body
  assert.deepEqual([activeConnections, uptimeMs], [1, 2_500])
  assert.deepEqual(rest, {
    brokerId: 0,
    topicCount: 0,
    groupCount: 0,
    backpressureConnections: 0,
    messages: 0,
    bytes: 0,
    messagesOut: 0,
    bytesOut: 0,
    rebalances: 0,
    brokerFailures: 0,
    lossyRecords: 0,
    requestLatencyMs: { p50: null, p95: null, p99: null },
    unavailableBrokers: [],
  })
})

test('the snapshot counts groups, requests, rebalances, failures of every kind, and lost records', async t => {
  const { broker, create, get, wire } = await begin(t)
  await create('a')
  const before = (await get('metrics')).body
  for (const groupId of ['one', 'two']) await commit(wire, groupId, { 0: 0 }, 'a')
  const { metrics } = broker
  metrics.count('svc.broker.rebalances', {})
  metrics.count('svc.broker.failures', { operation: 'auth', error_type: 'SASL_AUTHENTICATION_FAILED' }, 2)
  metrics.count('svc.broker.failures', { operation: 'Produce', error_type: 'REQUEST_TIMED_OUT' })
  metrics.count('svc.broker.lossy_records', { reason: 'lost' }, 7)
  metrics.count('svc.broker.lossy_records', { reason: 'corrupt' })
  const { groupCount, requests, rebalances, brokerFailures, lossyRecords } = (await get('metrics')).body
  assert.deepEqual([groupCount, requests - before.requests], [2, 2])
  assert.deepEqual([rebalances, brokerFailures, lossyRecords], [1, 3, 8])
})

test('topics come in pages by name, by a rate, by part of the name, by names, with the requested number of samples', async t => {
  const { clock, create, send, get } = await begin(t)
  await create('a', 'b', 'bb', 'c')
  const none = (await get('metrics/topics?limit=1')).body.topics[0]
  assert.deepEqual([none.produce.recordsPerSecond, none.samples], [0, []])
  for (let step = 0; step < 3; step++) {
    await send('b', batchOf(Array.from({ length: 30 }, () => 'v')))
    await send('bb', batchOf(Array.from({ length: 15 }, () => 'v')))
    await clock.advance(STEP_MS)
  }
  const names = async (query: string) => {
    const { body } = await get(`metrics/topics?${query}`)
    return [body.total, ...body.topics.map((each: { name: string }) => each.name)]
  }
  assert.deepEqual(await names('offset=1&limit=2'), [4, 'b', 'bb'])
  assert.deepEqual(await names('order=desc'), [4, 'c', 'bb', 'b', 'a'])
  assert.deepEqual(await names('sort=produce.recordsPerSecond'), [4, 'b', 'bb', 'a', 'c'])
  assert.deepEqual(await names('sort=produce.bytesPerSecond&order=asc'), [4, 'a', 'c', 'bb', 'b'])
  assert.deepEqual(await names('q=B'), [2, 'b', 'bb'])
  assert.deepEqual(await names('names=c,none,a,a'), [2, 'a', 'c'])
  await create('__b')
  assert.deepEqual(await names('q=b&sort=produce.recordsPerSecond'), [3, 'b', 'bb', '__b'])
  assert.deepEqual(await names('q=b&internal=false&order=desc'), [2, 'bb', 'b'])
  const [b] = (await get('metrics/topics?names=b')).body.topics
  assert.deepEqual([b.produce.recordsPerSecond, b.produce.requestsPerSecond * 15], [2, 1])
  assert.deepEqual(
    b.samples.map((each: { recordsPerSecond: number }) => each.recordsPerSecond),
    [2, 2, 2],
  )
  assert.ok(b.samples[0].timestamp < b.samples[2].timestamp)
  const samplesWith = async (samples: string) =>
    (await get(`metrics/topics?names=b&samples=${samples}`)).body.topics[0].samples.length
  assert.deepEqual([await samplesWith('false'), await samplesWith('2'), await samplesWith('60')], [0, 2, 3])
  for (const query of ['limit=1001', 'limit=0', 'offset=-1', 'sort=size', 'samples=no', 'limit=x'])
    assert.equal((await get(`metrics/topics?${query}`)).status, 400, query)
})

test('a page has 100 topics by default and 1000 at most', async t => {
  const { create, get } = await begin(t)
  const names = Array.from({ length: 101 }, (_, at) => `topic-${at}`)
  // One Metadata request creates at most 100 topics.
  await create(...names.slice(0, 60))
  await create(...names.slice(60))
  const count = async (query: string) => {
    const { body } = await get(`metrics/topics${query}`)
    return [body.total, body.topics.length]
  }
  assert.deepEqual(await count(''), [101, 100])
  assert.deepEqual(await count('?limit=1000'), [101, 101])
  assert.equal((await get('metrics/topics?limit=1001')).status, 400)
})

test('a topic also has the rates of fetched records', async t => {
  const { clock, create, send, get, wire } = await begin(t)
  await create('a')
  await send('a', batchOf(Array.from({ length: 45 }, () => 'v')))
  const partitions = [{ partition: 0, fetchOffset: 0, partitionMaxBytes: 1e6 }]
  await wire.send(fetchApi, 12, { maxWaitMs: 500, minBytes: 1, topics: [{ topic: 'a', partitions }] })
  await clock.advance(STEP_MS)
  const [a] = (await get('metrics/topics')).body.topics
  assert.deepEqual([a.fetch.recordsPerSecond, a.fetch.requestsPerSecond * 15], [3, 1])
  assert.equal(typeof a.fetch.latencyMs.p99, 'number')
  const [sample] = (await get('metrics/history')).body.samples
  assert.deepEqual([sample.messagesOutPerSecond, sample.fetchRequestsPerSecond * 15], [3, 1])
})

test('polling between two steps is answered that nothing has changed', async t => {
  const { clock, create, get } = await begin(t)
  await clock.advance(STEP_MS)
  for (const path of ['metrics/history', 'metrics/topics']) {
    const first = await get(path)
    assert.equal((await get(path, { 'if-none-match': first.etag! })).status, 304)
    await clock.advance(STEP_MS)
    assert.equal((await get(path, { 'if-none-match': first.etag! })).status, 200)
  }
  const before = await get('metrics/topics')
  await create('a')
  assert.equal((await get('metrics/topics', { 'if-none-match': before.etag! })).body.total, 1)
})

test('the history can be read from a given time and in coarser steps', async t => {
  const { clock, create, send, get } = await begin(t)
  await create('a')
  for (let step = 1; step <= 4; step++) {
    await send('a', batchOf(Array.from({ length: step * 15 }, () => 'v')))
    await clock.advance(STEP_MS)
  }
  const rates = async (query: string) =>
    (await get(`metrics/history${query}`)).body.samples.map(
      (each: { messagesInPerSecond: number }) => each.messagesInPerSecond,
    )
  assert.deepEqual(await rates(''), [1, 2, 3, 4])
  assert.deepEqual(await rates(`?step=${2 * STEP_MS}`), [1.5, 3.5])
  assert.deepEqual(await rates(`?from=${clock.now() - STEP_MS}`), [3, 4])
  assert.equal((await get('metrics/history?from=yesterday')).status, 400)
})

test('a disabled history is empty, and topics have their rates without samples', async t => {
  const { clock, create, send, get } = await begin(t, { 'admin.metrics-history.enabled': false })
  await create('a')
  await send('a', batchOf(['v']))
  await clock.advance(STEP_MS)
  const { enabled, samples } = (await get('metrics/history')).body
  assert.deepEqual([enabled, samples], [false, []])
  const [a] = (await get('metrics/topics')).body.topics
  assert.deepEqual([a.produce.recordsPerSecond * 15, a.samples], [1, []])
})

test('a broker that is alone on its store is the whole cluster', async t => {
  const { clock, create, send, get } = await begin(t)
  await create('a')
  for (let step = 1; step <= 3; step++) {
    await send('a', batchOf(Array.from({ length: step * 15 }, () => 'v')))
    await clock.advance(STEP_MS)
  }
  const both = async (path: string) => [(await get(path)).body, (await get(`${path}?scope=cluster`)).body]
  const [snapshot, sum] = await both('metrics')
  assert.deepEqual({ ...sum, uptimeMs: 0 }, { ...snapshot, uptimeMs: 0 })
  const onGrid = (samples: { timestamp: number }[]) =>
    samples.map(({ timestamp, ...rest }) => ({ timestamp: Math.round(timestamp / STEP_MS) * STEP_MS, ...rest }))
  const [history, sums] = await both('metrics/history')
  assert.equal(history.samples.length, 3)
  assert.deepEqual(sums, { ...history, samples: onGrid(history.samples) })
  const [page, summed] = await both('metrics/topics')
  const [topic] = page.topics
  assert.deepEqual(summed, { ...page, topics: [{ ...topic, samples: onGrid(topic.samples) }] })
  const { etag } = await get('metrics/topics?scope=cluster')
  assert.equal((await get('metrics/topics?scope=cluster', { 'if-none-match': etag! })).status, 304)
})

test('the lag of a group counts the records that were not delivered to it or not committed', async t => {
  const { clock, create, send, get, wire } = await begin(t, { topics: [pattern('*', { partitions: 2 })] })
  await create('a')
  await send('a', batchOf(Array.from({ length: 10 }, () => 'v')))
  await commit(wire, 'g', { 0: 4 }, 'a')
  const committedAtMs = clock.now()
  await clock.advance(STEP_MS * 2)
  const { groups, unavailableBrokers } = (await get('metrics/consumer-lag?samples=60')).body
  assert.deepEqual(unavailableBrokers, [])
  assert.deepEqual(
    groups.map(({ samples, ...group }: { samples: { lag: number }[] }) => ({
      ...group,
      lags: samples.map(({ lag }) => lag),
    })),
    [
      {
        groupId: 'g',
        totalLag: 6,
        maxLag: 6,
        partitionsWithUnknownLag: 0,
        partitions: 1,
        lastCommitTimestamp: committedAtMs,
        lags: [6, 6],
      },
    ],
  )
  assert.equal('samples' in (await get('metrics/consumer-lag')).body.groups[0], false)
})

test('the lag of the named groups alone is answered, also if an id contains a comma', async t => {
  const { create, get, wire } = await begin(t)
  await create('a')
  for (const groupId of ['one', 'two', 'one,two', 'ü&=']) await commit(wire, groupId, { 0: 0 }, 'a')
  const named = async (...ids: readonly string[]) => {
    const query = ids.map(id => `groups=${encodeURIComponent(id)}`).join('&')
    const { groups } = (await get(`metrics/consumer-lag?samples=1&${query}`)).body
    return groups.map(({ groupId }: { groupId: string }) => groupId)
  }
  assert.deepEqual(await named('one,two'), ['one,two'])
  assert.deepEqual(await named('two', 'unknown', 'ü&=', 'two'), ['two', 'ü&='])
  assert.deepEqual(await named('unknown'), [])
})

test('without a remote tier no segment is offloaded and none waits', async t => {
  const { get } = await begin(t)
  assert.deepEqual((await get('storage-stats')).body, {
    ...{ segmentsPerMin: 0, bytesPerMin: 0, backlogSegments: null, backlogBytes: null, backlogAgeSeconds: null },
  })
})

test('a query parameter that is not a number is refused by its name', async t => {
  const { get } = await begin(t)
  for (const [query, field] of [
    ['metrics/topics?offset=', 'offset'],
    ['metrics/topics?limit=1e2', 'limit'],
    ['metrics/history?from= 1', 'from'],
    ['metrics/history?step=0', 'step'],
  ] as const) {
    const { status, body } = await get(query)
    assert.deepEqual([status, Object.keys(body.fields)], [400, [field]], query)
  }
})
