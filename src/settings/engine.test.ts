import assert from 'node:assert/strict'
import { test } from 'node:test'
import { advertisedEndpoint } from './advertised.ts'
import { chooseEngine } from './engine.ts'
import type { Key, Values } from './settings.ts'
import { testSettings } from './settings.ts'

test('auto is embedded until somebody says where a Redis is, and names the key that decided', () => {
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

test('clients are told the advertised endpoint, else what is bound, and localhost for all interfaces', () => {
  const cases: readonly [Partial<Values>, string, number][] = [
    [{}, 'localhost', 9092],
    [{ 'broker.host': '::' }, 'localhost', 9092],
    [{ 'broker.host': '127.0.0.1' }, '127.0.0.1', 9092],
    [{ 'broker.advertised-host': 'kafka.example.com', 'broker.advertised-port': 443 }, 'kafka.example.com', 443],
  ]
  for (const [values, host, port] of cases)
    assert.deepEqual(advertisedEndpoint(testSettings(values), 9092), { host, port })
})
