// A few rounds of the remote tier under faults. The long form, `npm run chaos -- remote`, has all of them.

import { test } from 'node:test'
import { noRedis } from '../../../testing/redis.ts'
import { seed } from '../../../testing/seed.ts'
import { smallDiskAbsence } from '../../../testing/small-disk.ts'
import { KILL_FAULTS } from './faults.ts'
import { HOLDER_FAULTS } from './holder-faults.ts'
import { PLACE_FAULTS } from './place-faults.ts'
import { ROOM_FAULTS } from './room-faults.ts'
import { type RemoteFault, runRemoteRound } from './round.ts'

/** Draws one of every `of` faults. */
const drawn = (faults: readonly RemoteFault[], of: number) => faults.filter((_, at) => (at + seed) % of === 0)

const FAULTS: readonly RemoteFault[] = [
  ...drawn(KILL_FAULTS, 12),
  ...drawn(PLACE_FAULTS, 5),
  ...drawn(HOLDER_FAULTS, 2),
  ...drawn(ROOM_FAULTS, 3),
]

for (const fault of FAULTS) {
  const name = `with the remote tier, each acknowledged record is read once and stands in the table once: ${fault.name} (seed ${seed})`
  const skip = noRedis || (fault.needs?.diskMiB === undefined ? false : (smallDiskAbsence() ?? false))
  test(name, { skip, timeout: 300_000 }, async t => {
    t.diagnostic(JSON.stringify(await runRemoteRound(t, { seed, fault })))
  })
}
