// The API schemas of the brokers that are alive on the store.

import { z } from 'zod'
import { valueFields } from './config.ts'
import { integer } from './query.ts'

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
  })
  .meta({ id: 'Broker' })

export const brokerListShape = z.object({ brokers: z.array(brokerShape), partitions: z.int(), leaderless: z.int() })

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
