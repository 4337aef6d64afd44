// Measures the latency of single records at 1,000 a second: produced to a broker on Redis, and the same batch as a
// bare XADD to the same Redis, in turns. The broker first serves until its code is compiled. The same XADD also goes
// through a Node process that only forwards bytes; no broker in Node can be faster than this process.

import { noRedis, startRedis } from '../testing/redis.ts'
import { type Finding, median, type Question } from './harness.ts'
import { startBrokers } from './redis-brokers.ts'

const PARTITIONS = 16
const RATE = 1000
/** In the first minute the compiler uses as much of the processor as the broker's own work. */
const WARM_UP_SECONDS = 60

export const redisLatency: Question = {
  name: 'redis-latency',
  asks: `single records of 1 KiB at ${RATE} a second, ${PARTITIONS} partitions, acks=all, AOF off: how long, beside a bare XADD, after a warm-up of ${WARM_UP_SECONDS} s?`,
  absence: () => (noRedis === false ? null : noRedis),
  async answer(harness) {
    const redis = await startRedis(harness)
    const [broker] = await startBrokers(harness, redis, 1)
    await harness.topic(broker!.port, 'bench', PARTITIONS)
    const args = { partitions: PARTITIONS, rate: RATE, seconds: harness.seconds }
    const relay = await harness.relay(redis.port)
    harness.say(`warming up for ${WARM_UP_SECONDS} s`)
    await harness.paced('produce', broker!.port, { ...args, seconds: WARM_UP_SECONDS })
    const { found, notes } = await harness.quietly(async () => {
      const bare = await harness.paced('xadd', redis.port, args)
      const relayed = await harness.paced('xadd', relay.port, args)
      const own = await harness.paced('produce', broker!.port, args)
      const [bareMs, relayedMs, ownMs] = [bare, relayed, own].map(({ latencyMs }) => latencyMs.p99.toFixed(2))
      harness.say(`p99 ${ownMs} ms beside ${bareMs} ms, ${relayedMs} ms relayed, ${own.rate.toFixed(0)}/s`)
      return { bare, relayed, own }
    })
    const findingOf = (
      what: string,
      of: 'own' | 'relayed',
      which: 'p99' | 'p50',
      promise: { readonly ceiling?: number } = {},
    ): Finding => {
      const samples = found.map(round => round[of].latencyMs[which])
      const baseSamples = found.map(({ bare }) => bare.latencyMs[which])
      return {
        what: `${which} of ${what}`,
        value: median(samples),
        unit: 'ms',
        ratio: median(samples) / median(baseSamples),
        ratioOf: `a bare XADD (${median(baseSamples).toFixed(3)} ms)`,
        ...promise,
        samples,
        baseSamples,
        notes,
      }
    }
    return [
      findingOf('an acknowledged record', 'own', 'p99', { ceiling: 3 }),
      findingOf('an acknowledged record', 'own', 'p50'),
      findingOf('an XADD through a relay', 'relayed', 'p99'),
      findingOf('an XADD through a relay', 'relayed', 'p50'),
    ]
  },
}
