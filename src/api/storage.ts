// The API schemas of the store: its place, and the space that each partition takes.

import { z } from 'zod'
import { pagingQuery } from './paging.ts'

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

export const storageShape = z.object({
  store: z.object({
    description: z.string(),
    place: z.string(),
    totalBytes: z.int().nullable().meta({ description: 'Null if the place has no fixed size.' }),
    usableBytes: z.int().nullable(),
  }),
  streams: z.array(streamShape),
  total: z.int(),
})

export const storageStatsShape = z.object({
  segmentsPerMin: z.number().meta({ description: 'Segments per minute, over the last 60 seconds.' }),
  bytesPerMin: z.number(),
  backlogAgeSeconds: z.number().nullable().meta({ description: 'Null until the storage worker reports it.' }),
})
