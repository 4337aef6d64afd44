// The API schemas of the store: its place, and the space that each partition takes.

import { z } from 'zod'
import { latencyShape } from './metrics.ts'
import { pagingQuery } from './paging.ts'
import { BREAKER_STATES } from './words.ts'

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
