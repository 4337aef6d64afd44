import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedClock } from '../../testing/sim/clock.ts'
import { CallLimits, MCP_LIMITS } from './limits.ts'

const NEVER = new AbortController().signal

test('a hundred requests at once are taken, then twenty a second, and a refusal says when the next one is', async () => {
  const clock = new SimulatedClock()
  const limits = new CallLimits(clock, MCP_LIMITS)
  for (let i = 0; i < 100; i++) assert.equal(limits.take(), 0)
  assert.equal(limits.take(), 50)
  await clock.advance(49)
  assert.equal(limits.take(), 1)
  await clock.advance(1)
  assert.equal(limits.take(), 0)
  await clock.advance(1_000)
  for (let i = 0; i < 20; i++) assert.equal(limits.take(), 0)
  assert.ok(limits.take() > 0)
  await clock.advance(3_600_000)
  for (let i = 0; i < 100; i++) assert.equal(limits.take(), 0)
  assert.ok(limits.take() > 0, 'a long rest saves no more than one burst')
})

test('four run at once, sixteen wait, the next is refused, and a place goes to the longest waiting', async () => {
  const clock = new SimulatedClock()
  const limits = new CallLimits(clock, MCP_LIMITS)
  const untilMs = clock.monotonic() + 30_000
  for (let i = 0; i < 4; i++) assert.equal(await limits.begin(untilMs, NEVER), 'begun')
  const begun: number[] = []
  const waiting = Array.from({ length: 16 }, async (_, at) => {
    const turn = await limits.begin(untilMs, NEVER)
    if (turn === 'begun') begun.push(at)
    return turn
  })
  assert.equal(await limits.begin(untilMs, NEVER), 'full')
  limits.end()
  assert.equal(await waiting[0], 'begun')
  assert.deepEqual(begun, [0])
  await clock.advance(30_000)
  assert.deepEqual(await Promise.all(waiting.slice(1)), Array(15).fill('over'))
  limits.end()
  assert.equal(await limits.begin(clock.monotonic() + 1, NEVER), 'begun')
})

test('a client that has gone does not keep its place in the queue', async () => {
  const limits = new CallLimits(new SimulatedClock(), { ...MCP_LIMITS, atOnce: 1, waiting: 1 })
  assert.equal(await limits.begin(Number.POSITIVE_INFINITY, NEVER), 'begun')
  const gone = new AbortController()
  const waits = limits.begin(Number.POSITIVE_INFINITY, gone.signal)
  assert.equal(await limits.begin(Number.POSITIVE_INFINITY, NEVER), 'full')
  gone.abort()
  assert.equal(await waits, 'over')
  const next = limits.begin(Number.POSITIVE_INFINITY, NEVER)
  limits.end()
  assert.equal(await next, 'begun')
})
