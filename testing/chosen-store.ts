// The store that end-to-end tests run on: KETCH_STORE is `embedded` (also when it is not set), `redis` or
// `redis-cluster`. testing/process.ts asks here, so a test that starts a broker without a word about its store runs on
// each of them.

import type { CleanUp } from './broker.ts'
import { startRedis, startRedisCluster } from './redis.ts'

const STORES = ['embedded', 'redis', 'redis-cluster'] as const

export type StoreName = (typeof STORES)[number]

/** The store of KETCH_STORE, as the end of a heading. */
export function onChosenStore(): string {
  return { embedded: '', redis: ' on Redis', 'redis-cluster': ' on a Redis Cluster' }[chosenStore()]
}

/** A result's name, with the store behind it unless that is the embedded one. */
export function nameOnChosenStore(name: string): string {
  const store = chosenStore()
  return store === 'embedded' ? name : `${name}-${store}`
}

/** The store of KETCH_STORE. Throws if there is no such store. */
export function chosenStore(): StoreName {
  const name = process.env.KETCH_STORE || 'embedded'
  const store = STORES.find(each => each === name)
  if (store === undefined) throw new Error(`KETCH_STORE: got ${name}; takes ${STORES.join(', ')}`)
  return store
}

/**
 * The settings of a broker on a new, empty store of the chosen kind, which ends with the test; none for the embedded
 * store.
 */
export async function chosenStoreSettings(cleanUp: CleanUp): Promise<Readonly<Record<string, string>>> {
  const store = chosenStore()
  if (store === 'embedded') return {}
  if (store === 'redis') return { 'svc.redis.uri': (await startRedis(cleanUp)).uri }
  return { 'svc.redis.uri': (await startRedisCluster(cleanUp)).uri, 'svc.redis.cluster': 'true' }
}
