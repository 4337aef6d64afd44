// The API schemas of topics, their partitions and their configs.

import { z } from 'zod'
import { valueFields } from './config.ts'
import { troubleShape } from './problem.ts'
import { integer, internalQuery, LONGEST_NAMES } from './query.ts'
import { timeShape } from './time.ts'
import { ORDERS, RANKED_TOPIC_SORTS, TOPIC_SORTS } from './words.ts'

const partitionCount = z
  .int()
  .min(1)
  .max(2 ** 31 - 1)

export const topicSummaryShape = z
  .object({
    name: z.string(),
    id: z.string().meta({ description: "Kafka's form of 22 characters. It is never used again for another topic." }),
    partitions: z.int(),
    replicationFactor: z.int().meta({
      description:
        'The number of brokers that are shown as replicas of the first partition. The store holds the records.',
    }),
    createdAt: timeShape,
    configs: z.record(z.string(), z.string()).meta({ description: 'The configs that are set on the topic itself.' }),
    cleanupPolicy: z.string(),
    retentionMs: z.string().meta({ description: 'Milliseconds; -1 means no limit.' }),
    retentionBytes: z.string().meta({ description: 'Bytes of one partition; -1 means no limit.' }),
    records: z.int().nullable().meta({
      description:
        'The number of offsets from the start to the end of all partitions, including offsets that were skipped. Null while a partition does not answer, and in topics whose offsets follow the clock.',
    }),
    sizeBytes: z.int().nullable().meta({ description: 'The stored size; null while a partition does not answer.' }),
    lastWriteAt: timeShape.nullable().meta({
      description:
        'The time of the newest record: its own timestamp or the time of its append. Null if this broker does not know it.',
    }),
  })
  .meta({ id: 'TopicSummary' })

export type TopicSummary = z.infer<typeof topicSummaryShape>

export const partitionShape = z
  .object({
    partition: z.int(),
    leader: z.int().nullable().meta({ description: 'The id of a broker; null while no broker leads the partition.' }),
    leaderEpoch: z.int().nullable(),
    replicas: z.array(z.int()).meta({ description: 'The ids of brokers; the preferred leader comes first.' }),
    inSync: z.array(z.int()).meta({ description: 'The replicas that are alive.' }),
    start: z.int().nullable().meta({ description: 'The first offset that may be read.' }),
    end: z.int().nullable().meta({ description: 'The offset after the last record.' }),
    sizeBytes: z.int().nullable(),
    error: troubleShape.nullable().meta({
      description: 'The reason why the partition does not answer, or a message that the store has lost records of it.',
    }),
  })
  .meta({ id: 'TopicPartition' })

export const topicShape = topicSummaryShape.extend({ leaders: z.array(partitionShape) }).meta({ id: 'Topic' })

export type TopicDescription = z.infer<typeof topicShape>

export const topicParams = z.object({ topic: z.string() })

/** The size of a page if the query names no limit. */
export const DEFAULT_TOPIC_LIMIT = 100
const MAX_TOPIC_LIMIT = 1_000

export const topicListQuery = z.object({
  q: z.string().default('').meta({ description: 'A part of the name.' }),
  names: z
    .string()
    .max(LONGEST_NAMES)
    .optional()
    .meta({ description: 'Only these topics, separated by commas. Names that no topic has are left out.' }),
  internal: internalQuery,
  sort: z
    .enum(TOPIC_SORTS)
    .default('name')
    .meta({
      description: `With \`fields=name\` only ${RANKED_TOPIC_SORTS.join(', ')}: the broker then does not ask the partitions.`,
    }),
  order: z.enum(ORDERS).default('asc'),
  offset: integer(0).default(0),
  limit: integer(1, MAX_TOPIC_LIMIT)
    .optional()
    .meta({ description: `${DEFAULT_TOPIC_LIMIT} by default.` }),
  fields: z.enum(['name']).optional(),
})

export type TopicListQuery = z.output<typeof topicListQuery>

export const topicListShape = z.object({
  topics: z.array(topicSummaryShape.partial().required({ name: true })),
  total: z.int().meta({ description: 'The number of topics in all pages together.' }),
  offset: z.int(),
})

export type TopicList = z.infer<typeof topicListShape>

export const configEntryShape = z
  .object({
    name: z.string(),
    value: z.string().nullable(),
    source: z.enum(['topic', 'settings', 'default', 'logger']).meta({ description: 'Where the value comes from.' }),
    origin: z.string().nullable().meta({
      description:
        'The setting that gives the value and the place where it is written: `svc.topics[0].retention (name logs-*), svc.yaml:12:5`. Null if no setting gives it.',
    }),
    pattern: z.string().nullable().meta({
      description: 'The name of the topic pattern that gives the value, such as `logs-*`; null if none does.',
    }),
    ...valueFields,
    type: z.enum(['boolean', 'double', 'int', 'list', 'long', 'password', 'string']),
    default: z.string().meta({ description: 'The value if neither the topic nor a setting gives one.' }),
    isReadOnly: z.boolean(),
    isSensitive: z.boolean(),
    documentation: z.string(),
    hasEffect: z.boolean(),
    because: z.string().nullable().meta({ description: 'The reason why it has no effect; null if it has one.' }),
  })
  .meta({ id: 'ConfigEntry' })

export type ShownConfig = z.infer<typeof configEntryShape>

export const topicConfigsShape = z.object({ configs: z.array(configEntryShape) })

export type TopicConfigs = z.infer<typeof topicConfigsShape>

export const newTopicShape = z.strictObject({
  name: z.string(),
  partitions: partitionCount
    .optional()
    .meta({ description: 'By default the number from the topic patterns, or else 1.' }),
  replicationFactor: z
    .int()
    .min(1)
    .max(2 ** 15 - 1)
    .optional()
    .meta({ description: 'At most the number of brokers that are alive; 1 by default.' }),
  configs: z.record(z.string(), z.string()).optional(),
  validateOnly: z.boolean().optional().meta({ description: 'Checks everything and creates nothing.' }),
})

export type NewTopic = z.input<typeof newTopicShape>

export const createdTopicShape = z
  .object({
    name: z.string(),
    id: z.string().nullable().meta({ description: 'Null with validateOnly.' }),
    partitions: z.int(),
    replicationFactor: z.int(),
    configs: z.array(configEntryShape),
  })
  .meta({ id: 'CreatedTopic' })

export type CreatedTopic = z.infer<typeof createdTopicShape>

export const configChangeShape = z.strictObject({
  set: z.record(z.string(), z.string()).optional(),
  delete: z.array(z.string()).optional().meta({ description: 'The configs to reset to their setting or default.' }),
  validateOnly: z.boolean().optional(),
})

export type ConfigChange = z.input<typeof configChangeShape>

export const newPartitionsShape = z.strictObject({
  count: partitionCount.meta({ description: 'The number of partitions afterwards, not the number of new ones.' }),
  validateOnly: z.boolean().optional(),
})

export type NewPartitions = z.input<typeof newPartitionsShape>

export const grownTopicShape = z.object({ name: z.string(), partitions: z.int() })

export type GrownTopic = z.infer<typeof grownTopicShape>

/** The most partitions whose records one request deletes. */
export const MAX_DELETIONS = 10_000

export const recordDeletionShape = z.strictObject({
  offsets: z
    .array(
      z.strictObject({
        partition: z
          .int()
          .min(0)
          .max(2 ** 31 - 1),
        before: z
          .union([z.int().min(0), z.literal('end')])
          .meta({ description: 'The records below this offset are deleted.' }),
      }),
    )
    .min(1)
    .max(MAX_DELETIONS),
})

export type RecordDeletion = z.input<typeof recordDeletionShape>

export const deletedRecordsShape = z.object({
  partitions: z.array(
    z.object({
      partition: z.int(),
      start: z
        .int()
        .nullable()
        .meta({ description: 'The first offset that remains; null if the deletion was refused.' }),
      error: troubleShape.nullable(),
    }),
  ),
})

export type DeletedRecords = z.infer<typeof deletedRecordsShape>
