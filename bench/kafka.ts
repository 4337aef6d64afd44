// Compares Ketch with Apache Kafka on the same machine: the same clients measure one server and then the other. While
// one server is measured, the other is stopped, because even an idle JVM disturbs a p99. Both servers take the same
// load before the measurements. Before each measurement the kernel writes all earlier data to the disk.

import { spawnSync } from 'node:child_process'
import { listOffsets } from '../src/protocol/messages/list-offsets.ts'
import { type ApacheKafka, KAFKA_FLAGS, kafkaAbsence, startApacheKafka } from '../testing/apache-kafka.ts'
import { eventually } from '../testing/eventually.ts'
import type { BrokerProcess } from '../testing/process.ts'
import { connect } from '../testing/wire.ts'
import { type Finding, type Harness, median, type Question } from './harness.ts'
import { measureConsumer, measureEndToEnd, measureProducer } from './kafka-tools.ts'
import { anonymousMegabytes, sleepAwake } from './startup.ts'

/** One of the two servers. */
type Peer = ApacheKafka | BrokerProcess

const TOPIC = 'bench'

const NAMES = ['kafka', 'ketch'] as const
type Both<T> = Readonly<Record<(typeof NAMES)[number], T>>

/** The durability of a record that the servers have acknowledged. */
interface Durability {
  readonly name: string
  readonly ketch: Readonly<Record<string, string>>
  readonly kafka: Readonly<Record<string, string>>
  /**
   * The bytes that both servers take before the measurements, for each second that is measured. Kafka syncs about 20
   * MB of batches in one second.
   */
  readonly warmUpBytesPerSecond: number
}

const SYNCED: Durability = {
  name: 'synced before the answer',
  ketch: {},
  kafka: { 'log.flush.interval.messages': '1' },
  warmUpBytesPerSecond: 1e8,
}

const BUFFERED: Durability = {
  name: 'synced later',
  ketch: { 'svc.storage.local.embedded.fsync': 'interval' },
  kafka: {},
  warmUpBytesPerSecond: 6e8,
}

/** Keeps the disk usage small; both servers drop old data at the same pace. */
const RETENTION = { 'retention.bytes': String(64 * 2 ** 20) }
const KETCH_UPKEEP = { 'svc.storage.worker.tick-interval': '1s' }
const KAFKA_UPKEEP = {
  // Longer than a stop of Kafka's process; else its controller would consider the broker dead when it continues.
  'broker.session.timeout.ms': '600000',
  'log.segment.bytes': String(64 * 2 ** 20),
  'log.retention.check.interval.ms': '1000',
  'log.segment.delete.delay.ms': '1000',
}

async function startBoth(harness: Harness, durability: Durability): Promise<Both<Peer>> {
  const kafka = await startApacheKafka(harness, {
    properties: { ...KAFKA_UPKEEP, ...durability.kafka },
    jvmFlags: KAFKA_FLAGS,
  })
  const ketch = await harness.broker({ ...KETCH_UPKEEP, ...durability.ketch })
  return { kafka, ketch }
}

/** Creates a topic on both servers and waits until both serve it: Kafka answers before the partitions have leaders. */
async function makeTopic(
  harness: Harness,
  both: Both<Peer>,
  name: string,
  partitions: number,
  configs: Readonly<Record<string, string>> = {},
): Promise<void> {
  const asked = Array.from({ length: partitions }, (_, partitionIndex) => ({ partitionIndex, timestamp: -1 }))
  for (const peer of NAMES.map(each => both[each])) {
    await harness.topic(peer.port, name, partitions, configs)
    const wire = await connect(peer)
    await eventually(`every partition of ${name} is led`, async () => {
      const { topics } = await wire.send(listOffsets, 7, {
        replicaId: -1,
        isolationLevel: 0,
        topics: [{ name, partitions: asked }],
      })
      return topics[0]!.partitions.every(partition => partition.errorCode === 0)
    })
    await wire.close()
  }
}

/** Sends the same load to both servers: batches of 16 KiB, as the Java producer sends them. */
async function warmUp(harness: Harness, both: Both<Peer>, partitions: number, bytesPerSecond: number): Promise<void> {
  for (const name of NAMES) {
    const load = {
      partitions,
      connections: 2,
      'in-flight': 5,
      'batch-bytes': 16_384,
      bytes: bytesPerSecond * harness.seconds,
    }
    await harness.load('produce', both[name], load)
  }
}

/** The time in milliseconds in which a continued server catches up with its pending work. */
const SETTLE_MS = 1000

/** Measures one server and then the other in each round, and prints the progress. */
async function inTurns<T>(
  harness: Harness,
  both: Both<Peer>,
  what: string,
  measure: (peer: Peer) => Promise<T>,
): Promise<Both<readonly T[]>> {
  const measured = { kafka: [] as T[], ketch: [] as T[] }
  for (let round = 0; round < harness.rounds; round++) {
    harness.say(`${what}: round ${round + 1} of ${harness.rounds}`)
    for (const name of NAMES) {
      const other = both[name === 'kafka' ? 'ketch' : 'kafka']
      process.kill(other.pid, 'SIGSTOP')
      try {
        spawnSync('sync')
        measured[name].push(await measure(both[name]))
      } finally {
        process.kill(other.pid, 'SIGCONT')
        await sleepAwake(SETTLE_MS)
      }
    }
  }
  return measured
}

/** Returns Ketch's result with its ratio to Kafka's. */
function compare(
  what: string,
  unit: string,
  samples: Both<readonly number[]>,
  wanted: Pick<Finding, 'floor' | 'ceiling' | 'notes'> = {},
): Finding {
  const theirs = median(samples.kafka)
  return {
    what,
    value: median(samples.ketch),
    unit,
    ratio: median(samples.ketch) / theirs,
    ratioOf: `Kafka (${theirs >= 100 ? theirs.toFixed(0) : theirs.toPrecision(3)} ${unit})`,
    samples: samples.ketch,
    baseSamples: samples.kafka,
    ...wanted,
  }
}

function pick<T>(both: Both<readonly T[]>, one: (measured: T) => number): Both<readonly number[]> {
  return { kafka: both.kafka.map(one), ketch: both.ketch.map(one) }
}

/**
 * Starts both servers with this durability, warms them up on the topic `bench`, and ends them after the measurement.
 */
async function withBoth<T>(
  harness: Harness,
  durability: Durability,
  partitions: number,
  measure: (both: Both<Peer>) => Promise<T>,
): Promise<T> {
  const both = await startBoth(harness, durability)
  await makeTopic(harness, both, TOPIC, partitions, RETENTION)
  await warmUp(harness, both, partitions, durability.warmUpBytesPerSecond)
  const result = await measure(both)
  for (const name of NAMES) await both[name].kill('SIGKILL')
  return result
}

const PRODUCER_WAYS = [
  { durability: SYNCED, recordsPerSecond: 40_000, partitions: 6, floor: 1 },
  { durability: SYNCED, recordsPerSecond: 40_000, partitions: 1, floor: 0.8 },
  { durability: BUFFERED, recordsPerSecond: 80_000, partitions: 6, floor: 1 },
  { durability: BUFFERED, recordsPerSecond: 80_000, partitions: 1, floor: 0.8 },
]

export const kafkaProduce: Question = {
  name: 'kafka-produce',
  asks: 'kafka-producer-perf-test, records of 1 KiB, acks=all, beside Apache Kafka of equal durability',
  absence: kafkaAbsence,
  async answer(harness) {
    const findings: Finding[] = []
    for (const { durability, recordsPerSecond, partitions, floor } of PRODUCER_WAYS) {
      const records = recordsPerSecond * harness.seconds
      const what = `${durability.name}, ${partitions} partitions`
      const measured = await withBoth(harness, durability, partitions, both =>
        inTurns(harness, both, what, ({ address }) =>
          measureProducer(address, { topic: TOPIC, records, warmUp: records / 2 }),
        ),
      )
      const rates = pick(measured, each => each.megabytesPerSecond)
      findings.push(compare(what, 'MB/s', rates, { floor }))
    }
    return findings
  },
}

const RECORDS_PER_SECOND = 1000
/** Records that each producer sends before the measurement. After them its JVM has compiled the code that it runs. */
const PACED_WARM_UP = 3000

export const kafkaLatency: Question = {
  name: 'kafka-latency',
  asks: 'kafka-producer-perf-test at 1,000 records a second with acks=all, and EndToEndLatency, beside Apache Kafka',
  absence: kafkaAbsence,
  async answer(harness) {
    const findings: Finding[] = []
    const records = RECORDS_PER_SECOND * harness.seconds
    for (const durability of [SYNCED, BUFFERED]) {
      await withBoth(harness, durability, 1, async both => {
        // Without linger.ms=0 the producer's own delay of five milliseconds is most of the latency.
        for (const properties of [[], ['linger.ms=0']]) {
          const what = [durability.name, 'p99 of a send', ...properties].join(', ')
          const paced = {
            topic: TOPIC,
            records,
            warmUp: PACED_WARM_UP,
            recordsPerSecond: RECORDS_PER_SECOND,
            properties,
          }
          const measured = await inTurns(harness, both, what, ({ address }) => measureProducer(address, paced))
          const p99 = pick(measured, each => each.p99Ms)
          findings.push(compare(what, 'ms', p99, { ceiling: 1 }))
        }
        const what = `${durability.name}, end to end`
        const measured = await inTurns(harness, both, what, ({ address }) =>
          measureEndToEnd(address, { topic: TOPIC, records }),
        )
        const [p99, average] = [pick(measured, each => each.p99Ms), pick(measured, each => each.averageMs)]
        findings.push(compare(`${what}, p99`, 'ms', p99, { ceiling: 1 }))
        findings.push(compare(`${what}, average`, 'ms', average))
      })
    }
    return findings
  },
}

export const kafkaConsume: Question = {
  name: 'kafka-consume',
  asks: 'six partitions read from the beginning, records of 1 KiB in batches of 16 KiB, beside Apache Kafka',
  absence: kafkaAbsence,
  async answer(harness) {
    const records = 250_000 * harness.seconds
    const partitions = 6
    return await withBoth(harness, BUFFERED, partitions, async both => {
      await makeTopic(harness, both, 'kept', partitions)
      for (const name of NAMES) {
        // A little more than needed, because the values of a batch have fewer bytes than the batch.
        const load = { topic: 'kept', partitions, 'batch-bytes': 16_384, bytes: records * 1024 * 1.1 }
        await harness.load('produce', both[name], load)
      }
      const consumed = await inTurns(harness, both, 'kafka-consumer-perf-test', ({ address }) =>
        measureConsumer(address, { topic: 'kept', records }),
      )
      const fetch = { topic: 'kept', partitions, seconds: harness.seconds, 'in-flight': 1, connections: 1 }
      const fetched = await inTurns(harness, both, 'the raw generator', peer => harness.load('fetch', peer, fetch))
      const rates = [consumed, fetched].map(each =>
        pick<{ megabytesPerSecond: number }>(each, one => one.megabytesPerSecond),
      )
      return [
        compare('kafka-consumer-perf-test', 'MB/s', rates[0]!, { floor: 1 }),
        compare('the raw generator, one connection, 1 MiB an answer', 'MB/s', rates[1]!),
      ]
    })
  },
}

export const kafkaGenerator: Question = {
  name: 'kafka-generator',
  asks: 'the raw generator, batches of 64 KiB on 16 partitions, acks=all, beside Apache Kafka of equal durability',
  absence: kafkaAbsence,
  async answer(harness) {
    const findings: Finding[] = []
    const partitions = 16
    for (const durability of [SYNCED, BUFFERED]) {
      await withBoth(harness, durability, partitions, async both => {
        for (const connections of [1, 8]) {
          const load = { partitions, connections, 'in-flight': 5, seconds: harness.seconds }
          const what = `${durability.name}, produce, ${connections * 5} in flight`
          const measured = await inTurns(harness, both, what, peer => harness.load('produce', peer, load))
          const rates = pick(measured, each => each.megabytesPerSecond)
          findings.push(compare(what, 'MB/s', rates, { floor: 1.5 }))
        }
      })
    }
    return findings
  },
}

/** The time in milliseconds in which the timers of the start run, before the memory is read. */
const STARTED_MS = 5000

export const kafkaStartup: Question = {
  name: 'kafka-startup',
  asks: 'from the start of the process to a broker that serves, and idle memory, beside Apache Kafka',
  absence: kafkaAbsence,
  async answer(harness) {
    const started = { kafka: [] as number[], ketch: [] as number[] }
    const memory = { kafka: [] as number[], ketch: [] as number[] }
    for (let round = 0; round < harness.rounds; round++) {
      for (const name of NAMES) {
        const peer =
          name === 'kafka' ? await startApacheKafka(harness, { jvmFlags: KAFKA_FLAGS }) : await harness.broker()
        started[name].push(peer.startedInMs)
        await harness.topic(peer.port, 'first', 1)
        await sleepAwake(STARTED_MS)
        memory[name].push(await anonymousMegabytes(peer.pid))
        await peer.kill('SIGTERM')
      }
    }
    return [compare('start', 'ms', started), compare('idle anonymous memory', 'MB', memory)]
  },
}
