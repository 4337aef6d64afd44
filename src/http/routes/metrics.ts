// The routes for metrics that the console and programs poll; the scrape is a route of the actuator. An answer that
// changes only with a step of the history has an entity tag, so that a poll between two steps costs almost nothing.

import { listClusterTopicMetrics, readClusterHistory, snapshotClusterMetrics } from '../../admin/cluster-metrics.ts'
import { listGroupsOfCluster } from '../../admin/groups/cluster-groups.ts'
import { groupLags } from '../../admin/groups/lag.ts'
import { latencyBody } from '../../admin/latency.ts'
import { listTopicMetrics, readHistory, snapshotMetrics, type TopicMetrics } from '../../admin/metrics.ts'
import { hearHolder, storageStats } from '../../admin/remote-storage.ts'
import {
  consumerLagQuery,
  consumerLagsShape,
  metricsHistoryQuery,
  metricsHistoryShape,
  metricsSnapshotQuery,
  metricsSnapshotShape,
  type TopicMetricsRow,
  topicMetricsPageShape,
  topicMetricsQuery,
} from '../../api/metrics.ts'
import { storageStatsShape } from '../../api/storage.ts'
import { afterOthers, type Clock } from '../../base/clock.ts'
import { crc32c } from '../../base/crc32c.ts'
import { type Answer, type HttpRooms, type Reply, reply, route } from '../route.ts'

function howMany(samples: string): number {
  if (samples === 'false') return 0
  return samples === 'true' ? Number.POSITIVE_INFINITY : Number(samples)
}

const tagged = { 200: ['ETag'], 304: ['ETag'] } as const

export const metricsRoutes = [
  route({
    method: 'GET',
    path: '/api/v1/metrics',
    needs: 'viewer',
    verb: 'read metrics',
    tag: 'metrics',
    doc: 'The counters of this broker or of all brokers since their start, the connections, and the latency of requests in the last step and since then.',
    query: metricsSnapshotQuery,
    answers: { 200: metricsSnapshotShape },
    async answer({ query: { scope } }, rooms) {
      const snapshot = await (scope === 'cluster' ? snapshotClusterMetrics(rooms) : snapshotMetrics(rooms))
      return reply(200, {
        brokerId: rooms.nodeId,
        ...snapshot,
        requestLatencyMs: latencyBody(snapshot.requestLatencyMs),
      })
    },
  }),
  route({
    method: 'GET',
    path: '/api/v1/metrics/topics',
    needs: 'viewer',
    verb: 'read topic metrics',
    tag: 'metrics',
    doc: 'A page of topics with the produce and fetch rates of this broker or of all brokers in the last step of the history; 0 before the first step.',
    query: topicMetricsQuery,
    answers: { 200: topicMetricsPageShape, 304: null },
    headers: tagged,
    async answer({ query, headers }, rooms) {
      const {
        scope,
        offset,
        limit,
        q,
        names,
        internal,
        sort,
        order = sort === 'name' ? 'asc' : 'desc',
        samples,
      } = query
      const among = { q, names: names?.split(','), hasInternal: internal === 'true' }
      const asked = { offset, limit, ...among, sort, order, samples: howMany(samples) }
      const list = await (scope === 'cluster' ? listClusterTopicMetrics : listTopicMetrics)(rooms, asked)
      return await unlessKnown(rooms, list.changes, headers['if-none-match'], async tag => {
        const { total, topics, unavailableBrokers } = await list.answer()
        const head = {
          brokerId: rooms.nodeId,
          intervalMs: rooms.history.intervalMs,
          offset,
          limit,
          total,
          unavailableBrokers,
        }
        return {
          kind: 'streaming',
          contentType: 'application/json; charset=utf-8',
          headers: tag,
          chunks: inSlices(head, topics, rooms.clock),
        }
      })
    },
  }),
  route({
    method: 'GET',
    path: '/api/v1/metrics/history',
    needs: 'viewer',
    verb: 'read metrics history',
    tag: 'metrics',
    doc: 'The rates of this broker or of all brokers step by step, oldest first; an empty list if svc.admin.metrics-history.enabled is false. A rate times intervalMs is the count of the step.',
    query: metricsHistoryQuery,
    answers: { 200: metricsHistoryShape, 304: null },
    headers: tagged,
    async answer({ query: { scope, from, step }, headers }, rooms) {
      const { history, nodeId } = rooms
      const asked = { ...(from !== undefined && { fromMs: from }), ...(step !== undefined && { stepMs: step }) }
      const read = await (scope === 'cluster' ? readClusterHistory : readHistory)(rooms, asked)
      return await unlessKnown(rooms, read.changes, headers['if-none-match'], async tag => {
        const { samples, unavailableBrokers } = await read.answer()
        const body = {
          brokerId: nodeId,
          enabled: history.isServed,
          intervalMs: history.intervalMs,
          retentionMs: history.retentionMs,
          samples: samples.map(sample => ({
            ...sample,
            requestLatencyMs: latencyBody(sample.requestLatencyMs),
            produceLatencyMs: latencyBody(sample.produceLatencyMs),
          })),
          unavailableBrokers,
        }
        return reply(200, body, tag)
      })
    },
  }),
  route({
    method: 'GET',
    path: '/api/v1/metrics/consumer-lag',
    needs: 'viewer',
    verb: 'read consumer lag',
    tag: 'metrics',
    doc: 'The lag of every consumer group, or of those in `groups`: records that were not delivered to it or, if that is unknown, not committed by it.',
    query: consumerLagQuery,
    answers: { 200: consumerLagsShape },
    async answer({ query: { samples, groups: named } }, rooms) {
      const { groups, silent } = await listGroupsOfCluster(rooms, { states: [], types: [] })
      const wanted = named === undefined ? null : new Set([named].flat())
      const groupIds = groups.map(({ groupId }) => groupId).filter(groupId => wanted?.has(groupId) ?? true)
      const lags = await Array.fromAsync(groupLags(rooms, groupIds))
      const samplesOf = (groupId: string) =>
        rooms.history
          .groupSamples(groupId, howMany(samples!))
          .map(({ timestamp, lag }) => ({ timestamp, lag: Number.isNaN(lag) ? null : lag }))
      return reply(200, {
        groups: lags.map(({ lag: { groupId, lastCommitTimestampMs, ...lag } }) => ({
          groupId,
          ...lag,
          lastCommitTimestamp: lastCommitTimestampMs,
          ...(samples === undefined ? {} : { samples: samplesOf(groupId) }),
        })),
        unavailableBrokers: silent,
      })
    },
  }),
  route({
    method: 'GET',
    path: '/api/v1/storage-stats',
    needs: 'viewer',
    verb: 'read storage stats',
    tag: 'metrics',
    doc: 'The rate at which segments go to the remote tier, and the segments that wait for it. Without a remote tier the rates are 0, and the backlog is null.',
    answers: { 200: storageStatsShape },
    async answer(_request, rooms) {
      await hearHolder(rooms)
      return reply(200, storageStats(rooms))
    },
  }),
]

/** The number of samples that are written before other work gets its turn. That takes about a millisecond. */
const SAMPLES_AT_ONCE = 1000

/** Yields the text that JSON.stringify would write for one object with all topics. */
async function* inSlices(head: object, topics: Iterable<TopicMetrics>, clock: Clock): AsyncGenerator<string> {
  let text = `${JSON.stringify(head).slice(0, -1)},"topics":[`
  let samples = 0
  let comma = ''
  for (const { name, produce, fetch, samples: kept } of topics) {
    const topic: TopicMetricsRow = {
      name,
      produce: { ...produce, latencyMs: latencyBody(produce.latencyMs) },
      fetch: { ...fetch, latencyMs: latencyBody(fetch.latencyMs) },
      samples: [...kept],
    }
    text += comma + JSON.stringify(topic)
    comma = ','
    // A topic without samples counts too.
    samples += kept.length + 10
    if (samples < SAMPLES_AT_ONCE) continue
    yield text
    text = ''
    samples = 0
    await afterOthers(clock)
  }
  yield `${text}]}`
}

/**
 * Returns an answer that changes only with the steps of the history, with the topics, and with `changes`; 304 if the
 * client has it (RFC 9110, 13.1.2).
 */
async function unlessKnown(
  { history, catalogue, nodeId }: HttpRooms,
  changes: string,
  ifNoneMatch: string | readonly string[] | undefined,
  make: (headers: Reply['headers']) => Answer | Promise<Answer>,
): Promise<Answer> {
  const others = changes === '' ? '' : `-${crc32c(Buffer.from(changes)).toString(36)}`
  const tag = `W/"${nodeId}-${history.startedAtMs.toString(36)}-${history.steps}-${catalogue.current().version}${others}"`
  const headers = { etag: tag, 'cache-control': 'private, no-cache' }
  const asked = [ifNoneMatch ?? []].flat().join(',')
  const isKnown = asked.split(',').some(each => each.trim() === tag)
  return isKnown ? reply(304, undefined, headers) : await make(headers)
}
