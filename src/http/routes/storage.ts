// The local tier: where partitions rest, and how much each takes.

import { describeStore, measureSizes, measureStreams, partitionsOf } from '../../admin/storage.ts'
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
    doc: 'The place where partitions rest, its free room, its circuit breaker, the waits for its connections, and the size of each partition. A store that does not answer is described as far as this broker knows it.',
    query: storageQuery,
    answers: { 200: storageShape },
    async answer({ query }, rooms) {
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
      const shown = page.map(row => row.place)
      const [streams, store] = await Promise.all([measureStreams(rooms, shown), describeStore(rooms)])
      return reply(200, { store, streams, total: places.length })
    },
  }),
]
