// Turns error replies of Redis into StoreUnavailable: certainly nothing was written, and the message tells the
// operator why. It contains Redis's own text.

import { StoreUnavailable } from '../store.ts'
import { RedisError } from './client/redis-error.ts'

const MEANINGS: Readonly<Record<string, string>> = {
  OOM: 'Redis has reached its maxmemory and takes no more writes until there is room',
  MISCONF: 'Redis refuses writes because it cannot save to its disk',
  READONLY: 'this Redis is a replica and takes no writes',
  LOADING: 'Redis is still loading its data',
  NOPERM: 'the user of this broker may not do that in Redis',
  NOAUTH: 'Redis asks for a password',
  WRONGTYPE: 'a key of this broker holds another type of value: another client wrote to it',
  NOREPLICAS: 'Redis has fewer replicas than its min-replicas-to-write asks for',
  CLUSTERDOWN: 'the Redis cluster does not serve all of its slots',
  MASTERDOWN: 'the replica has lost its primary',
  TRYAGAIN: 'its slot of the Redis Cluster is on its way to another primary, and only some of its keys have arrived',
  ASK: 'its slot of the Redis Cluster is on its way to another primary',
  MOVED: 'its slot of the Redis Cluster has moved to another primary',
  BUSY: 'Redis is busy with a script',
}

/** Throws StoreUnavailable for an error reply of Redis. Throws every other error unchanged. */
export function refuse(error: unknown, what: string): never {
  if (!(error instanceof RedisError)) throw error
  const meaning = MEANINGS[error.code]
  const message = `${what}: ${meaning === undefined ? '' : `${meaning}: `}${error.message}`
  throw new StoreUnavailable(message, { cause: error })
}
