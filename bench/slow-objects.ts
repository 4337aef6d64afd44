// Asks a broker that was started with the preload slow-objects.mjs what it has asked of the folder of its tables, and
// says how long each of its requests waits from then on.

import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { eventually } from '../testing/eventually.ts'
import type { BrokerProcess } from '../testing/process.ts'

const preload = fileURLToPath(new URL('./slow-objects.mjs', import.meta.url))

/** The broker reads the delay from it. */
const delayFile = join(tmpdir(), `ketch-slow-objects-${process.pid}`)
process.env.KETCH_SLOW_OBJECTS = delayFile

/** Adds the preload to the command of a broker. */
export function withSlowObjects([program, ...rest]: readonly string[]): readonly string[] {
  return [program!, `--import=${preload}`, ...rest]
}

export interface ObjectCounts {
  readonly requests: number
  /** That were read of data files. */
  readonly bytes: number
}

/** Resolves with the counts since the last call. */
export async function slowObjects(broker: BrokerProcess, delayMs: number): Promise<ObjectCounts> {
  await writeFile(delayFile, String(delayMs))
  const from = broker.output().length
  process.kill(broker.pid, 'SIGUSR2')
  const line = /slow-objects (\{.*\})\n/
  await eventually('the counts of objects', () => line.test(broker.output().slice(from)))
  return JSON.parse(line.exec(broker.output().slice(from))![1]!)
}
