import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seededRandom } from '../../../src/base/random.ts'
import { isLong } from '../../../testing/at-length.ts'
import { seed } from '../../../testing/seed.ts'
import { smallDiskAbsence } from '../../../testing/small-disk.ts'
import { EMBEDDED_FAULTS } from './embedded-faults.ts'
import { runEmbeddedRound } from './embedded-round.ts'

/**
 * Faults of the short form, in an order that the seed gives; KETCH_LONG=1 has more. The long form is `npm run chaos --
 * compaction`.
 */
const FAULTS = isLong ? 10 : 4

const onAnyDisk = EMBEDDED_FAULTS.filter(({ diskMiB }) => diskMiB === undefined)
const random = seededRandom(seed)
const order = new Map(onAnyDisk.map(fault => [fault, random.below(1_000_000)]))
const drawn = onAnyDisk.toSorted((one, other) => order.get(one)! - order.get(other)!).slice(0, FAULTS)

test(`faults beside the cleaner lose no newest record, and leave no dead file (seed ${seed})`, {
  timeout: 600_000,
}, async t => {
  const report = await runEmbeddedRound(t, seed, drawn)
  assert(report.acknowledged > 100 * FAULTS, `${report.acknowledged} acknowledged`)
  t.diagnostic(JSON.stringify(report))
})

test(`on a full disk the cleaner waits until retention has freed room, and goes on (seed ${seed})`, {
  skip: smallDiskAbsence() ?? false,
  timeout: 600_000,
}, async t => {
  const report = await runEmbeddedRound(
    t,
    seed,
    EMBEDDED_FAULTS.filter(({ diskMiB }) => diskMiB !== undefined),
  )
  t.diagnostic(JSON.stringify(report))
})
