import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedClock } from '../../testing/sim/clock.ts'
import { type HistoryRooms, startHistory } from './history.ts'
import { createLogger } from './logger.ts'
import { createMetrics } from './metrics.ts'

const STEP_MS = 15_000

function begin(overrides: Partial<HistoryRooms> = {}) {
  const clock = new SimulatedClock(1_000_000)
  const metrics = createMetrics()
  const lines: string[] = []
  const logger = createLogger({ clock, write: line => lines.push(line), format: 'plain' })
  const history = startHistory({
    metrics,
    clock,
    logger,
    enabled: true,
    intervalMs: STEP_MS,
    retentionMs: 3_600_000,
    maxSeries: 10_000,
    ...overrides,
  })
  const produce = (topic: string, records: number, tookMs = 1) => {
    metrics.observe('svc.broker.request', { api_key: 'Produce', result: 'success' }, tookMs)
    metrics.observe('svc.broker.produce', { topic }, tookMs)
    metrics.count('svc.broker.produce.records', { topic }, records)
    metrics.count('svc.broker.produce.bytes', { topic }, records * 100)
  }
  return { clock, metrics, history, lines, produce }
}

const NOTHING = { p50: Number.NaN, p95: Number.NaN, p99: Number.NaN }

test('counters give the rate of each step, timers its percentiles, gauges their value, oldest first', async () => {
  const { clock, metrics, history, produce } = begin()
  let connections = 3
  metrics.sample('svc.broker.connections', {}, () => connections)
  produce('a', 600, 2)
  metrics.count('svc.broker.failures', { operation: 'auth', error_type: 'X' }, 30)
  metrics.count('svc.broker.lossy_records', { reason: 'lost' }, 15)
  assert.deepEqual(history.samples(), [])
  await clock.advance(STEP_MS)
  connections = 5
  produce('a', 300, 100)
  produce('b', 300, 100)
  metrics.observe('svc.broker.request', { api_key: 'Fetch', result: 'success' }, 400)
  await clock.advance(STEP_MS)
  await clock.advance(STEP_MS)
  const samples = history.samples()
  assert.deepEqual(
    samples.map(({ timestamp, messagesInPerSecond, bytesInPerSecond, produceRequestsPerSecond, activeConnections }) => [
      timestamp,
      messagesInPerSecond,
      bytesInPerSecond,
      produceRequestsPerSecond * 15,
      activeConnections,
    ]),
    [
      [1_015_000, 40, 4000, 1, 3],
      [1_030_000, 40, 4000, 2, 5],
      [1_045_000, 0, 0, 0, 5],
    ],
  )
  assert.deepEqual(
    samples.map(each => [each.brokerFailuresPerSecond, each.lossyRecordsPerSecond, each.fetchRequestsPerSecond * 15]),
    [
      [2, 1, 0],
      [0, 0, 1],
      [0, 0, 0],
    ],
  )
  assert.ok(Math.abs(samples[0]!.requestLatencyMs.p99 - 2) < 0.1)
  assert.ok(Math.abs(samples[1]!.requestLatencyMs.p99 - 400) < 13)
  assert.ok(Math.abs(samples[1]!.produceLatencyMs.p99 - 100) < 4)
  assert.deepEqual(samples[2]!.requestLatencyMs, NOTHING)
})

test('a sample has the members that the metrics mark, and no others', async () => {
  const { clock, metrics, history, produce } = begin()
  produce('a', 15)
  metrics.observe('svc.storage.write', { tier: 'local', result: 'success' }, 3)
  metrics.count('svc.storage.worker.dropped_bytes', {}, 3)
  await clock.advance(STEP_MS)
  assert.deepEqual(Object.keys(history.samples()[0]!).sort(), [
    'activeConnections',
    'backpressureConnections',
    'brokerFailuresPerSecond',
    'bytesInPerSecond',
    'bytesOutPerSecond',
    'fetchRequestsPerSecond',
    'lossyRecordsPerSecond',
    'messagesInPerSecond',
    'messagesOutPerSecond',
    'produceLatencyMs',
    'produceRequestsPerSecond',
    'requestLatencyMs',
    'requestsPerSecond',
    'timestamp',
  ])
})

test('a late step shares its counts with the steps that were missed, so that their sum stays right', async () => {
  // The event loop is blocked for three steps and a half.
  const timers: { at: number; fn: () => void }[] = []
  let nowMs = 0
  const { history, produce } = begin({
    clock: {
      now: () => nowMs,
      monotonic: () => nowMs,
      soon: setImmediate,
      timer(delayMs, fn) {
        timers.push({ at: nowMs + delayMs, fn })
        return { cancel() {} }
      },
    },
  })
  produce('a', 90_000)
  nowMs = STEP_MS * 3.5
  timers[0]!.fn()
  await new Promise(resolve => setImmediate(resolve))
  assert.deepEqual(
    history.samples().map(each => [each.timestamp, each.messagesInPerSecond]),
    [
      [22_500, 2000],
      [37_500, 2000],
      [52_500, 2000],
    ],
  )
  assert.equal(history.steps, 3)
  assert.equal(timers[1]!.at, STEP_MS * 4)
})

test('a topic has the rates of the last step, which are zero before the first, and samples since its first traffic', async () => {
  const { clock, metrics, history, produce } = begin()
  produce('a', 150)
  metrics.count('svc.broker.fetch.records', { topic: 'a' }, 30)
  metrics.observe('svc.broker.fetch', { topic: 'a' }, 500)
  metrics.observe('svc.broker.fetch.delivery', { topic: 'a' }, 5)
  assert.deepEqual(history.topic('a').produce, {
    recordsPerSecond: 0,
    bytesPerSecond: 0,
    requestsPerSecond: 0,
    latencyMs: NOTHING,
  })
  await clock.advance(STEP_MS)
  const { produce: produced, fetch } = history.topic('a')
  assert.deepEqual([produced.recordsPerSecond, produced.bytesPerSecond, produced.requestsPerSecond * 15], [10, 1000, 1])
  assert.deepEqual([fetch.recordsPerSecond, fetch.requestsPerSecond * 15], [2, 1])
  assert.ok(Math.abs(fetch.latencyMs.p99 - 5) < 0.2)
  produce('a', 300)
  produce('b', 15)
  await clock.advance(STEP_MS)
  assert.deepEqual(history.topicSamples('a'), [
    { timestamp: 1_015_000, recordsPerSecond: 10, bytesPerSecond: 1000 },
    { timestamp: 1_030_000, recordsPerSecond: 20, bytesPerSecond: 2000 },
  ])
  assert.deepEqual(history.topicSamples('a', 1).length, 1)
  assert.deepEqual(history.topicSamples('b'), [{ timestamp: 1_030_000, recordsPerSecond: 1, bytesPerSecond: 100 }])
  assert.deepEqual(history.topicSamples('none'), [])
})

test('the samples of a deleted topic are dropped, and the totals of the broker do not fall', async () => {
  const { clock, metrics, history, produce } = begin()
  produce('a', 150)
  await clock.advance(STEP_MS)
  produce('a', 150)
  metrics.forget('topic', 'a')
  produce('a', 15)
  await clock.advance(STEP_MS)
  assert.equal(metrics.total('svc.broker.produce.records'), 315)
  assert.deepEqual(
    history.samples().map(each => each.messagesInPerSecond),
    [10, 11],
  )
  assert.deepEqual(
    history.topicSamples('a').map(each => each.recordsPerSecond),
    [1],
  )
})

test('series beyond max-series have rates and no samples, one warning says so, and deleted topics free their room', async () => {
  const { clock, metrics, history, produce, lines } = begin({ maxSeries: 4 })
  for (const topic of ['a', 'b', 'c']) produce(topic, 15)
  await clock.advance(STEP_MS)
  for (const topic of ['a', 'b', 'c', 'd']) produce(topic, 15)
  await clock.advance(STEP_MS)
  assert.equal(history.topic('d').produce.recordsPerSecond, 1)
  const kept = ['a', 'b', 'c', 'd'].filter(topic => history.topicSamples(topic).length > 0)
  assert.deepEqual(kept, ['a', 'b'])
  assert.equal(lines.filter(line => line.includes('svc.admin.metrics-history.max-series is 4')).length, 1)
  for (const topic of kept) metrics.forget('topic', topic)
  for (const topic of ['c', 'd']) produce(topic, 15)
  await clock.advance(STEP_MS)
  produce('c', 15)
  await clock.advance(STEP_MS)
  assert.ok(history.topicSamples('c').length > 0)
})

test('a topic has records and bytes in its samples, or no samples if there is no room for both', async () => {
  const { clock, metrics, history, produce } = begin({ maxSeries: 3 })
  const samplesOf = (topic: string) =>
    history.topicSamples(topic).map(each => [each.recordsPerSecond, each.bytesPerSecond])
  for (const topic of ['a', 'b']) produce(topic, 15)
  metrics.set('svc.group.lag', { group: 'g' }, 7)
  await clock.advance(STEP_MS)
  assert.deepEqual([samplesOf('a'), samplesOf('b')], [[[1, 100]], []])
  assert.equal(history.groupSamples('g').length, 1)
  metrics.forget('topic', 'a')
  // The next step finds that the topic is gone, and frees its room.
  await clock.advance(STEP_MS)
  produce('b', 30)
  await clock.advance(STEP_MS)
  await clock.advance(STEP_MS)
  assert.deepEqual(samplesOf('b'), [
    [2, 200],
    [0, 0],
  ])
})

test('the newest samples are kept, at most retention / interval of them', async () => {
  const { clock, history, produce } = begin({ intervalMs: 1000, retentionMs: 40_500 })
  for (let step = 1; step <= 100; step++) {
    produce('a', step)
    await clock.advance(1000)
  }
  const samples = history.samples()
  assert.deepEqual(
    samples.map(each => each.messagesInPerSecond),
    Array.from({ length: 40 }, (_, i) => 61 + i),
  )
  assert.equal(history.topicSamples('a').length, 40)
  assert.equal(history.samples({ fromMs: samples[30]!.timestamp }).length, 10)
  const together = history.samples({ stepMs: 10_000 })
  assert.deepEqual(
    together.map(each => each.messagesInPerSecond),
    [65.5, 75.5, 85.5, 95.5],
  )
  assert.equal(together.at(-1)!.timestamp, samples.at(-1)!.timestamp)
})

test('a disabled history serves no samples but captures them', async () => {
  const { clock, history, produce } = begin({ enabled: false })
  produce('a', 15)
  await clock.advance(STEP_MS)
  assert.deepEqual([history.samples(), history.topicSamples('a'), history.groupSamples('g')], [[], [], []])
  assert.equal(history.topic('a').produce.recordsPerSecond, 1)
  assert.equal(history.steps, 1)
})

test('the history of a group has its lag at each step, and NaN while the lag was not known', async () => {
  const { clock, metrics, history } = begin()
  for (const lag of [7, Number.NaN, 9]) {
    metrics.set('svc.group.lag', { group: 'g' }, lag)
    await clock.advance(STEP_MS)
  }
  assert.deepEqual(
    history.groupSamples('g').map(({ lag }) => lag),
    [7, Number.NaN, 9],
  )
})

test('the waits for the pool are those of the last step and of the current one', async () => {
  const { clock, metrics, history } = begin()
  const wait = (result: 'success' | 'timeout', ms: number) =>
    metrics.observe('svc.storage.local.pool.acquire', { result }, ms)
  assert.deepEqual(history.poolWaits(), NOTHING)
  wait('success', 50)
  await clock.advance(STEP_MS)
  wait('timeout', 3_000)
  const { p50, p99 } = history.poolWaits()
  assert.ok(Math.abs(p50 - 50) < 2 && Math.abs(p99 - 3_000) < 100, `${p50} and ${p99}`)
  await clock.advance(STEP_MS)
  assert.ok(Math.abs(history.poolWaits().p50 - 3_000) < 100)
  await clock.advance(STEP_MS)
  assert.deepEqual(history.poolWaits(), NOTHING)
})

test('the latency of requests is known before the first step is over', async () => {
  const { clock, history, produce } = begin()
  assert.deepEqual(history.requestLatency(), NOTHING)
  produce('a', 1, 50)
  assert.ok(Math.abs(history.requestLatency().p50 - 50) < 2)
  await clock.advance(STEP_MS)
  assert.ok(Math.abs(history.requestLatency().p50 - 50) < 2)
  await clock.advance(STEP_MS)
  assert.deepEqual(history.requestLatency(), NOTHING)
})

test('a step keeps its number on the common grid, which is the multiple of the interval nearest to its end', async () => {
  const { clock, history } = begin()
  const startedAt = clock.now()
  assert.equal(history.commonStep, Math.round(startedAt / STEP_MS))
  assert.equal(history.nextStepMs, STEP_MS)
  await clock.advance(STEP_MS)
  assert.equal(history.commonStep, Math.round((startedAt + STEP_MS) / STEP_MS))
  await clock.advance(3 * STEP_MS + 4_000)
  assert.equal(history.commonStep, Math.round((startedAt + 4 * STEP_MS) / STEP_MS))
  assert.equal(history.nextStepMs, STEP_MS - 4_000)
  const { timestamp } = history.samples().at(-1)!
  assert.ok(Math.abs(timestamp - history.commonStep * STEP_MS) <= STEP_MS / 2)
})

test('the rate of requests in the last step is known even if no history is served', async () => {
  const { clock, history, produce } = begin({ enabled: false })
  assert.equal(history.requestsPerSecond, 0)
  for (let i = 0; i < 30; i++) produce('a', 1)
  await clock.advance(STEP_MS)
  assert.deepEqual([history.requestsPerSecond, history.samples()], [2, []])
})
