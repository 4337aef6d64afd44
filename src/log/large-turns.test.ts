import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedClock } from '../../testing/sim/clock.ts'
import { ENDLESS, patience } from '../base/patience.ts'
import { LargeTurns } from './large-turns.ts'

function openTurns() {
  const clock = new SimulatedClock()
  const turns = new LargeTurns(clock)
  const began: string[] = []
  /** Sends a batch that takes so long to unpack once it has its turn. */
  const send = (topic: string, tookMs: number, limit = ENDLESS) =>
    turns.enter(topic, limit).then(leave => {
      began.push(leave === null ? `${topic} late` : topic)
      if (leave !== null) clock.timer(tookMs, leave)
    })
  return { clock, send, began }
}

test('a topic rests after a large batch, five times as long as the batch took', async () => {
  const { clock, send, began } = openTurns()
  void send('bombs', 100)
  void send('bombs', 100)
  await clock.advance(599)
  assert.deepEqual(began, ['bombs'])
  await clock.advance(1)
  assert.deepEqual(began, ['bombs', 'bombs'])
})

test('the rest has a limit, after which a topic that waits for nothing is forgotten', async () => {
  const { clock, send, began } = openTurns()
  void send('bombs', 10_000)
  void send('bombs', 10)
  await clock.advance(14_999)
  assert.equal(began.length, 1)
  await clock.advance(1)
  assert.equal(began.length, 2)
  // The second one has rested too, so that the next one waits for nothing.
  await clock.advance(60)
  void send('bombs', 10)
  await clock.settle()
  assert.equal(began.length, 3)
})

test('other topics do not wait for a rest, and topics in line share the processor', async () => {
  const { clock, send, began } = openTurns()
  for (let i = 0; i < 20; i++) void send('bombs', 100)
  await clock.advance(150)
  void send('other', 100)
  await clock.advance(0)
  assert.deepEqual(began, ['bombs', 'other'])
  void send('other', 100)
  // It rests twice as long, because two topics are in line.
  await clock.advance(1_099)
  assert.equal(began.filter(name => name === 'other').length, 1)
  await clock.advance(1)
  assert.equal(began.filter(name => name === 'other').length, 2)
})

test('a batch whose patience ends leaves the line', async () => {
  const { clock, send, began } = openTurns()
  void send('bombs', 100)
  void send('bombs', 100, patience(clock, clock.monotonic() + 300))
  void send('bombs', 100)
  await clock.advance(300)
  assert.deepEqual(began, ['bombs', 'bombs late'])
  await clock.advance(300)
  assert.deepEqual(began, ['bombs', 'bombs late', 'bombs'])
})
