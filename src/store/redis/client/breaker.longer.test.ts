import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { SimulatedClock } from '../../../../testing/sim/clock.ts'
import { StoreUnavailable } from '../../store.ts'
import { createBreaker, FAILURES_TO_OPEN } from './breaker.ts'

function start() {
  const clock = new SimulatedClock()
  const moves: string[] = []
  const probes: PromiseWithResolvers<void>[] = []
  const breaker = createBreaker({
    clock,
    openMs: 30_000,
    probe: () => {
      const probe = Promise.withResolvers<void>()
      probes.push(probe)
      return probe.promise
    },
    onMove: (state, why) => moves.push(`${state}: ${why}`),
  })
  const fail = (times: number) => {
    for (let at = 0; at < times; at++) breaker.failed('no reply')
  }
  return { clock, moves, probes, breaker, fail }
}

test('the breaker opens after failures in a row, and a reply between them starts the count again', () => {
  const { breaker, fail } = start()
  fail(FAILURES_TO_OPEN - 1)
  breaker.succeeded()
  fail(FAILURES_TO_OPEN - 1)
  breaker.check()
  fail(1)
  assert.throws(() => breaker.check(), StoreUnavailable)
  assert.equal(breaker.state, 'open')
})

test('after its duration the breaker sends one probe, and its success closes the breaker', async () => {
  const { clock, moves, probes, breaker, fail } = start()
  fail(FAILURES_TO_OPEN)
  await clock.advance(29_999)
  assert.equal(probes.length, 0)
  await clock.advance(1)
  assert.equal(breaker.state, 'half-open')
  assert.throws(() => breaker.check(), /half-open: no reply/)
  probes[0]!.resolve()
  await turn()
  breaker.check()
  assert.deepEqual(moves, ['open: no reply', 'half-open: no reply', 'closed: a PING was answered'])
})

test('a probe that fails opens the breaker for its duration again', async () => {
  const { clock, probes, breaker, fail } = start()
  fail(FAILURES_TO_OPEN)
  await clock.advance(30_000)
  probes[0]!.reject(new Error('still away'))
  await turn()
  assert.throws(() => breaker.check(), /open: still away/)
  await clock.advance(30_000)
  assert.equal(probes.length, 2)
  probes[1]!.resolve()
  await turn()
  assert.equal(breaker.state, 'closed')
})

test('a breaker that was shut down sends no more probes', async () => {
  const { clock, probes, breaker, fail } = start()
  fail(FAILURES_TO_OPEN)
  breaker.close()
  await clock.advance(60_000)
  assert.equal(probes.length, 0)
})
