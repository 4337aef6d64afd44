// Measures how fast a fetch on Redis is: the tail, which the broker reads from its memory as on the embedded store
// and without a read command, and data that is only in Redis, read one batch after the other.

import type { BrokerProcess } from '../testing/process.ts'
import { noRedis, type RedisServer, startRedis } from '../testing/redis.ts'
import { removeTopic } from '../testing/topic.ts'
import { type Finding, type Harness, median, type Question } from './harness.ts'
import { startBrokers } from './redis-brokers.ts'

const PARTITIONS = 4

/** Small enough for the tail cache to hold all of it. */
const TAIL_BYTES = 48 * 2 ** 20
/** More than the caches of a socket or an allocator can hide. The broker that reads it has just started. */
const COLD_BYTES = 512 * 2 ** 20

export const redisFetch: Question = {
  name: 'redis-fetch',
  asks: 'fetch of 64 KiB batches, 1 MiB an answer, on Redis: the tail beside the embedded store, the read commands of consumers that follow, and cold as a share of the ceiling',
  absence: () => (noRedis === false ? null : noRedis),
  async answer(harness) {
    const redis = await startRedis(harness)
    const [broker] = await startBrokers(harness, redis, 1)
    return [
      ...(await measureTail(harness, redis, broker!)),
      ...(await measureFollowing(harness, redis, broker!)),
      ...(await measureCold(harness, broker!)),
    ]
  },
}

async function measureTail(harness: Harness, redis: RedisServer, broker: BrokerProcess): Promise<readonly Finding[]> {
  const embedded = await harness.broker()
  for (const each of [embedded, broker]) {
    await harness.topic(each.port, 'bench', PARTITIONS)
    await harness.load('produce', each, { partitions: PARTITIONS, bytes: TAIL_BYTES })
  }
  const findings: Finding[] = []
  let reads = 0
  for (const connections of [1, 4]) {
    const args = { partitions: PARTITIONS, connections, 'in-flight': 1, seconds: harness.seconds }
    const rates: number[] = []
    const bases: number[] = []
    for (let round = 0; round < harness.rounds; round++) {
      bases.push((await harness.load('fetch', embedded, args)).megabytesPerSecond)
      const before = await readCommands(redis)
      rates.push((await harness.load('fetch', broker, args)).megabytesPerSecond)
      reads += (await readCommands(redis)) - before
      harness.say(`tail, ${connections} consumers: ${rates.at(-1)!.toFixed(0)} beside ${bases.at(-1)!.toFixed(0)} MB/s`)
    }
    findings.push({
      what: `tail fetch, ${connections} consumers`,
      value: median(rates),
      unit: 'MB/s',
      ratio: median(rates) / median(bases),
      ratioOf: `the embedded store (${median(bases).toFixed(0)} MB/s)`,
      // Both run the same code: a lower ratio is not noise.
      floor: 0.9,
      samples: rates,
      baseSamples: bases,
    })
  }
  await embedded.kill('SIGKILL')
  return [...findings, { what: 'commands that read a stream, of all tail fetches', value: reads, unit: '', ceiling: 0 }]
}

/** Measures consumers that keep up with 64 KiB batches at a fixed rate. */
async function measureFollowing(
  harness: Harness,
  redis: RedisServer,
  broker: BrokerProcess,
): Promise<readonly Finding[]> {
  const rates: number[] = []
  let reads = 0
  for (let round = 0; round < harness.rounds; round++) {
    const topic = `live-${round}`
    await harness.topic(broker.port, topic, PARTITIONS)
    const before = await readCommands(redis)
    const args = { topic, partitions: PARTITIONS, seconds: harness.seconds }
    const [load] = await Promise.all([
      harness.load('fetch', broker, { ...args, connections: PARTITIONS, 'in-flight': 1, follow: true }),
      harness.paced('produce', broker.port, { ...args, 'record-bytes': 65_536, rate: 500 }),
    ])
    rates.push(load.megabytesPerSecond)
    reads += (await readCommands(redis)) - before
    await removeTopic(broker, topic)
  }
  return [
    {
      what: `read by ${PARTITIONS} consumers that follow 500 batches a second`,
      value: median(rates),
      unit: 'MB/s',
      samples: rates,
    },
    { what: 'commands that read a stream, of all of them', value: reads, unit: '', ceiling: 0 },
  ]
}

async function measureCold(harness: Harness, broker: BrokerProcess): Promise<readonly Finding[]> {
  const ceilingServer = await harness.ceiling('produce')
  const slicesServer = await harness.ceiling('fetch')
  await harness.topic(broker.port, 'cold', PARTITIONS)
  await harness.load('produce', broker, { topic: 'cold', partitions: PARTITIONS, bytes: COLD_BYTES })
  await broker.kill('SIGTERM')
  await broker.start()
  const findings: Finding[] = []
  for (const connections of [1, 4]) {
    const args = { topic: 'cold', partitions: PARTITIONS, connections, 'in-flight': 1, seconds: harness.seconds }
    const ceiling: number[] = []
    const slices: number[] = []
    const rates: number[] = []
    for (let round = 0; round < harness.rounds; round++) {
      ceiling.push(
        (await harness.load('produce', ceilingServer, { ...args, topic: 'bench', 'in-flight': 5 })).megabytesPerSecond,
      )
      slices.push((await harness.load('fetch', slicesServer, { ...args, topic: 'bench' })).megabytesPerSecond)
      rates.push((await harness.load('fetch', broker, args)).megabytesPerSecond)
      harness.say(`cold, ${connections} consumers: ${rates.at(-1)!.toFixed(0)} of ${ceiling.at(-1)!.toFixed(0)} MB/s`)
    }
    findings.push({
      what: `cold sequential fetch, ${connections} consumers`,
      value: median(rates),
      unit: 'MB/s',
      ratio: median(rates) / median(ceiling),
      ratioOf: `the ceiling (${median(ceiling).toFixed(0)} MB/s)`,
      floor: 0.3,
      samples: rates,
      baseSamples: ceiling,
      notes: `${(median(rates) / median(slices)).toFixed(2)} of prepared slices (${median(slices).toFixed(0)} MB/s)`,
    })
  }
  return findings
}

/** Returns the number of commands so far, of all clients, that read a stream. */
async function readCommands(redis: RedisServer): Promise<number> {
  const stats = String(await redis.ask('INFO', 'commandstats'))
  const reads = stats.matchAll(/^cmdstat_(?:xrange|xrevrange|xread|xreadgroup|xinfo\|stream):calls=(\d+)/gm)
  return [...reads].reduce((sum, [, calls]) => sum + Number(calls), 0)
}
