// The local tier: where partitions rest, and how much each takes.

import { measureSizes, measureStreams, partitionsOf } from '../../admin/storage.ts'
import { storageQuery, storageShape } from '../../api/storage.ts'
import { pageOf, searchFor } from '../paging.ts'
import { reply, route } from '../route.ts'

export const storageRoutes = [
  route({
    method: 'GET',
    path: '/api/v1/storage',
    needs: 'viewer',
    verb: 'show storage',
    tag: 'storage',
    doc: 'The place where partitions rest, its free room, and the size of each partition.',
    query: storageQuery,
    answers: { 200: storageShape },
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
