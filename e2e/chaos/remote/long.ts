// The long form of the faults with the remote tier: `npm run chaos -- remote`. The rounds use the faults in turn, and
// the seed draws the store, the number of brokers and the place of each round. Every choice of a round follows from the
// seed and the round's number, so that one round can be repeated alone.

import { noRedis } from '../../../testing/redis.ts'
import { smallDiskAbsence } from '../../../testing/small-disk.ts'
import { seedOf } from '../compaction/embedded-round.ts'
import type { LongOptions } from '../compaction/long.ts'
import { KILL_FAULTS } from './faults.ts'
import { HOLDER_FAULTS } from './holder-faults.ts'
import { away, PLACE_FAULTS } from './place-faults.ts'
import { ROOM_FAULTS } from './room-faults.ts'
import { type RemoteFault, runRemoteRound } from './round.ts'

const FAULTS: readonly RemoteFault[] = [...KILL_FAULTS, ...PLACE_FAULTS, ...HOLDER_FAULTS, ...ROOM_FAULTS]

/** The place is away for so long in the last round. */
const LONG_AWAY_MS = 30 * 60_000

/** Prints a line for each round. Resolves to false if one failed. */
export async function runRemote({ rounds, seed, first, last }: LongOptions): Promise<boolean> {
  if (noRedis !== false) {
    console.log(noRedis)
    return false
  }
  let isWell = true
  for (let round = first; round <= Math.min(last, rounds); round++) {
    const fault = round === rounds ? away(LONG_AWAY_MS) : FAULTS[(round - 1) % FAULTS.length]!
    const absence = fault.needs?.diskMiB === undefined ? null : smallDiskAbsence()
    if (absence !== null) {
      console.log(`- round ${round}: ${absence}`)
      continue
    }
    const ends: (() => Promise<void>)[] = []
    try {
      const cleanUp = { after: (fn: () => Promise<void>) => void ends.push(fn) }
      const report = await runRemoteRound(cleanUp, { seed: seedOf(seed, round), fault })
      const { what, world, acknowledged, rows, versions, seconds } = report
      console.log(
        `✔ remote tier, round ${round}, seed ${seed} (${world}): ${what}; ${acknowledged} acknowledged, ${rows} rows, ${versions} versions, ${seconds} s`,
      )
    } catch (error) {
      isWell = false
      console.log(`✖ remote tier, round ${round} (${fault.name}): ${(error as Error).message}`)
      console.log(
        `to repeat it: npm run chaos -- remote --seed ${seed} --rounds ${rounds} --first ${round} --last ${round}`,
      )
    } finally {
      for (const end of ends.reverse()) await end()
    }
  }
  return isWell
}
