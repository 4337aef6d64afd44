// The routes for metrics that the console and programs poll; the scrape is a route of the actuator. An answer that
// changes only with a step of the history has an entity tag, so that a poll between two steps costs almost nothing.

import { hearHolder, storageStats } from '../../admin/remote-storage.ts'
import {
  type ShownTopicMetrics,
  showConsumerLags,
  showCounters,
  showHistory,
  showTopicMetrics,
} from '../../admin/shown-metrics.ts'
import {
  consumerLagQuery,
  consumerLagsShape,
  metricsHistoryQuery,
  metricsHistoryShape,
  metricsSnapshotQuery,
  metricsSnapshotShape,
  topicMetricsPageShape,
  topicMetricsQuery,
} from '../../api/metrics.ts'
import { storageStatsShape } from '../../api/storage.ts'
import { afterOthers, type Clock } from '../../base/clock.ts'
import { crc32c } from '../../base/crc32c.ts'
import { type Answer, type HttpRooms, type Reply, reply, route } from '../route.ts'

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
      return reply(200, await showCounters(rooms, scope))
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
      const list = await showTopicMetrics(rooms, query)
      return await unlessKnown(rooms, list.changes, headers['if-none-match'], async tag => ({
        kind: 'streaming',
        contentType: 'application/json; charset=utf-8',
        headers: tag,
        chunks: inSlices(await list.answer(), rooms.clock),
      }))
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
    async answer({ query, headers }, rooms) {
      const read = await showHistory(rooms, query)
      return await unlessKnown(rooms, read.changes, headers['if-none-match'], async tag =>
        reply(200, await read.answer(), tag),
      )
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
    async answer({ query }, rooms) {
      return reply(200, await showConsumerLags(rooms, query))
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
async function* inSlices({ topics, ...head }: ShownTopicMetrics, clock: Clock): AsyncGenerator<string> {
  let text = `${JSON.stringify(head).slice(0, -1)},"topics":[`
  let samples = 0
  let comma = ''
  for (const topic of topics) {
    text += comma + JSON.stringify(topic)
    comma = ','
    // A topic without samples counts too.
    samples += topic.samples.length + 10
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
