import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chooseEngine } from './engine.ts'
import type { Key, Values } from './settings.ts'
import { testSettings } from './settings.ts'

test('auto is embedded until a setting names a Redis, and the result has the key that decided', () => {
  const cases: readonly [Partial<Values>, string, Key][] = [
    [{}, 'embedded', 'storage.local.engine'],
    [{ 'redis.uri': 'redis://h' }, 'redis', 'redis.uri'],
    [{ 'redis.host': 'localhost' }, 'redis', 'redis.host'],
    [{ 'redis.port': 6379 }, 'redis', 'redis.port'],
    [{ 'redis.cluster': true }, 'redis', 'redis.cluster'],
    [{ 'storage.local.redis.host': 'h' }, 'redis', 'storage.local.redis.host'],
    [{ 'redis.uri': null, 'redis.password': 'x', 'redis.timeout': 1 }, 'embedded', 'storage.local.engine'],
    [{ 'redis.uri': 'redis://h', 'storage.local.engine': 'embedded' }, 'embedded', 'storage.local.engine'],
    [{ 'storage.local.engine': 'redis' }, 'redis', 'storage.local.engine'],
  ]
  for (const [values, engine, key] of cases) assert.deepEqual(chooseEngine(testSettings(values)), { engine, key })
})
