import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedClock } from '../../testing/sim/clock.ts'
import { batchOf } from '../../testing/sim/logs.ts'
import { because, INVALID_RECORD, REQUEST_TIMED_OUT, type Refusal } from '../protocol/errors.ts'
import { createLogger } from '../telemetry/logger.ts'
import { type Judging, Judgings } from './judging.ts'

test('a verdict that comes after its deadline does not let the batch pass, but a refusal counts', async () => {
  const clock = new SimulatedClock()
  const judgings = new Judgings(clock, createLogger({ clock, write: () => {}, format: 'plain' }))
  const bad = because(INVALID_RECORD, 'bad')
  for (const [found, expected] of [
    [null, REQUEST_TIMED_OUT.code],
    [bad, INVALID_RECORD.code],
  ] as const) {
    const { promise, resolve } = Promise.withResolvers<Refusal | null>()
    const judge = { look: () => undefined, verdict: () => promise }
    const judging = judgings.start(judge, batchOf([{ value: 'x' }]), judgings.place('t-0', 't'), 500)!
    await clock.advance(500)
    assert.equal(isDecided(judging), false)
    resolve(found)
    await clock.settle()
    assert.equal(judging.verdict?.code, expected)
  }
})

const isDecided = ({ verdict }: Judging) => verdict !== undefined
