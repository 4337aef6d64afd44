import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startBroker, type TestBroker } from '../../../testing/broker.ts'
import { eventually } from '../../../testing/eventually.ts'
import { batchOf, produceTo } from '../../../testing/kafka.ts'
import { noRedis, startRedis, startReplicated } from '../../../testing/redis.ts'
import { NOT_ENOUGH_REPLICAS } from '../../protocol/errors.ts'
import { metadata } from '../../protocol/messages/metadata.ts'
import { offsetCommit } from '../../protocol/messages/offset-commit.ts'
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
  // The connection is closed while its store exists: the rest of the test ends in the order in which it started.
  await wire.close()
  await broker.close()
})

test('if the second of two Redis servers cannot be used, no connection stays open', { skip }, async t => {
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

/** Produces one record to the topic `t`, which is created if it is missing. Returns the error code. */
async function produced({ connect }: TestBroker): Promise<number> {
  const wire = await connect()
  await wire.send(metadata, 4, { topics: [{ name: 't' }], allowAutoTopicCreation: true })
  const { errorCode } = await produceTo(wire, batchOf(['x']))
  await wire.close()
  return errorCode
}

/** Commits an offset of a group without members. Returns the error code. */
async function committed({ connect }: TestBroker): Promise<number> {
  const wire = await connect()
  const partitions = [{ partitionIndex: 0, committedOffset: 1, committedMetadata: null }]
  const { topics } = await wire.send(offsetCommit, 8, {
    groupId: 'g',
    memberId: '',
    topics: [{ name: 't', partitions }],
  })
  await wire.close()
  return topics[0]!.partitions[0]!.errorCode
}

test('a broker starts without its replica, refuses records and offsets until it is there, and then takes them', {
  skip,
}, async t => {
  const config = { 'repl-diskless-sync-delay': '0' }
  const primary = await startRedis(t, { config })
  const broker = await startBroker(t, { 'redis.uri': primary.uri, 'storage.local.write.wait-replicas': 1 })
  assert.equal(broker.log().match(/WARN .*has 0 replicas/g)?.length, 1)
  await eventually('a produce is refused', async () => (await produced(broker)) === NOT_ENOUGH_REPLICAS.code)
  for (let at = 0; at < 3; at++) assert.notEqual(await committed(broker), 0, 'a fail-over would take it back')
  const replica = await startRedis(t, { config: { ...config, replicaof: `127.0.0.1 ${primary.port}` } })
  await eventually('a produce is taken', async () => (await produced(broker)) === 0, 60_000)
  await eventually('an offset is taken', async () => (await committed(broker)) === 0, 60_000)
  assert.equal(broker.log().match(/INFO .*has 1 replicas again/g)?.length, 1)
  await replica.stop('SIGKILL')
  await eventually('a produce is refused again', async () => (await produced(broker)) !== 0, 60_000)
  assert.notEqual(await committed(broker), 0)
  await eventually('its loss is one line', () => broker.log().match(/WARN .*has 0 replicas/g)?.length === 2, 60_000)
  await replica.start()
  await eventually('a produce is taken again', async () => (await produced(broker)) === 0, 60_000)
  await eventually('an offset is taken again', async () => (await committed(broker)) === 0, 60_000)
})

test('replicas are required on the Redis of streams, and not on the other one', { skip }, async t => {
  const { primary: storage } = await startReplicated(t)
  const documents = await startRedis(t)
  const broker = await startBroker(t, {
    'redis.uri': documents.uri,
    'storage.local.redis.uri': storage.uri,
    'storage.local.write.wait-replicas': 1,
  })
  await eventually('a produce is taken', async () => (await produced(broker)) === 0)
  assert.doesNotMatch(broker.log(), /has \d+ replicas/)
  assert.doesNotMatch(String(await documents.ask('INFO', 'commandstats')), /cmdstat_wait/)
  assert.match(String(await storage.ask('INFO', 'commandstats')), /cmdstat_wait/)
  await broker.broker.close()
})
