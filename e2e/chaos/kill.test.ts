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
