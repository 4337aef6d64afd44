// Judgings of batches that unpack to many bytes: their order within a partition, and between topics.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedClock } from '../../testing/sim/clock.ts'
import { batchOf } from '../../testing/sim/logs.ts'
import { createLogger } from '../telemetry/logger.ts'
import { AGAIN, type BatchJudge } from './judge.ts'
import { Judgings } from './judging.ts'

function openJudgings() {
  const clock = new SimulatedClock()
  const judgings = new Judgings(clock, createLogger({ clock, write: () => {}, format: 'plain' }))
  const decided: string[] = []
  const start = (name: string, judge: BatchJudge, place: ReturnType<Judgings['place']>, bytes: number) => {
    const batch = batchOf([{ value: Buffer.alloc(bytes) }], { compression: 'zstd' })
    const judging = judgings.start(judge, batch, place, 0)
    assert.ok(judging !== null && judging.verdict === undefined)
    return new Promise<void>(resolve => {
      judging.decided = () => {
        decided.push(name)
        resolve()
      }
    })
  }
  return { clock, judgings, decided, start }
}

test('a batch of a partition that needs another look gets it before those behind it get their first', async () => {
  const { judgings, decided, start } = openJudgings()
  const place = judgings.place('t-0', 't')
  let looks = 0
  let looksAtFirst = 0
  const lookingTwice = (): BatchJudge => {
    let own = 0
    return {
      look: async () => {
        looks++
        own++
      },
      verdict: () => {
        if (own < 2) return AGAIN
        if (decided.length === 0 && looksAtFirst === 0) looksAtFirst = looks
        return null
      },
    }
  }
  await Promise.all(Array.from({ length: 10 }, (_, i) => start(String(i), lookingTwice(), place, 300_000)))
  assert.equal(looks, 20)
  // The two batches that have a place.
  assert.ok(looksAtFirst <= 4, `${looksAtFirst} looks before the first verdict`)
})

test('while a topic rests after a bomb, another topic has its large batches judged', async () => {
  const { clock, judgings, decided, start } = openJudgings()
  const slow: BatchJudge = {
    look: async () => {
      await new Promise<void>(resolve => clock.timer(1_000, resolve))
    },
    verdict: () => null,
  }
  const quick: BatchJudge = { look: async () => {}, verdict: () => null }
  const bombs = [0, 1].map(partition =>
    start(`bomb ${partition}`, slow, judgings.place(`t-${partition}`, 't'), 40_000_000),
  )
  const until = async (count: number, stepMs: number) => {
    for (let i = 0; i < 10_000 && decided.length < count; i++) {
      await new Promise(setImmediate)
      await clock.advance(stepMs)
    }
  }
  await until(1, 1)
  await start('other', quick, judgings.place('other-0', 'other'), 40_000_000)
  assert.deepEqual(decided, ['bomb 0', 'other'])
  await until(3, 100)
  assert.deepEqual(decided, ['bomb 0', 'other', 'bomb 1'])
  await Promise.all(bombs)
})
