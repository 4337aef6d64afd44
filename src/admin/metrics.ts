// Returns the selected metrics that the console and the tools show. They describe this broker only, except for the
// numbers of topics and groups, which cover the cluster. For the whole cluster, add up the scrapes of all brokers.

import type { MetricsSnapshotBody } from '../api/metrics.ts'
import type { TopicMetricSort } from '../api/words.ts'
import type { CatalogueKeeper } from '../log/catalogue.ts'
import type { History, TopicRates, TopicSample } from '../telemetry/history.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { Percentiles } from '../telemetry/step-histogram.ts'
import { type ClusterGroupRooms, listGroupsOfCluster } from './groups/cluster-groups.ts'

export interface MetricsRooms extends ClusterGroupRooms {
  readonly catalogue: CatalogueKeeper
  readonly metrics: Metrics
  readonly history: History
}

/** Counters begin at 0 when the broker starts. A percentile without a measurement is NaN. */
export interface MetricsSnapshot extends Omit<MetricsSnapshotBody, 'brokerId' | 'requestLatencyMs'> {
  readonly requestLatencyMs: Percentiles
}

export async function snapshotMetrics(rooms: MetricsRooms): Promise<MetricsSnapshot> {
  const { metrics, history, catalogue } = rooms
  const { groups } = await listGroupsOfCluster(rooms, { states: [], types: [] })
  let requests = 0
  for (const { count } of metrics.series('svc.broker.request')) requests += count
  return {
    topicCount: catalogue.current().topics.size,
    groupCount: groups.length,
    activeConnections: metrics.read('svc.broker.connections', {}),
    backpressureConnections: metrics.read('svc.broker.backpressure_connections', {}),
    messages: metrics.total('svc.broker.produce.records'),
    bytes: metrics.total('svc.broker.produce.bytes'),
    messagesOut: metrics.total('svc.broker.fetch.records'),
    bytesOut: metrics.total('svc.broker.fetch.bytes'),
    requests,
    rebalances: metrics.total('svc.broker.rebalances'),
    brokerFailures: metrics.total('svc.broker.failures'),
    lossyRecords: metrics.total('svc.broker.lossy_records'),
    requestLatencyMs: history.requestLatency(),
    uptimeMs: history.uptimeMs,
    unavailableBrokers: [],
  }
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
}

/**
 * Returns a page of topics with their rates in the last step. Topics with equal values are in the order of their
 * names.
 */
export function listTopicMetrics(
  { catalogue, history }: Pick<MetricsRooms, 'catalogue' | 'history'>,
  { offset, limit, q = '', names, sort, order, samples }: TopicMetricsQuery,
): TopicMetricsPage {
  const { topics } = catalogue.current()
  const contained = q.toLowerCase()
  const among = names === undefined ? [...topics.keys()] : [...new Set(names)].filter(name => topics.has(name))
  const found = among.filter(name => contained === '' || name.toLowerCase().includes(contained)).sort()
  const sign = order === 'asc' ? 1 : -1
  const by = SORTS[sort]
  if (by !== null) {
    const weights = new Map(found.map(name => [name, by(history.topic(name))]))
    found.sort((one, other) => sign * (weights.get(one)! - weights.get(other)!))
  } else if (order === 'desc') found.reverse()
  function* page(): Generator<TopicMetrics> {
    for (const name of found.slice(offset, offset + limit))
      yield { name, ...history.topic(name), samples: samples === 0 ? [] : history.topicSamples(name, samples) }
  }
  return { total: found.length, topics: page() }
}
