// Measures the throughput of the whole broker on Redis: produces of 64 KiB batches compared with the ceiling, with
// and without the append-only file, and the same load on one, two and three brokers of one Redis.

import type { BrokerProcess } from '../testing/process.ts'
import { noRedis, type RedisOptions, startRedis } from '../testing/redis.ts'
import { type Finding, type Harness, type Measured, median, type Question } from './harness.ts'
import { type Leader, leadersOf, startBrokers } from './redis-brokers.ts'

const PARTITIONS = 16

/** Keeps the data in Redis small, because Redis keeps it in memory. */
const RETENTION = { 'retention.bytes': String(16 * 2 ** 20) }
const UPKEEP = { 'svc.storage.worker.tick-interval': '1s' }

/** The connections are divided among the brokers, so that one, two and three brokers get the same load. */
const CONNECTIONS = 6
const IN_FLIGHT = 5
const ARGS = { partitions: PARTITIONS, connections: CONNECTIONS, 'in-flight': IN_FLIGHT }

const FILES: readonly { readonly name: string; readonly options: RedisOptions }[] = [
  { name: 'AOF off', options: {} },
  { name: 'AOF, appendfsync no', options: { appendfsync: 'no' } },
  { name: 'AOF everysec', options: { appendfsync: 'everysec' } },
  { name: 'AOF always', options: { appendfsync: 'always' } },
]

export const redisBroker: Question = {
  name: 'redis-broker',
  asks: `acknowledged produce on Redis, 64 KiB batches, ${PARTITIONS} partitions, ${CONNECTIONS * IN_FLIGHT} in flight, as a share of a socket that frames, checks CRC and answers`,
  absence: () => (noRedis === false ? null : noRedis),
  async answer(harness) {
    return [...(await measureFiles(harness)), ...(await measureBrokers(harness))]
  },
}

async function measureFiles(harness: Harness): Promise<readonly Finding[]> {
  const ceilingServer = await harness.ceiling('produce')
  const brokers: BrokerProcess[] = []
  for (const { options } of FILES) {
    const redis = await startRedis(harness, options)
    const [broker] = await startBrokers(harness, redis, 1, UPKEEP)
    await harness.topic(broker!.port, 'bench', PARTITIONS, RETENTION)
    brokers.push(broker!)
  }
  const args = { ...ARGS, seconds: harness.seconds }
  const ceiling: Measured[] = []
  const loads = FILES.map((): Measured[] => [])
  for (let round = 0; round < harness.rounds; round++) {
    ceiling.push(await harness.load('produce', ceilingServer, args))
    for (const [at, { name }] of FILES.entries()) {
      const load = await harness.load('produce', brokers[at]!, args)
      loads[at]!.push(load)
      harness.say(
        `${name}: ${load.megabytesPerSecond.toFixed(0)} of ${ceiling.at(-1)!.megabytesPerSecond.toFixed(0)} MB/s`,
      )
    }
  }
  for (const broker of brokers) await broker.kill('SIGKILL')
  const highest = ceiling.map(rateOf)
  return FILES.map(({ name }, at): Finding => {
    const samples = loads[at]!.map(rateOf)
    const p99 = median(loads[at]!.map(({ latencyMs }) => latencyMs.p99))
    const cpu = median(loads[at]!.map(({ cpuMsPer100MB }) => cpuMsPer100MB))
    return {
      what: `one broker, ${name}`,
      value: median(samples),
      unit: 'MB/s',
      ratio: median(samples) / median(highest),
      ratioOf: `the ceiling (${median(highest).toFixed(0)} MB/s)`,
      ...(at === 0 ? { floor: 0.3 } : {}),
      samples,
      baseSamples: highest,
      notes: `p99 ${p99.toFixed(1)} ms, CPU of the broker for 100 MB ${cpu.toFixed(0)} ms`,
    }
  })
}

async function measureBrokers(harness: Harness): Promise<readonly Finding[]> {
  const redis = await startRedis(harness)
  const clusters: (readonly Leader[])[] = []
  for (const count of [1, 2, 3]) {
    const brokers = await startBrokers(harness, redis, count, UPKEEP)
    await harness.topic(brokers[0]!.port, 'bench', PARTITIONS, RETENTION)
    clusters.push(await leadersOf(brokers, 'bench', PARTITIONS))
  }
  const rates = clusters.map((): number[] => [])
  for (let round = 0; round < harness.rounds; round++) {
    for (const [at, leaders] of clusters.entries()) {
      const loads = await Promise.all(
        leaders.map(({ broker, partitions }) =>
          harness.load('produce', broker, {
            only: partitions.join(','),
            connections: CONNECTIONS / leaders.length,
            'in-flight': IN_FLIGHT,
            seconds: harness.seconds,
          }),
        ),
      )
      const rate = loads.map(rateOf).reduce((sum, each) => sum + each, 0)
      rates[at]!.push(rate)
      harness.say(`${leaders.length} brokers: ${rate.toFixed(0)} MB/s`)
    }
  }
  const alone = median(rates[0]!)
  return rates.map((samples, at): Finding => {
    const finding = { what: `${at + 1} brokers on one Redis, AOF off`, value: median(samples), unit: 'MB/s', samples }
    if (at === 0) return finding
    return {
      ...finding,
      ratio: median(samples) / alone,
      ratioOf: `one broker (${alone.toFixed(0)} MB/s)`,
      baseSamples: rates[0]!,
    }
  })
}

function rateOf({ megabytesPerSecond }: Measured): number {
  return megabytesPerSecond
}
