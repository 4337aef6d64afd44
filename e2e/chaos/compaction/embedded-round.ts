// One round beside the cleaner on the embedded store: a broker of its own, one fault, the checker and the audits.

import { join } from 'node:path'
import { seededRandom } from '../../../src/base/random.ts'
import type { CleanUp } from '../../../testing/broker.ts'
import { mountSmallDisk } from '../../../testing/small-disk.ts'
import { type ChaosReport, runChaos } from '../chaos.ts'
import { openOrders } from '../orders.ts'
import type { EmbeddedFault } from './embedded-faults.ts'
import { STEPS } from './steps.ts'
import { CLEANING, COMPACTED } from './topics.ts'

/** Asserts that the newest record of each key stays, and that nothing else is wrong. */
export async function runEmbeddedRound(
  cleanUp: CleanUp,
  seed: number,
  faults: readonly EmbeddedFault[],
): Promise<ChaosReport & { readonly what: readonly string[] }> {
  const orders = await openOrders(cleanUp, STEPS)
  const diskMiB = Math.max(...faults.map(fault => fault.diskMiB ?? 0))
  const disk = diskMiB === 0 ? null : await mountSmallDisk(cleanUp, diskMiB)
  const waiting = faults[Symbol.iterator]()
  const what: string[] = []
  const report = await runChaos(cleanUp, {
    faults: faults.length,
    seed,
    settings: CLEANING,
    nodeFlags: orders.nodeFlags,
    compacted: COMPACTED,
    ...(disk === null ? {} : { store: join(disk.path, 'store') }),
    async fault(scene) {
      const done = await waiting.next().value!.act(scene, orders, disk)
      what.push(done)
      return done
    },
  })
  return { ...report, what }
}

/** Returns the seed of a round, from which all its choices follow. */
export function seedOf(seed: number, round: number): number {
  return seededRandom(seed * 1009 + round).below(1_000_000)
}
