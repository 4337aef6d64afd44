// Asks a broker how long its event loop was blocked. The broker must have been started with the preload
// (loop-delay.mjs).

import { fileURLToPath } from 'node:url'
import { eventually } from '../testing/eventually.ts'
import type { BrokerProcess } from '../testing/process.ts'

/** The flag of Node that starts the measurement in a broker. */
export const LOOP_DELAY_FLAG = `--import=${fileURLToPath(new URL('./loop-delay.mjs', import.meta.url))}`

/** Resolves with the delay of the event loop since the last call, in milliseconds. */
export async function loopDelay(broker: BrokerProcess): Promise<{ readonly p999: number; readonly max: number }> {
  const from = broker.output().length
  process.kill(broker.pid, 'SIGUSR2')
  await eventually('the delay of the event loop', () => /loop-delay .*\n/.test(broker.output().slice(from)))
  return JSON.parse(/loop-delay (.*)\n/.exec(broker.output().slice(from))![1]!)
}
