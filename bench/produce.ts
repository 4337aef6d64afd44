// Measures how fast acknowledged produces of 64 KiB batches are, compared with the ceiling: with fsync in every round
// at 5 and at 40 requests in flight, and with fsync by interval.

import { type Finding, type Harness, median, type Question, type Served } from './harness.ts'

const PARTITIONS = 16

interface Way {
  readonly name: string
  readonly settings: Readonly<Record<string, string>>
  readonly connections: number
  readonly inFlight: number
  readonly floor: number
}

const INTERVAL = { 'svc.storage.local.embedded.fsync': 'interval' }

const WAYS: readonly Way[] = [
  { name: 'default fsync, 5 in flight', settings: {}, connections: 1, inFlight: 5, floor: 0.25 },
  { name: 'default fsync, 40 in flight', settings: {}, connections: 8, inFlight: 5, floor: 0.35 },
  { name: 'interval, 5 in flight', settings: INTERVAL, connections: 1, inFlight: 5, floor: 0.4 },
  { name: 'interval, 40 in flight', settings: INTERVAL, connections: 8, inFlight: 5, floor: 0.4 },
]

/** The bytes that are written before anything is measured against a floor. */
const FILL_BYTES = 3e9

/** Retention, so that a round does not also need the disk space of all earlier rounds. */
const RETENTION = { 'retention.bytes': String(64 * 2 ** 20) }

export const produce: Question = {
  name: 'produce',
  asks: 'acknowledged produce, 64 KiB batches, 16 partitions, as a share of a socket that frames, checks CRC and answers',
  async answer(harness) {
    const ceiling = await harness.ceiling('produce')
    const uncopied = await harness.ceiling('produce', ['--framing', 'shared'])
    const findings: Finding[] = []
    for (const way of WAYS) findings.push(...(await measure(harness, ceiling, uncopied, way)))
    return findings
  },
}

async function measure(harness: Harness, ceilingServer: Served, uncopiedServer: Served, way: Way): Promise<Finding[]> {
  const broker = await harness.broker({ ...way.settings, 'svc.storage.worker.tick-interval': '1s' })
  await harness.topic(broker.port, 'bench', PARTITIONS, RETENTION)
  const args = {
    partitions: PARTITIONS,
    connections: way.connections,
    'in-flight': way.inFlight,
    seconds: harness.seconds,
  }
  // A journal with new files is slower than a journal that uses its files again. A broker uses its files again for
  // most of its life.
  const { connections, 'in-flight': inFlight } = args
  const fill = { partitions: PARTITIONS, connections, 'in-flight': inFlight, bytes: FILL_BYTES }
  const first = await harness.load('produce', broker, fill)
  const ceiling: number[] = []
  const uncopied: number[] = []
  const rates: number[] = []
  const p99: number[] = []
  const cpu: number[] = []
  const ceilingCpu: number[] = []
  for (let round = 0; round < harness.rounds; round++) {
    const highest = await harness.load('produce', ceilingServer, args)
    ceiling.push(highest.megabytesPerSecond)
    ceilingCpu.push(highest.cpuMsPer100MB)
    uncopied.push((await harness.load('produce', uncopiedServer, args)).megabytesPerSecond)
    const load = await harness.load('produce', broker, args)
    rates.push(load.megabytesPerSecond)
    p99.push(load.latencyMs.p99)
    cpu.push(load.cpuMsPer100MB)
    harness.say(`${way.name}: ${rates.at(-1)!.toFixed(0)} of ${ceiling.at(-1)!.toFixed(0)} MB/s`)
  }
  await broker.kill('SIGKILL')
  return [
    {
      what: `${way.name}, the first ${FILL_BYTES / 1e9} GB on an empty folder`,
      value: first.megabytesPerSecond,
      unit: 'MB/s',
    },
    {
      what: way.name,
      value: median(rates),
      unit: 'MB/s',
      ratio: median(rates) / median(ceiling),
      ratioOf: `the ceiling (${median(ceiling).toFixed(0)} MB/s)`,
      floor: way.floor,
      samples: rates,
      notes:
        `p99 ${median(p99).toFixed(1)} ms, CPU for 100 MB ${median(cpu).toFixed(0)} ms ` +
        `(the ceiling ${median(ceilingCpu).toFixed(0)} ms), ${(median(rates) / median(uncopied)).toFixed(2)} of a ceiling that ` +
        `copies no frame (${median(uncopied).toFixed(0)} MB/s)`,
    },
  ]
}
