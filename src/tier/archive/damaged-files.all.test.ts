// The many runs of damaged-files.longer.test.ts.

import { after, test } from 'node:test'
import { damageCases } from '../../../testing/damaged-files.ts'
import { seed } from '../../../testing/seed.ts'
import { systemClock } from '../../base/clock.ts'
import { seededRandom } from '../../base/random.ts'
import { DecoderThreads } from '../columns/decoder-thread.ts'

const RUNS = 3000

// Damage that keeps a thread busy costs this time.
const decoders = new DecoderThreads(systemClock, 2, 1_000)
after(() => decoders.close())

for (const { name, run, cost = 1 } of await damageCases(decoders))
  test(`much damage to ${name} is read or refused, and nothing else happens`, async t => {
    const random = seededRandom(seed + 1)
    let refused = 0
    for (let i = 0; i < RUNS / cost; i++) if (!(await run(random))) refused++
    t.diagnostic(`${refused} of ${RUNS / cost} refused`)
  })
