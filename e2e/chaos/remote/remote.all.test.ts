// A few rounds of the remote tier under faults: the seed of the run draws one fault of each kind. KETCH_LONG=1 has
// every fault; so has `npm run chaos -- remote`, for any number of rounds.

import { test } from 'node:test'
import { drawnBy } from '../../../testing/at-length.ts'
import { noRedis } from '../../../testing/redis.ts'
import { seed } from '../../../testing/seed.ts'
import { smallDiskAbsence } from '../../../testing/small-disk.ts'
import { KILL_FAULTS } from './faults.ts'
import { HOLDER_FAULTS } from './holder-faults.ts'
import { PLACE_FAULTS } from './place-faults.ts'
import { ROOM_FAULTS } from './room-faults.ts'
import { type RemoteFault, runRemoteRound } from './round.ts'

const FAULTS: readonly RemoteFault[] = [
  ...drawnBy(seed, KILL_FAULTS.length, KILL_FAULTS),
  ...drawnBy(seed, PLACE_FAULTS.length, PLACE_FAULTS),
  ...drawnBy(seed, HOLDER_FAULTS.length, HOLDER_FAULTS),
  ...drawnBy(seed, ROOM_FAULTS.length, ROOM_FAULTS),
]

for (const fault of FAULTS) {
  const name = `with the remote tier, each acknowledged record is read once and stands in the table once: ${fault.name} (seed ${seed})`
  const skip = noRedis || (fault.needs?.diskMiB === undefined ? false : (smallDiskAbsence() ?? false))
  test(name, { skip, timeout: 600_000 }, async t => {
    t.diagnostic(JSON.stringify(await runRemoteRound(t, { seed, fault })))
  })
}
