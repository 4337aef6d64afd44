// The things that an operator does to Redis, by mistake or not, under a broker and its clients. The log names each, the
// client gets Kafka's code, nothing else is harmed, and mending it is enough, without a restart of anything.

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

/** Idempotent, and as patient as librdkafka is by default. */
function startProducer(address: string, topic: string, values: readonly string[]) {
  const options = ['-X', 'enable.idempotence=true', '-X', 'linger.ms=1', '-X', 'retry.backoff.ms=50']
  return startCommand('kcat', ['-P', '-b', address, '-t', topic, ...options], { input: values.join('\n') })
}

async function consume({ address }: BrokerProcess, topic: string): Promise<string[]> {
  const text = (await runCommand('kcat', ['-C', '-b', address, '-t', topic, '-e', '-q'])).toString()
  return text.split('\n').filter(line => line !== '')
}

/** The code, and what is said with it, of one produce that no client repeats. */
async function refusalOf(t: TestContext, broker: BrokerProcess): Promise<{ code: number; message: string | null }> {
  const wire = await connect({ port: broker.port })
  t.after(() => wire.close())
  const { errorCode, errorMessage } = await produceTo(wire, batchOf(['refused']), { timeoutMs: 5_000 })
  await wire.close()
  return { code: errorCode, message: errorMessage }
}

/** Who leads partition 0 of `t`, and with which epoch, as this broker has it. */
async function leadOf(t: TestContext, broker: BrokerProcess) {
  const wire = await connect({ port: broker.port })
  t.after(() => wire.close())
  const { brokers, topics } = await wire.send(metadata, 12, { topics: [{ name: 't' }] })
  await wire.close()
  const { leaderId, leaderEpoch } = topics[0]!.partitions[0]!
  // The first epoch is of the broker that stood alone.
  const hasMoved = leaderId === 2
  return { brokers: brokers.length, leaderId, epoch: hasMoved && leaderEpoch === 1 ? 0 : leaderEpoch }
}

/** A broker on a busy machine, whose Redis is away, is not to take itself for one that others believe dead. */
const LONG_BELIEVED = { 'svc.broker.expiry': '1m' }

/** Nothing that ends a broker, and nothing that it takes for a mistake of its own. */
function assertWell(broker: BrokerProcess): void {
  assert.doesNotMatch(broker.output(), /defect in the broker|cannot go on/)
}

/** A Redis and a broker on it whose topic `t` has what FIRST says. */
async function standing(t: TestContext, { settings = {} }: { settings?: Readonly<Record<string, string>> } = {}) {
  const redis = await startRedis(t)
  const broker = await startBrokerProcess(t, { settings: { 'svc.redis.uri': redis.uri, ...settings } })
  await produce(broker, 't', FIRST)
  return { redis, broker }
}

/**
 * While it is broken a produce gets the code and the sentence, and a patient producer waits; mended, that one goes on
 * by itself, and the topic has every record once.
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
  await eventually('the log says why', () => says.test(broker.output()), 30_000)
  await mend()
  await patient.done
  assert.deepEqual(await consume(broker, 't'), [...FIRST, 'four', 'five'])
  assertWell(broker)
}

test('a Redis that was emptied under its brokers is told of, and is a new cluster without a restart', {
  skip,
}, async t => {
  const settings = { 'svc.broker.expiry': '1s', 'svc.admin.security-enabled': 'false' }
  const { redis, broker } = await standing(t, { settings })
  const other = await startBrokerProcess(t, {
    settings: { 'svc.redis.uri': redis.uri, 'svc.broker.id': '2', ...settings },
  })
  const brokers = [broker, other]
  await eventually('both know who leads, and since when', async () => {
    const views = await Promise.all(brokers.map(one => leadOf(t, one)))
    return views.every(({ brokers, epoch }) => brokers === 2 && epoch > 0) && isDeepStrictEqual(views[0], views[1])
  })
  const keys = async () => ((await redis.ask('KEYS', '*')) as string[]).filter(key => !key.includes('{')).sort()
  assert.deepEqual(await keys(), ['svc:format', 'svc:streams'])
  await redis.ask('FLUSHALL')
  for (const one of brokers)
    await eventually('it is told', () =>
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
  // While a broker announces itself again no broker leads its partitions.
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

test('a catalogue that alone was deleted is told of, nothing else is lost, and it can be brought back', {
  skip,
}, async t => {
  const { redis, broker } = await standing(t, { settings: { 'svc.broker.expiry': '1s' } })
  const [catalogue] = ((await redis.ask('KEYS', '*{catalogue:0}:document:*')) as string[]).map(String)
  assert.ok(catalogue !== undefined)
  await redis.ask('RENAME', catalogue, 'aside')
  const says = /the catalogue is gone from the store, and the partitions that it named are not/
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

test('a full Redis refuses what is produced, serves what is read, and takes records again when it has room', {
  skip,
}, async t => {
  const expiryMs = 2_000
  const { redis, broker } = await standing(t, { settings: { 'svc.broker.expiry': `${expiryMs}ms` } })
  await redis.ask('CONFIG', 'SET', 'maxmemory', '1')
  // For longer than a broker is believed in without a sign of life.
  const fromMs = systemClock.monotonic()
  while (systemClock.monotonic() - fromMs < 3 * expiryMs) assert.deepEqual(await consume(broker, 't'), FIRST)
  assert.doesNotMatch(broker.output(), /does not answer which brokers live/)
  await goesOnAfter(t, broker, {
    says: /Redis has reached its maxmemory/,
    mend: () => redis.ask('CONFIG', 'SET', 'maxmemory', '0'),
  })
})

test('a wrong password ends the start; one that is changed under a broker is named until it is put right', {
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

test('a Redis that is loading is waited for by a start, and by what is produced while it comes back', {
  skip,
}, async t => {
  // The whole dataset is in the append-only file, behind half a second for each of these until it is told to hurry.
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
  await eventually('the broker has asked', hasAsked, 30_000)
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
      // Once in five seconds, and it may have been said a moment ago of the first time.
      await eventually('it is said', () => /is loading its data/.test(broker.output().slice(from)), 14_000)
      await hurry()
    },
  })
})

test('a key of the wrong type stops its partition by name, and no other', { skip }, async t => {
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

/** No Redis older than 7.0 is at hand: this one says that it is 6. */
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
