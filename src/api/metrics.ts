// The API schemas of the metrics of a broker or of the cluster, for the console and for programs.

import { z } from 'zod'
import { groupLagShape, MAX_GROUPS } from './groups.ts'
import { silentBrokerFields } from './problem.ts'
import { integer, internalQuery, LONGEST_NAMES } from './query.ts'
import { METRIC_SCOPES, ORDERS, TOPIC_METRIC_SORTS } from './words.ts'

export const latencyShape = z
  .object({ p50: z.number().nullable(), p95: z.number().nullable(), p99: z.number().nullable() })
  .meta({
    id: 'Latency',
    description:
      'Milliseconds, with an error of at most 3.2 % (8 µs below half a millisecond); null if the broker measured nothing. With scope=cluster, the highest value of the brokers: the percentile of all their requests together is at most that.',
  })

const stepShape = z.int().meta({
  description:
    'The end of the step, milliseconds since 1970. With scope=cluster, the nearest multiple of intervalMs: each broker has steps of its own.',
})

const scopeFields = {
  scope: z.enum(METRIC_SCOPES).default('broker').meta({
    description:
      'broker: the numbers of the broker that answers. cluster: the sums over the living brokers. A broker that does not answer within 2 s is left out and named.',
  }),
}

const unavailableFields = {
  unavailableBrokers: z.array(z.object(silentBrokerFields)).meta({
    description: 'With scope=cluster, the brokers whose numbers are missing; empty with scope=broker.',
  }),
}

const answering = z.int().meta({ description: 'The broker that answers.' })

export const metricsSnapshotQuery = z.object(scopeFields)

export const metricsSnapshotShape = z
  .object({
    brokerId: answering,
    topicCount: z.int().meta({ description: 'The number of topics in the whole cluster.' }),
    groupCount: z
      .int()
      .meta({ description: 'The number of groups in the whole cluster, as far as its brokers answer.' }),
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
    uptimeMs: z.int().meta({ description: 'With scope=cluster, the longest of the brokers.' }),
    ...unavailableFields,
  })
  .meta({ id: 'MetricsSnapshot' })

/** The counters count from the start of the broker. */
export type MetricsSnapshotBody = z.infer<typeof metricsSnapshotShape>

const trafficShape = z
  .object({
    recordsPerSecond: z.number(),
    bytesPerSecond: z.number(),
    requestsPerSecond: z.number(),
    latencyMs: latencyShape,
  })
  .meta({ id: 'TopicTraffic' })

const topicMetricsShape = z
  .object({
    name: z.string(),
    produce: trafficShape,
    fetch: trafficShape.meta({ description: 'The latency is that of fetches that delivered records.' }),
    samples: z
      .array(z.object({ timestamp: stepShape, recordsPerSecond: z.number(), bytesPerSecond: z.number() }))
      .meta({
        description: 'The produced records and bytes of each step, oldest first, from the first step with records.',
      }),
  })
  .meta({ id: 'TopicMetrics' })

export type TopicMetricsRow = z.input<typeof topicMetricsShape>

const sampleShape = z
  .object({
    timestamp: stepShape,
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
    brokers: z.int().meta({
      description:
        'The number of brokers whose step is in these numbers. A sample that combines steps has the smallest number of them.',
    }),
  })
  .meta({ id: 'MetricsSample' })

const consumerLagShape = z
  .object({
    groupId: z.string(),
    ...groupLagShape.shape,
    samples: z
      .array(z.object({ timestamp: stepShape, lag: z.number().nullable() }))
      .optional()
      .meta({
        description: 'Only if the query has `samples`: the lag at each step, oldest first, from the first known lag.',
      }),
  })
  .meta({ id: 'ConsumerLag' })

const samplesQuery = z
  .string()
  .regex(/^(true|false|[0-9]{1,6})$/, 'takes true, false or a number of samples')
  .meta({
    description: 'The number of newest samples to send with each row. true sends all samples, false sends none.',
  })

export const topicMetricsQuery = z.object({
  offset: integer(0).default(0),
  limit: integer(1, 1000).default(100),
  q: z.string().max(249).optional().meta({ description: 'Part of the name.' }),
  names: z.string().max(LONGEST_NAMES).optional().meta({ description: 'Only these topics, separated by commas.' }),
  internal: internalQuery,
  sort: z.enum(TOPIC_METRIC_SORTS).default('name'),
  order: z.enum(ORDERS).optional().meta({ description: 'By default asc for the name, and desc for a number.' }),
  samples: samplesQuery.default('true'),
  ...scopeFields,
})

export type TopicMetricsListQuery = z.output<typeof topicMetricsQuery>

export const topicMetricsPageShape = z.object({
  brokerId: answering,
  intervalMs: z.number(),
  offset: z.int(),
  limit: z.int(),
  total: z.int(),
  ...unavailableFields,
  topics: z.array(topicMetricsShape),
})

export type TopicMetricsPageBody = z.infer<typeof topicMetricsPageShape>

export const metricsHistoryQuery = z.object({
  from: integer(0).optional().meta({ description: 'Milliseconds since 1970.' }),
  step: integer(1).optional().meta({
    description:
      'Milliseconds. Combines the steps of this time: the mean of rates, the highest percentiles, the last value of gauges.',
  }),
  ...scopeFields,
})

export type MetricsHistoryQuery = z.output<typeof metricsHistoryQuery>

export const metricsHistoryShape = z.object({
  brokerId: answering,
  enabled: z.boolean(),
  intervalMs: z.number(),
  retentionMs: z.number(),
  samples: z.array(sampleShape).meta({
    description: 'With scope=cluster, they end with the newest step that every answering broker has completed.',
  }),
  ...unavailableFields,
})

export type MetricsHistoryBody = z.infer<typeof metricsHistoryShape>

export const consumerLagQuery = z.object({
  samples: samplesQuery.optional(),
  groups: z
    .union([z.string(), z.array(z.string()).max(MAX_GROUPS)], `takes the id of a group, at most ${MAX_GROUPS} times`)
    .optional()
    .meta({
      description:
        'Only this group. Repeat the parameter for each group: a group id may contain a comma. Ids that no group has are left out.',
    }),
})

export type ConsumerLagQuery = z.output<typeof consumerLagQuery>

export const consumerLagsShape = z.object({
  groups: z.array(consumerLagShape),
  unavailableBrokers: z.array(z.object(silentBrokerFields)).meta({ description: 'Brokers whose groups are missing.' }),
})

export type ConsumerLags = z.infer<typeof consumerLagsShape>
