// The API schemas of the store: its place, the space that each partition takes, its segments, the remote tier, and the
// storage worker.

import { z } from 'zod'
import { latencyShape } from './metrics.ts'
import { offloadJobShape } from './offload-jobs.ts'
import { pagingQuery } from './paging.ts'
import { integer } from './query.ts'
import { timeShape } from './time.ts'
import {
  BREAKER_STATES,
  CREATE_ONLY_STATES,
  INSPECTIONS,
  REMOTE_BREAKER_STATES,
  ROUND_OUTCOMES,
  SEGMENT_TIERS,
} from './words.ts'

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

export type StorageQuery = z.output<typeof storageQuery>

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

export type StorageView = z.infer<typeof storageShape>

export const storageStatsShape = z.object({
  segmentsPerMin: z.number().meta({ description: 'Segments that were offloaded in the last 60 seconds.' }),
  bytesPerMin: z.number().meta({ description: 'The stored bytes of these segments.' }),
  backlogSegments: z
    .int()
    .nullable()
    .meta({ description: 'The sealed segments that wait. Null until the storage worker reports it.' }),
  backlogBytes: z.int().nullable().meta({ description: 'Null until the storage worker reports it.' }),
  backlogAgeSeconds: z.number().nullable().meta({
    description: 'The age of the oldest segment that waits; 0 if none waits. Null until the storage worker reports it.',
  }),
})

export type StorageStats = z.infer<typeof storageStatsShape>

export const remoteStorageQuery = pagingQuery(['topic'], { most: 100, usual: 20 })

export type RemoteStorageQuery = z.output<typeof remoteStorageQuery>

const remoteTableShape = z
  .object({
    topic: z.string(),
    topicId: z.string(),
    location: z.string().nullable().meta({
      description: 'The folder of the table as a URI. Null, like the numbers, if the object store does not answer.',
    }),
    version: z.int().nullable().meta({ description: 'The number of its newest metadata file.' }),
    snapshots: z.int().nullable(),
    files: z.int().nullable().meta({ description: 'Data files of the current snapshot.' }),
    bytes: z.int().nullable().meta({ description: 'The size of these files.' }),
    rows: z.int().nullable(),
    trouble: z.string().nullable().meta({
      description: 'Why the table cannot be read, or gets no more commits; null if all is well.',
    }),
  })
  .meta({ id: 'RemoteTable' })

export type RemoteTable = z.infer<typeof remoteTableShape>

export const remoteStorageShape = z.object({
  place: z.string().meta({ description: '`s3://bucket/prefix` or `file:///path`.' }),
  namespace: z.string().meta({ description: 'The Iceberg namespace of the tables.' }),
  breaker: z.enum(REMOTE_BREAKER_STATES).meta({
    description: 'open: the place did not answer its last probe. No offload is attempted until it does.',
  }),
  breakerChangedAt: timeShape.meta({ description: 'Since when the breaker is as it is, by the clock of this broker.' }),
  trouble: z.string().nullable().meta({ description: 'Why the breaker is open.' }),
  createOnly: z.enum(CREATE_ONLY_STATES).meta({
    description:
      'Whether the place creates an object only once. broken: it let two requests create the same object, so that no commit is made.',
  }),
  reads: z
    .object({
      threads: z.int(),
      waiting: z.int().meta({ description: 'Reads that wait for a thread.' }),
      queueCapacity: z.int().meta({ description: 'The most reads that may wait. Further ones fail at once.' }),
      cacheBytes: z.int(),
      cacheCapacityBytes: z.int(),
    })
    .meta({ id: 'RemoteReads', description: 'The reads of this broker.' }),
  suspended: z.int().meta({ description: 'The jobs without attempts left.' }),
  passed: z.int().meta({ description: 'The jobs of the last day that retention has cancelled before their offload.' }),
  tables: z.array(remoteTableShape),
  total: z.int().meta({ description: 'The number of tables on all pages.' }),
})

export type RemoteStorage = z.infer<typeof remoteStorageShape>

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
    tier: z.enum(SEGMENT_TIERS).meta({
      description:
        'local: the remote tier does not have all of its offsets. both: it has. remote: the local tier has dropped it; such a row is a range of the table, with offsets and epochs only.',
    }),
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
  startOffset: z.int().nullable().meta({
    description: 'The lowest offset that clients may read. Null if the leader does not answer.',
  }),
  localStartOffset: z
    .int()
    .nullable()
    .meta({ description: 'The lowest offset in the local tier. Null if the leader does not answer.' }),
  endOffset: z.int().nullable(),
  cleanedTo: z.int().nullable().meta({ description: 'The first offset that no pass of the cleaner has reached.' }),
  uncleanable: z
    .object({ offset: z.int(), why: z.string() })
    .nullable()
    .meta({ description: 'Why the partition cannot be cleaned, and the offset that prevents it.' }),
  remote: z
    .object({
      ranges: z.array(z.object({ base: z.int(), next: z.int() })).meta({
        description: 'The offsets that the table has, ascending: from `base` to the one before `next`.',
      }),
      version: z.int().meta({ description: 'The version of the table; 0 without a table.' }),
    })
    .nullable()
    .meta({ description: 'Null if the topic does not use the remote tier, or if its leader does not answer.' }),
  segments: z.array(segmentShape),
  total: z.int().meta({ description: 'The number of segments on all pages.' }),
  trouble: z.string().nullable().meta({
    description:
      'Why the leader does not answer, or cannot tell all segments; null if it does. Without the leader, only the sealed segments are known.',
  }),
})

export const segmentParams = z.object({
  ...segmentsParams.shape,
  base: integer(0).meta({ description: 'The first offset of the segment, as the list shows it.' }),
})

const remoteFileShape = z
  .object({
    path: z.string().meta({ description: 'A URI.' }),
    base: z.int().meta({ description: 'The first offset that belongs to the file.' }),
    next: z.int().meta({ description: 'The first offset behind the file.' }),
    rows: z.int(),
    bytes: z.int().meta({ description: 'The size of the file.' }),
    plainBytes: z
      .int()
      .nullable()
      .meta({ description: 'The size of its batches as clients see them; null for a file of another writer.' }),
    minTimestamp: z.number().nullable(),
    maxTimestamp: z.number().nullable(),
  })
  .meta({ id: 'RemoteFile' })

export type RemoteFile = z.infer<typeof remoteFileShape>

export const segmentDetailShape = z.object({
  topic: z.string(),
  partition: z.int(),
  leaderId: z.int().nullable().meta({ description: 'Null while no broker leads the partition.' }),
  segment: segmentShape,
  job: offloadJobShape.nullable().meta({ description: 'The offload job of the segment; null if it has none.' }),
  inspection: z.enum(INSPECTIONS).meta({
    description:
      'none: no offset of the segment is in the remote tier. full: too many inspections wait. late: it takes longer than svc.admin.segment-inspection.timeout; ask again. failed: the remote tier does not answer.',
  }),
  files: z.array(remoteFileShape).meta({ description: 'The first data files with offsets of the segment.' }),
  totalFiles: z.int(),
  trouble: z.string().nullable().meta({ description: 'Why something is missing; null if nothing is.' }),
})

export type SegmentDetail = z.infer<typeof segmentDetailShape>
export type SegmentList = z.infer<typeof segmentsShape>
