// What the console and programs poll of the metrics; the scrape is the actuator's. What only changes with a step of the history
// carries an entity tag, so that polling between two steps costs next to nothing.

import { z } from 'zod'
import { listGroupsOfCluster } from '../../admin/cluster-groups.ts'
import { groupLags } from '../../admin/lag.ts'
import { listTopicMetrics, snapshotMetrics, type TopicMetrics, topicSorts } from '../../admin/metrics.ts'
import { afterOthers, type Clock } from '../../base/clock.ts'
import type { Percentiles } from '../../telemetry/step-histogram.ts'
import { integer } from '../query.ts'
import { type Answer, type HttpRooms, type Reply, reply, route } from '../route.ts'

const latencyShape = z
  .object({ p50: z.number().nullable(), p95: z.number().nullable(), p99: z.number().nullable() })
  .meta({
    id: 'Latency',
    description: 'Milliseconds, within 3.2 % (8 µs below half a millisecond); null where there was nothing to measure.',
  })

const timestampShape = z.int().meta({ description: 'The end of the step, milliseconds since 1970.' })

const snapshotShape = z
  .object({
    brokerId: z.int(),
    topicCount: z.int(),
    groupCount: z.int().meta({ description: 'Of the whole cluster, as far as its brokers answer.' }),
    activeConnections: z.int(),
    backpressureConnections: z.int(),
    messages: z.int().meta({ description: 'Records that were acknowledged to producers.' }),
    bytes: z.int(),
    messagesOut: z.int().meta({ description: 'Records that were handed out to consumers.' }),
    bytesOut: z.int(),
    requests: z.int(),
    rebalances: z.int(),
    brokerFailures: z.int(),
    lossyRecords: z.int(),
    requestLatencyMs: latencyShape,
    uptimeMs: z.int(),
  })
  .meta({ id: 'MetricsSnapshot' })

const trafficShape = z
  .object({
    recordsPerSecond: z.number(),
    bytesPerSecond: z.number(),
    requestsPerSecond: z.number(),
    latencyMs: latencyShape,
  })
  .meta({ id: 'TopicTraffic' })

const topicShape = z
  .object({
    name: z.string(),
    produce: trafficShape,
    fetch: trafficShape.meta({ description: 'The latency is that of fetches that delivered records.' }),
    samples: z
      .array(z.object({ timestamp: timestampShape, recordsPerSecond: z.number(), bytesPerSecond: z.number() }))
      .meta({ description: 'What was produced in each step, oldest first, since there was anything.' }),
  })
  .meta({ id: 'TopicMetrics' })

const sampleShape = z
  .object({
    timestamp: timestampShape,
    messagesInPerSecond: z.number(),
    bytesInPerSecond: z.number(),
    messagesOutPerSecond: z.number(),
    bytesOutPerSecond: z.number(),
    requestsPerSecond: z.number(),
    produceRequestsPerSecond: z.number(),
    fetchRequestsPerSecond: z.number(),
    brokerFailuresPerSecond: z.number(),
    lossyRecordsPerSecond: z.number(),
    activeConnections: z.number(),
    backpressureConnections: z.number(),
    requestLatencyMs: latencyShape,
    produceLatencyMs: latencyShape,
  })
  .meta({ id: 'MetricsSample' })

const lagShape = z
  .object({
    groupId: z.string(),
    totalLag: z.int().nullable().meta({
      description: 'Records that were not delivered; a lower bound where partitions are unknown, null where all are.',
    }),
    maxLag: z.int().nullable().meta({ description: 'Of one partition.' }),
    partitionsWithUnknownLag: z.int(),
    partitions: z.int(),
    lastCommitTimestamp: z.int().nullable().meta({ description: 'Milliseconds since 1970; null without a commit.' }),
    samples: z
      .array(z.object({ timestamp: timestampShape, lag: z.number().nullable() }))
      .optional()
      .meta({ description: 'With samples=, the lag at each step, oldest first, since there was any.' }),
  })
  .meta({ id: 'GroupLag' })

const LONGEST_NAMES = 24 * 1024

const count = (fallback: number, min: number, max: number) => integer(min, max).default(fallback)

const samplesQuery = z
  .string()
  .regex(/^(true|false|[0-9]{1,6})$/, 'expected true, false or how many')
  .meta({ description: 'How many of the newest samples to send with each; false sends none.' })

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
    doc: 'What this broker counted since it started, its connections, and how long requests took in the last step and since.',
    answers: { 200: snapshotShape },
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
    doc: 'A page of topics with what this broker produced and fetched of them in the last step of the history; 0 before the first.',
    query: z.object({
      offset: count(0, 0, Number.MAX_SAFE_INTEGER),
      limit: count(100, 1, 1000),
      q: z.string().max(249).optional().meta({ description: 'Part of the name.' }),
      names: z.string().max(LONGEST_NAMES).optional().meta({ description: 'These topics alone, separated by commas.' }),
      sort: z.enum(topicSorts).default('name'),
      order: z.enum(['asc', 'desc']).optional().meta({ description: 'asc by name, desc by a number, if not given.' }),
      samples: samplesQuery.default('true'),
    }),
    answers: {
      200: z.object({
        brokerId: z.int(),
        intervalMs: z.number(),
        offset: z.int(),
        limit: z.int(),
        total: z.int(),
        topics: z.array(topicShape),
      }),
      304: null,
    },
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
    doc: 'What this broker did step by step, oldest first; nothing where svc.admin.metrics-history.enabled is false. A rate times intervalMs is what was counted in the step.',
    query: z.object({
      from: integer(0).optional().meta({ description: 'Milliseconds since 1970.' }),
      step: integer(1).optional().meta({
        description:
          'Milliseconds: puts steps together, the mean of rates, the highest percentiles, the last of gauges.',
      }),
    }),
    answers: {
      200: z.object({
        brokerId: z.int(),
        enabled: z.boolean(),
        intervalMs: z.number(),
        retentionMs: z.number(),
        samples: z.array(sampleShape),
      }),
      304: null,
    },
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
    doc: 'How far every consumer group is behind: what was not delivered to it, or not committed by it where delivery is not known.',
    query: z.object({ samples: samplesQuery.optional() }),
    answers: {
      200: z.object({
        groups: z.array(lagShape),
        unavailableBrokers: z
          .array(z.object({ brokerId: z.int(), reason: z.string() }))
          .meta({ description: 'Brokers whose groups are missing.' }),
      }),
    },
    async answer({ query: { samples } }, rooms) {
      const { groups, silent } = await listGroupsOfCluster(rooms, { states: [], types: [] })
      const groupIds = groups.map(({ groupId }) => groupId)
      const lags = await Array.fromAsync(groupLags(rooms, groupIds))
      const samplesOf = (groupId: string) =>
        rooms.history
          .groupSamples(groupId, howMany(samples!))
          .map(({ timestamp, lag }) => ({ timestamp, lag: Number.isNaN(lag) ? null : lag }))
      return reply(200, {
        groups: lags.map(({ groupId, lastCommitTimestampMs, ...lag }) => ({
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
    doc: 'How fast segments go to the remote tier. This version has no remote tier: nothing goes there and nothing waits.',
    answers: {
      200: z.object({
        segmentsPerMin: z.number().meta({ description: 'Over the last 60 seconds.' }),
        bytesPerMin: z.number(),
        backlogAgeSeconds: z.number().nullable().meta({ description: 'Null until the storage worker reports it.' }),
      }),
    },
    answer: () => reply(200, { segmentsPerMin: 0, bytesPerMin: 0, backlogAgeSeconds: null }),
  }),
]

function known({ p50, p95, p99 }: Percentiles) {
  const orNull = (value: number) => (Number.isNaN(value) ? null : value)
  return { p50: orNull(p50), p95: orNull(p95), p99: orNull(p99) }
}

/** Samples that are written before others have their turn: a millisecond. */
const SAMPLES_AT_ONCE = 1000

/** The same text as of one object that holds the topics too. */
async function* inSlices(head: object, topics: Iterable<TopicMetrics>, clock: Clock): AsyncGenerator<string> {
  let text = `${JSON.stringify(head).slice(0, -1)},"topics":[`
  let samples = 0
  let comma = ''
  for (const { name, produce, fetch, samples: kept } of topics) {
    const topic: z.input<typeof topicShape> = {
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

/** What changes with the steps of the history and with the topics alone, or 304 where the client has it (RFC 9110, 13.1.2). */
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
