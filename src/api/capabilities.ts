// The API schema of a broker's capabilities: its build, its store, the capabilities that are on, off or absent, the
// addresses for Kafka clients, and the limits that a page needs before it asks for anything else.

import { z } from 'zod'
import { timeShape } from './time.ts'
import { CAPABILITIES, CAPABILITY_STATES, SECURITY_PROTOCOLS, STORE_ENGINES } from './words.ts'

export const buildShape = z
  .object({
    group: z.string(),
    artifact: z.string(),
    version: z.string(),
    time: timeShape.nullable().meta({ description: 'The time of the commit; null if it is unknown.' }),
  })
  .meta({ id: 'Build' })

const capabilityShape = z
  .object({
    id: z.enum(CAPABILITIES),
    label: z.string(),
    state: z
      .enum(CAPABILITY_STATES)
      .meta({ description: 'off: a setting switches it on. absent: this version does not have it.' }),
    setting: z.string().nullable().meta({ description: 'The setting that switches it; null if no setting does.' }),
    because: z.string().nullable().meta({ description: 'A sentence that says why it is off or absent; null if on.' }),
  })
  .meta({ id: 'Capability' })

/** One capability of a broker, in its state. */
export type Capability = z.infer<typeof capabilityShape>

const kafkaListenerShape = z
  .object({
    brokerId: z.int(),
    name: z.string(),
    host: z.string(),
    port: z.int(),
    security: z.enum(SECURITY_PROTOCOLS).meta({ description: 'The security.protocol of a Kafka client.' }),
    mechanisms: z.array(z.string()).meta({
      description:
        'The SASL mechanisms that this broker offers; empty without SASL, and for other brokers, which alone know theirs.',
    }),
    needsCertificate: z.boolean().nullable().meta({
      description: 'Whether a client must present a certificate; null for the TLS listeners of other brokers.',
    }),
  })
  .meta({ id: 'KafkaListener' })

export type KafkaListener = z.infer<typeof kafkaListenerShape>

export const capabilitiesShape = z
  .object({
    version: z.string(),
    build: buildShape,
    brokerId: z.int(),
    clusterId: z.string(),
    namespace: z
      .string()
      .nullable()
      .meta({ description: 'The prefix of all keys in Redis; null on the embedded store, which has a folder.' }),
    store: z.object({ engine: z.enum(STORE_ENGINES), description: z.string() }),
    capabilities: z.array(capabilityShape),
    listeners: z.array(kafkaListenerShape).meta({
      description: 'The addresses that Kafka clients are told: first those of this broker, then those of the others.',
    }),
    limits: z.object({
      maxPartitionsPerTopic: z.int(),
      maxPartitions: z.int().meta({ description: 'Of all topics together.' }),
      sessionMs: z.int().meta({ description: 'The lifetime of a console session.' }),
      metricsHistory: z
        .object({ intervalMs: z.int(), retentionMs: z.int() })
        .nullable()
        .meta({ description: 'Null if the history is not served.' }),
    }),
  })
  .meta({ id: 'Capabilities' })

export type Capabilities = z.infer<typeof capabilitiesShape>
