// Measures how fast consumers that lag read from the table what the local store no longer has, beside the same records
// cold in the local store: from a folder, with original bytes in the files, and with 20 ms on each request.

import type { BrokerProcess } from '../testing/process.ts'
import { type Finding, type Harness, median, type Question } from './harness.ts'
import { slowObjects, withSlowObjects } from './slow-objects.ts'
import {
  batchesOf,
  COLD,
  fillTopic,
  makeCold,
  RECORD_SIZES,
  type RecordSize,
  tableFolder,
  tierSettings,
} from './tiered.ts'

/** KETCH_CATCH_UP_MB changes the amount of each topic. It must be more than the caches hold. */
const MEGABYTES = Number(process.env.KETCH_CATCH_UP_MB ?? '512')
const PARTITIONS = 4
const POOL_BYTES = 32e6
const DELAY_MS = 20

/** The ways in which consumers read, each in turn in one round. */
const WAYS = ['local', 'folder', 'original bytes', 'slow'] as const
type WayName = (typeof WAYS)[number]

export const catchUp: Question = {
  name: 'catch-up',
  asks: `consumers that read ${MEGABYTES} MB of a table in a folder, 1 MiB an answer, beside a cold fetch of the same records from the local store`,
  async answer(harness) {
    const findings: Finding[] = []
    for (const size of RECORD_SIZES) findings.push(...(await measure(harness, size)))
    return findings
  },
}

async function measure(harness: Harness, size: RecordSize): Promise<Finding[]> {
  const batches = batchesOf(size, POOL_BYTES)
  const columns = await startCold(harness, batches, {})
  const original = await startCold(harness, batches, { 'svc.storage.remote.iceberg.batch-bytes': 'always' })
  const findings: Finding[] = []
  for (const connections of [1, PARTITIONS]) {
    const rates: Record<WayName, number[]> = { local: [], folder: [], 'original bytes': [], slow: [] }
    for (let round = 0; round < harness.rounds; round++) {
      const ways = round % 2 === 0 ? WAYS : WAYS.toReversed()
      for (const way of ways) {
        const broker = way === 'original bytes' ? original : columns
        await slowObjects(broker, way === 'slow' ? DELAY_MS : 0)
        const topic = way === 'local' ? 'local' : 'remote'
        const args = { topic, partitions: PARTITIONS, connections, 'in-flight': 1, seconds: harness.seconds }
        rates[way].push((await harness.load('fetch', broker, args)).megabytesPerSecond)
      }
      const last = WAYS.map(way => `${way} ${rates[way].at(-1)!.toFixed(0)}`)
      harness.say(`${size.name}, ${connections} consumers: ${last.join(', ')} MB/s`)
    }
    const compared = (way: WayName, base: WayName, floor: number, aim?: number): Finding => ({
      what: `${size.name}, ${connections === 1 ? '1 consumer' : `${connections} consumers`}, ${TITLES[way]}`,
      value: median(rates[way]),
      unit: 'MB/s',
      ratio: median(rates[way].map((rate, at) => rate / rates[base][at]!)),
      ratioOf: `${TITLES[base]} (${median(rates[base]).toFixed(0)} MB/s), median of the pairs`,
      floor,
      samples: rates[way],
      baseSamples: rates[base],
      ...(aim === undefined ? {} : { notes: `the aim is ${aim}` }),
    })
    const isLarge = size.valueBytes >= 1000
    findings.push(
      compared('folder', 'local', isLarge ? 0.25 : 0.1, isLarge ? 0.5 : 0.2),
      compared('original bytes', 'local', 0.6),
      compared('slow', 'folder', 0.7),
    )
  }
  await columns.kill('SIGTERM')
  await original.kill('SIGTERM')
  return findings
}

const TITLES: Readonly<Record<WayName, string>> = {
  local: 'cold in the local store',
  folder: 'from a folder',
  'original bytes': 'from a folder with batch-bytes=always',
  slow: `from a folder with ${DELAY_MS} ms on each request`,
}

/** Starts a broker with the records twice: in a table only, and in the local store only. Its caches are empty. */
async function startCold(
  harness: Harness,
  batches: readonly Buffer[],
  settings: Readonly<Record<string, string>>,
): Promise<BrokerProcess> {
  const broker = await harness.broker(tierSettings(await tableFolder(harness), settings), undefined, withSlowObjects)
  const bytesEach = (MEGABYTES * 1e6) / PARTITIONS
  await harness.topic(broker.port, 'remote', PARTITIONS, COLD)
  await fillTopic(broker.port, 'remote', PARTITIONS, batches, bytesEach)
  await makeCold(broker, 'remote', PARTITIONS)
  await harness.topic(broker.port, 'local', PARTITIONS)
  await fillTopic(broker.port, 'local', PARTITIONS, batches, bytesEach)
  await broker.kill('SIGTERM')
  await broker.start()
  return broker
}
