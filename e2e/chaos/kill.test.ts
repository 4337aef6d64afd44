import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemRandom } from '../../src/base/random.ts'
import { killAndStart, runChaos } from './chaos.ts'

const seed = Number(process.env.KETCH_SEED ?? systemRandom.below(1_000_000))

test(`five kills under load lose and double nothing (seed ${seed})`, { timeout: 120_000 }, async t => {
  const report = await runChaos(t, { faults: 5, seed, fault: killAndStart })
  assert(report.acknowledged > 500, `${report.acknowledged} acknowledged`)
  t.diagnostic(JSON.stringify(report))
})

test(`three kills lose and double nothing of what rests compressed (seed ${seed})`, { timeout: 120_000 }, async t => {
  const settings = {
    'svc.storage.local.compression.codec': 'zstd',
    'svc.storage.local.compression.dictionary.sample-count': '100',
    // Everything is read from the disk.
    'svc.storage.local.tail-cache-bytes': '0',
  }
  const report = await runChaos(t, { faults: 3, seed, settings, fault: killAndStart })
  assert(report.acknowledged > 300, `${report.acknowledged} acknowledged`)
  t.diagnostic(JSON.stringify(report))
})
