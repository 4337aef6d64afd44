import assert from 'node:assert/strict'
import { test } from 'node:test'
import { latencyBuckets, parseRedisUri, redisTargets, uriObjection } from './redis-target.ts'
import { testSettings } from './settings.ts'

test('a URI replaces host, port, username and password', () => {
  const { broker } = redisTargets(
    testSettings({
      'redis.uri': 'rediss://ann:p%40ss@redis.example:7000/3',
      'redis.host': 'other',
      'redis.port': 1,
      'redis.username': 'bob',
      'redis.password': 'x',
    }),
  )
  const { host, port, tls, username, password, database } = broker
  assert.deepEqual(
    { host, port, tls, username, password, database },
    { host: 'redis.example', port: 7000, tls: true, username: 'ann', password: 'p@ss', database: 3 },
  )
})

test('the parts that a URI leaves out have defaults', () => {
  assert.deepEqual(parseRedisUri('redis://[::1]'), {
    host: '::1',
    port: 6379,
    tls: false,
    username: null,
    password: null,
    database: 0,
  })
  assert.equal(parseRedisUri('redis://:secret@h').password, 'secret')
})

test('a URI with a part that the broker cannot use gets an objection', () => {
  for (const uri of ['redis://h', 'redis://h/', 'redis://h/15', 'rediss://a:b@h:1/0'])
    assert.equal(uriObjection(uri), null)
  assert.match(uriObjection('redis://h?db=1')!, /no \?/)
  assert.match(uriObjection('redis://h#x')!, /no \?/)
  assert.match(uriObjection('redis://h/x')!, /number of a database/)
  assert.match(uriObjection('redis://h/01')!, /number of a database/)
  assert.match(uriObjection('redis://a:%zz@h')!, /percent-encoded/)
})

test('storage has its own Redis only if a setting makes the two different', () => {
  const same = redisTargets(testSettings({ 'redis.uri': 'redis://h', 'storage.local.redis.timeout': 60_000 }))
  assert.equal(same.storage, same.broker)
  const { broker, storage } = redisTargets(
    testSettings({
      'redis.uri': 'redis://:secret@h',
      'redis.cluster': true,
      'redis.pool.size': 5,
      'storage.local.redis.uri': 'redis://s:1',
      'storage.local.redis.pool.max-wait': 7,
    }),
  )
  assert.equal(storage.keys, 'svc.storage.local.redis')
  assert.deepEqual([storage.host, storage.port, storage.password, storage.isCluster], ['s', 1, null, true])
  assert.deepEqual(
    [broker.pool, storage.pool],
    [
      { size: 5, maxWaitMs: 3000 },
      { size: 5, maxWaitMs: 7 },
    ],
  )
})

test('latency buckets double from the shortest to the longest, and two switches must ask for them', () => {
  const bucketsOf = (overrides: Parameters<typeof testSettings>[0]) =>
    latencyBuckets(redisTargets(testSettings(overrides)).broker)
  const both = { 'redis.metrics.enabled': true, 'redis.metrics.histogram': true }
  assert.deepEqual(bucketsOf({}), [])
  assert.deepEqual(bucketsOf({ 'redis.metrics.enabled': true }), [])
  assert.deepEqual(bucketsOf({ 'redis.metrics.histogram': true }), [])
  assert.deepEqual(
    bucketsOf({ ...both, 'redis.metrics.min-latency': 10, 'redis.metrics.max-latency': 50 }),
    [0.01, 0.02, 0.04, 0.05],
  )
  assert.equal(bucketsOf({ ...both, 'redis.metrics.min-latency': 0 })[0], 0.0001)
})
