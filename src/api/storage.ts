// The API schemas of the store: its place, the space that each partition takes, its segments, and the storage worker.

import { z } from 'zod'
import { latencyShape } from './metrics.ts'
import { pagingQuery } from './paging.ts'
import { integer } from './query.ts'
import { timeShape } from './time.ts'
import { BREAKER_STATES, ROUND_OUTCOMES } from './words.ts'

export const streamShape = z
  .object({
    topic: z.string(),
    partition: z.int(),
    leaderId: z.int(),
    sizeBytes: z
      .int()
      .nullable()
      .meta({ description: 'The stored size of the batches; null when the leader does not answer.' }),
    startOffset: z.int().nullable(),
    endOffset: z.int().nullable(),
    entries: z.int().nullable().meta({ description: 'The number of batches; null if the store does not count them.' }),
    memoryBytes: z.int().nullable().meta({ description: 'The memory that Redis reports; null on the embedded store.' }),
  })
  .meta({ id: 'Stream' })

/** The space that one partition takes in the store. */
export type StreamUsage = z.infer<typeof streamShape>

export const storageQuery = pagingQuery(['topic', 'sizeBytes'])

const poolShape = z
  .object({
    size: z.int().meta({ description: 'The number of appends that may run at one time.' }),
    pending: z.int().meta({ description: 'The number of appends that wait for a connection.' }),
    waitMs: latencyShape.meta({ description: 'The waits of the last step of the history and of the current one.' }),
    timeouts: z.int().meta({ description: 'Waits since the broker started that got no connection in time.' }),
    errors: z.int().meta({ description: 'Waits since the broker started that failed for another reason.' }),
  })
  .meta({ id: 'StorePool' })

const storeShape = z
  .object({
    description: z.string(),
    place: z.string().nullable().meta({ description: 'Null while the store does not answer.' }),
    totalBytes: z
      .int()
      .nullable()
      .meta({ description: 'Null if the place has no fixed size, and while the store does not answer.' }),
    usableBytes: z.int().nullable(),
    breaker: z.enum(BREAKER_STATES).meta({
      description:
        'The state of the circuit breaker; of several the one that lets the least pass. disabled: none is used.',
    }),
    pool: poolShape.nullable().meta({ description: 'The connections to Redis; null on the embedded store.' }),
    trouble: z.string().nullable().meta({ description: 'Why the store does not answer; null if it does.' }),
  })
  .meta({ id: 'StoreState' })

/** The store as a whole: its place, its room, and how it copes. */
export type StoreState = z.infer<typeof storeShape>

export const storageShape = z.object({
  store: storeShape,
  streams: z.array(streamShape),
  total: z.int(),
})

export const storageStatsShape = z.object({
  segmentsPerMin: z.number().meta({ description: 'Segments per minute, over the last 60 seconds.' }),
  bytesPerMin: z.number(),
  backlogAgeSeconds: z.number().nullable().meta({ description: 'Null until the storage worker reports it.' }),
})

const brokerRoundShape = z
  .object({
    id: z.int(),
    outcome: z.enum(ROUND_OUTCOMES).meta({
      description:
        'waiting: it has not answered yet; running: its part goes on, and the numbers follow in the next round; refused: it did not begin; silent: it did not answer; abandoned: the broker that had started the round lost the lease or closed.',
    }),
    partitions: z.int(),
    rolled: z.int().meta({ description: 'The number of segments that were sealed.' }),
    droppedBytes: z.int().meta({ description: 'The stored bytes that retention has dropped.' }),
    due: z.int().meta({
      description:
        'The number of partitions that are still due for cleaning. A pass that takes longer than the round goes on, and a later round reports it.',
    }),
    cleaned: z
      .int()
      .meta({ description: 'The number of partitions that were cleaned to the end of their dirty part.' }),
    cleanedBytes: z.int().meta({ description: 'The stored bytes by which cleaning has made logs smaller.' }),
    failures: z.int(),
    trouble: z.string().nullable().meta({ description: 'Why the broker has not run its part; null if it has.' }),
  })
  .meta({ id: 'BrokerRound' })

/** The part of one broker in a round. */
export type BrokerRound = z.infer<typeof brokerRoundShape>

const roundShape = z
  .object({
    number: z.int().meta({ description: 'The broker that holds the lease counts its rounds.' }),
    startedAt: timeShape.meta({ description: 'By the clock of the broker that holds the lease.' }),
    tookMs: z.number().nullable().meta({ description: 'Null while the round goes on.' }),
    brokers: z.array(brokerRoundShape).meta({ description: 'The brokers that lead partitions.' }),
    offload: z
      .object({
        segments: z.int().meta({ description: 'The segments that were offloaded since the round before.' }),
        bytes: z.int().meta({ description: 'Their stored bytes.' }),
        failures: z.int().meta({ description: 'Failed attempts, and failed steps for tables.' }),
        waitingSegments: z.int().meta({ description: 'The segments that wait for their offload.' }),
        waitingBytes: z.int(),
      })
      .nullable()
      .meta({ description: 'Null without a remote tier, and until the brokers have done their parts.' }),
  })
  .meta({ id: 'StorageRound' })

/** A round of the storage worker over all partitions. */
export type Round = z.infer<typeof roundShape>

/** A round is always over all partitions: the request chooses nothing. */
export const roundRequestShape = z.object({}).optional()

export const startedRoundShape = z.object({ round: roundShape })

export type StartedRound = z.infer<typeof startedRoundShape>

export const workerShape = z.object({
  holder: z
    .object({
      id: z.int(),
      takenAt: timeShape
        .nullable()
        .meta({ description: 'When it took the lease, by the clock of the holder; null on the embedded store.' }),
    })
    .nullable()
    .meta({ description: 'The broker that holds the lease; null if no broker does.' }),
  enabled: z.boolean().meta({ description: 'Whether the broker that answers may hold the lease.' }),
  tickIntervalMs: z.number(),
  leaseDurationMs: z.number(),
  lastRound: roundShape
    .nullable()
    .meta({ description: 'Null before the first round, and if the holder does not answer.' }),
  isCleaningAllowed: z.boolean(),
  withoutFeature: z.array(z.int()).meta({
    description: 'The living brokers that could not read a cleaned log. While there are some, no log is cleaned.',
  }),
  trouble: z.string().nullable().meta({ description: 'Why the holder does not answer; null if it does.' }),
})

export type WorkerState = z.infer<typeof workerShape>

/** The largest partition number in Kafka. */
const MAX_INT32 = 2 ** 31 - 1
const MOST_SEGMENTS = 1_000

export const segmentsParams = z.object({ topic: z.string(), partition: integer(0, MAX_INT32) })

export const segmentsQuery = z.object({
  offset: integer(0, MAX_INT32).default(0).meta({ description: 'How many segments to leave out, the oldest first.' }),
  limit: integer(1, MOST_SEGMENTS).default(100),
})

const unknownNumber = () => z.number().nullable()

const segmentShape = z
  .object({
    base: z.int().meta({ description: 'The first offset that belongs to the segment.' }),
    next: z.int().meta({ description: 'The first offset of the next segment.' }),
    isActive: z.boolean().meta({ description: 'True for the last segment, to which records are appended.' }),
    tier: z.enum(['local']),
    sealedAt: timeShape.nullable().meta({ description: 'Null for the active segment.' }),
    bytes: unknownNumber().meta({
      description:
        'The stored size of its batches. Null, like the other numbers, while a new leader has not counted the active segment.',
    }),
    plainBytes: unknownNumber().meta({ description: 'The size of its batches as clients see them.' }),
    batches: unknownNumber(),
    records: unknownNumber(),
    minTimestamp: unknownNumber().meta({ description: 'Milliseconds since 1970; null if it is unknown.' }),
    maxTimestamp: unknownNumber().meta({ description: 'Milliseconds since 1970; null if it is unknown.' }),
    firstAppendAt: timeShape.nullable(),
    lastAppendAt: timeShape.nullable(),
    epochs: z.array(z.object({ epoch: z.int(), startOffset: z.int() })),
    cleanedAt: timeShape.nullable().meta({ description: 'Null if it was never cleaned.' }),
  })
  .meta({ id: 'Segment' })

export const segmentsShape = z.object({
  topic: z.string(),
  partition: z.int(),
  leaderId: z.int().nullable().meta({ description: 'Null while no broker leads the partition.' }),
  startOffset: z.int().nullable().meta({ description: 'Null if the leader does not answer.' }),
  endOffset: z.int().nullable(),
  cleanedTo: z.int().nullable().meta({ description: 'The first offset that no pass of the cleaner has reached.' }),
  uncleanable: z
    .object({ offset: z.int(), why: z.string() })
    .nullable()
    .meta({ description: 'Why the partition cannot be cleaned, and the offset that prevents it.' }),
  segments: z.array(segmentShape),
  total: z.int().meta({ description: 'The number of segments on all pages.' }),
  trouble: z.string().nullable().meta({
    description:
      'Why the leader does not answer, or cannot tell all segments; null if it does. Without the leader, only the sealed segments are known.',
  }),
})
