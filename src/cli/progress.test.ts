import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedClock } from '../../testing/sim/clock.ts'
import { withProgress, withProgressSignedIn } from './progress.ts'
import type { Terminal } from './terminal.ts'

function screen(isWatched: boolean) {
  const said: string[] = []
  const terminal: Terminal = {
    out: () => {},
    err: text => void said.push(text),
    write: async () => {},
    async *input() {},
    isWatched,
    isOutSeen: false,
    variable: () => undefined,
    ask: async () => null,
    interrupted: new AbortController().signal,
  }
  return { said, terminal }
}

test('a long command shows its progress on one line, which is cleared at the end', async () => {
  const clock = new SimulatedClock()
  const { said, terminal } = screen(true)
  const work = Promise.withResolvers<string>()
  const done = withProgress({ terminal, clock }, seconds => `${seconds} s`, work.promise)
  await clock.advance(999)
  assert.deepEqual(said, [])
  await clock.advance(1_001)
  assert.deepEqual(said, ['\r\u001b[K1 s', '\r\u001b[K2 s', '\r\u001b[K2 s'])
  work.resolve('yes')
  assert.equal(await done, 'yes')
  assert.equal(said.at(-1), '\r\u001b[K')
  const lines = said.length
  await clock.advance(5_000)
  assert.equal(said.length, lines)
})

test('a question for the password is not overwritten: progress begins after sign-in', async () => {
  const clock = new SimulatedClock()
  const { said, terminal } = screen(true)
  const typed = Promise.withResolvers<void>()
  const work = Promise.withResolvers<string>()
  let begun = false
  const done = withProgressSignedIn(
    { terminal, clock, api: { signIn: () => typed.promise } },
    seconds => `${seconds} s`,
    () => {
      begun = true
      return work.promise
    },
  )
  await clock.advance(30_000)
  assert.deepEqual([said, begun], [[], false])
  typed.resolve()
  await clock.advance(0)
  await clock.advance(1_000)
  assert.deepEqual(said, ['\r\u001b[K1 s'])
  work.resolve('yes')
  assert.equal(await done, 'yes')
})

test('without a terminal no progress is shown', async () => {
  const clock = new SimulatedClock()
  const { said, terminal } = screen(false)
  const work = Promise.withResolvers<string>()
  const done = withProgress({ terminal, clock }, () => 'waiting', work.promise)
  await clock.advance(10_000)
  work.resolve('yes')
  await done
  assert.deepEqual(said, [])
})
