// The routes for metrics that the console and programs poll; the scrape is a route of the actuator. An answer that
// changes only with a step of the history has an entity tag, so that a poll between two steps costs almost nothing.

import { listGroupsOfCluster } from '../../admin/groups/cluster-groups.ts'
import { groupLags } from '../../admin/groups/lag.ts'
import { listTopicMetrics, snapshotMetrics, type TopicMetrics } from '../../admin/metrics.ts'
import {
  consumerLagQuery,
  consumerLagsShape,
  metricsHistoryQuery,
  metricsHistoryShape,
  metricsSnapshotShape,
  type TopicMetricsRow,
  topicMetricsPageShape,
  topicMetricsQuery,
} from '../../api/metrics.ts'
import { storageStatsShape } from '../../api/storage.ts'
import { afterOthers, type Clock } from '../../base/clock.ts'
import type { Percentiles } from '../../telemetry/step-histogram.ts'
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
    doc: 'The counters of this broker since its start, its connections, and the latency of requests in the last step and since then.',
    answers: { 200: metricsSnapshotShape },
    async answer(_request, rooms) {
      const { requestLatencyMs, ...numbers } = await snapshotMetrics(rooms)
      return reply(200, {
        brokerId: rooms.nodeId,
        ...numbers,
        uptimeMs: Math.round(numbers.uptimeMs),
        requestLatencyMs: known(requestLatencyMs),
      })
    },
  }),
  route({
    method: 'GET',
    path: '/api/v1/metrics/topics',
    needs: 'viewer',
    verb: 'read topic metrics',
    tag: 'metrics',
    doc: 'A page of topics with the produce and fetch rates of this broker in the last step of the history; 0 before the first step.',
    query: topicMetricsQuery,
    answers: { 200: topicMetricsPageShape, 304: null },
    headers: tagged,
    answer({ query, headers }, rooms) {
      return unlessKnown(rooms, headers['if-none-match'], tag => {
        const { offset, limit, q, names, sort, order = sort === 'name' ? 'asc' : 'desc', samples } = query
        const asked = { offset, limit, q, names: names?.split(','), sort, order, samples: howMany(samples) }
        const { total, topics } = listTopicMetrics(rooms, asked)
        const head = { brokerId: rooms.nodeId, intervalMs: rooms.history.intervalMs, offset, limit, total }
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
    doc: 'The rates of this broker step by step, oldest first; an empty list if svc.admin.metrics-history.enabled is false. A rate times intervalMs is the count of the step.',
    query: metricsHistoryQuery,
    answers: { 200: metricsHistoryShape, 304: null },
    headers: tagged,
    answer({ query, headers }, rooms) {
      const { history, nodeId } = rooms
      const read = () => ({
        brokerId: nodeId,
        enabled: history.isServed,
        intervalMs: history.intervalMs,
        retentionMs: history.retentionMs,
        samples: history
          .samples({
            ...(query.from === undefined ? {} : { fromMs: query.from }),
            ...(query.step === undefined ? {} : { stepMs: query.step }),
          })
          .map(sample => ({
            ...sample,
            requestLatencyMs: known(sample.requestLatencyMs),
            produceLatencyMs: known(sample.produceLatencyMs),
          })),
      })
      return unlessKnown(rooms, headers['if-none-match'], tag => reply(200, read(), tag))
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
    doc: 'The rate at which segments go to the remote tier. This version has no remote tier, so that all numbers are 0 or null.',
    answers: { 200: storageStatsShape },
    answer: () => reply(200, { segmentsPerMin: 0, bytesPerMin: 0, backlogAgeSeconds: null }),
  }),
]

function known({ p50, p95, p99 }: Percentiles) {
  const orNull = (value: number) => (Number.isNaN(value) ? null : value)
  return { p50: orNull(p50), p95: orNull(p95), p99: orNull(p99) }
}

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
      produce: { ...produce, latencyMs: known(produce.latencyMs) },
      fetch: { ...fetch, latencyMs: known(fetch.latencyMs) },
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
 * Returns an answer that changes only with the steps of the history and with the topics; 304 if the client has it
 * (RFC 9110, 13.1.2).
 */
function unlessKnown(
  { history, catalogue, nodeId }: HttpRooms,
  ifNoneMatch: string | readonly string[] | undefined,
  make: (headers: Reply['headers']) => Answer,
): Answer {
  const tag = `W/"${nodeId}-${history.startedAtMs.toString(36)}-${history.steps}-${catalogue.current().version}"`
  const headers = { etag: tag, 'cache-control': 'private, no-cache' }
  const asked = [ifNoneMatch ?? []].flat().join(',')
  const isKnown = asked.split(',').some(each => each.trim() === tag)
  return isKnown ? reply(304, undefined, headers) : make(headers)
}
