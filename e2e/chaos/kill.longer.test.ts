import assert from 'node:assert/strict'
import { test } from 'node:test'
import { atLength, isLong } from '../../testing/at-length.ts'
import { seed } from '../../testing/seed.ts'
import { killAndStart, runChaos } from './chaos.ts'

/** KETCH_LONG=1 has more kills, and `npm run chaos` any number. */
const KILLS = isLong ? 5 : atLength(3, 2)
const KILLS_COMPRESSED = isLong ? 3 : 2

test(`${KILLS} kills under load lose and double nothing (seed ${seed})`, { timeout: 400_000 }, async t => {
  const report = await runChaos(t, { faults: KILLS, seed, fault: killAndStart })
  assert(report.acknowledged > 100 * KILLS, `${report.acknowledged} acknowledged`)
  t.diagnostic(JSON.stringify(report))
})

test(`${KILLS_COMPRESSED} kills lose and double no record that is stored compressed (seed ${seed})`, {
  timeout: 400_000,
}, async t => {
  const settings = {
    'svc.storage.local.compression.codec': 'zstd',
    'svc.storage.local.compression.dictionary.sample-count': '100',
    // Every read comes from the disk.
    'svc.storage.local.tail-cache-bytes': '0',
  }
  const report = await runChaos(t, { faults: KILLS_COMPRESSED, seed, settings, fault: killAndStart })
  assert(report.acknowledged > 100 * KILLS_COMPRESSED, `${report.acknowledged} acknowledged`)
  t.diagnostic(JSON.stringify(report))
})
