// Measures whether the produce rate lasts: 200 partitions with 3 GB live data are written three times over while
// retention drops the oldest records. Each rate is compared with the first fill. KETCH_RETENTION_GB changes the
// amount.

import type { Finding, Question } from './harness.ts'

const PARTITIONS = 200
const TURNS = 3

export const retention: Question = {
  name: 'retention',
  asks: '200 partitions with 3 GB live, three turns of retention: the rate of each turn beside the first fill',
  async answer(harness) {
    const liveBytes = Number(process.env.KETCH_RETENTION_GB ?? '3') * 1e9
    const broker = await harness.broker({
      'svc.storage.worker.tick-interval': '1s',
      'svc.max-partitions-per-topic': String(PARTITIONS),
    })
    const perPartition = Math.floor(liveBytes / PARTITIONS)
    await harness.topic(broker.port, 'bench', PARTITIONS, { 'retention.bytes': String(perPartition) })
    const rates: number[] = []
    for (let turn = 0; turn <= TURNS; turn++) {
      const args = { partitions: PARTITIONS, connections: 8, 'in-flight': 5, bytes: liveBytes }
      const load = await harness.load('produce', broker, args)
      rates.push(load.megabytesPerSecond)
      harness.say(`${turn === 0 ? 'fill' : `turn ${turn}`}: ${load.megabytesPerSecond.toFixed(0)} MB/s`)
    }
    const [fill, ...turns] = rates
    return turns.map((rate, index): Finding => {
      const isLast = index === turns.length - 1
      return {
        what: `turn ${index + 1}`,
        value: rate,
        unit: 'MB/s',
        ratio: rate / fill!,
        ratioOf: `the first fill (${fill!.toFixed(0)} MB/s)`,
        ...(isLast ? { floor: 0.8 } : {}),
        notes: `${liveBytes / 1e9} GB live`,
      }
    })
  },
}
