import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seed } from '../../testing/seed.ts'
import { disturbNetwork, runChaos } from './chaos.ts'

test(`a network that misbehaves loses and doubles nothing (seed ${seed})`, { timeout: 120_000 }, async t => {
  const report = await runChaos(t, { faults: 15, seed, fault: disturbNetwork })
  assert(report.acknowledged > 1000, `${report.acknowledged} acknowledged`)
  t.diagnostic(JSON.stringify(report))
})
