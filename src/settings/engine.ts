// Which store holds the local tier, and which key decided it. The engines themselves are in store/.

import type { Key, Settings } from './settings.ts'

const REDIS_KEYS = ['redis.uri', 'redis.host', 'redis.port', 'redis.cluster'] as const satisfies readonly Key[]
const DECIDING: readonly Key[] = [...REDIS_KEYS, ...REDIS_KEYS.map(key => `storage.local.${key}` as const)]

export interface ChosenEngine {
  readonly engine: 'redis' | 'embedded'
  /** The key that decided. */
  readonly key: Key
}

/** A setting names the engine. `auto` takes Redis if a setting says where a Redis is. */
export function chooseEngine(settings: Settings): ChosenEngine {
  const engine = settings.get('storage.local.engine')
  const redis = redisKey(settings)
  if (engine === 'auto' && redis !== null) return { engine: 'redis', key: redis }
  return { engine: engine === 'auto' ? 'embedded' : engine, key: 'storage.local.engine' }
}

/** The first key that says where a Redis is, or null. A blank value says nothing. */
export function redisKey(settings: Settings): Key | null {
  return DECIDING.find(key => settings.isSet(key) && settings.get(key) !== null) ?? null
}
