// Chooses the store of end-to-end tests: KETCH_STORE is `embedded` (the default), `redis` or `redis-cluster`.
// testing/process.ts calls it, so a test that sets no store of its own runs on each of them.

import type { CleanUp } from './broker.ts'
import { startRedis, startRedisCluster } from './redis.ts'

const STORES = ['embedded', 'redis', 'redis-cluster'] as const

export type StoreName = (typeof STORES)[number]

/** Returns the store of KETCH_STORE as the end of a heading. */
export function onChosenStore(): string {
  return { embedded: '', redis: ' on Redis', 'redis-cluster': ' on a Redis Cluster' }[chosenStore()]
}

/** Returns the name of a result, followed by the store if it is not the embedded one. */
export function nameOnChosenStore(name: string): string {
  const store = chosenStore()
  return store === 'embedded' ? name : `${name}-${store}`
}

/** Returns the store of KETCH_STORE. Throws if there is no such store. */
export function chosenStore(): StoreName {
  const name = process.env.KETCH_STORE || 'embedded'
  const store = STORES.find(each => each === name)
  if (store === undefined) throw new Error(`KETCH_STORE: got ${name}; takes ${STORES.join(', ')}`)
  return store
}

/**
 * Resolves with the settings of a broker on a new, empty store of the chosen kind. The store ends with the test. The
 * embedded store needs no settings.
 */
export async function chosenStoreSettings(cleanUp: CleanUp): Promise<Readonly<Record<string, string>>> {
  const store = chosenStore()
  if (store === 'embedded') return {}
  if (store === 'redis') return { 'svc.redis.uri': (await startRedis(cleanUp)).uri }
  return { 'svc.redis.uri': (await startRedisCluster(cleanUp)).uri, 'svc.redis.cluster': 'true' }
}
