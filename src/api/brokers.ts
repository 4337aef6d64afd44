// The API schemas of the brokers that are alive on the store.

import { z } from 'zod'
import { valueFields } from './config.ts'
import { latencyShape } from './metrics.ts'
import { integer } from './query.ts'

/** The numbers that only the broker itself knows. Each is null if it does not answer. */
const measuredShape = z.object({
  uptimeMs: z.int().nullable().meta({ description: 'Milliseconds since the start of the broker.' }),
  activeConnections: z.int().nullable(),
  backpressureConnections: z.int().nullable().meta({
    description: 'Connections that the broker does not read because answers are pending.',
  }),
  pendingBytes: z.int().nullable().meta({ description: 'Bytes pending on all connections.' }),
  requestsPerSecond: z.number().nullable().meta({
    description: 'The rate of the last step of the metrics history; 0 before the first step.',
  }),
  requestLatencyMs: latencyShape.nullable().meta({
    description: 'The latency of requests in the last step and since then.',
  }),
  cpuUsage: z.number().nullable().meta({
    description: 'CPU time of the process in the last 5 s, as a share of all cores of its machine: 0 to 1.',
  }),
  memoryBytes: z.int().nullable().meta({ description: 'Memory of the process in RAM (resident set size).' }),
})

export const brokerShape = z
  .object({
    id: z.int(),
    rack: z.string().nullable(),
    version: z
      .string()
      .nullable()
      .meta({ description: 'The version of Ketch; null for a release that does not report it.' }),
    listeners: z.array(z.object({ name: z.string(), host: z.string(), port: z.int() })),
    leads: z.int().meta({ description: 'The number of partitions that the broker leads.' }),
    isServing: z
      .boolean()
      .meta({ description: 'False while the broker starts: it leads no partition and coordinates no group yet.' }),
    isSelf: z.boolean().meta({ description: 'True for the broker that answers this request.' }),
    isConfirmed: z.boolean().nullable().meta({
      description: 'True if the other brokers certainly know that this broker is alive; null if isSelf is false.',
    }),
    ...measuredShape.shape,
    silentReason: z.string().nullable().meta({
      description: 'The reason why the broker did not answer within 2 s; null if it answered.',
    }),
  })
  .meta({ id: 'Broker' })

export type MeasuredBroker = z.infer<typeof measuredShape>

export const brokerListShape = z.object({ brokers: z.array(brokerShape), partitions: z.int(), leaderless: z.int() })

export type BrokerList = z.infer<typeof brokerListShape>

export const brokerParams = z.object({ broker: integer(0, 2 ** 31 - 1) })

export const brokerConfigShape = z
  .object({
    name: z.string(),
    value: z.string().nullable(),
    isSet: z.boolean(),
    isSensitive: z.boolean(),
    ...valueFields,
    documentation: z.string(),
  })
  .meta({ id: 'BrokerConfig' })

/** A config of a broker. `value` is null when the config has no value, and always for secrets. */
export type BrokerConfig = z.infer<typeof brokerConfigShape>

export const brokerConfigsShape = z.object({ configs: z.array(brokerConfigShape) })
