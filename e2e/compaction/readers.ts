// Consumers of three client libraries read a compacted topic from the beginning, again and again, while producers write
// and the cleaner works without a pause. Each reading is judged by the ledger of what was written. A client that
// reports any error ends the run.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import kafkajs from 'kafkajs'
import { seededRandom } from '../../src/base/random.ts'
import { produce } from '../../src/protocol/messages/produce.ts'
import { encodeBatch } from '../../src/protocol/records.ts'
import { kafkaAbsence } from '../../testing/apache-kafka.ts'
import type { CleanUp } from '../../testing/broker.ts'
import { endWithUs } from '../../testing/end-with-us.ts'
import { eventually } from '../../testing/eventually.ts'
import type { BrokerProcess } from '../../testing/process.ts'
import { noRedis } from '../../testing/redis.ts'
import { createTopic } from '../../testing/topic.ts'
import { connect } from '../../testing/wire.ts'
import { OPEN_SCRAPE, readCounter } from '../chaos/redis/probing.ts'
import { CODECS } from '../client.ts'
import { JAVA_ARGUMENTS } from '../java/jars.ts'
// Gives kafkajs the codecs that it lacks.
import '../kafkajs/client.ts'
import { confluentPython, PYTHON } from '../python/client.ts'
import { Ledger, type Read, type Written } from './ledger.ts'
import { type Store, startCleaningProcess } from './peers.ts'

type ClientName = 'Java' | 'librdkafka' | 'kafkajs'

export interface ReaderReport {
  readonly client: ClientName
  readonly readings: number
  /** Those of the readings that have a defect. */
  readonly wrong: number
  readonly records: number
  /** Keys whose newest record was written again behind the end of a reading, over all readings. */
  readonly overtaken: number
}

export interface ReadersReport {
  readonly written: number
  /** Passes of the cleaner that reached their end, and records that they removed. */
  readonly passes: number
  readonly dropped: number
  readonly readers: readonly ReaderReport[]
  /** Defects of readings, each with its client; empty if all are right. */
  readonly defects: readonly string[]
}

const TOPIC = 'tables'
const PARTITIONS = 2
const PRODUCERS = 3
const KEYS = 6000
/** The records of all producers in a second. */
const RATE = 1500
const DELETE_RETENTION_MS = 20_000
/**
 * A reading that takes longer may miss tombstones. The time of a tombstone begins with the pass that finds it newest,
 * as in Apache Kafka, and readers see the older record until that pass has come to it.
 */
const SLOW_READING_MS = 5000
const PASSES = 'svc_storage_cleaner_passes_total{result="done"}'

/** Returns why this machine cannot run the readers; false if it can. */
export const readersAbsence = () => kafkaAbsence() ?? confluentPython.absence() ?? noRedis

/**
 * Reads for this time in milliseconds on a broker of its own with this store, and longer if the cleaner has ended fewer
 * passes until then: its thread steps back for the readers. Each client reads at least five times.
 */
export async function readBesideCleaner(
  cleanUp: CleanUp,
  { store, forMs, leastPasses, seed }: { store: Store; forMs: number; leastPasses: number; seed: number },
): Promise<ReadersReport> {
  const broker = await startCleaningProcess(cleanUp, store, {
    'svc.broker.rebalance-delay': '0ms',
    ...OPEN_SCRAPE,
  })
  await createTopic(broker, TOPIC, PARTITIONS, {
    'cleanup.policy': 'compact',
    'min.cleanable.dirty.ratio': '0',
    'delete.retention.ms': String(DELETE_RETENTION_MS),
    'segment.ms': '50',
  })
  const ledger = new Ledger(PARTITIONS)
  const stopping = new AbortController()
  const isStopped = () => stopping.signal.aborted
  // Without an end of the writing, a reader always finds a record behind the end that it was given.
  const producers = Array.from({ length: PRODUCERS }, (_, i) => write(broker, ledger, i, seed, isStopped))
  const all = Promise.all(producers)
  all.catch(() => undefined)
  const readers: Reader[] = []
  try {
    await Promise.race([all, eventually('the topic has a log to read', () => ledger.size > KEYS, 60_000)])
    readers.push(
      startProgram('Java', 'java', [...JAVA_ARGUMENTS, pathOf('Reader.java')], broker),
      startProgram('librdkafka', PYTHON, [pathOf('reader.py')], broker),
      await startKafkaJs(broker),
    )
    const untilMs = performance.now() + forMs
    const passes = () => readCounter(broker, PASSES)
    const isOver = async () => performance.now() >= untilMs && (await passes()) >= leastPasses
    const runs = readers.map(reader => readAgain(reader, ledger, isOver))
    const reports = (await Promise.race([Promise.all(runs), all.then(() => [])])) as Awaited<(typeof runs)[number]>[]
    assert.equal(reports.length, readers.length, 'the producers wrote to the end')
    return {
      written: ledger.size,
      passes: await passes(),
      dropped: await readCounter(broker, 'svc_storage_cleaner_records_total{result="dropped"}'),
      readers: reports.map(({ defects: _, ...report }) => report),
      defects: reports.flatMap(({ client, defects }) => defects.map(defect => `${client}: ${defect}`)),
    }
  } catch (error) {
    throw new Error(`the broker printed at the end:\n${broker.output().slice(-4000)}`, { cause: error })
  } finally {
    stopping.abort()
    await Promise.allSettled([all, ...readers.map(reader => reader.stop())])
  }
}

const pathOf = (name: string) => fileURLToPath(new URL(name, import.meta.url))

// ------------------------------------------------------------------------------------------------ writing

/** Writes batches of any codec until it is stopped. Each key has one producer and one partition. */
async function write(
  broker: BrokerProcess,
  ledger: Ledger,
  own: number,
  seed: number,
  isStopped: () => boolean,
): Promise<void> {
  const random = seededRandom(seed * PRODUCERS + own + 1)
  const wire = await connect(broker)
  const beganAtMs = performance.now()
  let count = 0
  while (!isStopped()) {
    const partition = random.below(PARTITIONS)
    const drafts = Array.from({ length: 1 + random.below(60) }, () => {
      const key = `${partition}-${own}-${random.below(KEYS / PARTITIONS / PRODUCERS)}`
      const number = count++
      return { key, number, value: random.below(10) === 0 ? null : `${number}:`.padEnd(20 + random.below(600), 'v') }
    })
    const records = encodeBatch(drafts, { compression: CODECS[random.below(CODECS.length)]! })
    const topicData = [{ name: TOPIC, partitionData: [{ index: partition, records }] }]
    const { responses } = await wire.send(produce, 9, { acks: -1, timeoutMs: 30_000, topicData })
    const { errorCode, baseOffset } = responses[0]!.partitionResponses[0]!
    assert.equal(errorCode, 0, 'the batch is written')
    ledger.add(
      drafts.map(({ key, number, value }, i): Written => {
        const row = { partition, offset: baseOffset + i, key }
        return value === null ? { ...row, number: null, length: -1 } : { ...row, number, length: value.length }
      }),
    )
    await pause(beganAtMs + (count * 1000 * PRODUCERS) / RATE - performance.now())
  }
  await wire.close()
}

async function pause(ms: number): Promise<void> {
  await new Promise(resolve => setTimeout(resolve, Math.max(0, ms)))
}

// ------------------------------------------------------------------------------------------------ reading

interface Reader {
  readonly client: ClientName
  /** Reads from the beginning up to the end that the topic has now. Rejects with any error of the client. */
  read(): Promise<readonly Read[]>
  stop(): Promise<void>
}

/** Reads again and again until the time is over, and judges each reading. */
async function readAgain({ client, read }: Reader, ledger: Ledger, isOver: () => Promise<boolean>) {
  const report = { client, readings: 0, wrong: 0, records: 0, overtaken: 0, defects: [] as string[] }
  do {
    const snapshot = ledger.snapshot()
    const beganAtMs = performance.now()
    const reads = await read()
    const isSlow = performance.now() - beganAtMs > SLOW_READING_MS
    await eventually(`the producers know all records that ${client} has read`, () => ledger.knows(reads))
    const { defects, overtaken } = ledger.judge(reads, snapshot, isSlow)
    report.readings++
    if (defects.length > 0) report.wrong++
    report.records += reads.length
    report.overtaken += overtaken
    // A few show the cause, and all of them could fill the memory.
    if (report.defects.length < MOST_DEFECTS) report.defects.push(...defects.slice(0, MOST_DEFECTS))
    await pause(BETWEEN_READINGS_MS)
  } while (!(await isOver()) || report.readings < LEAST_READINGS)
  return report
}

const LEAST_READINGS = 5
const MOST_DEFECTS = 20
const BETWEEN_READINGS_MS = 50

/** Starts one of the programs beside this file; each reads once for each line. */
function startProgram(client: ClientName, command: string, args: readonly string[], broker: BrokerProcess): Reader {
  const child = spawn(command, [...args, broker.address, TOPIC, String(PARTITIONS)])
  endWithUs(child)
  let complaints = ''
  child.stderr.on('data', chunk => (complaints += chunk))
  child.stdin.on('error', () => {})
  const closed = new Promise<string>(resolve => child.on('close', (status, signal) => resolve(`${signal ?? status}`)))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    client,
    async read() {
      child.stdin.write('read\n')
      const reads: Read[] = []
      for (;;) {
        const { value: line, done } = await lines.next()
        if (done) throw new Error(`${client} ended with ${await closed}: ${complaints}`)
        if (complaints !== '') throw new Error(`${client} complains: ${complaints}`)
        if (line === 'end') return reads
        const [partition, offset, key, number, length] = line.split(' ')
        reads.push({
          partition: Number(partition),
          offset: Number(offset),
          key: key!,
          number: number === '-' ? null : Number(number),
          length: Number(length),
        })
      }
    },
    async stop() {
      child.stdin.end()
      const patience = setTimeout(() => child.kill('SIGKILL'), 10_000)
      await closed
      clearTimeout(patience)
    },
  }
}

/** Reads with one consumer, which seeks the beginning for each reading. */
async function startKafkaJs(broker: BrokerProcess): Promise<Reader> {
  const client = 'kafkajs' as const
  const complaints: string[] = []
  const kafka = new kafkajs.Kafka({
    clientId: 'reader',
    brokers: [broker.address],
    logLevel: kafkajs.logLevel.WARN,
    logCreator: () => entry => void complaints.push(JSON.stringify(entry.log)),
  })
  const admin = kafka.admin()
  const consumer = kafka.consumer({ groupId: 'readers', maxBytesPerPartition: 65_536, maxWaitTimeInMs: 200 })
  let reads: Read[] = []
  let positions: number[] = []
  let ends: number[] = []
  let reading = Promise.withResolvers<void>()
  const joined = new Promise<void>(resolve => void consumer.on('consumer.group_join', () => resolve()))
  consumer.on('consumer.crash', ({ payload }) => reading.reject(payload.error))
  await Promise.all([admin.connect(), consumer.connect()])
  await consumer.subscribe({ topic: TOPIC, fromBeginning: true })
  await consumer.run({
    autoCommit: false,
    async eachBatch({ batch, isStale }) {
      const { partition, messages } = batch
      // Between two readings the consumer goes on from the end.
      if (isStale() || ends.length === 0) return
      for (const { offset, key, value } of messages) {
        const text = value?.toString() ?? null
        const number = text === null ? null : Number(text.slice(0, text.indexOf(':')))
        reads.push({ partition, offset: Number(offset), key: String(key), number, length: text?.length ?? -1 })
      }
      positions[partition] = Number(batch.lastOffset()) + 1
      if (ends.every((end, i) => positions[i]! >= end)) {
        ends = []
        reading.resolve()
      }
    },
  })
  await joined
  return {
    client,
    async read() {
      const rows = await admin.fetchTopicOffsets(TOPIC)
      // No await from here on, so that the next batch is the first of this reading.
      ends = rows.sort((one, other) => one.partition - other.partition).map(({ high }) => Number(high))
      reads = []
      positions = ends.map(() => 0)
      reading = Promise.withResolvers()
      for (const partition of ends.keys()) consumer.seek({ topic: TOPIC, partition, offset: '0' })
      await reading.promise
      if (complaints.length > 0) throw new Error(`${client} complains: ${complaints}`)
      return reads
    },
    async stop() {
      await Promise.all([admin.disconnect(), consumer.disconnect()])
    },
  }
}
