// Measures the cleaner beside a bare loop on one thread, which unpacks, hashes and repacks the same batches without a
// map and without a store. It measures Apache Kafka's cleaner on the same batches too. All of the log is dirty, and
// one record in eight is the newest of its key.

import { systemClock } from '../src/base/clock.ts'
import { digestOf } from '../src/log/cleaner/offset-map.ts'
import type { Codec } from '../src/protocol/compression.ts'
import { codecOf, MAX_UNPACKED_BYTES, payloadOf, RecordWalk, rebuildBatch, viewBatch } from '../src/protocol/records.ts'
import { discard, unpackSync } from '../src/protocol/unpacking.ts'
import { type ApacheKafka, KAFKA_FLAGS, kafkaAbsence, startApacheKafka } from '../testing/apache-kafka.ts'
import { eventually } from '../testing/eventually.ts'
import type { BrokerProcess } from '../testing/process.ts'
import { noRedis, startRedis } from '../testing/redis.ts'
import { removeTopic } from '../testing/topic.ts'
import { cpuSeconds, type Finding, type Harness, median, type Question } from './harness.ts'
import { allowCleaning, bytesOf, COMPACTED, fill, ON_REQUEST, runRound } from './keyed.ts'
import { keyedBatches } from './keyed-batches.ts'
import { startBrokers } from './redis-brokers.ts'

/** Enough for the compiler of a thread that has just begun, which would count otherwise. */
const RECORDS = 2_000_000
const RECORDS_PER_BATCH = 100
const CODECS: readonly Codec[] = ['none', 'lz4', 'zstd']
const TOPIC = 'cleaned'

/** Bytes in a second, by the clock and by the processor time of the process. */
interface Speed {
  readonly byClock: number
  readonly byProcessor: number
}

export const cleaner: Question = {
  name: 'cleaner',
  asks: `${RECORDS / 1_000_000} million records of about 120 bytes, all dirty, in batches of ${RECORDS_PER_BATCH}: the cleaner beside a bare loop, and beside the cleaner of Apache Kafka`,
  async answer(harness) {
    const embedded = await harness.broker(ON_REQUEST)
    const [onRedis] = noRedis === false ? await startBrokers(harness, await startRedis(harness), 1, ON_REQUEST) : []
    const kafka = kafkaAbsence() === null ? await startKafka(harness) : null
    const findings: Finding[] = []
    for (const codec of CODECS) {
      const batches = [...keyedBatches({ ...DATA, codec })]
      const loop: Speed[] = []
      const stores = { 'the embedded store': [] as Speed[], Redis: [] as Speed[] }
      const theirs: number[] = []
      for (let round = 0; round < harness.rounds; round++) {
        loop.push(runBareLoop(batches))
        stores['the embedded store'].push(await timeCleaner(harness, embedded, batches))
        if (onRedis !== undefined) stores.Redis.push(await timeCleaner(harness, onRedis, batches))
        if (kafka !== null) theirs.push(await timeKafka(harness, kafka, batches, `${TOPIC}-${codec}-${round}`))
        const ours = Object.values(stores).map(each => megabytes(each.at(-1)?.byClock ?? 0))
        harness.say(
          `${codec}: ${ours.join(' and ')} MB/s beside ${megabytes(loop.at(-1)!.byClock)} of the loop and ${megabytes(theirs.at(-1) ?? 0)} of Kafka`,
        )
      }
      for (const [store, speeds] of Object.entries(stores)) {
        if (speeds.length > 0) findings.push(...beside(`${codec}, ${store}`, speeds, loop, theirs))
      }
    }
    return findings
  },
}

const DATA = {
  records: RECORDS,
  keys: RECORDS / 8,
  order: 'random',
  valueBytes: 100,
  recordsPerBatch: RECORDS_PER_BATCH,
} as const

function beside(what: string, ours: readonly Speed[], loop: readonly Speed[], kafka: readonly number[]): Finding[] {
  const unit = 'MB/s'
  const compared = (name: string, mine: readonly number[], base: readonly number[], of: string, floor?: number) => ({
    what: `${what}, ${name}`,
    value: median(mine) / 1e6,
    unit,
    ratio: median(mine) / median(base),
    ratioOf: `${of} (${megabytes(median(base))} MB/s)`,
    samples: mine,
    baseSamples: base,
    ...(floor === undefined ? {} : { floor }),
  })
  const [clock, processor] = [ours.map(each => each.byClock), ours.map(each => each.byProcessor)]
  return [
    compared(
      'by the clock',
      clock,
      loop.map(each => each.byClock),
      'a bare loop',
      0.5,
    ),
    compared(
      'by processor time, store and broker included',
      processor,
      loop.map(each => each.byProcessor),
      'a bare loop',
    ),
    ...(kafka.length === 0 ? [] : [compared('by the clock', clock, kafka, "Kafka's cleaner")]),
  ]
}

const megabytes = (bytes: number) => (bytes / 1e6).toFixed(0)

function runBareLoop(batches: readonly Buffer[]): Speed {
  const begunAt = systemClock.monotonic()
  const before = process.cpuUsage()
  let bytes = 0
  for (const batch of batches) {
    const view = viewBatch(batch)
    if (!view.isIntact) throw new Error('a batch fails its checksum')
    const payload = unpackSync(codecOf(view), payloadOf(view), MAX_UNPACKED_BYTES)
    for (const walk = new RecordWalk(view, payload); walk.next(); ) digestOf(walk.key()!)
    const { recordCount, baseTimestamp, maxTimestamp } = view
    bytes += batch.length
    rebuildBatch(view, { payload, recordCount, baseTimestamp, maxTimestamp, deleteHorizonMs: null })
    if (payload.buffer !== view.bytes.buffer) discard(payload)
  }
  const { user, system } = process.cpuUsage(before)
  return speed(bytes, systemClock.monotonic() - begunAt, (user + system) / 1000)
}

function speed(bytes: number, ms: number, processorMs: number): Speed {
  return { byClock: (bytes / ms) * 1000, byProcessor: (bytes / processorMs) * 1000 }
}

/** Fills a topic, has one round roll its segments and the next one clean them, and times that one. */
async function timeCleaner(harness: Harness, broker: BrokerProcess, batches: readonly Buffer[]): Promise<Speed> {
  await harness.topic(broker.port, TOPIC, 1, COMPACTED)
  await fill(broker.port, TOPIC, batches)
  await runRound(broker.url)
  // Without the active segment, which has at most one hundredth of them.
  const bytes = await bytesOf(broker.port, TOPIC)
  await allowCleaning(broker.port, TOPIC)
  const before = cpuSeconds(broker.pid)
  const round = await runRound(broker.url)
  const processorMs = (cpuSeconds(broker.pid) - before) * 1000
  if (round.brokers[0]!.cleaned !== 1) throw new Error(`nothing was cleaned: ${JSON.stringify(round)}`)
  await removeTopic(broker, TOPIC)
  return speed(bytes, round.tookMs!, processorMs)
}

function startKafka(harness: Harness): Promise<ApacheKafka> {
  return startApacheKafka(harness, {
    // On a busy machine its controller must not consider the broker dead.
    properties: { 'log.cleaner.backoff.ms': '200', 'broker.session.timeout.ms': '600000' },
    jvmFlags: [...KAFKA_FLAGS, '-Dorg.slf4j.simpleLogger.log.org.apache.kafka.storage.internals.log=info'],
  })
}

/** The line of Kafka's cleaner about one pass: `1.5 MB of log processed in 0.3 seconds (5.0 MB/sec).` */
const PASS = /\(dirty section = \[[^)]*\]\)\s+([\d,.]+) MB of log processed in ([\d,.]+) seconds/

/** Resolves with the bytes in a second, from the line that Kafka logs about a pass. */
async function timeKafka(
  harness: Harness,
  kafka: ApacheKafka,
  batches: readonly Buffer[],
  topic: string,
): Promise<number> {
  await harness.topic(kafka.port, topic, 1, COMPACTED)
  await fill(kafka.port, topic, batches)
  await allowCleaning(kafka.port, topic)
  const passOf = () => PASS.exec(kafka.output().split(`cleaned log ${topic}-0`)[1] ?? '')
  await eventually(`Kafka has cleaned ${topic}`, async () => passOf() !== null, 120_000)
  await removeTopic(kafka, topic)
  const [, mebibytes, seconds] = passOf()!
  return (Number(mebibytes!.replaceAll(',', '')) * 2 ** 20) / Number(seconds!.replaceAll(',', ''))
}
