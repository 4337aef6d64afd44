// Measures how fast the broker serves the tail from memory, compared with a socket that writes prepared slices. The
// consumers keep up and fetch 1 MiB an answer, in batches of 64 KiB.

import { type Finding, median, type Question } from './harness.ts'

const PARTITIONS = 4

/** Small enough for the tail cache to hold all of it. */
const LOG_BYTES = 48 * 2 ** 20

export const fetch: Question = {
  name: 'fetch',
  asks: 'tail fetch of 64 KiB batches, 1 MiB an answer, as a share of a socket that writes prepared slices',
  async answer(harness) {
    const ceilingServer = await harness.ceiling('fetch')
    const broker = await harness.broker()
    await harness.topic(broker.port, 'bench', PARTITIONS)
    await harness.load('produce', broker, { partitions: PARTITIONS, bytes: LOG_BYTES })
    const findings: Finding[] = []
    for (const connections of [1, 4]) {
      const args = { partitions: PARTITIONS, connections, 'in-flight': 1, seconds: harness.seconds }
      const ceiling: number[] = []
      const rates: number[] = []
      for (let round = 0; round < harness.rounds; round++) {
        ceiling.push((await harness.load('fetch', ceilingServer, args)).megabytesPerSecond)
        rates.push((await harness.load('fetch', broker, args)).megabytesPerSecond)
        harness.say(`${connections} consumers: ${rates.at(-1)!.toFixed(0)} of ${ceiling.at(-1)!.toFixed(0)} MB/s`)
      }
      findings.push({
        what: `tail fetch, ${connections} consumers`,
        value: median(rates),
        unit: 'MB/s',
        ratio: median(rates) / median(ceiling),
        ratioOf: `prepared slices (${median(ceiling).toFixed(0)} MB/s)`,
        floor: 0.6,
        samples: rates,
      })
    }
    return findings
  },
}
