// Anybody can damage a file of the archive. A reader gets it or an error of the file, and nothing else happens.

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { damageCases } from '../../../testing/damaged-files.ts'
import { seed } from '../../../testing/seed.ts'
import { systemClock } from '../../base/clock.ts'
import { seededRandom } from '../../base/random.ts'
import { DecoderThreads } from '../columns/decoder-thread.ts'

/** `npm test -- --all` makes more. */
const RUNS = 200

const decoders = new DecoderThreads(systemClock, 1, 2_000)
after(() => decoders.close())

for (const { name, run, cost = 1 } of await damageCases(decoders))
  test(`damage to ${name} is read or refused, and nothing else happens`, async t => {
    const random = seededRandom(seed)
    const runs = RUNS / cost
    let refused = 0
    for (let i = 0; i < runs; i++) if (!(await run(random))) refused++
    t.diagnostic(`${refused} of ${runs} refused`)
    assert.ok(refused > runs / 5, `${refused} of ${runs}`)
  })
