// Measures the bounds of the remote tier: the bytes and requests that readers cause at the place of tables, the time
// of a random read with 20 ms on each request, and the memory of a broker that offloads and one that serves readers.

import { seededRandom } from '../src/base/random.ts'
import { encodeBatch } from '../src/protocol/records.ts'
import type { BrokerProcess } from '../testing/process.ts'
import { openColdReader, readThrough } from './cold-reader.ts'
import { type Finding, type Harness, median, type Question, residentOf } from './harness.ts'
import { runRound, setConfigs } from './keyed.ts'
import { slowObjects, withSlowObjects } from './slow-objects.ts'
import { sleepAwake } from './startup.ts'
import {
  batchesOf,
  COLD,
  dataFiles,
  fillTopic,
  makeCold,
  offsets,
  RECORD_SIZES,
  TIERED,
  tableFolder,
  tierSettings,
} from './tiered.ts'

/** KETCH_BOUNDS_MB changes the bytes of each topic. It must be more than the cache of readers holds. */
const MEGABYTES = Number(process.env.KETCH_BOUNDS_MB ?? '512')
const PARTITIONS = 4
/** The memory is measured with as many partitions as keep all threads at work. */
const MEMORY_PARTITIONS = 8
const RANDOM_FETCHES = Number(process.env.KETCH_BOUNDS_FETCHES ?? '300')
const DELAY_MS = 20
const POOL_BYTES = 32e6
const TOPIC = 'cold'

export const remoteBounds: Question = {
  name: 'remote-bounds',
  asks: `the bytes and requests of sequential and of random reads of a table with ${MEGABYTES} MB, their time with ${DELAY_MS} ms on each request, and resident memory while a broker offloads and serves ${MEMORY_PARTITIONS} partitions`,
  async answer(harness) {
    const [, small] = RECORD_SIZES
    return [
      ...(await measureReads(harness, '1 KiB records of random bytes', noiseBatches())),
      ...(await measureReads(harness, small.name, batchesOf(small, POOL_BYTES))),
      ...(await measureMemory(harness, '1 KiB records of random bytes', noiseBatches())),
      ...(await measureMemory(harness, small.name, batchesOf(small, POOL_BYTES))),
    ]
  },
}

/** Batches that do not compress: the table stores as much as the clients sent. */
function noiseBatches(): Buffer[] {
  const random = seededRandom(7)
  return Array.from({ length: POOL_BYTES / 65_536 }, () =>
    encodeBatch(Array.from({ length: 62 }, () => ({ key: random.bytes(16), value: random.bytes(1_000) }))),
  )
}

async function measureReads(harness: Harness, what: string, batches: readonly Buffer[]): Promise<Finding[]> {
  const folder = await tableFolder(harness)
  const broker = await harness.broker(tierSettings(folder), undefined, withSlowObjects)
  await harness.topic(broker.port, TOPIC, PARTITIONS, COLD)
  await fillTopic(broker.port, TOPIC, PARTITIONS, batches, (MEGABYTES * 1e6) / PARTITIONS)
  await makeCold(broker, TOPIC, PARTITIONS)
  const { bytes: stored } = await dataFiles(folder)
  const findings: Finding[] = []
  for (const consumers of [1, PARTITIONS]) {
    await startAgain(broker)
    await slowObjects(broker, 0)
    const all = Array.from({ length: PARTITIONS }, (_, partition) => partition)
    const readAll = async () => {
      for (let next = all.shift(); next !== undefined; next = all.shift()) await readThrough(broker.port, TOPIC, next)
    }
    await Promise.all(Array.from({ length: consumers }, readAll))
    const { bytes, requests } = await slowObjects(broker, 0)
    findings.push({
      what: `${what}, bytes fetched by ${consumers === 1 ? 'a sequential reader' : `${consumers} sequential readers`}`,
      value: bytes / 1e6,
      unit: 'MB',
      ratio: bytes / stored,
      ratioOf: `the data files (${(stored / 1e6).toFixed(0)} MB)`,
      ceiling: 1.3,
      notes: `${requests} requests`,
    })
  }
  findings.push(...(await measureRandom(harness, what, broker)))
  await broker.kill('SIGTERM')
  return findings
}

async function startAgain(broker: BrokerProcess): Promise<void> {
  await broker.kill('SIGTERM')
  await broker.start()
}

async function measureRandom(harness: Harness, what: string, broker: BrokerProcess): Promise<Finding[]> {
  await startAgain(broker)
  const ends = await offsets(broker, TOPIC, PARTITIONS, -1)
  const random = seededRandom(3)
  const reader = await openColdReader(broker.port, TOPIC)
  // The first read loads the table, and the code of the broker.
  for (let partition = 0; partition < PARTITIONS; partition++) await reader.fetch(partition, 0)
  await slowObjects(broker, DELAY_MS)
  const [times, bytes, requests, served]: [number[], number[], number[], number[]] = [[], [], [], []]
  for (let i = 0; i < RANDOM_FETCHES; i++) {
    const partition = random.below(PARTITIONS)
    const fetched = await reader.fetch(partition, random.below(ends[partition]!))
    const counts = await slowObjects(broker, DELAY_MS)
    times.push(fetched.ms)
    served.push(fetched.bytes)
    bytes.push(counts.bytes)
    requests.push(counts.requests)
  }
  reader.close()
  harness.say(`${what}: a random fetch was answered with ${(median(served) / 1e6).toFixed(2)} MB`)
  const most = (values: readonly number[]) => Math.max(...values)
  const p99 = times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)]!
  const name = `${what}, random fetches of 1 MiB`
  return [
    {
      what: `${name}, most bytes fetched`,
      value: most(bytes) / 1e6,
      unit: 'MB',
      ceiling: 4,
      notes: `the median is ${(median(bytes) / 1e6).toFixed(2)}, the aim is 1.5; ${RANDOM_FETCHES} fetches`,
    },
    {
      what: `${name}, most requests`,
      value: most(requests),
      unit: '',
      ceiling: 40,
      notes: `the median is ${median(requests)}, the aim is 12`,
    },
    {
      what: `${name}, p99 with ${DELAY_MS} ms on each request`,
      value: p99,
      unit: 'ms',
      ceiling: 300,
      notes: `the median is ${median(times).toFixed(0)} ms`,
    },
  ]
}

async function measureMemory(harness: Harness, what: string, batches: readonly Buffer[]): Promise<Finding[]> {
  const broker = await harness.broker(tierSettings(await tableFolder(harness)))
  const { 'remote.storage.enable': enable, ...local } = TIERED
  await harness.topic(broker.port, TOPIC, MEMORY_PARTITIONS, local)
  await fillTopic(broker.port, TOPIC, MEMORY_PARTITIONS, batches, (2 * MEGABYTES * 1e6) / MEMORY_PARTITIONS)
  // Sealed before the start whose memory is measured.
  await runRound(broker.url)
  const offloading = await growth(broker, async () => {
    await setConfigs(broker.port, TOPIC, { 'remote.storage.enable': enable })
    for (let bytes = 0; bytes < 2 * MEGABYTES * 1e6; ) {
      const { offload } = await runRound(broker.url, 200)
      if (offload!.failures > 0) throw new Error(`not offloaded: ${JSON.stringify(offload)}`)
      bytes += offload!.bytes
    }
  })
  await dropLocal(broker)
  const all = Array.from({ length: MEMORY_PARTITIONS }, (_, partition) => partition)
  const reading = await growth(broker, async () => {
    await Promise.all(all.map(partition => readThrough(broker.port, TOPIC, partition)))
  })
  await broker.kill('SIGTERM')
  const finding = (how: string, { idle, most }: Growth): Finding => ({
    what: `${what}, growth of the resident memory while ${how}`,
    value: (most - idle) / 1e6,
    unit: 'MB',
    ceiling: 700,
    notes: `from ${(idle / 1e6).toFixed(0)} MB`,
  })
  return [
    finding(`${2 * MEGABYTES} MB in ${MEMORY_PARTITIONS} partitions are offloaded`, offloading),
    finding(`${MEMORY_PARTITIONS} consumers read them`, reading),
  ]
}

/** Has the local store drop what the table has. */
async function dropLocal(broker: BrokerProcess): Promise<void> {
  await setConfigs(broker.port, TOPIC, { 'local.retention.ms': '1' })
  await makeCold(broker, TOPIC, MEMORY_PARTITIONS)
}

interface Growth {
  readonly idle: number
  readonly most: number
}

/** Starts the broker again, and measures its resident bytes when it is idle, and the most while it works. */
async function growth(broker: BrokerProcess, work: () => Promise<void>): Promise<Growth> {
  await startAgain(broker)
  await sleepAwake(2_000)
  const idle = residentOf(broker.pid)
  let most = idle
  const looks = setInterval(() => {
    most = Math.max(most, residentOf(broker.pid))
  }, 50)
  try {
    await work()
  } finally {
    clearInterval(looks)
  }
  return { idle, most }
}
