// Asks a broker for the memory that stays when all garbage is collected: freed memory that the collector has not looked
// at yet says nothing about what the broker keeps. The broker must have been started with the preload.

import { fileURLToPath } from 'node:url'
import { eventually } from '../testing/eventually.ts'
import type { BrokerProcess } from '../testing/process.ts'
import { anonymousMegabytes } from './startup.ts'

/** The flag of Node that lets a broker collect its garbage when it is asked. */
export const COLLECTS_FLAG = `--import=${fileURLToPath(new URL('../testing/collects.mjs', import.meta.url))}`

/** Resolves with the resident memory that no file backs, in MB of 10^6 bytes, behind two collections. */
export async function keptMegabytes(broker: BrokerProcess): Promise<number> {
  const from = broker.output().length
  process.kill(broker.pid, 'SIGWINCH')
  await eventually('the garbage is collected', () => /collected \d+\n/.test(broker.output().slice(from)))
  return await anonymousMegabytes(broker.pid)
}
