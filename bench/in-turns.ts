// Compares two brokers on the same machine that take turns. While one is measured, the other is stopped. Before each
// measurement the kernel writes all earlier data to the disk.

import { spawnSync } from 'node:child_process'
import { type Finding, type Harness, type Measured, median, type Served } from './harness.ts'

export interface Way {
  readonly name: string
  readonly mode: 'produce' | 'fetch'
  readonly partitions: number
  readonly connections: number
  readonly inFlight: number
}

/** A broker that is ready to be measured. */
export interface Side extends Served {
  end(): Promise<void>
}

/** Measures both in turns, then ends them. `base` is what the ratios are of, and `baseName` says it. */
export async function compareInTurns(
  harness: Harness,
  way: Way,
  { ours, base: theirs, baseName }: { readonly ours: Side; readonly base: Side; readonly baseName: string },
): Promise<Finding[]> {
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
      ratioOf: `${baseName} (${median(base).toPrecision(3)} ${unit}), median of the pairs`,
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
