// What the verbs on topics take and answer, as shapes: the HTTP side checks and documents with them, and the types follow. No
// behaviour.

import { z } from 'zod'
import { timeShape } from './time-shape.ts'

const partitionCount = z
  .int()
  .min(1)
  .max(2 ** 31 - 1)

export const topicSummaryShape = z
  .object({
    name: z.string(),
    id: z.string().meta({ description: "Kafka's 22 characters; never used again for another topic." }),
    partitions: z.int(),
    replicationFactor: z.int().meta({
      description: 'Brokers that are shown as replicas of the first partition; the store holds the records.',
    }),
    createdAt: timeShape,
    configs: z.record(z.string(), z.string()).meta({ description: 'What the topic itself is set to.' }),
    cleanupPolicy: z.string(),
    retentionMs: z.string().meta({ description: 'Milliseconds; -1: no limit.' }),
    retentionBytes: z.string().meta({ description: 'Of a partition; -1: no limit.' }),
    records: z.int().nullable().meta({
      description:
        'Offsets from the start to the end of each partition, also those that its end has leapt. Null while a partition cannot be asked, and where offsets follow the clock.',
    }),
    sizeBytes: z.int().nullable().meta({ description: 'As stored; null while a partition cannot be asked.' }),
    lastWriteAt: timeShape.nullable().meta({
      description: 'When the newest record was appended, or says it was; null where this broker does not know.',
    }),
  })
  .meta({ id: 'TopicSummary' })

export type TopicSummary = z.infer<typeof topicSummaryShape>

export const partitionShape = z
  .object({
    partition: z.int(),
    leader: z.int().nullable().meta({ description: 'The id of a broker; null: nobody leads it at this moment.' }),
    leaderEpoch: z.int().nullable(),
    replicas: z.array(z.int()).meta({ description: 'The ids of brokers, the one that is to lead first.' }),
    inSync: z.array(z.int()).meta({ description: 'Those of them that live.' }),
    start: z.int().nullable().meta({ description: 'The first offset that may be read.' }),
    end: z.int().nullable().meta({ description: 'The offset after the last record.' }),
    sizeBytes: z.int().nullable(),
    error: z
      .object({ code: z.string(), detail: z.string() })
      .nullable()
      .meta({ description: 'Why it cannot be asked, or that the store has lost records of it.' }),
  })
  .meta({ id: 'TopicPartition' })

export const topicShape = topicSummaryShape.extend({ leaders: z.array(partitionShape) }).meta({ id: 'Topic' })

export type TopicDescription = z.infer<typeof topicShape>

export const configEntryShape = z
  .object({
    name: z.string(),
    value: z.string().nullable(),
    source: z.enum(['topic', 'settings', 'default', 'logger']).meta({ description: 'Who gave the value.' }),
    type: z.enum(['boolean', 'double', 'int', 'list', 'long', 'password', 'string']),
    default: z.string().meta({ description: 'What holds where neither the topic nor a setting says otherwise.' }),
    isReadOnly: z.boolean(),
    isSensitive: z.boolean(),
    documentation: z.string(),
  })
  .meta({ id: 'ConfigEntry' })

export type ShownConfig = z.infer<typeof configEntryShape>

export const newTopicShape = z.strictObject({
  name: z.string(),
  partitions: partitionCount.optional().meta({ description: 'Left out: what the topic patterns say, else 1.' }),
  replicationFactor: z
    .int()
    .min(1)
    .max(2 ** 15 - 1)
    .optional()
    .meta({ description: 'At most as many as brokers live. Left out: 1.' }),
  configs: z.record(z.string(), z.string()).optional(),
  validateOnly: z.boolean().optional().meta({ description: 'Checks everything and creates nothing.' }),
})

export const createdTopicShape = z
  .object({
    name: z.string(),
    id: z.string().nullable().meta({ description: 'Null where it was only checked.' }),
    partitions: z.int(),
    replicationFactor: z.int(),
    configs: z.array(configEntryShape),
  })
  .meta({ id: 'CreatedTopic' })

export const configChangeShape = z.strictObject({
  set: z.record(z.string(), z.string()).optional(),
  delete: z.array(z.string()).optional().meta({ description: 'These lose what the topic itself says.' }),
  validateOnly: z.boolean().optional(),
})

export const newPartitionsShape = z.strictObject({
  count: partitionCount.meta({ description: 'Partitions in all, those that are there included.' }),
  validateOnly: z.boolean().optional(),
})

export const recordDeletionShape = z.strictObject({
  offsets: z
    .array(
      z.strictObject({
        partition: z
          .int()
          .min(0)
          .max(2 ** 31 - 1),
        before: z.union([z.int().min(0), z.literal('end')]).meta({ description: 'Records below this offset go.' }),
      }),
    )
    .min(1)
    .max(10_000),
})

export const deletedRecordsShape = z.object({
  partitions: z.array(
    z.object({
      partition: z.int(),
      start: z.int().nullable().meta({ description: 'The first offset that is left; null where it was refused.' }),
      error: z.object({ code: z.string(), detail: z.string() }).nullable(),
    }),
  ),
})
