// Metrics as the admin API shows them, of this broker or of all brokers: the counters, the steps of the history, the
// rates of topics, and the lag of groups.

import type {
  ConsumerLagQuery,
  ConsumerLags,
  MetricsHistoryBody,
  MetricsHistoryQuery,
  MetricsSnapshotBody,
  TopicMetricsListQuery,
  TopicMetricsPageBody,
  TopicMetricsRow,
} from '../api/metrics.ts'
import type { METRIC_SCOPES } from '../api/words.ts'
import {
  type ClusterMetricsRooms,
  listClusterTopicMetrics,
  readClusterHistory,
  snapshotClusterMetrics,
} from './cluster-metrics.ts'
import { type ClusterGroupRooms, listGroupsOfCluster } from './groups/cluster-groups.ts'
import { groupLags } from './groups/lag.ts'
import type { PositionRooms } from './groups/positions.ts'
import { latencyBody } from './latency.ts'
import {
  listTopicMetrics,
  type MetricsRooms,
  readHistory,
  type Stepwise,
  snapshotMetrics,
  type TopicMetrics,
} from './metrics.ts'

export interface ShownMetricsRooms extends ClusterMetricsRooms {
  /** The broker that answers. */
  readonly nodeId: number
}

/** Resolves to the counters of this broker or of all brokers. */
export async function showCounters(
  rooms: ShownMetricsRooms,
  scope: (typeof METRIC_SCOPES)[number],
): Promise<MetricsSnapshotBody> {
  const snapshot = await (scope === 'cluster' ? snapshotClusterMetrics(rooms) : snapshotMetrics(rooms))
  return { brokerId: rooms.nodeId, ...snapshot, requestLatencyMs: latencyBody(snapshot.requestLatencyMs) }
}

/** Resolves to the steps of the history of this broker or of all brokers, oldest first. */
export async function showHistory(
  rooms: ShownMetricsRooms,
  { scope, from, step }: MetricsHistoryQuery,
): Promise<Stepwise<MetricsHistoryBody>> {
  const { history, nodeId } = rooms
  const asked = { ...(from !== undefined && { fromMs: from }), ...(step !== undefined && { stepMs: step }) }
  const read = await (scope === 'cluster' ? readClusterHistory : readHistory)(rooms, asked)
  return {
    changes: read.changes,
    async answer() {
      const { samples, unavailableBrokers } = await read.answer()
      return {
        brokerId: nodeId,
        enabled: history.isServed,
        intervalMs: history.intervalMs,
        retentionMs: history.retentionMs,
        samples: samples.map(sample => ({
          ...sample,
          requestLatencyMs: latencyBody(sample.requestLatencyMs),
          produceLatencyMs: latencyBody(sample.produceLatencyMs),
        })),
        unavailableBrokers: [...unavailableBrokers],
      }
    },
  }
}

/** A page of topics. Each row is computed when it is read, because a page with all its samples is large. */
export interface ShownTopicMetrics extends Omit<TopicMetricsPageBody, 'topics'> {
  readonly topics: Iterable<TopicMetricsRow>
}

/** Resolves to a page of topics with their rates on this broker or on all brokers. */
export async function showTopicMetrics(
  rooms: ShownMetricsRooms,
  query: TopicMetricsListQuery,
): Promise<Stepwise<ShownTopicMetrics>> {
  const { scope, offset, limit, q, names, internal, sort, order = sort === 'name' ? 'asc' : 'desc', samples } = query
  const among = { q, names: names?.split(','), hasInternal: internal === 'true' }
  const asked = { offset, limit, ...among, sort, order, samples: howMany(samples) }
  const list = await (scope === 'cluster' ? listClusterTopicMetrics : listTopicMetrics)(rooms, asked)
  return {
    changes: list.changes,
    async answer() {
      const { total, topics, unavailableBrokers } = await list.answer()
      return {
        brokerId: rooms.nodeId,
        intervalMs: rooms.history.intervalMs,
        offset,
        limit,
        total,
        unavailableBrokers: [...unavailableBrokers],
        topics: shownRows(topics),
      }
    },
  }
}

function* shownRows(topics: Iterable<TopicMetrics>): Generator<TopicMetricsRow> {
  for (const { name, produce, fetch, samples } of topics)
    yield {
      name,
      produce: { ...produce, latencyMs: latencyBody(produce.latencyMs) },
      fetch: { ...fetch, latencyMs: latencyBody(fetch.latencyMs) },
      samples: [...samples],
    }
}

/**
 * Resolves to the lag of every group, or of the named ones that exist; with `samples` also at each step. Throws what
 * the store throws.
 */
export async function showConsumerLags(
  rooms: PositionRooms & ClusterGroupRooms & Pick<MetricsRooms, 'history'>,
  { samples, groups: named }: ConsumerLagQuery,
): Promise<ConsumerLags> {
  const { groups, silent } = await listGroupsOfCluster(rooms, { states: [], types: [] })
  const wanted = named === undefined ? null : new Set([named].flat())
  const groupIds = groups.map(({ groupId }) => groupId).filter(groupId => wanted?.has(groupId) ?? true)
  const lags = await Array.fromAsync(groupLags(rooms, groupIds))
  const samplesOf = (groupId: string, most: number) =>
    rooms.history
      .groupSamples(groupId, most)
      .map(({ timestamp, lag }) => ({ timestamp, lag: Number.isNaN(lag) ? null : lag }))
  return {
    groups: lags.map(({ lag: { groupId, lastCommitTimestampMs, ...lag } }) => ({
      groupId,
      ...lag,
      lastCommitTimestamp: lastCommitTimestampMs,
      ...(samples === undefined ? {} : { samples: samplesOf(groupId, howMany(samples)) }),
    })),
    unavailableBrokers: [...silent],
  }
}

function howMany(samples: string): number {
  if (samples === 'false') return 0
  return samples === 'true' ? Number.POSITIVE_INFINITY : Number(samples)
}
