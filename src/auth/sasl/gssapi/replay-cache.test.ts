import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SKEW_MS } from './acceptor.ts'
import { createReplayCache } from './replay-cache.ts'

const START_MS = Date.UTC(2026, 10, 26)
const MINUTE_MS = 60_000
const CLIENT = 'ada@EXAMPLE'
const authenticator = (text: string) => Buffer.from(text)

test('an authenticator counts once, for as long as its time is accepted', () => {
  const cache = createReplayCache(SKEW_MS)
  // The client's clock is fast: it may come again for ten minutes.
  const atMs = START_MS + SKEW_MS
  cache.use(authenticator('a'), CLIENT, atMs, START_MS)
  for (let nowMs = START_MS; nowMs <= START_MS + 2 * SKEW_MS; nowMs += MINUTE_MS)
    assert.throws(() => cache.use(authenticator('a'), CLIENT, atMs, nowMs), /^Refused: replay/)
  cache.use(authenticator('b'), CLIENT, atMs, START_MS)
})

test('a full cache refuses without a decision, and has room again when the oldest are too old', () => {
  const cache = createReplayCache(SKEW_MS, 10)
  const use = (name: string, atMs: number) => cache.use(authenticator(name), `${name}@EXAMPLE`, atMs, atMs)
  for (const name of 'abcdefghij') use(name, START_MS)
  assert.throws(() => use('k', START_MS), /^AuthenticationBusy: the replay cache is full \(10 authenticators\)/)
  assert.throws(() => use('a', START_MS), /^Refused: replay/)
  const laterMs = START_MS + SKEW_MS + MINUTE_MS
  for (const name of 'klmnopqrst') use(name, laterMs)
  assert.throws(() => use('u', laterMs), /is full/)
})

test('one client fills a tenth of the cache and keeps no other one out, until its oldest are too old', () => {
  const cache = createReplayCache(SKEW_MS, 30)
  for (const name of 'abc') cache.use(authenticator(name), CLIENT, START_MS, START_MS)
  assert.throws(
    () => cache.use(authenticator('d'), CLIENT, START_MS + MINUTE_MS, START_MS),
    /^AuthenticationBusy: the replay cache holds 3 authenticators of the client/,
  )
  assert.throws(() => cache.use(authenticator('a'), CLIENT, START_MS, START_MS), /^Refused: replay/)
  cache.use(authenticator('d'), 'bob@EXAMPLE', START_MS, START_MS)
  const laterMs = START_MS + SKEW_MS + MINUTE_MS
  for (const name of 'efg') cache.use(authenticator(name), CLIENT, laterMs, laterMs)
  assert.throws(() => cache.use(authenticator('h'), CLIENT, laterMs, laterMs), /holds 3 authenticators/)
})

test('after the clock was set back, an authenticator that the cache has forgotten is refused', () => {
  const cache = createReplayCache(SKEW_MS)
  cache.use(authenticator('a'), CLIENT, START_MS, START_MS)
  const laterMs = START_MS + 3 * SKEW_MS
  cache.use(authenticator('b'), CLIENT, laterMs, laterMs)
  assert.throws(() => cache.use(authenticator('a'), CLIENT, START_MS, START_MS), /the replay cache has forgotten/)
})
