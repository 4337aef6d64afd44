import assert from 'node:assert/strict'
import { test } from 'node:test'
import { courseOf, historyQuery, type Sample, shortHistory } from './course.ts'

const INTERVAL = 15_000
const NOON = Date.UTC(2026, 10, 26, 12)

function sample(timestamp: number, rates: Partial<Sample> = {}): Sample {
  const none = { p50: null, p95: null, p99: null }
  return {
    ...{ timestamp, messagesInPerSecond: 1, bytesInPerSecond: 1, messagesOutPerSecond: 1, bytesOutPerSecond: 1 },
    ...{ requestsPerSecond: 1, produceRequestsPerSecond: 1, fetchRequestsPerSecond: 1, brokerFailuresPerSecond: 0 },
    ...{ lossyRecordsPerSecond: 0, activeConnections: 1, backpressureConnections: 0, requestLatencyMs: none },
    ...{ produceLatencyMs: none, brokers: 1, ...rates },
  }
}

const steps = (count: number, endMs = NOON) =>
  Array.from({ length: count }, (_, at) => sample(endMs - (count - 1 - at) * INTERVAL))

test('the grid spans the whole range, and ends with the newest sample', () => {
  const { times, samples, startsAtMs } = courseOf({ samples: steps(80), intervalMs: INTERVAL }, '15m')
  assert.equal(times.length, 60)
  assert.equal(times.at(-1), NOON)
  assert.ok(samples.every(each => each !== null))
  assert.equal(startsAtMs, null)
})

test('a missing step is a gap', () => {
  const all = steps(60).filter((_, at) => at !== 30)
  const { samples, times } = courseOf({ samples: all, intervalMs: INTERVAL }, '15m')
  assert.equal(samples.filter(each => each === null).length, 1)
  assert.equal(samples[30], null)
  assert.equal(times[30], NOON - 29 * INTERVAL)
})

test('an hour is a grid of minutes, also when the steps of two brokers do not lie on whole minutes', () => {
  const all = Array.from({ length: 60 }, (_, at) => sample(NOON - (59 - at) * 60_000 + (at % 2 === 0 ? 0 : 7_000)))
  const { samples } = courseOf({ samples: all, intervalMs: INTERVAL }, '1h')
  assert.equal(samples.length, 60)
  assert.ok(samples.every(each => each !== null))
})

test('the failures of the range are counted from their rates', () => {
  const all = [
    ...steps(59, NOON - INTERVAL),
    sample(NOON, { brokerFailuresPerSecond: 2 / 15, lossyRecordsPerSecond: 1 }),
  ]
  const { failures, lossyRecords } = courseOf({ samples: all, intervalMs: INTERVAL }, '15m')
  assert.equal(failures, 2)
  assert.equal(lossyRecords, 15)
})

test('failures before the range are not counted', () => {
  const all = [sample(NOON - 70 * INTERVAL, { brokerFailuresPerSecond: 9 }), ...steps(60)]
  assert.equal(courseOf({ samples: all, intervalMs: INTERVAL }, '15m').failures, 0)
})

test('a broker without a sample has an empty course', () => {
  const course = courseOf({ samples: [], intervalMs: INTERVAL }, '15m')
  assert.deepEqual([course.times, course.latest, course.startsAtMs], [[], null, null])
})

test('a short history says when it starts, and why', () => {
  const keeping = { intervalMs: INTERVAL, retentionMs: 3_600_000 }
  const course = courseOf({ samples: steps(8), intervalMs: INTERVAL }, '15m')
  const said = (startedAtMs: number | null, given = keeping) => shortHistory(course, given, startedAtMs, 'UTC')
  assert.equal(said(NOON - 120_000), 'History starts at 11:58, when this broker started.')
  assert.equal(said(NOON - 86_400_000), 'History starts at 11:58.')
  assert.equal(said(null), 'History starts at 11:58.')
  assert.equal(
    said(NOON - 86_400_000, { intervalMs: INTERVAL, retentionMs: 120_000 }),
    'History starts at 11:58: the broker keeps 2 min.',
  )
})

test('a whole history says nothing', () => {
  const keeping = { intervalMs: INTERVAL, retentionMs: 3_600_000 }
  const course = courseOf({ samples: steps(60), intervalMs: INTERVAL }, '15m')
  assert.equal(shortHistory(course, keeping, NOON - 1, 'UTC'), null)
})

test('two polls of a range ask for the same address, and the answer holds the whole range', () => {
  assert.deepEqual(historyQuery('15m', NOON + 1_000), historyQuery('15m', NOON + 100_000))
  assert.ok(historyQuery('1h', NOON + 1).from <= NOON - 3_600_000)
})
