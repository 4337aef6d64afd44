import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemRandom } from '../../src/base/random.ts'
import { disturbNetwork, runChaos } from './chaos.ts'

const seed = Number(process.env.KETCH_SEED ?? systemRandom.below(1_000_000))

test(`a network that misbehaves loses and doubles nothing (seed ${seed})`, { timeout: 120_000 }, async t => {
  const report = await runChaos(t, { faults: 15, seed, fault: disturbNetwork })
  assert(report.acknowledged > 1000, `${report.acknowledged} acknowledged`)
  t.diagnostic(JSON.stringify(report))
})
