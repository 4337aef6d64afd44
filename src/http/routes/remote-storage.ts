// The remote tier as a whole: its place, its tables, and how this broker copes with it.

import { showRemote } from '../../admin/remote-storage.ts'
import { remoteStorageQuery, remoteStorageShape } from '../../api/storage.ts'
import { found, route } from '../route.ts'

export const remoteStorageRoutes = [
  route({
    method: 'GET',
    path: '/api/v1/storage/remote',
    needs: 'viewer',
    verb: 'show remote storage',
    tag: 'storage',
    doc: 'The place of the tables, the circuit breaker before it, the reads of this broker, and a page of the tables. A table that the object store does not show within 2 s has a trouble and no numbers.',
    query: remoteStorageQuery,
    answers: { 200: remoteStorageShape },
    problems: { 404: 'REMOTE_TIER_OFF' },
    async answer({ query }, rooms) {
      return found(await showRemote(rooms, query))
    },
  }),
]
