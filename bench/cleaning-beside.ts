// Measures whether producers notice the storage worker. Records of 64 KiB are paced at half of the full rate. In one
// half of each round nothing is dropped or cleaned; in the other, retention drops as much as arrives, and the cleaner
// works on a second topic. Keyed records are written to a second topic in both halves.

import { readOpenMetrics } from '../testing/openmetrics.ts'
import type { BrokerProcess } from '../testing/process.ts'
import { removeTopic } from '../testing/topic.ts'
import { type Finding, type Harness, median, type Question } from './harness.ts'
import { COMPACTED, fill } from './keyed.ts'
import { keyedBatches } from './keyed-batches.ts'
import type { Paced } from './paced.ts'
import { sleepAwake } from './startup.ts'

const PARTITIONS = 16
const RECORD_BYTES = 65_536
/** Retention keeps a part of this size, so that it drops in each round of the worker. */
const KEPT = { 'retention.bytes': String(4 * 2 ** 20) }
/** All partitions have more than that before the measurement begins. */
const FILLED_BYTES = PARTITIONS * 6 * 2 ** 20
const SETTINGS = { 'svc.storage.worker.tick-interval': '1s', 'svc.admin.security-enabled': 'false' }
/** The keyed records: batches of 100 records of about 120 bytes, this many batches in a second. */
const KEYED_BATCHES_PER_SECOND = 200

export const cleaningBeside: Question = {
  name: 'cleaning-beside',
  asks: 'producers at half of their full rate, while retention drops as much as arrives and the cleaner works on another topic, beside the same without both',
  async answer(harness) {
    const broker = await harness.broker(SETTINGS)
    await harness.topic(broker.port, 'full', PARTITIONS, KEPT)
    const load = { topic: 'full', partitions: PARTITIONS, connections: 1, 'in-flight': 5, seconds: harness.seconds }
    const full = median([
      (await harness.load('produce', broker, load)).megabytesPerSecond,
      (await harness.load('produce', broker, load)).megabytesPerSecond,
      (await harness.load('produce', broker, load)).megabytesPerSecond,
    ])
    const rate = Math.floor((full * 1e6) / RECORD_BYTES / 2)
    harness.say(`the full rate is ${full.toFixed(0)} MB/s; paced at ${rate} records of 64 KiB in a second`)
    const alone: Paced[] = []
    const beside: Paced[] = []
    const work: Work[] = []
    for (let round = 0; round < harness.rounds; round++) {
      // The order changes each round, because a measurement may influence the next one.
      for (const isBeside of round % 2 === 0 ? [false, true] : [true, false]) {
        const measured = await pace(harness, broker, `${isBeside ? 'beside' : 'alone'}-${round}`, isBeside, rate)
        if (isBeside) work.push(measured.work)
        ;(isBeside ? beside : alone).push(measured.paced)
      }
      const [one, other] = [alone.at(-1)!, beside.at(-1)!]
      harness.say(
        `${other.rate.toFixed(0)} beside ${one.rate.toFixed(0)} records/s, p99 ${other.latencyMs.p99.toFixed(1)} beside ${one.latencyMs.p99.toFixed(1)} ms`,
      )
    }
    const compared = (
      what: string,
      unit: string,
      figure: (one: Paced) => number,
      wanted: Partial<Finding>,
    ): Finding => ({
      what,
      value: median(beside.map(figure)),
      unit,
      ratio: median(beside.map(figure)) / median(alone.map(figure)),
      ratioOf: `without both (${median(alone.map(figure)).toPrecision(3)} ${unit})`,
      samples: beside.map(figure),
      baseSamples: alone.map(figure),
      ...wanted,
    })
    const part = (what: string, samples: readonly number[], floor: number): Finding => ({
      what,
      value: median(samples),
      unit: 'times',
      floor,
      samples,
    })
    return [
      compared('rate', '/s', one => one.rate, { floor: 0.97 }),
      compared('p99', 'ms', one => one.latencyMs.p99, { ceiling: 2 }),
      part(
        'bytes that retention dropped, by those that arrived',
        work.map(each => each.dropped),
        0.7,
      ),
      part(
        'bytes that the cleaner has gone through, by those that it got',
        work.map(each => each.cleaned),
        0.7,
      ),
    ]
  },
}

/** The work of the storage worker during a measurement, as shares of the bytes that arrived. */
interface Work {
  readonly dropped: number
  readonly cleaned: number
}

async function pace(
  harness: Harness,
  broker: BrokerProcess,
  name: string,
  isBeside: boolean,
  rate: number,
): Promise<{ paced: Paced; work: Work }> {
  await harness.topic(broker.port, name, PARTITIONS, isBeside ? KEPT : {})
  await harness.load('produce', broker, { topic: name, partitions: PARTITIONS, bytes: FILLED_BYTES })
  const keyed = `${name}-keyed`
  await harness.topic(
    broker.port,
    keyed,
    1,
    isBeside ? { ...COMPACTED, 'min.cleanable.dirty.ratio': '0.1' } : COMPACTED,
  )
  const before = await workOf(broker)
  let isOver = false
  const feeding = feed(broker.port, keyed, () => isOver)
  const paced = await harness.paced('produce', broker.port, {
    topic: name,
    partitions: PARTITIONS,
    'record-bytes': RECORD_BYTES,
    rate,
    seconds: harness.seconds,
  })
  isOver = true
  const keyedBytes = await feeding
  // Those of the warm-up of a second arrived too.
  const arrived = (paced.records * RECORD_BYTES * (harness.seconds + 1)) / harness.seconds
  const after = await workOf(broker)
  await removeTopic(broker, name)
  await removeTopic(broker, keyed)
  const work = {
    dropped: (after.dropped - before.dropped) / arrived,
    cleaned: (after.cleaned - before.cleaned) / keyedBytes,
  }
  return { paced, work }
}

/** Writes keyed batches at a fixed rate until it is over. Resolves with their bytes. */
async function feed(port: number, topic: string, isOver: () => boolean): Promise<number> {
  const data = { records: 40_000, keys: 10_000, order: 'random', valueBytes: 100, recordsPerBatch: 100 } as const
  const batches = [...keyedBatches({ ...data, codec: 'none' })]
  const TURN_MS = 100
  const each = (KEYED_BATCHES_PER_SECOND * TURN_MS) / 1000
  let bytes = 0
  for (let at = 0; !isOver(); at = (at + each) % batches.length) {
    const some = batches.slice(at, at + each)
    await Promise.all([fill(port, topic, some), sleepAwake(TURN_MS)])
    for (const { length } of some) bytes += length
  }
  return bytes
}

/** Resolves with the bytes that retention has dropped, and those that the cleaner has kept or dropped. */
async function workOf(broker: BrokerProcess): Promise<{ readonly dropped: number; readonly cleaned: number }> {
  const answer = await fetch(`${broker.url}/actuator/prometheus`, {
    headers: { accept: 'application/openmetrics-text' },
  })
  const families = readOpenMetrics(await answer.text())
  const sum = (name: string) => [...(families.get(name)?.samples.values() ?? [])].reduce((all, one) => all + one, 0)
  return { dropped: sum('svc_storage_worker_dropped_bytes'), cleaned: sum('svc_storage_cleaner_bytes') }
}
