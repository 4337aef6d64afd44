// Measures the cost of 10,000 partitions for three brokers on one Redis: the loss of a broker, the commands to Redis
// without clients, and the memory of a partition with one record.

import { readFile } from 'node:fs/promises'
import { systemClock } from '../src/base/clock.ts'
import { metadata } from '../src/protocol/messages/metadata.ts'
import { produce } from '../src/protocol/messages/produce.ts'
import { encodeBatch } from '../src/protocol/records.ts'
import type { BrokerProcess } from '../testing/process.ts'
import { noRedis, type RedisServer, startRedis } from '../testing/redis.ts'
import { connect, type Wire } from '../testing/wire.ts'
import { cpuSeconds, type Finding, type Harness, median, type Question } from './harness.ts'
import { startBrokers, until } from './redis-brokers.ts'
import { sleepAwake } from './startup.ts'

const TOPICS = 100
const PARTITIONS = 100
const TOTAL = TOPICS * PARTITIONS
const BROKERS = 3

/** The time in milliseconds for work that goes on after a start or a creation. */
const SETTLE_MS = 10_000
/** Longer than the interval at which the worker checks each partition, so that the checks are counted. */
const IDLE_MS = 70_000

export const redisClusterScale: Question = {
  name: 'redis-cluster-scale',
  asks: `${TOTAL} partitions over ${BROKERS} brokers on one Redis: a broker's loss, idle commands, memory`,
  absence: () => (noRedis === false ? null : noRedis),
  async answer(harness) {
    const redis = await startRedis(harness)
    const brokers = await startBrokers(harness, redis, BROKERS)
    await harness.topic(brokers[0]!.port, 'first', 1)
    await until('the brokers see each other', async () => (await livingAt(brokers[0]!)).length === BROKERS)
    await sleepAwake(SETTLE_MS)
    const before = await memoryOf(redis, brokers)
    const begunAt = systemClock.monotonic()
    for (let topic = 0; topic < TOPICS; topic++) await harness.topic(brokers[0]!.port, `many-${topic}`, PARTITIONS)
    await producedEverywhere(brokers)
    harness.say(`made, and each has one record, after ${((systemClock.monotonic() - begunAt) / 1000).toFixed(1)} s`)
    await sleepAwake(SETTLE_MS)
    const idle = await commandsPerSecond(redis)
    const after = await memoryOf(redis, brokers)
    return [
      { what: `idle commands of ${BROKERS} brokers, over ${IDLE_MS / 1000} s`, value: idle, unit: '/s', ceiling: 200 },
      ...memoryFindings(before, after),
      ...(await measureLosses(harness, brokers)),
    ]
  },
}

interface Memory {
  readonly redis: number
  readonly brokers: readonly number[]
}

async function memoryOf(redis: RedisServer, brokers: readonly BrokerProcess[]): Promise<Memory> {
  const resident = brokers.map(async ({ pid }) => {
    const status = await readFile(`/proc/${pid}/status`, 'utf8')
    return Number(/VmRSS:\s+(\d+) kB/.exec(status)![1]) * 1024
  })
  return { redis: Number(await redis.info('used_memory')), brokers: await Promise.all(resident) }
}

function memoryFindings(before: Memory, after: Memory): readonly Finding[] {
  const grown = after.brokers.map((bytes, at) => (bytes - before.brokers[at]!) / TOTAL)
  const notes = 'which has taken one record'
  return [
    {
      what: 'resident memory of a broker for each partition there is',
      value: median(grown),
      unit: 'bytes',
      samples: grown,
      notes,
    },
    { what: 'memory of Redis for each partition', value: (after.redis - before.redis) / TOTAL, unit: 'bytes', notes },
  ]
}

async function commandsPerSecond(redis: RedisServer): Promise<number> {
  const processed = async () => Number(await redis.info('total_commands_processed'))
  const begunAt = systemClock.monotonic()
  const before = await processed()
  await sleepAwake(IDLE_MS)
  return ((await processed()) - before) / ((systemClock.monotonic() - begunAt) / 1000)
}

async function measureLosses(harness: Harness, brokers: readonly BrokerProcess[]): Promise<readonly Finding[]> {
  const samples: number[] = []
  /** The CPU seconds of the other brokers for it: on a busy machine they say more than the time. */
  const cpu: number[] = []
  const spent = (all: readonly BrokerProcess[]) => all.reduce((sum, { pid }) => sum + cpuSeconds(pid), 0)
  for (let round = 0; round < harness.rounds; round++) {
    const lost = brokers[round % BROKERS]!
    const others = brokers.filter(broker => broker !== lost)
    await lost.kill('SIGKILL')
    const begunAt = systemClock.monotonic()
    const spentBefore = spent(others)
    await producedEverywhere(others)
    cpu.push(spent(others) - spentBefore)
    samples.push((systemClock.monotonic() - begunAt) / 1000)
    harness.say(`a broker's loss: every partition took a record ${samples.at(-1)!.toFixed(1)} s later`)
    await lost.start()
    await producedEverywhere(brokers)
    await sleepAwake(SETTLE_MS)
  }
  return [
    {
      what: 'until every partition takes records after kill -9 of a broker',
      value: median(samples),
      unit: 's',
      ceiling: 10,
      samples,
      notes: `${median(cpu).toFixed(1)} s of CPU of the other brokers meanwhile`,
    },
    { what: 'the slowest of them', value: Math.max(...samples), unit: 's', ceiling: 10 },
  ]
}

async function livingAt(broker: BrokerProcess): Promise<readonly number[]> {
  const wire = await connect({ port: broker.port })
  try {
    const { brokers } = await wire.send(metadata, 12, { topics: [] })
    return brokers.map(({ nodeId }) => nodeId)
  } finally {
    await wire.close()
  }
}

/**
 * Produces one record to every partition through these brokers, each of which must lead some. Retries until each
 * record is acknowledged.
 */
async function producedEverywhere(brokers: readonly BrokerProcess[]): Promise<void> {
  const wires = new Map<number, Wire>()
  for (const broker of brokers) wires.set(broker.port, await connect({ port: broker.port }))
  try {
    const missing = new Set<string>()
    for (let topic = 0; topic < TOPICS; topic++) {
      for (let partition = 0; partition < PARTITIONS; partition++) missing.add(`many-${topic}/${partition}`)
    }
    await until(
      `a record in each of ${TOTAL} partitions`,
      async () => {
        const living = await Promise.all(brokers.map(livingAt))
        if (living.some(ids => ids.length !== brokers.length)) return false
        const wire = wires.get(brokers[0]!.port)!
        const { brokers: named, topics } = await wire.send(metadata, 12, { topics: null })
        const portOf = new Map(named.map(({ nodeId, port }) => [nodeId, port]))
        const perLeader = new Map<number, Map<string, number[]>>()
        for (const { name, partitions } of topics) {
          for (const { partitionIndex, leaderId } of partitions) {
            const port = portOf.get(leaderId)
            if (port === undefined || !missing.has(`${name}/${partitionIndex}`)) continue
            const led = perLeader.get(port) ?? perLeader.set(port, new Map()).get(port)!
            led.set(name!, [...(led.get(name!) ?? []), partitionIndex])
          }
        }
        await Promise.all([...perLeader].map(([port, led]) => produceTo(wires.get(port)!, led, missing)))
        return missing.size === 0
      },
      300_000,
    )
  } finally {
    for (const wire of wires.values()) await wire.close()
  }
}

/** Sends one request for each topic; deletes the acknowledged partitions from `missing`. */
async function produceTo(wire: Wire, led: ReadonlyMap<string, readonly number[]>, missing: Set<string>): Promise<void> {
  const records = encodeBatch([{ value: 'a record' }])
  await Promise.all(
    [...led].map(async ([name, partitions]) => {
      const { responses } = await wire.send(produce, 9, {
        acks: -1,
        timeoutMs: 10_000,
        topicData: [{ name, partitionData: partitions.map(index => ({ index, records })) }],
      })
      for (const { index, errorCode } of responses[0]!.partitionResponses) {
        if (errorCode === 0) missing.delete(`${name}/${index}`)
      }
    }),
  )
}
