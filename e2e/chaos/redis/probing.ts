// What a test asks of a broker that runs with probe.ts in it.

import { fileURLToPath, pathToFileURL } from 'node:url'
import { eventually } from '../../../testing/eventually.ts'
import type { BrokerProcess } from '../../../testing/process.ts'

/** Ends what the probe prints. */
const METRICS_END = '# that is all of the metrics'
/** How long the event loop stands still. */
export const STALL_MS = 6_000

const url = pathToFileURL(fileURLToPath(new URL('./probe.ts', import.meta.url)))
url.searchParams.set('end', METRICS_END)
url.searchParams.set('stall', String(STALL_MS))

/** Flags of Node for a broker that is asked. */
export const PROBE_FLAGS: readonly string[] = [`--import=${url.href}`]

/** A counter by its name in the scrape, with its labels, such as `svc_x_total{reason="fenced"}`. 0 where it was never counted. */
export async function readCounter(broker: BrokerProcess, name: string): Promise<number> {
  const before = broker.output().length
  process.kill(broker.pid, 'SIGUSR2')
  await eventually('the metrics are printed', () => broker.output().includes(METRICS_END, before), 60_000)
  const line = broker
    .output()
    .slice(before)
    .split('\n')
    .find(each => each.startsWith(`${name} `))
  return line === undefined ? 0 : Number(line.slice(name.length + 1))
}

export function stall(broker: BrokerProcess): void {
  process.kill(broker.pid, 'SIGWINCH')
}
