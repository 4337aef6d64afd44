import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runHostile } from './run.ts'

const MOST_GROWTH_BYTES = 50e6
/** A client notices a round trip of this many ms. */
const NOTICED_MS = 1000

test('10,000 damaged requests do not end the process, use up its memory, or slow down its other clients', async t => {
  const { growthBytes, slowestMs } = await runHostile(t, { count: 10_000, seed: 7 })
  t.diagnostic(
    `memory grew by ${(growthBytes / 1e6).toFixed(1)} MB, the slowest answer took ${slowestMs.toFixed(0)} ms`,
  )
  assert.ok(growthBytes < MOST_GROWTH_BYTES, `memory grew by ${growthBytes} bytes`)
  assert.ok(slowestMs < NOTICED_MS, `an answer took ${slowestMs} ms`)
})
