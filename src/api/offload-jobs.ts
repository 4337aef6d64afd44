// The API schemas of offload jobs: each moves one sealed segment to the table of its topic.

import { z } from 'zod'
import { integer } from './query.ts'
import { timeShape } from './time.ts'
import { JOB_SORTS, JOB_STATUSES, ORDERS } from './words.ts'

const MOST_JOBS = 1_000
const LONGEST_TOPIC_NAME = 249

const failureShape = z
  .object({
    why: z.string().meta({ description: 'A sentence.' }),
    offset: z.int().nullable().meta({ description: 'The offset of the batch that failed; null if it was no batch.' }),
    failedAt: timeShape,
  })
  .meta({ id: 'OffloadFailure' })

export const offloadJobShape = z
  .object({
    id: z.string().meta({ description: '`<topic id>:<partition>:<base>`.' }),
    topic: z.string(),
    topicId: z.string(),
    partition: z.int(),
    base: z.int().meta({ description: 'The first offset of the segment.' }),
    next: z.int().meta({ description: 'The first offset behind the segment.' }),
    bytes: z.int().meta({ description: 'The stored size of its batches.' }),
    plainBytes: z.int().nullable().meta({ description: 'The size of its batches as clients see them.' }),
    sealedAt: timeShape,
    status: z.enum(JOB_STATUSES),
    suspended: z.boolean().meta({
      description: 'True for a failed job without attempts left: the worker skips it until an operator retries it.',
    }),
    attempts: z.int().meta({ description: 'The attempts that have begun since the job was created or retried.' }),
    maxAttempts: z.int(),
    createdAt: timeShape,
    startedAt: timeShape.nullable().meta({ description: 'The start of the last attempt; null before the first one.' }),
    tookMs: z.int().nullable().meta({ description: 'The duration of the last attempt; null while it runs.' }),
    failure: failureShape
      .nullable()
      .meta({ description: 'The last failure, or the reason why retention has cancelled the job.' }),
  })
  .meta({ id: 'OffloadJob' })

export type ShownJob = z.infer<typeof offloadJobShape>

export const offloadJobQuery = z.object({
  status: z.enum(JOB_STATUSES).optional().meta({ description: 'Only jobs with this status.' }),
  topic: z.string().min(1).max(LONGEST_TOPIC_NAME).optional().meta({ description: 'Only jobs of this topic.' }),
  sort: z.enum(JOB_SORTS).default('topic'),
  order: z.enum(ORDERS).default('asc'),
  offset: integer(0).default(0),
  limit: integer(1, MOST_JOBS).default(100),
})

export type OffloadJobQuery = z.output<typeof offloadJobQuery>

const countsShape = z
  .object({
    ...{ pending: z.int(), running: z.int(), done: z.int(), failed: z.int(), cancelled: z.int() },
    suspended: z.int().meta({ description: 'The failed jobs that are suspended; `failed` counts them too.' }),
  })
  .meta({ id: 'OffloadJobCounts' })

export type JobCounts = z.infer<typeof countsShape>

const unreadableShape = z
  .object({ topic: z.string(), topicId: z.string(), why: z.string() })
  .meta({ id: 'UnreadableJobs' })

/** A topic whose jobs cannot be read. */
export type UnreadableJobs = z.infer<typeof unreadableShape>

export const offloadJobsShape = z.object({
  jobs: z.array(offloadJobShape),
  total: z.int().meta({ description: 'The number of jobs on all pages.' }),
  counts: countsShape.meta({ description: 'Of the jobs of the topic, or of all topics, whatever `status` asks for.' }),
  unreadable: z.array(unreadableShape).meta({ description: 'The topics whose jobs cannot be read.' }),
})

export type JobList = z.infer<typeof offloadJobsShape>

export const offloadJobParams = z.object({
  id: z
    .string()
    .regex(/^[A-Za-z0-9_-]{22}:(0|[1-9][0-9]{0,9}):(0|[1-9][0-9]{0,15})$/, 'takes <topic id>:<partition>:<base>')
    .meta({ description: 'The id of a job: `<topic id>:<partition>:<base>`.' }),
})

/** The request chooses nothing. */
export const jobActionShape = z.object({}).optional()

export const retryFailedShape = z
  .object({
    topic: z.string().min(1).max(LONGEST_TOPIC_NAME).optional().meta({ description: 'Only jobs of this topic.' }),
  })
  .optional()

export const retriedJobsShape = z.object({
  retried: z.int().meta({ description: 'The number of failed jobs that are pending again.' }),
  unreadable: z.array(unreadableShape),
})

export type RetriedJobs = z.infer<typeof retriedJobsShape>
