// Keeps the values of the metrics step by step. They are in memory only and are lost when the process ends. At the end
// of each step (`admin.metrics-history.interval`) a counter gives its rate, a timer its percentiles and a gauge its
// value. The metrics table says which metrics are captured. The steps lie on a grid that begins when the broker starts.
// If a step is captured late, it shares its counts with the steps that were missed. So the sum of rate times interval
// over all steps is always the number that was counted.
//
//   of the broker as a whole     a ring for each number of a sample
//   of each topic and group      a ring for each value that is drawn over time (`series`), at most `max-series` rings;
//                                for the others only the last step
//
// The grids of two brokers lie anywhere between each other. To add up their steps, each broker counts its own on a
// common grid: the multiples of the interval since 1970. Its whole grid moves there by the same part of a step, at most
// half of it, so that neighbouring steps stay neighbours.
//
// This file measures nothing itself. It has only the values of this broker.

import { afterOthers, type Clock } from '../base/clock.ts'
import type { Logger } from './logger.ts'
import { type MetricName, type Metrics, metricRows, type Series } from './metrics.ts'
import { Ring } from './ring.ts'
import { highest, NO_PERCENTILES, type Percentiles, StepHistogram } from './step-histogram.ts'

/**
 * One step of the broker as a whole. Rates are per second. Percentiles are in milliseconds, and NaN if there was no
 * request.
 */
export interface HistorySample {
  /** The end of the step, milliseconds since 1970. */
  readonly timestamp: number
  readonly messagesInPerSecond: number
  readonly bytesInPerSecond: number
  readonly messagesOutPerSecond: number
  readonly bytesOutPerSecond: number
  readonly requestsPerSecond: number
  readonly produceRequestsPerSecond: number
  readonly fetchRequestsPerSecond: number
  readonly brokerFailuresPerSecond: number
  readonly lossyRecordsPerSecond: number
  readonly activeConnections: number
  readonly backpressureConnections: number
  readonly requestLatencyMs: Percentiles
  readonly produceLatencyMs: Percentiles
}

/** One kind of traffic of a topic in the last step. */
export interface TopicTraffic {
  readonly recordsPerSecond: number
  readonly bytesPerSecond: number
  readonly requestsPerSecond: number
  readonly latencyMs: Percentiles
}

export interface TopicRates {
  readonly produce: TopicTraffic
  readonly fetch: TopicTraffic
}

export interface TopicSample {
  readonly timestamp: number
  readonly recordsPerSecond: number
  readonly bytesPerSecond: number
}

export interface GroupSample {
  readonly timestamp: number
  /** NaN if the lag was not known. */
  readonly lag: number
}

export interface HistoryQuery {
  /** Leaves out steps that ended before this time, in milliseconds since 1970. */
  readonly fromMs?: number
  /**
   * Combines as many steps as fit into this time: the mean of rates, the highest percentiles, the last value of gauges.
   */
  readonly stepMs?: number
}

export interface History {
  /** Whether samples are returned. The broker captures them in any case. */
  readonly isServed: boolean
  readonly intervalMs: number
  readonly retentionMs: number
  /** When capture began, milliseconds since 1970. */
  readonly startedAtMs: number
  /** Milliseconds since capture began. */
  readonly uptimeMs: number
  /** The number of completed steps. The values that the history returns change only when this number changes. */
  readonly steps: number
  /** Milliseconds until the next step is complete; 0 if it is late. */
  readonly nextStepMs: number
  /**
   * The number of the newest step on the common grid: the step ends at this number times intervalMs since 1970. It
   * follows the wall clock of the machine. Before the first step, it is the number at the start of capture.
   */
  readonly commonStep: number
  /** The requests per second of the last step; 0 before the first one. */
  readonly requestsPerSecond: number
  /** Returns the samples, oldest first; empty if the history is not served. */
  samples(query?: HistoryQuery): readonly HistorySample[]
  /** Returns the rates of the last step; zero before the first step and for an unknown topic. */
  topic(name: string): TopicRates
  /**
   * Returns the produced records and bytes, oldest first: the newest `limit` steps since the topic had traffic. Empty
   * if there was no room for the series.
   */
  topicSamples(name: string, limit?: number): readonly TopicSample[]
  groupSamples(groupId: string, limit?: number): readonly GroupSample[]
  /** Returns the latency over the last step and the current one. */
  requestLatency(): Percentiles
  /** Returns the waits for a connection of the store's pool over the last step and the current one. */
  poolWaits(): Percentiles
  close(): void
}

export interface HistoryRooms {
  readonly metrics: Metrics
  readonly clock: Clock
  readonly logger: Logger
  /** `admin.metrics-history.*` */
  readonly enabled: boolean
  readonly intervalMs: number
  readonly retentionMs: number
  readonly maxSeries: number
}

/** The history of one child. */
interface Track {
  readonly label: string
  /** At the end of the last step: the total of a counter, the count of a timer. */
  last: number
  rate: number
  percentiles: Percentiles
  /** Null until there is a value to keep, or if there is no room. */
  ring: Ring | null
}

/** The number of children that are captured before other work gets its turn. */
const AT_ONCE = 500

/**
 * Each sample of a topic has both, so the history keeps both or neither. The series of records takes the room for both.
 */
const RECORDS = 'svc.broker.produce.records'
const BYTES = 'svc.broker.produce.bytes'

const POOL = 'svc.storage.local.pool.acquire'
const PRODUCE = 'Produce'
const FETCH = 'Fetch'

/** The members of a sample that are one number each. */
type Field = Exclude<keyof HistorySample, 'timestamp' | 'requestLatencyMs' | 'produceLatencyMs'>

const GAUGES = Object.freeze(['activeConnections', 'backpressureConnections'] as const)
const RATES = Object.freeze([
  'messagesInPerSecond',
  'bytesInPerSecond',
  'messagesOutPerSecond',
  'bytesOutPerSecond',
  'requestsPerSecond',
  'produceRequestsPerSecond',
  'fetchRequestsPerSecond',
  'brokerFailuresPerSecond',
  'lossyRecordsPerSecond',
] as const)
type Rate = (typeof RATES)[number]

/** The members of a sample that can be added up over brokers. */
export const ADDITIVE = Object.freeze([...RATES, ...GAUGES] as const)

const LATENCIES = Object.freeze(['requestLatencyMs', 'produceLatencyMs'] as const)

/** Begins to capture the metrics. */
export function startHistory(rooms: HistoryRooms): History {
  const { metrics, clock, enabled: isServed, intervalMs, retentionMs, maxSeries } = rooms
  const logger = rooms.logger.named('telemetry.history')
  const capacity = Math.max(1, Math.floor(retentionMs / intervalMs))

  const times = new Ring(capacity)
  const rings = Object.fromEntries([...RATES, ...GAUGES].map(field => [field, new Ring(capacity)])) as Readonly<
    Record<Field, Ring>
  >
  const latencies = LATENCIES.map(() => [new Ring(capacity), new Ring(capacity), new Ring(capacity)] as const)
  let totals = totalsOf(metrics)
  /** The request times of the last step, of all APIs together. */
  let lastRequests = new StepHistogram()
  let lastWaits = new StepHistogram()

  /** The metrics that are captured for each topic or group. The others are captured for the broker as a whole. */
  const tagged = metricRows.filter(
    ({ captured, labels, notYet }) =>
      captured !== null && notYet === null && (labels.includes('topic') || labels.includes('group')),
  )
  const tracks = new Map<MetricName, Map<string, Track & { series: Series }>>(
    tagged.map(({ name }) => [name, new Map()]),
  )
  let seriesCount = 0
  let hasWarned = false

  let steps = 0
  let isClosed = false
  const startedAtMs = clock.monotonic()
  const startedAtWallMs = Math.round(clock.now())
  /** How many intervals of the grid have been captured. */
  let passed = 0
  let timer = clock.timer(intervalMs, () => void step())

  async function step(): Promise<void> {
    const nowMs = clock.monotonic()
    // The timer may fire a fraction of a millisecond early, and any number of steps late.
    const missed = Math.max(1, Math.floor((nowMs - startedAtMs) / intervalMs) - passed)
    passed += missed
    captureWhole(missed)
    await captureChildren(missed)
    steps += missed
    if (!isClosed) timer = clock.timer(startedAtMs + (passed + 1) * intervalMs - clock.monotonic(), () => void step())
  }

  function captureWhole(missed: number): void {
    const seconds = (missed * intervalMs) / 1000
    const before = totals
    totals = totalsOf(metrics)
    const requests = new StepHistogram()
    const produces = new StepHistogram()
    for (const { labels, step } of metrics.series('svc.broker.request')) {
      requests.add(step!)
      if (labels.api_key === PRODUCE) produces.add(step!)
      step!.clear()
    }
    lastRequests = requests
    lastWaits = new StepHistogram()
    for (const { step } of metrics.series(POOL)) {
      lastWaits.add(step!)
      step!.clear()
    }
    const percentiles = [requests.percentiles(), produces.percentiles()]
    const gauges = {
      activeConnections: metrics.read('svc.broker.connections', {}),
      backpressureConnections: metrics.read('svc.broker.backpressure_connections', {}),
    }
    const wallMs = Math.round(clock.now())
    for (let left = Math.min(missed, capacity) - 1; left >= 0; left--) {
      times.push(wallMs - left * intervalMs)
      for (const field of RATES) rings[field].push((totals[field] - before[field]) / seconds)
      for (const field of GAUGES) rings[field].push(gauges[field])
      for (const [i, { p50, p95, p99 }] of percentiles.entries()) {
        latencies[i]![0].push(p50)
        latencies[i]![1].push(p95)
        latencies[i]![2].push(p99)
      }
    }
  }

  async function captureChildren(missed: number): Promise<void> {
    let looked = 0
    for (const { name, kind, labels, captured } of tagged) {
      const label = labels.includes('topic') ? 'topic' : 'group'
      const known = tracks.get(name)!
      const gone = new Map(known)
      for (const series of metrics.series(name)) {
        const value = series.labels[label]!
        gone.delete(value)
        let track = known.get(value)
        if (track === undefined || track.series !== series) {
          if (track !== undefined) letGo(name, track)
          track = { label: value, series, last: 0, rate: 0, percentiles: NO_PERCENTILES, ring: null }
          known.set(value, track)
        }
        if (kind === 'gauge') track.rate = series.value
        else {
          const total = kind === 'counter' ? series.value : series.count
          track.rate = (total - track.last) / ((missed * intervalMs) / 1000)
          track.last = total
        }
        if (series.step !== null) {
          track.percentiles = series.step.percentiles()
          series.step.clear()
        }
        if (captured === 'series') keep(name, track, missed)
        if (++looked % AT_ONCE === 0) await afterOthers(clock)
      }
      for (const [value, track] of gone) {
        letGo(name, track)
        known.delete(value)
      }
    }
  }

  function keep(name: MetricName, track: Track, missed: number): void {
    if (track.ring === null) {
      // A child that never had any traffic needs no room.
      if (track.rate === 0) return
      if (name === BYTES && !find(RECORDS, track.label)?.ring) return
      if (seriesCount + roomOf(name) > maxSeries) {
        if (!hasWarned) {
          hasWarned = true
          logger.warn(
            `the history has no room for another series: svc.admin.metrics-history.max-series is ${maxSeries}; ` +
              'further topics and groups have rates and no samples',
            { first: track.label },
          )
        }
        return
      }
      seriesCount += roomOf(name)
      track.ring = new Ring(capacity)
    }
    for (let i = Math.min(missed, capacity); i > 0; i--) track.ring.push(track.rate)
  }

  function letGo(name: MetricName, track: Track): void {
    if (track.ring === null) return
    seriesCount -= roomOf(name)
    track.ring = null
  }

  function sampleAt(age: number): HistorySample {
    const percentilesAt = (which: number): Percentiles => {
      const [p50, p95, p99] = latencies[which]!
      return { p50: p50.back(age), p95: p95.back(age), p99: p99.back(age) }
    }
    return {
      timestamp: times.back(age),
      ...(Object.fromEntries(Object.entries(rings).map(([field, ring]) => [field, ring.back(age)])) as Record<
        Field,
        number
      >),
      requestLatencyMs: percentilesAt(0),
      produceLatencyMs: percentilesAt(1),
    }
  }

  const find = (name: MetricName, label: string): Track | undefined => tracks.get(name)!.get(label)
  const rateOf = (name: MetricName, label: string): number => find(name, label)?.rate ?? 0
  const latencyOf = (name: MetricName, label: string): Percentiles => find(name, label)?.percentiles ?? NO_PERCENTILES

  function recentOf(last: StepHistogram, name: MetricName): Percentiles {
    const recent = new StepHistogram()
    recent.add(last)
    for (const { step } of metrics.series(name)) recent.add(step!)
    return recent.percentiles()
  }

  /** Returns how many samples a set of series can give so that each sample has a value of every series. */
  function lengthOf(limit: number, ...rings: readonly (Ring | null)[]): number {
    return isServed ? Math.min(limit, times.length, ...rings.map(ring => ring?.length ?? 0)) : 0
  }

  return {
    isServed,
    intervalMs,
    retentionMs,
    startedAtMs: startedAtWallMs,
    get uptimeMs() {
      return clock.monotonic() - startedAtMs
    },
    get steps() {
      return steps
    },
    get nextStepMs() {
      return Math.max(0, startedAtMs + (steps + 1) * intervalMs - clock.monotonic())
    },
    get commonStep() {
      const newestMs = times.length === 0 ? startedAtWallMs : times.back(0)
      return Math.round((newestMs - startedAtWallMs) / intervalMs) + Math.round(startedAtWallMs / intervalMs)
    },
    get requestsPerSecond() {
      return rings.requestsPerSecond.back(0) || 0
    },
    samples({ fromMs = Number.NEGATIVE_INFINITY, stepMs = 0 } = {}) {
      if (!isServed) return []
      const together = Math.max(1, Math.floor(stepMs / intervalMs))
      const groups = new Map<number, HistorySample[]>()
      for (let age = times.length - 1; age >= 0; age--) {
        if (times.back(age) < fromMs) continue
        // Groups by the position on the grid, so that a step belongs to the same group in every query.
        const group = Math.floor((passed - 1 - age) / together)
        const sample = sampleAt(age)
        const others = groups.get(group)
        if (others === undefined) groups.set(group, [sample])
        else others.push(sample)
      }
      return Array.from(groups.values(), combineSteps)
    },
    topic: name => ({
      produce: {
        recordsPerSecond: rateOf(RECORDS, name),
        bytesPerSecond: rateOf(BYTES, name),
        requestsPerSecond: rateOf('svc.broker.produce', name),
        latencyMs: latencyOf('svc.broker.produce', name),
      },
      fetch: {
        recordsPerSecond: rateOf('svc.broker.fetch.records', name),
        bytesPerSecond: rateOf('svc.broker.fetch.bytes', name),
        requestsPerSecond: rateOf('svc.broker.fetch', name),
        latencyMs: latencyOf('svc.broker.fetch.delivery', name),
      },
    }),
    topicSamples(name, limit = Number.POSITIVE_INFINITY) {
      const records = find(RECORDS, name)?.ring ?? null
      const bytes = find(BYTES, name)?.ring ?? null
      const samples: TopicSample[] = []
      for (let age = lengthOf(limit, records, bytes) - 1; age >= 0; age--) {
        samples.push({
          timestamp: times.back(age),
          recordsPerSecond: records!.back(age),
          bytesPerSecond: bytes!.back(age),
        })
      }
      return samples
    },
    groupSamples(groupId, limit = Number.POSITIVE_INFINITY) {
      const ring = find('svc.group.lag', groupId)?.ring ?? null
      const samples: GroupSample[] = []
      for (let age = lengthOf(limit, ring) - 1; age >= 0; age--)
        samples.push({ timestamp: times.back(age), lag: ring!.back(age) })
      return samples
    },
    requestLatency: () => recentOf(lastRequests, 'svc.broker.request'),
    poolWaits: () => recentOf(lastWaits, POOL),
    close() {
      isClosed = true
      timer.cancel()
    },
  }
}

/** Returns how many series this metric counts for. */
function roomOf(name: MetricName): number {
  if (name === RECORDS) return 2
  return name === BYTES ? 0 : 1
}

/** Returns the totals of the counters. The key is the rate that is computed from the total. */
function totalsOf(metrics: Metrics): Readonly<Record<Rate, number>> {
  const requests = { all: 0, [PRODUCE]: 0, [FETCH]: 0 }
  for (const { labels, count } of metrics.series('svc.broker.request')) {
    requests.all += count
    const api = labels.api_key
    if (api === PRODUCE || api === FETCH) requests[api] += count
  }
  return {
    messagesInPerSecond: metrics.total(RECORDS),
    bytesInPerSecond: metrics.total(BYTES),
    messagesOutPerSecond: metrics.total('svc.broker.fetch.records'),
    bytesOutPerSecond: metrics.total('svc.broker.fetch.bytes'),
    requestsPerSecond: requests.all,
    produceRequestsPerSecond: requests[PRODUCE],
    fetchRequestsPerSecond: requests[FETCH],
    brokerFailuresPerSecond: metrics.total('svc.broker.failures'),
    lossyRecordsPerSecond: metrics.total('svc.broker.lossy_records'),
  }
}

/** Combines several steps into one, oldest first. */
export function combineSteps<Sample extends HistorySample>(samples: readonly Sample[]): Sample {
  const last = samples.at(-1)!
  if (samples.length === 1) return last
  const mean = (field: Rate) => samples.reduce((sum, sample) => sum + sample[field], 0) / samples.length
  return {
    ...last,
    ...(Object.fromEntries(RATES.map(field => [field, mean(field)])) as Record<Rate, number>),
    requestLatencyMs: highest(samples.map(sample => sample.requestLatencyMs)),
    produceLatencyMs: highest(samples.map(sample => sample.produceLatencyMs)),
  }
}
