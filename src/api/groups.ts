// The API schemas of consumer groups.

import { z } from 'zod'
import { pagingQuery } from './paging.ts'
import { silentBrokerFields, troubleShape } from './problem.ts'
import { SOUGHT_TIME } from './query.ts'
import { timestampShape } from './time.ts'
import { RESET_TARGETS } from './words.ts'

export const MAX_TOPICS = 1_000
/** The most groups that a query may name. */
export const MAX_GROUPS = 1_000
/** The most topics that a row of the list names. It keeps a list of hundreds of groups small. */
export const LISTED_TOPICS = 20
export const MAX_PARTITIONS = 100_000

const offset = z.int()
const partitionIndex = z.int().min(0)
const topicName = z.string().min(1).max(249)

export const groupParams = z.object({ group: z.string().min(1) })

export const groupLagShape = z
  .object({
    totalLag: z.int().nullable().meta({
      description: 'A lower bound if the lag of some partitions is unknown; null if the lag of all is unknown.',
    }),
    maxLag: z.int().nullable().meta({ description: 'The largest lag of one partition.' }),
    partitionsWithUnknownLag: z.int(),
    partitions: z.int().meta({ description: 'The number of partitions that the group reads or has read.' }),
    lastCommitTimestamp: timestampShape.nullable(),
  })
  .meta({
    id: 'GroupLag',
    description:
      'Lag is the number of records that were not delivered to the group. If the broker does not know which records were delivered, lag is the number of records that were not committed.',
  })

const groupShape = z.object({
  groupId: z.string(),
  type: z.string(),
  state: z.string(),
  protocolType: z.string().meta({ description: 'consumer for consumers; empty if no member ever joined.' }),
  coordinatorId: z.int(),
})

export const listedGroupShape = groupShape
  .extend({
    members: z.int().nullable().meta({ description: 'Null when the coordinator does not answer.' }),
    lag: groupLagShape,
    topics: z.array(z.string()).meta({
      description: `The topics in which the group has a committed offset or a member owns a partition, sorted by name; the first ${LISTED_TOPICS} if there are more.`,
    }),
    topicCount: z.int().meta({ description: 'The number of these topics, listed or not.' }),
    topicLag: groupLagShape
      .nullable()
      .meta({ description: 'The lag in the topic of the query alone; null if the query names no topic.' }),
  })
  .meta({ id: 'ListedGroup' })

export type ListedGroup = z.infer<typeof listedGroupShape>

const silentShape = z
  .object(silentBrokerFields)
  .meta({ id: 'SilentBroker', description: 'A broker that did not answer: its groups are missing.' })

/** A broker that could not list the groups it coordinates, with a sentence for people. */
export type SilentBroker = z.infer<typeof silentShape>

export const groupListQuery = pagingQuery(['groupId', 'state', 'lag.totalLag', 'topicLag.totalLag']).extend({
  state: z.string().max(1_000).default('').meta({ description: 'The wanted states, separated by commas.' }),
  topic: topicName.optional().meta({
    description:
      'Only groups that have a committed offset in this topic, or a member that owns a partition of it. Sorting by `topicLag.totalLag` needs it.',
  }),
})

export type GroupListQuery = z.output<typeof groupListQuery>

export const groupListShape = z.object({
  groups: z.array(listedGroupShape),
  total: z.int(),
  unavailableBrokers: z.array(silentShape),
})

export type GroupList = z.infer<typeof groupListShape>

const startOffsetShape = offset.nullable().meta({
  description:
    'The first offset that the partition still has: retention and deletions took the records below it. Null while the partition does not answer.',
})

export const positionShape = z
  .object({
    topic: z.string(),
    partition: z.int(),
    memberId: z.string().nullable().meta({ description: 'The member that reads the partition.' }),
    committedOffset: offset.nullable(),
    commitTimestamp: timestampShape.nullable(),
    metadata: z.string().nullable(),
    deliveredOffset: offset.nullable().meta({
      description:
        'The offset after the last delivered record; null while it is unknown. All brokers return the same value.',
    }),
    startOffset: startOffsetShape,
    endOffset: offset.nullable(),
    lag: z.int().nullable(),
  })
  .meta({ id: 'GroupPosition' })

const memberShape = z
  .object({
    memberId: z.string(),
    instanceId: z.string().nullable(),
    clientId: z.string(),
    host: z.string(),
    assignment: z.array(z.object({ topic: z.string(), partitions: z.array(z.int()) })),
  })
  .meta({ id: 'GroupMember' })

export const describedGroupShape = groupShape.extend({
  protocolName: z.string().nullable(),
  coordinator: z.object({ id: z.int(), host: z.string(), port: z.int() }).nullable(),
  members: z.array(memberShape),
  lag: groupLagShape,
  positions: z.array(positionShape),
})

export type DescribedGroup = z.infer<typeof describedGroupShape>

export const lagOfGroupShape = z.object({
  groupId: z.string(),
  lag: groupLagShape,
  positions: z.array(positionShape),
})

export type LagOfGroup = z.infer<typeof lagOfGroupShape>

export const deletedOffsetsQuery = z.object({
  topic: z
    .union([topicName, z.array(topicName).min(1).max(MAX_TOPICS)], 'takes the name of a topic')
    .meta({ description: 'Repeat the parameter for each topic.' }),
})

export const deletedOffsetsShape = z.object({
  topics: z.array(
    z.object({
      topic: z.string(),
      partitions: z.int(),
      error: troubleShape.nullable().meta({ description: 'The reason why no offset of the topic was deleted.' }),
    }),
  ),
})

export type DeletedOffsets = z.infer<typeof deletedOffsetsShape>

const resetRowShape = z
  .object({
    topic: z.string(),
    partition: z.int(),
    memberId: z.string().nullable(),
    committedOffset: offset.nullable(),
    commitTimestamp: timestampShape.nullable(),
    metadata: z.string().nullable(),
    deliveredOffset: offset.nullable(),
    startOffset: startOffsetShape,
    endOffset: offset.nullable(),
    newOffset: offset
      .nullable()
      .meta({ description: 'Null if the offset is deleted. Consumers then begin where their auto.offset.reset says.' }),
  })
  .meta({ id: 'OffsetResetRow' })

export const resetRequestShape = z.strictObject({
  scope: z
    .strictObject({
      topics: z.array(topicName).max(MAX_TOPICS).default([]),
      partitions: z
        .array(z.strictObject({ topic: topicName, partition: partitionIndex }))
        .max(MAX_PARTITIONS)
        .default([]),
    })
    .default({ topics: [], partitions: [] })
    .meta({ description: 'If it is empty, the reset covers every partition in which the group has a position.' }),
  to: z.enum(RESET_TARGETS).default('clear'),
  offset: z.int().min(0).optional(),
  timestamp: timestampShape.min(0, SOUGHT_TIME).optional(),
  dryRun: z.boolean().default(false),
  token: z.string().optional().meta({ description: 'The token of the preview to apply.' }),
})

export type ResetRequestBody = z.input<typeof resetRequestShape>

/** The request with its defaults. */
export type ResetOrder = z.output<typeof resetRequestShape>

export const resetShape = z.object({
  applied: z.boolean(),
  rows: z.array(resetRowShape),
  blockedBy: troubleShape.nullable().meta({ description: 'The reason why the reset cannot be applied now.' }),
  token: z.string().nullable(),
})

export type Reset = z.infer<typeof resetShape>
