import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedClock } from '../../testing/sim/clock.ts'
import { createLogger } from '../telemetry/logger.ts'
import { createMetrics } from '../telemetry/metrics.ts'
import { nameUnreadable } from './unreadable.ts'

test('a document that cannot be read is logged once, and the number of remembered names is bounded', () => {
  let lines = 0
  const write = () => {
    lines++
  }
  const tell = nameUnreadable(createMetrics(), createLogger({ clock: new SimulatedClock(), write, format: 'plain' }))
  const name = (index: number) => tell({ kind: 'group', what: `group ${index}`, why: 'no', result: 'it is left out' })
  for (let index = 0; index < 10_000; index++) name(index)
  for (let index = 0; index < 10_000; index++) name(index)
  assert.equal(lines, 10_000)
  // One more name replaces the oldest one, which is then logged again.
  name(10_000)
  name(9_999)
  assert.equal(lines, 10_001)
  name(0)
  assert.equal(lines, 10_002)
})
