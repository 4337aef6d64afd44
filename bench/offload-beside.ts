// Measures whether producers notice the offload: records of 1 KiB in batches of 64 KiB are paced at half of the full
// rate, while the segments that they fill are offloaded and those of a second topic too. It also measures whether a
// backlog stays flat when records arrive at 0.7 of the rate at which they can be offloaded.

import type { StorageStats } from '../src/api/storage.ts'
import { askHttp } from '../testing/ask-http.ts'
import { readOpenMetrics } from '../testing/openmetrics.ts'
import type { BrokerProcess } from '../testing/process.ts'
import { removeTopic } from '../testing/topic.ts'
import { type Finding, type Harness, median, type Question } from './harness.ts'
import { runRound, setConfigs } from './keyed.ts'
import type { Paced } from './paced.ts'
import { sleepAwake } from './startup.ts'
import { batchesOf, COLD, fillTopic, RECORD_SIZES, TIERED, tableFolder, tierSettings } from './tiered.ts'

const PARTITIONS = 16
const BATCH_BYTES = 65_536
/** Offloads begin each second. */
const OFTEN = { 'svc.storage.worker.tick-interval': '1s', 'svc.storage.worker.lease-duration': '10s' }
/** A broker counts what is offloaded when it has committed some files: within a measurement. */
const SMALL_FILES = { 'svc.storage.remote.iceberg.target-file-size': '16MB' }
/** Small enough that a segment is sealed and offloaded in each measurement. */
const SMALL_SEGMENTS = { ...COLD, 'segment.bytes': String(4 * 2 ** 20), 'segment.ms': '2000' }
/** The bytes that wait in the second topic for each second of a measurement: more than a broker can offload. */
const WAITING_BYTES_A_SECOND = 150e6
/** Of the measured rate of the offload, the rate at which the backlog must stay flat. */
const FLAT_SHARE = 0.7
/** The time for which the backlog must stay flat; KETCH_FLAT_SECONDS=600 is the long form. */
const FLAT_SECONDS = Number(process.env.KETCH_FLAT_SECONDS ?? '60')
const FLAT_PARTITIONS = 4
const POOL_BYTES = 32e6
const [LARGE] = RECORD_SIZES

export const offloadBeside: Question = {
  name: 'offload-beside',
  asks: `producers at half of their full rate while segments are offloaded, beside the same without; and a backlog at ${FLAT_SHARE} of the rate of the offload for ${FLAT_SECONDS} s`,
  async answer(harness) {
    return [...(await measureProducers(harness)), ...(await measureBacklog(harness))]
  },
}

async function measureProducers(harness: Harness): Promise<Finding[]> {
  const broker = await harness.broker(tierSettings(await tableFolder(harness), { ...OFTEN, ...SMALL_FILES }))
  await harness.topic(broker.port, 'full', PARTITIONS, { 'retention.bytes': String(16 * 2 ** 20) })
  const load = { topic: 'full', partitions: PARTITIONS, connections: 1, 'in-flight': 5, seconds: harness.seconds }
  const full = await inTurns(3, async () => (await harness.load('produce', broker, load)).megabytesPerSecond)
  const rate = Math.floor((median(full) * 1e6) / BATCH_BYTES / 2)
  harness.say(`the full rate is ${median(full).toFixed(0)} MB/s; paced at ${rate} batches of 64 KiB in a second`)
  const batches = batchesOf(LARGE, POOL_BYTES)
  const alone: Paced[] = []
  const beside: Paced[] = []
  const offloaded: number[] = []
  for (let round = 0; round < harness.rounds; round++) {
    // The order changes each round, because a measurement may influence the next one.
    for (const isBeside of round % 2 === 0 ? [false, true] : [true, false]) {
      const name = `${isBeside ? 'beside' : 'alone'}-${round}`
      const measured = await pace(harness, broker, { name, isBeside, batches, rate })
      if (isBeside) offloaded.push(measured.offloaded)
      ;(isBeside ? beside : alone).push(measured.paced)
    }
    const [one, other] = [alone.at(-1)!, beside.at(-1)!]
    harness.say(
      `${other.rate.toFixed(0)} beside ${one.rate.toFixed(0)} batches/s, p99 ${other.latencyMs.p99.toFixed(1)} beside ${one.latencyMs.p99.toFixed(1)} ms, while ${(offloaded.at(-1)! / 1e6).toFixed(0)} MB/s were offloaded`,
    )
  }
  await broker.kill('SIGTERM')
  const compared = (what: string, unit: string, figure: (one: Paced) => number, wanted: Partial<Finding>): Finding => ({
    what,
    value: median(beside.map(figure)),
    unit,
    ratio: median(beside.map((one, at) => figure(one) / figure(alone[at]!))),
    ratioOf: `without offloads (${median(alone.map(figure)).toPrecision(3)} ${unit}), median of the pairs`,
    samples: beside.map(figure),
    baseSamples: alone.map(figure),
    ...wanted,
  })
  return [
    compared('batches of 1 KiB records at half of the full rate', '/s', one => one.rate, { floor: 0.95 }),
    compared('p99 of them', 'ms', one => one.latencyMs.p99, {}),
    { what: 'offloaded meanwhile', value: median(offloaded) / 1e6, unit: 'MB/s', floor: 1, samples: offloaded },
  ]
}

async function inTurns<T>(times: number, work: () => Promise<T>): Promise<T[]> {
  const all: T[] = []
  for (let i = 0; i < times; i++) all.push(await work())
  return all
}

interface Pacing {
  readonly name: string
  /** Whether the segments of the topic, and those of a full one, are offloaded meanwhile. */
  readonly isBeside: boolean
  readonly batches: readonly Buffer[]
  readonly rate: number
}

/** Paces producers on a topic of its own. */
async function pace(
  harness: Harness,
  broker: BrokerProcess,
  { name, isBeside, batches, rate }: Pacing,
): Promise<{ readonly paced: Paced; readonly offloaded: number }> {
  const waiting = `${name}-waiting`
  await harness.topic(broker.port, name, PARTITIONS, isBeside ? SMALL_SEGMENTS : {})
  // A broker takes no records of a remote topic before it has looked for the table.
  await fillTopic(broker.port, name, PARTITIONS, batches, BATCH_BYTES)
  // It is sealed only when the measurement begins.
  await harness.topic(broker.port, waiting, FLAT_PARTITIONS)
  if (isBeside) {
    const bytes = WAITING_BYTES_A_SECOND * (harness.seconds + 1)
    await fillTopic(broker.port, waiting, FLAT_PARTITIONS, batches, bytes / FLAT_PARTITIONS)
    await setConfigs(broker.port, waiting, TIERED)
  }
  const before = await offloadedBytes(broker)
  const paced = await harness.paced('produce', broker.port, {
    topic: name,
    partitions: PARTITIONS,
    'record-bytes': LARGE.valueBytes,
    'batch-bytes': BATCH_BYTES,
    rate,
    seconds: harness.seconds,
  })
  const offloaded = ((await offloadedBytes(broker)) - before) / (harness.seconds + 1)
  await removeTopic(broker, name)
  await removeTopic(broker, waiting)
  return { paced, offloaded }
}

async function offloadedBytes(broker: BrokerProcess): Promise<number> {
  const answer = await fetch(`${broker.url}/actuator/prometheus`, {
    headers: { accept: 'application/openmetrics-text' },
  })
  const families = readOpenMetrics(await answer.text())
  return [...(families.get('svc_storage_archive_bytes')?.samples.values() ?? [])].reduce((all, one) => all + one, 0)
}

/** Measures the rate of the offload, then has records arrive at a share of it and looks at the backlog. */
async function measureBacklog(harness: Harness): Promise<Finding[]> {
  const folder = await tableFolder(harness)
  const batches = batchesOf(LARGE, POOL_BYTES)
  const perSecond = await measureRate(harness, folder, batches)
  const rate = Math.max(1, Math.floor((perSecond * FLAT_SHARE) / BATCH_BYTES))
  harness.say(`${(perSecond / 1e6).toFixed(0)} MB/s are offloaded; ${rate} batches of 64 KiB arrive in a second`)
  const broker = await harness.broker(tierSettings(folder, OFTEN))
  // Total retention bounds the disk: a table of ten minutes would not fit everywhere.
  const configs = { ...SMALL_SEGMENTS, 'segment.bytes': String(16 * 2 ** 20), 'retention.bytes': String(2 ** 29) }
  await harness.topic(broker.port, 'flat', FLAT_PARTITIONS, configs)
  await fillTopic(broker.port, 'flat', FLAT_PARTITIONS, batches, BATCH_BYTES)
  const backlog: number[] = []
  let isOver = false
  const looking = (async () => {
    while (!isOver) {
      await sleepAwake(1_000)
      const { backlogBytes } = await askHttp(broker.url)<StorageStats>('/api/v1/storage-stats')
      backlog.push(backlogBytes ?? 0)
    }
  })()
  const paced = await harness.paced('produce', broker.port, {
    topic: 'flat',
    partitions: FLAT_PARTITIONS,
    'record-bytes': LARGE.valueBytes,
    'batch-bytes': BATCH_BYTES,
    rate,
    seconds: FLAT_SECONDS,
  })
  isOver = true
  await looking
  await broker.kill('SIGTERM')
  // The first quarter starts threads, and learns how small the files become.
  const quarter = Math.floor(backlog.length / 4)
  const part = (at: number) => median(backlog.slice(at * quarter, (at + 1) * quarter))
  const grown = Math.max(0, part(3) - part(1))
  const arrived = (paced.rate * BATCH_BYTES * FLAT_SECONDS) / 2
  return [
    {
      what: `growth of the backlog from the second to the last quarter of ${FLAT_SECONDS} s`,
      value: grown / 1e6,
      unit: 'MB',
      ratio: grown / arrived,
      ratioOf: `the bytes that arrived meanwhile (${(arrived / 1e6).toFixed(0)} MB)`,
      ceiling: 0.02,
      samples: backlog,
      notes: `quarters ${[0, 1, 2, 3].map(at => (part(at) / 1e6).toFixed(0)).join(', ')} MB; ${((paced.rate * BATCH_BYTES) / 1e6).toFixed(0)} MB/s arrived, of ${(perSecond / 1e6).toFixed(0)} that can be offloaded`,
    },
    {
      what: 'the share of the records that arrived in time',
      value: paced.rate / rate,
      unit: '',
      floor: 0.95,
    },
  ]
}

/** Resolves with the bytes in a second that a broker offloads which does nothing else. */
async function measureRate(harness: Harness, folder: string, batches: readonly Buffer[]): Promise<number> {
  const broker = await harness.broker(tierSettings(folder))
  await harness.topic(broker.port, 'rate', FLAT_PARTITIONS, TIERED)
  const bytes = WAITING_BYTES_A_SECOND * harness.seconds
  await fillTopic(broker.port, 'rate', FLAT_PARTITIONS, batches, bytes / FLAT_PARTITIONS)
  const { offload, tookMs } = await runRound(broker.url, 200)
  await broker.kill('SIGTERM')
  if (offload === null || offload.bytes < bytes) throw new Error(`not all was offloaded: ${JSON.stringify(offload)}`)
  return (offload.bytes / tookMs!) * 1000
}
