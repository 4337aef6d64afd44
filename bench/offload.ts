// Measures how fast a broker moves sealed segments into their table, beside a bare loop that only encodes the same
// batches. The broker reads them from its journal, checks them, encodes them in threads, writes the files to a folder,
// reads them back and commits them.

import { Worker } from 'node:worker_threads'
import type { BrokerProcess } from '../testing/process.ts'
import { removeTopic } from '../testing/topic.ts'
import type { LoopResult, LoopWork } from './encode-loop.ts'
import { cpuSeconds, type Finding, type Harness, median, type Question } from './harness.ts'
import { runRound } from './keyed.ts'
import {
  batchesOf,
  dataFiles,
  fillTopic,
  RECORD_SIZES,
  type RecordSize,
  TIERED,
  tableFolder,
  tierSettings,
} from './tiered.ts'

/** KETCH_OFFLOAD_MB changes the amount of a round, and KETCH_OFFLOAD_THREADS the numbers of threads. */
const MEGABYTES = Number(process.env.KETCH_OFFLOAD_MB ?? '512')
const PARTITIONS = 4
const POOL_BYTES = 32e6
/** The first files of a topic are planned for the worst case, so that they become about as large as these. */
const FILE_BYTES = 64 * 2 ** 20

/** One thread beside the loop says what all the rest costs. The other number is the default. */
const THREADS = (process.env.KETCH_OFFLOAD_THREADS ?? '1,4').split(',').map(Number)

export const offload: Question = {
  name: 'offload',
  asks: `the offload of ${MEGABYTES} MB in ${PARTITIONS} partitions to a folder beside a bare loop that only encodes, 1 KiB and 100 B records`,
  async answer(harness) {
    const findings: Finding[] = []
    for (const threads of THREADS)
      for (const size of RECORD_SIZES) findings.push(...(await measure(harness, size, threads)))
    return findings
  },
}

/** Bytes in a second, by the clock and by the time of the processors. */
interface Speed {
  readonly byClock: number
  readonly byProcessor: number
  /** Seconds of the broker's event loop for a GB; 0 for a loop. */
  readonly eventLoop: number
}

async function measure(harness: Harness, size: RecordSize, threads: number): Promise<Finding[]> {
  const folder = await tableFolder(harness)
  const broker = await harness.broker(
    tierSettings(folder, { 'svc.storage.remote.iceberg.offload.threads': String(threads) }),
  )
  const batches = batchesOf(size, POOL_BYTES)
  const ours: Speed[] = []
  const loops: Speed[] = []
  for (let round = 0; round < harness.rounds; round++) {
    // The order changes each round, because a measurement may influence the next one.
    const runLoop = async () => loops.push(await timeLoop(batches))
    if (round % 2 === 0) await runLoop()
    ours.push(await timeOffload(harness, broker, `${size.valueBytes}-${round}`, batches))
    if (round % 2 === 1) await runLoop()
    const [mine, base] = [ours.at(-1)!, loops.at(-1)!]
    harness.say(
      `${size.name}, ${threads} threads: ${megabytes(mine.byClock)} beside ${megabytes(base.byClock)} MB/s, by processor time ${megabytes(mine.byProcessor)} beside ${megabytes(base.byProcessor)}; event loop ${mine.eventLoop.toFixed(2)} s/GB`,
    )
  }
  const ratio = (await dataFiles(folder)).bytes / (MEGABYTES * 1e6 * harness.rounds)
  await broker.kill('SIGTERM')
  const name = `${size.name}, ${threads === 1 ? '1 thread' : `${threads} threads`}`
  const compared = (how: string, figure: (one: Speed) => number, wanted: Partial<Finding>): Finding => ({
    what: `${name}, ${how}`,
    value: median(ours.map(figure)) / 1e6,
    unit: 'MB/s',
    ratio: median(ours.map((one, at) => figure(one) / figure(loops[at]!))),
    ratioOf: `the bare loop (${megabytes(median(loops.map(figure)))} MB/s), median of the pairs`,
    samples: ours.map(figure),
    baseSamples: loops.map(figure),
    ...wanted,
  })
  return [
    compared('by the clock', one => one.byClock, {
      floor: 0.7,
      notes: `the aim is 0.85; a byte of batches becomes ${ratio.toFixed(2)} bytes of Parquet`,
    }),
    compared('by processor time, with the broker', one => one.byProcessor, {}),
    {
      what: `${name}, processor time of the broker's event loop`,
      value: median(ours.map(one => one.eventLoop)),
      unit: 's/GB',
      samples: ours.map(one => one.eventLoop),
    },
  ]
}

const megabytes = (bytes: number) => (bytes / 1e6).toFixed(0)

async function timeLoop(batches: readonly Buffer[]): Promise<Speed> {
  const { bytes, ms, processorMs } = await runLoop({ batches, bytes: MEGABYTES * 1e6, fileBytes: FILE_BYTES })
  return { byClock: (bytes / ms) * 1000, byProcessor: (bytes / processorMs) * 1000, eventLoop: 0 }
}

function runLoop(workerData: LoopWork): Promise<LoopResult> {
  return new Promise((resolve, reject) => {
    const loop = new Worker(new URL('./encode-loop.ts', import.meta.url), { workerData })
    loop.once('message', resolve)
    loop.once('error', reject)
  })
}

/** Fills a topic and times the round that seals its segments and offloads them. */
async function timeOffload(
  harness: Harness,
  broker: BrokerProcess,
  topic: string,
  batches: readonly Buffer[],
): Promise<Speed> {
  await harness.topic(broker.port, topic, PARTITIONS, TIERED)
  await fillTopic(broker.port, topic, PARTITIONS, batches, (MEGABYTES * 1e6) / PARTITIONS)
  const before = [cpuSeconds(broker.pid), cpuSeconds(broker.pid, broker.pid)] as const
  const { offload: report, tookMs } = await runRound(broker.url, 200)
  const seconds = [cpuSeconds(broker.pid) - before[0], cpuSeconds(broker.pid, broker.pid) - before[1]] as const
  const bytes = report?.bytes ?? 0
  if (bytes < MEGABYTES * 1e6 || report!.failures > 0 || report!.waitingSegments > 0)
    throw new Error(`not all was offloaded: ${JSON.stringify(report)}`)
  await removeTopic(broker, topic)
  return { byClock: (bytes / tookMs!) * 1000, byProcessor: bytes / seconds[0], eventLoop: seconds[1] / (bytes / 1e9) }
}
