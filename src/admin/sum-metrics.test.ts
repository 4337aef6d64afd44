import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ADDITIVE, type HistorySample, type TopicRates } from '../telemetry/history.ts'
import { NO_PERCENTILES } from '../telemetry/step-histogram.ts'
import { lastCommonStep, sumCounters, sumHistories, sumRates, sumTopicSamples } from './sum-metrics.ts'

const INTERVAL_MS = 1_000

const latency = (p99: number) => ({ p50: p99 / 4, p95: p99 / 2, p99 })

/** Returns a sample with this value in each field that is added up. */
function sample(value: number, p99 = Number.NaN): Omit<HistorySample, 'timestamp'> {
  const numbers = Object.fromEntries(ADDITIVE.map(field => [field, value])) as Record<(typeof ADDITIVE)[number], number>
  return { ...numbers, requestLatencyMs: latency(p99), produceLatencyMs: NO_PERCENTILES }
}

const all = { firstStep: 0, lastStep: 100, intervalMs: INTERVAL_MS, fromMs: 0, stepMs: 0 }

const shown = (sums: ReturnType<typeof sumHistories>) =>
  sums.map(({ timestamp, brokers, messagesInPerSecond, activeConnections, requestLatencyMs: { p99 } }) => {
    assert.equal(messagesInPerSecond, activeConnections)
    return [timestamp, brokers, messagesInPerSecond, p99]
  })

test('histories are joined by the common step, and a sample counts the brokers that have the step', () => {
  const longer = { commonStep: 12, samples: [sample(1), sample(2), sample(3, 8)] }
  const younger = { commonStep: 12, samples: [sample(20, 4), sample(30, 16)] }
  assert.deepEqual(shown(sumHistories([longer, younger], all)), [
    [10_000, 1, 1, Number.NaN],
    [11_000, 2, 22, 4],
    [12_000, 2, 33, 16],
  ])
})

test('a sum ends with the newest step of all brokers, and a broker with a wrong clock does not hold it back', () => {
  const ahead = { commonStep: 13, samples: [sample(1), sample(2), sample(3)] }
  const behind = { commonStep: 12, samples: [sample(10), sample(20)] }
  assert.equal(lastCommonStep(13, [12, 14]), 12)
  assert.equal(lastCommonStep(12, [13]), 12)
  assert.equal(lastCommonStep(13, []), 13)
  assert.equal(lastCommonStep(5_000, [12]), 4_998)
  assert.deepEqual(shown(sumHistories([ahead, behind], { ...all, lastStep: lastCommonStep(13, [12]) })), [
    [11_000, 2, 11, Number.NaN],
    [12_000, 2, 22, Number.NaN],
  ])
})

test('a broker that has just started holds nothing back and adds nothing', () => {
  const old = { commonStep: 12, samples: [sample(1), sample(2)] }
  assert.deepEqual(shown(sumHistories([old, { commonStep: 12, samples: [] }], all)), [
    [11_000, 1, 1, Number.NaN],
    [12_000, 1, 2, Number.NaN],
  ])
})

test('coarser steps have the mean of the sums, the last gauges, the highest percentiles and the fewest brokers', () => {
  const one = { commonStep: 4, samples: [sample(1), sample(2), sample(3), sample(4, 7)] }
  const other = { commonStep: 4, samples: [sample(10), sample(20, 9), sample(30)] }
  const sums = sumHistories([one, other], { ...all, stepMs: 2 * INTERVAL_MS + 1 })
  assert.deepEqual(
    sums.map(each => [each.timestamp, each.brokers, each.messagesInPerSecond, each.activeConnections]),
    [
      [2_000, 1, 6.5, 12],
      [4_000, 2, 28.5, 34],
    ],
  )
  assert.equal(sums[1]!.requestLatencyMs.p99, 9)
  const late = sumHistories([one, other], { ...all, fromMs: 3_000 })
  assert.deepEqual(
    late.map(({ timestamp }) => timestamp),
    [3_000, 4_000],
  )
})

test('steps that this broker would no longer keep, or that cannot be, are left out', () => {
  const own = { commonStep: 12, samples: [sample(1), sample(2)] }
  const { MAX_SAFE_INTEGER } = Number
  const others = [
    { commonStep: 12, samples: new Array(300_000).fill(sample(10)) },
    { commonStep: -MAX_SAFE_INTEGER, samples: [sample(100)] },
    { commonStep: MAX_SAFE_INTEGER, samples: [sample(100), sample(100)] },
  ]
  assert.deepEqual(shown(sumHistories([own, ...others], { ...all, firstStep: 10, lastStep: 12 })), [
    [10_000, 1, 10, Number.NaN],
    [11_000, 2, 11, Number.NaN],
    [12_000, 2, 12, Number.NaN],
  ])
})

test('the samples of a topic are added up, and the newest ones are returned', () => {
  const of = (...values: number[]) => values.map(value => ({ recordsPerSecond: value, bytesPerSecond: 100 * value }))
  const brokers = [
    { commonStep: 7, samples: of(1, 2, 3) },
    { commonStep: 8, samples: of(20, 30, 40) },
    { commonStep: 7, samples: [] },
  ]
  const sums = sumTopicSamples(brokers, { firstStep: 5, lastStep: 7, intervalMs: INTERVAL_MS, limit: 2 })
  assert.deepEqual(sums, [
    { timestamp: 6_000, recordsPerSecond: 22, bytesPerSecond: 2_200 },
    { timestamp: 7_000, recordsPerSecond: 33, bytesPerSecond: 3_300 },
  ])
  const endless = { firstStep: 5, lastStep: 8, intervalMs: INTERVAL_MS, limit: Number.POSITIVE_INFINITY }
  assert.equal(sumTopicSamples(brokers, endless).length, 4)
})

test('rates of a topic are added up, and its percentiles are the highest that are known', () => {
  const traffic = (rate: number, p99: number) => ({
    recordsPerSecond: rate,
    bytesPerSecond: 10 * rate,
    requestsPerSecond: rate / 10,
    latencyMs: latency(p99),
  })
  const brokers: TopicRates[] = [
    { produce: traffic(10, Number.NaN), fetch: traffic(0, Number.NaN) },
    { produce: traffic(30, 8), fetch: traffic(0, Number.NaN) },
    { produce: traffic(50, 4), fetch: traffic(5, Number.NaN) },
  ]
  assert.deepEqual(sumRates(brokers), {
    produce: traffic(90, 8),
    fetch: { ...traffic(5, Number.NaN), latencyMs: NO_PERCENTILES },
  })
})

test('the numbers of a snapshot are added up, apart from the uptime and the percentiles', () => {
  const of = (value: number, uptimeMs: number, p99: number) => ({
    ...{ activeConnections: value, backpressureConnections: value, messages: value, bytes: value },
    ...{ messagesOut: value, bytesOut: value, requests: value, rebalances: value, brokerFailures: value },
    ...{ lossyRecords: value, uptimeMs, requestLatencyMs: latency(p99) },
  })
  assert.deepEqual(sumCounters([of(1, 500, 2), of(20, 100, 8), of(300, 200, Number.NaN)]), of(321, 500, 8))
  const { MAX_SAFE_INTEGER: most } = Number
  assert.deepEqual(sumCounters([of(most, 1, 1), of(most, 1, 1)]), of(most, 1, 1), 'the largest number that JSON holds')
})
