// Returns the selected metrics that the console and the tools show. They describe this broker only, except for the
// numbers of topics and groups, which cover the cluster. cluster-metrics.ts adds up the brokers.

import type { SilentBroker } from '../api/groups.ts'
import type { MetricsSnapshotBody } from '../api/metrics.ts'
import type { TopicMetricSort } from '../api/words.ts'
import type { Clock } from '../base/clock.ts'
import type { CatalogueKeeper } from '../log/catalogue.ts'
import type { describeBrokerMetrics } from '../protocol/messages/describe-broker-metrics.ts'
import { isInternalTopicName } from '../protocol/names.ts'
import type { ResponseOf } from '../protocol/schema.ts'
import type { History, HistoryQuery, HistorySample, TopicRates, TopicSample } from '../telemetry/history.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { Percentiles } from '../telemetry/step-histogram.ts'
import { type ClusterGroupRooms, listGroupsOfCluster } from './groups/cluster-groups.ts'
import { shortTurns } from './short-turns.ts'

export interface MetricsRooms extends ClusterGroupRooms {
  readonly catalogue: CatalogueKeeper
  readonly metrics: Metrics
  readonly history: History
  readonly clock: Clock
}

/**
 * The numbers that only the broker itself knows. Counters begin at 0 when the broker starts. A percentile without a
 * measurement is NaN.
 */
export type BrokerMetrics = ResponseOf<typeof describeBrokerMetrics>['metrics']

/** Returns the numbers of this broker at this moment. */
export function measureBroker({ metrics, history }: Pick<MetricsRooms, 'metrics' | 'history'>): BrokerMetrics {
  // A process without a Kafka listener has no gauges of connections.
  const orZero = (value: number) => value || 0
  let requests = 0
  for (const { count } of metrics.series('svc.broker.request')) requests += count
  return {
    uptimeMs: Math.round(history.uptimeMs),
    activeConnections: orZero(metrics.read('svc.broker.connections', {})),
    backpressureConnections: orZero(metrics.read('svc.broker.backpressure_connections', {})),
    pendingBytes: orZero(metrics.read('svc.broker.pending_bytes', {})),
    messages: metrics.total('svc.broker.produce.records'),
    bytes: metrics.total('svc.broker.produce.bytes'),
    messagesOut: metrics.total('svc.broker.fetch.records'),
    bytesOut: metrics.total('svc.broker.fetch.bytes'),
    requests,
    rebalances: metrics.total('svc.broker.rebalances'),
    brokerFailures: metrics.total('svc.broker.failures'),
    lossyRecords: metrics.total('svc.broker.lossy_records'),
    requestsPerSecond: history.requestsPerSecond,
    requestLatencyMs: history.requestLatency(),
    cpuUsage: orZero(metrics.read('process.cpu.usage', {})),
    memoryBytes: process.memoryUsage.rss(),
  }
}

/** A percentile without a measurement is NaN. */
export interface MetricsSnapshot extends Omit<MetricsSnapshotBody, 'brokerId' | 'requestLatencyMs'> {
  readonly requestLatencyMs: Percentiles
}

export async function snapshotMetrics(rooms: MetricsRooms): Promise<MetricsSnapshot> {
  const { groups } = await listGroupsOfCluster(rooms, { states: [], types: [] })
  const topicCount = rooms.catalogue.current().topics.size
  return { topicCount, groupCount: groups.length, ...countersOf(measureBroker(rooms)), unavailableBrokers: [] }
}

/** The numbers that a snapshot shows. */
export type Counters = Omit<MetricsSnapshot, 'topicCount' | 'groupCount' | 'unavailableBrokers'>

export function countersOf(numbers: BrokerMetrics): Counters {
  const { activeConnections, backpressureConnections, messages, bytes, messagesOut, bytesOut } = numbers
  const { requests, rebalances, brokerFailures, lossyRecords, requestLatencyMs, uptimeMs } = numbers
  return {
    ...{ activeConnections, backpressureConnections, messages, bytes, messagesOut, bytesOut },
    ...{ requests, rebalances, brokerFailures, lossyRecords, requestLatencyMs, uptimeMs },
  }
}

/**
 * An answer that stays the same until this broker completes a step or the topics change. An answer with numbers of
 * other brokers also changes whenever `changes` does.
 */
export interface Stepwise<Answer> {
  readonly changes: string
  answer(): Answer | Promise<Answer>
}

/** The steps of one broker or of several together. */
export interface HistoryOfBrokers {
  readonly samples: readonly (HistorySample & {
    /** How many brokers have the step. */
    readonly brokers: number
  })[]
  readonly unavailableBrokers: readonly SilentBroker[]
}

export function readHistory(
  { history }: Pick<MetricsRooms, 'history'>,
  query: HistoryQuery,
): Stepwise<HistoryOfBrokers> {
  const read = () => history.samples(query).map(sample => ({ ...sample, brokers: 1 }))
  return { changes: '', answer: () => ({ samples: read(), unavailableBrokers: [] }) }
}

/** The measures that topics can be sorted by. An unknown percentile sorts as 0. */
const SORTS: Readonly<Record<TopicMetricSort, ((rates: TopicRates) => number) | null>> = Object.freeze({
  name: null,
  'produce.recordsPerSecond': ({ produce }: TopicRates) => produce.recordsPerSecond,
  'produce.bytesPerSecond': ({ produce }: TopicRates) => produce.bytesPerSecond,
  'produce.requestsPerSecond': ({ produce }: TopicRates) => produce.requestsPerSecond,
  'fetch.recordsPerSecond': ({ fetch }: TopicRates) => fetch.recordsPerSecond,
  'fetch.bytesPerSecond': ({ fetch }: TopicRates) => fetch.bytesPerSecond,
  'fetch.requestsPerSecond': ({ fetch }: TopicRates) => fetch.requestsPerSecond,
  'produce.latencyMs.p99': ({ produce }: TopicRates) => produce.latencyMs.p99 || 0,
  'fetch.latencyMs.p99': ({ fetch }: TopicRates) => fetch.latencyMs.p99 || 0,
})

export interface TopicMetricsQuery {
  readonly offset: number
  readonly limit: number
  /** Lets through names that contain this text; case does not matter. */
  readonly q?: string | undefined
  /** Lets through only topics with these names. */
  readonly names?: readonly string[] | undefined
  /** False leaves out names that begin with `__`; true by default. */
  readonly hasInternal?: boolean
  readonly sort: TopicMetricSort
  readonly order: 'asc' | 'desc'
  /** The number of newest samples that the page has for each topic. */
  readonly samples: number
}

export interface TopicMetrics extends TopicRates {
  readonly name: string
  readonly samples: readonly TopicSample[]
}

export interface TopicMetricsPage {
  /** The number of topics that the filter let through. */
  readonly total: number
  /** Each row is computed when it is read, because a page with all its samples is large. */
  readonly topics: Iterable<TopicMetrics>
  readonly unavailableBrokers: readonly SilentBroker[]
}

export type RatesOf = (topic: string) => TopicRates

/** Returns a page of topics with their rates on this broker in the last step. */
export function listTopicMetrics(
  rooms: Pick<MetricsRooms, 'catalogue' | 'history' | 'clock'>,
  query: TopicMetricsQuery,
): Stepwise<TopicMetricsPage> {
  const { history } = rooms
  return {
    changes: '',
    async answer() {
      const { total, names } = await findTopics(rooms, history.topic, query)
      const topics = rowsOf(names, history.topic, name => history.topicSamples(name, query.samples))
      return { total, topics, unavailableBrokers: [] }
    },
  }
}

/** Resolves to the names on a page. Topics with equal values are in the order of their names. */
export async function findTopics(
  { catalogue, clock }: Pick<MetricsRooms, 'catalogue' | 'clock'>,
  ratesOf: RatesOf,
  { offset, limit, q = '', names, hasInternal = true, sort, order }: TopicMetricsQuery,
): Promise<{ readonly total: number; readonly names: readonly string[] }> {
  const { topics } = catalogue.current()
  const contained = q.toLowerCase()
  const among = names === undefined ? [...topics.keys()] : [...new Set(names)].filter(name => topics.has(name))
  const found = among
    .filter(name => contained === '' || name.toLowerCase().includes(contained))
    .filter(name => hasInternal || !isInternalTopicName(name))
    .sort()
  const sign = order === 'asc' ? 1 : -1
  const by = SORTS[sort]
  if (by !== null) {
    const turn = shortTurns(clock)
    const weights = new Map<string, number>()
    for (const name of found) {
      weights.set(name, by(ratesOf(name)))
      const others = turn()
      if (others !== undefined) await others
    }
    found.sort((one, other) => sign * (weights.get(one)! - weights.get(other)!))
  } else if (order === 'desc') found.reverse()
  return { total: found.length, names: found.slice(offset, offset + limit) }
}

export function* rowsOf(
  names: Iterable<string>,
  ratesOf: RatesOf,
  samplesOf: (topic: string) => readonly TopicSample[],
): Generator<TopicMetrics> {
  for (const name of names) yield { name, ...ratesOf(name), samples: samplesOf(name) }
}

/** Returns where the steps of this broker lie, for another broker that adds up their numbers. */
export function stepsOf({ steps, nextStepMs, commonStep, intervalMs, isServed }: History) {
  return { steps, nextStepMs, commonStep, intervalMs, isHistoryServed: isServed }
}

/**
 * Returns the rows that another broker asks for: those of the named topics or, if names is null, of the topics with
 * traffic in the last step. Without names the rows have no samples.
 */
export function listTopicsForPeer(
  { catalogue, history }: Pick<MetricsRooms, 'catalogue' | 'history'>,
  names: readonly string[] | null,
  samples: number,
): readonly TopicMetrics[] {
  const { topics } = catalogue.current()
  if (names === null) return [...rowsOf(topics.keys(), history.topic, () => [])].filter(hasTraffic)
  const known = [...new Set(names)].filter(name => topics.has(name))
  return [...rowsOf(known, history.topic, name => history.topicSamples(name, samples))]
}

function hasTraffic({ produce, fetch }: TopicRates): boolean {
  // Records that are produced over HTTP are in no Kafka request.
  return produce.recordsPerSecond > 0 || produce.requestsPerSecond > 0 || fetch.requestsPerSecond > 0
}
