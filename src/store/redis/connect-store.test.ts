import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startBroker } from '../../../testing/broker.ts'
import { eventually } from '../../../testing/eventually.ts'
import { noRedis, startRedis } from '../../../testing/redis.ts'
import { metadata } from '../../protocol/messages/metadata.ts'
import { StoreOpenError } from '../open-error.ts'

const skip = noRedis

test('streams go to the storage Redis and everything else to the primary one', { skip }, async t => {
  const [primary, storage] = [await startRedis(t), await startRedis(t)]
  const { broker, connect, log } = await startBroker(t, {
    'redis.uri': primary.uri,
    'storage.local.redis.uri': storage.uri,
    'redis.metrics.enabled': true,
    'storage.local.redis.metrics.histogram': true,
    'redis.metrics.max-latency': 4,
  })
  const wire = await connect()
  await wire.send(metadata, 4, { topics: [{ name: 'orders' }], allowAutoTopicCreation: true })
  await eventually('a stream', async () => ((await storage.ask('KEYS', 'svc:stream:*')) as string[]).length > 0)
  assert.deepEqual(await primary.ask('KEYS', 'svc:stream:*'), [])
  assert.deepEqual(await storage.ask('KEYS', 'svc:documents:*'), [])
  assert.notEqual(((await primary.ask('KEYS', 'svc:documents:*')) as string[]).length, 0)
  assert.match(
    log(),
    new RegExp(`Redis .* at 127.0.0.1:${storage.port}.*documents on Redis .* at 127.0.0.1:${primary.port}`),
  )
  const scrape = await broker.metrics.scrape()
  assert.match(scrape, /svc_redis_command_seconds_count\{command="FCALL",local=""\} \d/)
  assert.doesNotMatch(scrape, /svc_redis_command_seconds_bucket\{le="0.001"/)
  assert.match(scrape, /svc_storage_local_redis_command_seconds_bucket\{le="0.002",command="FCALL"/)
  assert.match(scrape, /svc_redis_connections\{client="storage"\} 17/)
  // While its store is there: what is left of the test goes down in the order in which it came up.
  await wire.close()
  await broker.close()
})

test('when the second of two Redis cannot be used nothing stays open', { skip }, async t => {
  const storage = await startRedis(t)
  const away = await startRedis(t)
  await away.stop()
  await assert.rejects(
    startBroker(t, { 'redis.uri': away.uri, 'storage.local.redis.uri': storage.uri }),
    (error: Error) =>
      error instanceof StoreOpenError && /^nothing listens at .*; svc.redis says where/.test(error.message),
  )
  const clients = async () =>
    String(await storage.ask('CLIENT', 'LIST'))
      .trim()
      .split('\n').length
  await eventually('only the test is connected', async () => (await clients()) === 1)
})
