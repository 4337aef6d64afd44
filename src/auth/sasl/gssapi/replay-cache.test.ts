import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SKEW_MS } from './acceptor.ts'
import { createReplayCache } from './replay-cache.ts'

const START_MS = Date.UTC(2026, 10, 26)
const MINUTE_MS = 60_000
const authenticator = (text: string) => Buffer.from(text)

test('an authenticator counts once, for as long as its time is accepted', () => {
  const cache = createReplayCache(SKEW_MS)
  // The client's clock is fast: it may come again for ten minutes.
  const atMs = START_MS + SKEW_MS
  cache.use(authenticator('a'), atMs, START_MS)
  for (let nowMs = START_MS; nowMs <= START_MS + 2 * SKEW_MS; nowMs += MINUTE_MS)
    assert.throws(() => cache.use(authenticator('a'), atMs, nowMs), /^Refused: replay/)
  cache.use(authenticator('b'), atMs, START_MS)
})

test('a full cache refuses, and has room again when the oldest are too old', () => {
  const cache = createReplayCache(SKEW_MS, 3)
  for (const name of ['a', 'b', 'c']) cache.use(authenticator(name), START_MS, START_MS)
  assert.throws(
    () => cache.use(authenticator('d'), START_MS, START_MS),
    /the replay cache is full \(3 authenticators\)/,
  )
  assert.throws(() => cache.use(authenticator('a'), START_MS, START_MS), /replay/)
  const laterMs = START_MS + SKEW_MS + MINUTE_MS
  for (const name of ['d', 'e', 'f']) cache.use(authenticator(name), laterMs, laterMs)
  assert.throws(() => cache.use(authenticator('g'), laterMs, laterMs), /is full/)
})

test('after the clock was set back, an authenticator that the cache has forgotten is refused', () => {
  const cache = createReplayCache(SKEW_MS)
  cache.use(authenticator('a'), START_MS, START_MS)
  const laterMs = START_MS + 3 * SKEW_MS
  cache.use(authenticator('b'), laterMs, laterMs)
  assert.throws(() => cache.use(authenticator('a'), START_MS, START_MS), /the replay cache has forgotten/)
})
