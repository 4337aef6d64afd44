// Operators' actions on Redis, by mistake or on purpose, under a broker and its clients. For each one the log names
// it, the client gets Kafka's error code, nothing else is harmed, and after the repair everything continues without a
// restart.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect as connectSocket, createServer } from 'node:net'
import { type TestContext, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { systemClock } from '../../src/base/clock.ts'
import { KAFKA_STORAGE_ERROR, NOT_LEADER_OR_FOLLOWER, UNKNOWN_TOPIC_OR_PARTITION } from '../../src/protocol/errors.ts'
import { metadata } from '../../src/protocol/messages/metadata.ts'
import { askHttp } from '../../testing/ask-http.ts'
import { eventually } from '../../testing/eventually.ts'
import { batchOf, produceTo } from '../../testing/kafka.ts'
import { type BrokerProcess, startBrokerProcess } from '../../testing/process.ts'
import { noRedis, type RedisServer, startRedis } from '../../testing/redis.ts'
import { connect } from '../../testing/wire.ts'
import { runCommand, startCommand } from '../command.ts'
import { kcat } from '../kcat/client.ts'

const skip = kcat.absence() ?? noRedis

const FIRST = ['one', 'two', 'three']

async function produce({ address }: BrokerProcess, topic: string, values: readonly string[]): Promise<void> {
  await startProducer(address, topic, values).done
}

/** Starts an idempotent producer, which retries as long as librdkafka does by default. */
function startProducer(address: string, topic: string, values: readonly string[]) {
  const options = ['-X', 'enable.idempotence=true', '-X', 'linger.ms=1', '-X', 'retry.backoff.ms=50']
  return startCommand('kcat', ['-P', '-b', address, '-t', topic, ...options], { input: values.join('\n') })
}

async function consume({ address }: BrokerProcess, topic: string): Promise<string[]> {
  const text = (await runCommand('kcat', ['-C', '-b', address, '-t', topic, '-e', '-q'])).toString()
  return text.split('\n').filter(line => line !== '')
}

/** Resolves to the error code and the message of one produce request that no client repeats. */
async function refusalOf(t: TestContext, broker: BrokerProcess): Promise<{ code: number; message: string | null }> {
  const wire = await connect({ port: broker.port })
  t.after(() => wire.close())
  const { errorCode, errorMessage } = await produceTo(wire, batchOf(['refused']), { timeoutMs: 5_000 })
  await wire.close()
  return { code: errorCode, message: errorMessage }
}

/** Resolves to the leader of partition 0 of `t` and its epoch, as this broker knows them. */
async function leadOf(t: TestContext, broker: BrokerProcess) {
  const wire = await connect({ port: broker.port })
  t.after(() => wire.close())
  const { brokers, topics } = await wire.send(metadata, 12, { topics: [{ name: 't' }] })
  await wire.close()
  const { leaderId, leaderEpoch } = topics[0]!.partitions[0]!
  // The broker that started alone led with the first epoch.
  const hasMoved = leaderId === 2
  return { brokers: brokers.length, leaderId, epoch: hasMoved && leaderEpoch === 1 ? 0 : leaderEpoch }
}

/** A long expiry: while Redis is away, a broker on a slow machine must not conclude that others consider it dead. */
const LONG_BELIEVED = { 'svc.broker.expiry': '1m' }

/** Asserts that nothing ended the broker, and that it logged no mistake of its own. */
function assertWell(broker: BrokerProcess): void {
  assert.doesNotMatch(broker.output(), /defect in the broker|cannot go on/)
}

/** Starts a Redis and a broker on it. The topic `t` has the records of FIRST. */
async function standing(t: TestContext, { settings = {} }: { settings?: Readonly<Record<string, string>> } = {}) {
  const redis = await startRedis(t)
  const broker = await startBrokerProcess(t, { settings: { 'svc.redis.uri': redis.uri, ...settings } })
  await produce(broker, 't', FIRST)
  return { redis, broker }
}

/**
 * Asserts that a produce request fails with the right code and message while Redis is broken, and that a producer
 * which retries waits. After `mend` this producer continues by itself, and the topic has every record once.
 */
async function goesOnAfter(
  t: TestContext,
  broker: BrokerProcess,
  { says, mend }: { says: RegExp; mend: () => Promise<unknown> },
): Promise<void> {
  const { code, message } = await refusalOf(t, broker)
  assert.equal(code, KAFKA_STORAGE_ERROR.code, message ?? '')
  assert.match(message ?? '', /nothing was written/)
  const patient = startProducer(broker.address, 't', ['four', 'five'])
  await eventually('the log says why', () => says.test(broker.output()), 60_000)
  await mend()
  await patient.done
  assert.deepEqual(await consume(broker, 't'), [...FIRST, 'four', 'five'])
  assertWell(broker)
}

test('a Redis that was emptied under its brokers is logged, and becomes a new cluster without a restart', {
  skip,
}, async t => {
  const settings = { 'svc.broker.expiry': '1s', 'svc.admin.security-enabled': 'false' }
  const { redis, broker } = await standing(t, { settings })
  const other = await startBrokerProcess(t, {
    settings: { 'svc.redis.uri': redis.uri, 'svc.broker.id': '2', ...settings },
  })
  const brokers = [broker, other]
  await eventually('both know the leader and its epoch', async () => {
    const views = await Promise.all(brokers.map(one => leadOf(t, one)))
    return views.every(({ brokers, epoch }) => brokers === 2 && epoch > 0) && isDeepStrictEqual(views[0], views[1])
  })
  const keys = async () => ((await redis.ask('KEYS', '*')) as string[]).filter(key => !key.includes('{')).sort()
  assert.deepEqual(await keys(), ['svc:format', 'svc:streams'])
  await redis.ask('FLUSHALL')
  for (const one of brokers)
    await eventually('the loss is logged', () =>
      /the store was emptied or replaced: cluster \S+ is gone with its 1 topics/.test(one.output()),
    )
  const lost = async ({ url }: BrokerProcess) =>
    (await askHttp(url)<{ lossyRecords: number }>('/api/v1/metrics')).lossyRecords
  assert.equal((await lost(broker)) + (await lost(other)), FIRST.length, 'the broker that led them counts them')
  const codes = new Set<number>()
  await eventually('the topic is known to be gone', async () => {
    for (const one of brokers) codes.add((await refusalOf(t, one)).code)
    return codes.has(UNKNOWN_TOPIC_OR_PARTITION.code)
  })
  // While a broker announces itself again, no broker leads its partitions.
  for (const { code } of [UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER]) codes.delete(code)
  assert.deepEqual([...codes], [])
  await produce(broker, 't', ['four'])
  await produce(other, 'another', ['five'])
  assert.deepEqual([await consume(other, 't'), await consume(broker, 'another')], [['four'], ['five']])
  assert.deepEqual(await keys(), ['svc:format', 'svc:streams'])
  const founded = brokers.map(
    one => /continues with the present content of the store, cluster (\S+);/.exec(one.output())?.[1],
  )
  assert.equal(founded[0], founded[1])
  for (const one of brokers) assertWell(one)
  await broker.kill('SIGTERM')
  await broker.start()
  assert.deepEqual(await consume(broker, 't'), ['four'])
})

test('if only the catalogue was deleted, the log says so, nothing else is lost, and it can be restored', {
  skip,
}, async t => {
  const { redis, broker } = await standing(t, { settings: { 'svc.broker.expiry': '1s' } })
  const [catalogue] = ((await redis.ask('KEYS', '*{catalogue:0}:document:*')) as string[]).map(String)
  assert.ok(catalogue !== undefined)
  await redis.ask('RENAME', catalogue, 'aside')
  const says = /the catalogue is gone from the store, but the partitions that it named are still there/
  await eventually('the log says so', () => says.test(broker.output()))
  await produce(broker, 't', ['four'])
  await broker.kill('SIGTERM')
  await assert.rejects(broker.start(), says)
  await redis.ask('RENAME', 'aside', catalogue)
  await broker.start()
  assert.deepEqual(await consume(broker, 't'), [...FIRST, 'four'])
})

test('FUNCTION FLUSH under a running broker is not noticed by any client', { skip }, async t => {
  const { redis, broker } = await standing(t)
  await redis.ask('FUNCTION', 'FLUSH')
  await produce(broker, 't', ['four'])
  await redis.ask('FUNCTION', 'FLUSH')
  await produce(broker, 'another', ['five'])
  assert.deepEqual([await consume(broker, 't'), await consume(broker, 'another')], [[...FIRST, 'four'], ['five']])
  assertWell(broker)
})

test('with a full Redis writes are refused, reads are served, and records are accepted again when there is room', {
  skip,
}, async t => {
  const expiryMs = 2_000
  const { redis, broker } = await standing(t, { settings: { 'svc.broker.expiry': `${expiryMs}ms` } })
  await redis.ask('CONFIG', 'SET', 'maxmemory', '1')
  // Longer than the expiry of a broker that shows no sign of life.
  const fromMs = systemClock.monotonic()
  while (systemClock.monotonic() - fromMs < 3 * expiryMs) assert.deepEqual(await consume(broker, 't'), FIRST)
  assert.doesNotMatch(broker.output(), /does not answer which brokers live/)
  await goesOnAfter(t, broker, {
    says: /Redis has reached its maxmemory/,
    mend: () => redis.ask('CONFIG', 'SET', 'maxmemory', '0'),
  })
})

test('a wrong password ends the start; a password that is changed under a broker is logged until it is corrected', {
  skip,
}, async t => {
  const redis = await startRedis(t)
  const settings = { ...LONG_BELIEVED, 'svc.redis.uri': redis.uri.replace('redis://', 'redis://ketch:wrong@') }
  await redis.ask('ACL', 'SETUSER', 'ketch', 'on', '>right', '~*', '&*', '+@all')
  await assert.rejects(
    startBrokerProcess(t, { settings }),
    /status 1;[\s\S]*ketch: Redis at .* does not take svc\.redis\.username and svc\.redis\.password/,
  )
  await redis.ask('ACL', 'SETUSER', 'ketch', '>wrong')
  const broker = await startBrokerProcess(t, { settings })
  await produce(broker, 't', FIRST)
  await redis.ask('ACL', 'SETUSER', 'ketch', '<wrong')
  await redis.ask('CLIENT', 'KILL', 'USER', 'ketch')
  await goesOnAfter(t, broker, {
    says: /no connection to Redis yet: .* does not take svc\.redis\.username and svc\.redis\.password/,
    mend: () => redis.ask('ACL', 'SETUSER', 'ketch', '>wrong'),
  })
})

test('a start waits for a Redis that is loading, and so do producers while Redis comes back', {
  skip,
}, async t => {
  // The whole dataset is in the append-only file. Each key takes half a second to load until hurry() is called.
  const redis = await startRedis(t, { appendfsync: 'always', config: { 'aof-use-rdb-preamble': 'yes' } })
  const fill = async () => {
    for (let at = 0; at < 30; at++) await redis.ask('SET', `k${at}`, 'x'.repeat(100_000))
    await redis.ask('BGREWRITEAOF')
    await eventually('the file is rewritten', async () => {
      return (
        (await redis.info('aof_rewrite_in_progress')) === '0' && (await redis.info('aof_rewrite_scheduled')) === '0'
      )
    })
  }
  const slowly = {
    'key-load-delay': '500000',
    'loading-process-events-interval-bytes': '1024',
    rdbcompression: 'no',
  }
  const hurry = () => redis.ask('CONFIG', 'SET', 'key-load-delay', '0')
  await fill()
  await redis.stop('SIGKILL')
  await redis.start(slowly)
  await assert.rejects(redis.ask('GET', 'k0'), /LOADING/)
  const starting = startBrokerProcess(t, { settings: { ...LONG_BELIEVED, 'svc.redis.uri': redis.uri } })
  const hasAsked = async () => / cmd=info /.test(String(await redis.ask('CLIENT', 'LIST')))
  await eventually('the broker has asked', hasAsked, 60_000)
  await hurry()
  const broker = await starting
  assert.match(broker.output(), /is loading its data: [\d.]+ %/)
  await produce(broker, 't', FIRST)
  await fill()
  await redis.stop('SIGKILL')
  await redis.start(slowly)
  const from = broker.output().length
  await goesOnAfter(t, broker, {
    says: /is loading its data/,
    mend: async () => {
      // The broker logs it once in five seconds, and may have logged it a moment ago for the first loading.
      await eventually('it is said', () => /is loading its data/.test(broker.output().slice(from)), 14_000)
      await hurry()
    },
  })
})

test('a key of the wrong type stops its partition, which the log names, and no other', { skip }, async t => {
  const { redis, broker } = await standing(t)
  const [key] = ((await redis.ask('KEYS', 'svc:stream:*:batches')) as string[]).map(String)
  assert.ok(key !== undefined, String(await redis.ask('KEYS', '*')))
  await produce(broker, 'another', FIRST)
  await redis.ask('RENAME', key, 'aside')
  await redis.ask('SET', key, 'x')
  await produce(broker, 'another', ['four'])
  await goesOnAfter(t, broker, {
    says: /holds another type of value: another client wrote to it/,
    mend: async () => {
      await redis.ask('DEL', key)
      await redis.ask('RENAME', 'aside', key)
    },
  })
  assert.deepEqual(await consume(broker, 'another'), [...FIRST, 'four'])
})

/** Starts a server that pretends to be Redis 6, because no Redis older than 7.0 is available. */
async function startOldRedis(t: TestContext, redis: RedisServer): Promise<number> {
  const server = createServer(client => {
    const behind = connectSocket(redis.port, redis.host)
    client.pipe(behind)
    behind.on('data', chunk =>
      client.write(Buffer.from(chunk.toString('latin1').replace(/redis_version:\d/, 'redis_version:6'), 'latin1')),
    )
    behind.on('close', () => client.destroy())
    client.on('close', () => behind.destroy())
    for (const socket of [client, behind]) socket.on('error', () => {})
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => void server.close())
  return (server.address() as { port: number }).port
}

test('a Redis that is too old is refused by its version', { skip }, async t => {
  const port = await startOldRedis(t, await startRedis(t))
  await assert.rejects(
    startBrokerProcess(t, { settings: { 'svc.redis.uri': `redis://127.0.0.1:${port}` } }),
    /status 1;[\s\S]*ketch: Redis at .* is Redis 6\.\d+\.\d+, which is too old; takes Redis 7\.0 or newer\n$/,
  )
})
