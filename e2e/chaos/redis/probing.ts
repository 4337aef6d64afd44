// Asks a broker for its counters, and makes it stand still. For the latter Node must load probe.ts into the broker.

import { fileURLToPath, pathToFileURL } from 'node:url'
import type { BrokerProcess } from '../../../testing/process.ts'

/** How long the event loop stands still. */
export const STALL_MS = 6_000

const url = pathToFileURL(fileURLToPath(new URL('./probe.ts', import.meta.url)))
url.searchParams.set('stall', String(STALL_MS))

/** Node flags for a broker that stall() can stop for a while. */
export const PROBE_FLAGS: readonly string[] = [`--import=${url.href}`]

/** Lets every client read the scrape without a password. */
export const OPEN_SCRAPE: Readonly<Record<string, string>> = { 'svc.admin.anonymous-prometheus': 'true' }

/**
 * Returns a counter by its name in the scrape, with its labels, such as `svc_x_total{reason="fenced"}`; 0 if it was
 * never counted.
 */
export async function readCounter({ url: base }: BrokerProcess, name: string): Promise<number> {
  const response = await fetch(`${base}/actuator/prometheus`)
  if (response.status !== 200) throw new Error(`the scrape returned status ${response.status}`)
  const line = (await response.text()).split('\n').find(each => each.startsWith(`${name} `))
  return line === undefined ? 0 : Number(line.slice(name.length + 1))
}

export function stall(broker: BrokerProcess): void {
  process.kill(broker.pid, 'SIGWINCH')
}
