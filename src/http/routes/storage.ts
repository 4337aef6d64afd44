// The local tier: where partitions rest, and what each takes.

import { z } from 'zod'
import { measureSizes, measureStreams, partitionsOf } from '../../admin/storage.ts'
import { pageOf, pagingQuery, searchFor } from '../paging.ts'
import { reply, route } from '../route.ts'

const streamShape = z
  .object({
    topic: z.string(),
    partition: z.int(),
    leaderId: z.int(),
    sizeBytes: z
      .int()
      .nullable()
      .meta({ description: 'Of the batches as they rest; null when the leader does not answer.' }),
    startOffset: z.int().nullable(),
    endOffset: z.int().nullable(),
    entries: z.int().nullable().meta({ description: 'One for each batch; null where the store does not count them.' }),
    memoryBytes: z.int().nullable().meta({ description: 'What Redis says that it takes; null on the embedded store.' }),
  })
  .meta({ id: 'Stream' })

export const storageRoutes = [
  route({
    method: 'GET',
    path: '/api/v1/storage',
    needs: 'viewer',
    verb: 'show storage',
    tag: 'storage',
    doc: 'Where partitions rest, how much room there is, and what each partition takes.',
    query: pagingQuery(['topic', 'sizeBytes']),
    answers: {
      200: z.object({
        store: z.object({
          description: z.string(),
          place: z.string(),
          totalBytes: z.int().nullable().meta({ description: 'Null: the place has no size.' }),
          usableBytes: z.int().nullable(),
        }),
        streams: z.array(streamShape),
        total: z.int(),
      }),
    },
    async answer({ query }, rooms) {
      const { store } = rooms
      const { place, totalBytes, usableBytes } = await store.space()
      const places = partitionsOf(rooms, searchFor(query.q))
      const sizes = query.sort === 'sizeBytes' ? await measureSizes(rooms, places) : []
      const rows = places.map((each, at) => ({ place: each, size: sizes[at] ?? null }))
      const page = pageOf(
        rows,
        query,
        ({ size }) => size,
        ({ place: { topic } }) => topic.name,
        ({ place: { partition } }) => partition,
      )
      const streams = await measureStreams(
        rooms,
        page.map(row => row.place),
      )
      const known = (bytes: number) => (bytes < 0 ? null : bytes)
      return reply(200, {
        store: {
          description: store.description,
          place,
          totalBytes: known(totalBytes),
          usableBytes: known(usableBytes),
        },
        streams,
        total: places.length,
      })
    },
  }),
]
