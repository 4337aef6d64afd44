import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeResponse, encodeResponse } from '../protocol/codec.ts'
import { describeBrokerMetrics } from '../protocol/messages/describe-broker-metrics.ts'
import { describeTopicMetrics } from '../protocol/messages/describe-topic-metrics.ts'
import type { ResponseInput, ResponseOf } from '../protocol/schema.ts'
import { ADDITIVE } from '../telemetry/history.ts'
import { NO_PERCENTILES } from '../telemetry/step-histogram.ts'
import { wrongInBroker, wrongInTopics } from './peer-numbers.ts'
import { COUNTERS } from './sum-metrics.ts'

const STEPS = { steps: 5, nextStepMs: 1.5, commonStep: 12, intervalMs: 500, isHistoryServed: true }
const NUMBERS = {
  ...Object.fromEntries(COUNTERS.map(field => [field, 7])),
  ...{ uptimeMs: 100, pendingBytes: 0, requestsPerSecond: 0.5, cpuUsage: 1, memoryBytes: 1_000 },
} as ResponseOf<typeof describeBrokerMetrics>['metrics']
const latency = { p50: 0.1, p95: 0.2, p99: 0.3 }
const SAMPLE = {
  ...Object.fromEntries(ADDITIVE.map(field => [field, 2])),
  ...{ requestLatencyMs: latency, produceLatencyMs: NO_PERCENTILES },
} as ResponseOf<typeof describeBrokerMetrics>['history'][number]

/** Returns the answer as it arrives from another broker. */
function ofBroker(given: Partial<ResponseInput<typeof describeBrokerMetrics>>) {
  const answer = { throttleTimeMs: 0, errorCode: 0, metrics: { ...NUMBERS, requestLatencyMs: latency }, ...STEPS }
  const parts = encodeResponse(describeBrokerMetrics, 0, { ...answer, history: [SAMPLE], ...given })
  return decodeResponse(describeBrokerMetrics, 0, Buffer.concat(parts), 0)
}

test('the numbers of a broker are taken if they can be', () => {
  assert.equal(wrongInBroker(ofBroker({})), null)
  assert.equal(wrongInBroker(ofBroker({ metrics: { ...NUMBERS, requestLatencyMs: NO_PERCENTILES } })), null)
  assert.equal(wrongInBroker(ofBroker({ history: [] })), null)
})

test('a number of a broker that cannot be is named', () => {
  const metrics = { ...NUMBERS, requestLatencyMs: latency }
  const told = (given: Parameters<typeof ofBroker>[0]) => wrongInBroker(ofBroker(given))
  for (const [field, value] of [
    ['messages', -1],
    ['bytes', Number.NaN],
    ['requests', Number.POSITIVE_INFINITY],
    ['activeConnections', 0.5],
    ['bytesOut', 1e300],
    ['memoryBytes', -0.1],
    ['requestsPerSecond', Number.NaN],
    ['cpuUsage', 17],
  ] as const)
    assert.equal(
      told({ metrics: { ...metrics, [field]: value } }),
      `has told an impossible number: metrics.${field} is ${value}`,
    )
  assert.equal(
    told({ metrics: { ...metrics, requestLatencyMs: { ...latency, p95: -3 } } }),
    'has told an impossible number: metrics.requestLatencyMs.p95 is -3',
  )
  assert.equal(
    told({ history: [SAMPLE, { ...SAMPLE, bytesInPerSecond: Number.NEGATIVE_INFINITY }] }),
    'has told an impossible number: history.bytesInPerSecond is -Infinity',
  )
  assert.equal(told({ commonStep: -5 }), 'has told an impossible number: commonStep is -5')
  assert.equal(told({ nextStepMs: Number.NaN }), 'has told an impossible number: nextStepMs is NaN')
})

test('the rates of topics are taken once for each topic, and no more samples than were asked for', () => {
  const traffic = { recordsPerSecond: 1, bytesPerSecond: 2, requestsPerSecond: 3, latencyMs: NO_PERCENTILES }
  const topic = { name: 'orders', produce: traffic, fetch: traffic, samples: [] }
  const samples = [{ recordsPerSecond: 1, bytesPerSecond: 2 }]
  const told = (topics: ResponseInput<typeof describeTopicMetrics>['topics'], mostSamples = 1) => {
    const parts = encodeResponse(describeTopicMetrics, 0, { throttleTimeMs: 0, errorCode: 0, ...STEPS, topics })
    return wrongInTopics(decodeResponse(describeTopicMetrics, 0, Buffer.concat(parts), 0), mostSamples)
  }
  assert.equal(
    told([
      { ...topic, samples },
      { ...topic, name: 'payments' },
    ]),
    null,
  )
  assert.equal(told([topic, topic]), 'has told the rates of topic "orders" twice')
  assert.equal(told([{ ...topic, samples }], 0), 'has told 1 samples of topic "orders", and was asked for 0')
  assert.equal(
    told([topic, { ...topic, name: 'p', fetch: { ...traffic, recordsPerSecond: -2 } }]),
    'has told an impossible number: topics.fetch.recordsPerSecond is -2',
  )
  assert.equal(
    told([{ ...topic, samples: [{ recordsPerSecond: Number.NaN, bytesPerSecond: 0 }] }]),
    'has told an impossible number: topics.samples.recordsPerSecond is NaN',
  )
  assert.match(
    told([
      { ...topic, name: 'x'.repeat(20_000) },
      { ...topic, name: 'x'.repeat(20_000) },
    ])!,
    /^.{1,300}$/,
  )
})
