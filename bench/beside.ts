// Measures whether a change costs performance: this checkout and another one take turns on the same machine.
// KETCH_BESIDE names the folder of the other checkout, in which its packages are installed. While one broker is
// measured, the other is stopped. Before each measurement the kernel writes all earlier data to the disk.

import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { noRedis, startRedis } from '../testing/redis.ts'
import { type Finding, type Harness, type Measured, median, type Question, type Served } from './harness.ts'

const here = fileURLToPath(new URL('..', import.meta.url))
const other = process.env.KETCH_BESIDE === undefined ? undefined : resolve(process.env.KETCH_BESIDE)

/**
 * Bytes that are written before the measurement: a broker writes new files more slowly than files that it uses again.
 */
const FILL_BYTES = 3e9
const KEPT = { 'retention.bytes': String(64 * 2 ** 20) }
const UPKEEP = { 'svc.storage.worker.tick-interval': '1s' }
/** A broker that is stopped during a measurement must not be considered dead. */
const STOPPED = { 'svc.broker.expiry': '60s' }
/** Small enough for the tail cache to hold all of it. */
const TAIL_BYTES = 48 * 2 ** 20

interface Way {
  readonly name: string
  readonly mode: 'produce' | 'fetch'
  readonly store: 'embedded' | 'redis'
  readonly partitions: number
  readonly connections: number
  readonly inFlight: number
}

const WAYS: readonly Way[] = [
  { name: 'produce, 5 in flight', mode: 'produce', store: 'embedded', partitions: 16, connections: 1, inFlight: 5 },
  { name: 'produce, 40 in flight', mode: 'produce', store: 'embedded', partitions: 16, connections: 8, inFlight: 5 },
  { name: 'tail fetch, 1 consumer', mode: 'fetch', store: 'embedded', partitions: 4, connections: 1, inFlight: 1 },
  { name: 'tail fetch, 4 consumers', mode: 'fetch', store: 'embedded', partitions: 4, connections: 4, inFlight: 1 },
  { name: 'produce on Redis', mode: 'produce', store: 'redis', partitions: 16, connections: 8, inFlight: 5 },
]

export const beside: Question = {
  name: 'beside',
  asks: 'produce and fetch of this checkout beside another one, in turns: megabytes a second, and processor time for a gigabyte',
  absence() {
    if (other === undefined) return 'KETCH_BESIDE names no other checkout'
    return existsSync(join(other, 'src', 'main.ts')) ? null : `KETCH_BESIDE: ${other} holds no src/main.ts`
  },
  async answer(harness) {
    const findings: Finding[] = []
    for (const way of WAYS) {
      if (way.store === 'embedded' || noRedis === false) findings.push(...(await measure(harness, way)))
      else harness.say(`${way.name}: SKIPPED, ${noRedis}`)
    }
    return findings
  },
}

async function measure(harness: Harness, way: Way): Promise<Finding[]> {
  const ours = await startOne(harness, way, here)
  const theirs = await startOne(harness, way, other!)
  const pair = [theirs, ours] as const
  const found: { readonly theirs: Measured; readonly ours: Measured }[] = []
  const args = {
    partitions: way.partitions,
    connections: way.connections,
    'in-flight': way.inFlight,
    seconds: harness.seconds,
  }
  const alone = async (one: Served) => {
    const stopped = pair.find(each => each !== one)!
    process.kill(stopped.pid, 'SIGSTOP')
    try {
      spawnSync('sync')
      return await harness.load(way.mode, one, args)
    } finally {
      process.kill(stopped.pid, 'SIGCONT')
    }
  }
  for (let round = 0; round < harness.rounds; round++) {
    // The order changes each round, because a measurement may influence the next one.
    const [first, second] = round % 2 === 0 ? [theirs, ours] : [ours, theirs]
    const one = await alone(first)
    const two = await alone(second)
    const [before, after] = round % 2 === 0 ? [one, two] : [two, one]
    found.push({ theirs: before, ours: after })
    harness.say(
      `${way.name}: ${after.megabytesPerSecond.toFixed(0)} beside ${before.megabytesPerSecond.toFixed(0)} MB/s, ` +
        `${(after.cpuMsPer100MB / 100).toFixed(2)} beside ${(before.cpuMsPer100MB / 100).toFixed(2)} s a GB`,
    )
  }
  await ours.end()
  await theirs.end()
  const compared = (
    what: string,
    unit: string,
    figure: (one: Measured) => number,
    wanted: Partial<Finding>,
  ): Finding => {
    const [mine, base] = [found.map(one => figure(one.ours)), found.map(one => figure(one.theirs))]
    const pairs = found.map(one => figure(one.ours) / figure(one.theirs)).sort((a, b) => a - b)
    const [low, high] = [pairs[Math.floor(pairs.length / 4)]!, pairs[Math.floor((pairs.length * 3) / 4)]!]
    return {
      what: `${way.name}, ${what}`,
      value: median(mine),
      unit,
      ratio: median(pairs),
      ratioOf: `the other checkout (${median(base).toPrecision(3)} ${unit}), median of the pairs`,
      samples: mine,
      baseSamples: base,
      notes: `half of the pairs from ${low.toFixed(2)} to ${high.toFixed(2)}`,
      ...wanted,
    }
  }
  return [
    compared('rate', 'MB/s', one => one.megabytesPerSecond, { floor: 0.95 }),
    compared('processor time', 's/GB', one => one.cpuMsPer100MB / 100, { ceiling: 1.05 }),
  ]
}

/** Starts a broker of the checkout and fills its log: with the data to fetch, or until it uses its files again. */
async function startOne(harness: Harness, way: Way, root: string): Promise<Served & { end(): Promise<void> }> {
  const redis = way.store === 'redis' ? await startRedis(harness) : undefined
  const settings = redis === undefined ? UPKEEP : { ...UPKEEP, ...STOPPED, 'svc.redis.uri': redis.uri }
  const broker = await harness.broker(settings, undefined, command =>
    command.map(part => part.replace(here, `${root}/`)),
  )
  const isProduce = way.mode === 'produce'
  await harness.topic(broker.port, 'bench', way.partitions, isProduce ? KEPT : {})
  const { partitions, connections, inFlight } = way
  const fill = { partitions, connections, 'in-flight': inFlight, bytes: isProduce ? FILL_BYTES : TAIL_BYTES }
  await harness.load('produce', broker, fill)
  return {
    port: broker.port,
    pid: broker.pid,
    end: async () => {
      await broker.kill('SIGKILL')
      await redis?.stop('SIGKILL')
    },
  }
}
