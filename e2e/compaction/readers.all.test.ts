// A run has one of the two stores, which the seed draws. KETCH_LONG=1 has both, and reads for twice as long.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { drawnBy, isLong } from '../../testing/at-length.ts'
import { seed } from '../../testing/seed.ts'
import { STORES } from './peers.ts'
import { readBesideCleaner, readersAbsence } from './readers.ts'

/** `npm run compaction-readers` reads for as long as it is asked to. */
const READ_MS = isLong ? 20_000 : 10_000
const LEAST_PASSES = isLong ? 6 : 3

for (const store of drawnBy(seed + 1, 2, STORES)) {
  test(`consumers that read from the beginning beside the cleaner get the newest record of each key (${store})`, {
    skip: readersAbsence(),
    timeout: 600_000,
  }, async t => {
    const { defects, ...report } = await readBesideCleaner(t, {
      store,
      forMs: READ_MS,
      leastPasses: LEAST_PASSES,
      seed,
    })
    t.diagnostic(JSON.stringify(report))
    assert.deepEqual(defects, [])
  })
}
