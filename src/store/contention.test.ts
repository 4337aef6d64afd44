import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedClock } from '../../testing/sim/clock.ts'
import { seededRandom } from '../base/random.ts'
import { contend, LOST } from './contention.ts'
import { StoreContended } from './store.ts'

const open = () => ({ clock: new SimulatedClock(), random: seededRandom(7) })

test('a change that loses a race is tried again at once, and then after random waits that grow', async () => {
  const { clock, random } = open()
  const fromMs = clock.monotonic()
  const triedMs: number[] = []
  const result = await clock.passing(
    contend({ clock, random }, 'the thing', async () => {
      triedMs.push(clock.monotonic() - fromMs)
      return triedMs.length === 30 ? 'done' : LOST
    }),
  )
  assert.equal(result, 'done')
  const waits = triedMs.slice(1).map((at, i) => at - triedMs[i]!)
  assert.equal(waits[0], 0)
  assert.ok(waits.slice(1).every(wait => wait >= 1 && wait <= 320))
  assert.ok(Math.max(...waits.slice(1, 4)) <= 20)
  assert.ok(new Set(waits.slice(10)).size > 10)
})

test('a change that loses every race ends with StoreContended, and the message names the change', async () => {
  const { clock, random } = open()
  const work = clock.passing(contend({ clock, random }, 'the thing', async () => LOST))
  await assert.rejects(work, (error: Error) => {
    assert.ok(error instanceof StoreContended)
    assert.match(
      error.message,
      /^the thing was changed by others \d+ times within 1[5-6] s, each time before this change/,
    )
    return true
  })
})
