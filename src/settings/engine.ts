// Chooses the store of the local tier, and names the key that decided. The engines themselves are in store/.

import type { Key, Settings } from './settings.ts'

const REDIS_KEYS = ['redis.uri', 'redis.host', 'redis.port', 'redis.cluster'] as const satisfies readonly Key[]
const DECIDING: readonly Key[] = [...REDIS_KEYS, ...REDIS_KEYS.map(key => `storage.local.${key}` as const)]

export interface ChosenEngine {
  readonly engine: 'redis' | 'embedded'
  /** The key that decided. */
  readonly key: Key
}

/**
 * Returns the engine that svc.storage.local.engine names. `auto` is Redis if a setting names a Redis, else embedded.
 */
export function chooseEngine(settings: Settings): ChosenEngine {
  const engine = settings.get('storage.local.engine')
  const redis = redisKey(settings)
  if (engine === 'auto' && redis !== null) return { engine: 'redis', key: redis }
  return { engine: engine === 'auto' ? 'embedded' : engine, key: 'storage.local.engine' }
}

/** Returns the first key that names a Redis; null if no key does. A blank value does not count. */
export function redisKey(settings: Settings): Key | null {
  return DECIDING.find(key => settings.isSet(key) && settings.get(key) !== null) ?? null
}
