// The local tier: where partitions rest, and how much each takes.

import type { Place } from '../../admin/reach.ts'
import { describeStore, measureSizes, measureStreams, type Partitions, partitionsOf } from '../../admin/storage.ts'
import { storageQuery, storageShape } from '../../api/storage.ts'
import { type Paging, pageOf, searchFor } from '../paging.ts'
import { type HttpRooms, reply, route } from '../route.ts'

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
      const partitions = partitionsOf(rooms, searchFor(query.q))
      const shown = query.sort === 'sizeBytes' ? await bySize(rooms, partitions, query) : byTopic(partitions, query)
      const [streams, store] = await Promise.all([measureStreams(rooms, shown), describeStore(rooms)])
      return reply(200, { store, streams, total: partitions.total })
    },
  }),
]

function byTopic({ slice, total }: Partitions, { order, offset, limit }: Paging): readonly Place[] {
  if (order === 'asc') return slice(offset, offset + limit)
  return slice(Math.max(0, total - offset - limit), Math.max(0, total - offset)).toReversed()
}

async function bySize(rooms: HttpRooms, { slice, total }: Partitions, query: Paging): Promise<readonly Place[]> {
  const places = slice(0, total)
  const sizes = await measureSizes(rooms, places)
  const page = pageOf(
    places.map((place, at) => ({ place, size: sizes[at]! })),
    query,
    ({ size }) => size,
    ({ place: { topic } }) => topic.name,
    ({ place: { partition } }) => partition,
  )
  return page.map(({ place }) => place)
}
