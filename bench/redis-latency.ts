// How long does a single record take at 1,000 a second: produced to a broker on Redis, beside the same batch as a bare XADD to
// the same Redis, in turns; once the broker has served for so long that its code is compiled.

import { noRedis, startRedis } from '../testing/redis.ts'
import { type Finding, median, type Question } from './harness.ts'
import { startBrokers } from './redis-brokers.ts'

const PARTITIONS = 16
const RATE = 1000
/** What the broker does in its first minute is work of the compiler as much as its own. */
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
    harness.say(`warming up for ${WARM_UP_SECONDS} s`)
    await harness.paced('produce', broker!.port, { ...args, seconds: WARM_UP_SECONDS })
    const { found, notes } = await harness.quietly(async () => {
      const bare = await harness.paced('xadd', redis.port, args)
      const own = await harness.paced('produce', broker!.port, args)
      harness.say(
        `p99 ${own.latencyMs.p99.toFixed(2)} ms beside ${bare.latencyMs.p99.toFixed(2)} ms, ${own.rate.toFixed(0)}/s`,
      )
      return { bare, own }
    })
    return (['p99', 'p50'] as const).map((which): Finding => {
      const samples = found.map(({ own }) => own.latencyMs[which])
      const baseSamples = found.map(({ bare }) => bare.latencyMs[which])
      return {
        what: `${which} of an acknowledged record`,
        value: median(samples),
        unit: 'ms',
        ratio: median(samples) / median(baseSamples),
        ratioOf: `a bare XADD (${median(baseSamples).toFixed(3)} ms)`,
        ...(which === 'p99' ? { ceiling: 3 } : {}),
        samples,
        baseSamples,
        notes,
      }
    })
  },
}
