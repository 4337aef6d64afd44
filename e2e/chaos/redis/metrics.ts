// Reads the counters of a broker that runs with metrics-probe.ts in it.

import { fileURLToPath, pathToFileURL } from 'node:url'
import { eventually } from '../../../testing/eventually.ts'
import type { BrokerProcess } from '../../../testing/process.ts'

/** Ends what the probe prints. */
export const METRICS_END = '# that is all of the metrics'

/** Flags of Node for a broker whose metrics are read. */
export const METRICS_FLAGS: readonly string[] = [
  `--import=${pathToFileURL(fileURLToPath(new URL('./metrics-probe.ts', import.meta.url))).href}`,
]

/** A counter by its name in the scrape, with or without labels, such as `svc_x_total{reason="fenced"}`. 0 where it has not been counted. */
export async function readCounter(broker: BrokerProcess, name: string): Promise<number> {
  const before = broker.output().length
  process.kill(broker.pid, 'SIGUSR2')
  await eventually('the metrics are printed', () => broker.output().includes(METRICS_END, before), 30_000)
  const line = broker
    .output()
    .slice(before)
    .split('\n')
    .find(each => each.startsWith(`${name} `))
  return line === undefined ? 0 : Number(line.slice(name.length + 1))
}
