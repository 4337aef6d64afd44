import assert from 'node:assert/strict'
import { test } from 'node:test'
import { burstOf, RateWindow, WINDOW_MS } from './rate-window.ts'

test('a first burst is measured over ten seconds, and the wait is what Kafka computes', () => {
  const window = new RateWindow(0)
  window.record(burstOf(100), 0)
  assert.equal(window.excessMs(100, 0), 0)
  window.record(50, 0)
  // 105 a second over 10 s are 5 % more than 100, so 5 % of 10 s.
  assert.equal(window.excessMs(100, 0), 500)
  assert.equal(window.excessMs(100, 500), 0)
})

test('a steady rate is measured exactly, and values older than the window no longer count', () => {
  const window = new RateWindow(0)
  for (let at = 0; at < 60_000; at += 100) {
    window.record(10, at)
    assert.equal(window.excessMs(101, at), 0)
  }
  assert(window.excessMs(90, 59_900) > 0)
  assert.equal(window.sum(59_900 + WINDOW_MS - 1), 10 * 10)
  assert.equal(window.sum(59_900 + WINDOW_MS), 0)
})

test('a value that is taken back no longer counts', () => {
  const window = new RateWindow(0)
  window.record(70, 0)
  window.record(1_000_000, 10)
  window.record(-1_000_000, 10)
  assert.deepEqual([window.sum(10), window.excessMs(7, 10)], [70, 0])
})
