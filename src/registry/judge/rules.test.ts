import assert from 'node:assert/strict'
import { test } from 'node:test'
import { judgedTopic } from '../../../testing/judge-world.ts'
import { createMetrics } from '../../telemetry/metrics.ts'
import { Rules } from './rules.ts'

test('the answers to the refused batches of a topic come 100 times in a second after a burst, and wait at most 1 s', () => {
  const rules = new Rules(true, createMetrics())
  const { refuse } = rules.of(judgedTopic('t'))
  const burst = Array.from({ length: 100 }, () => refuse(5_000))
  assert.ok(burst.every(wait => wait === 0))
  // Twenty in flight: each is sent again when it is answered.
  const due = Array.from({ length: 20 }, () => 5_000)
  let answered = 0
  for (;;) {
    due.sort((one, other) => one - other)
    const nowMs = due.shift()!
    if (nowMs >= 10_000) break
    due.push(nowMs + refuse(nowMs) + 1)
    answered++
  }
  assert.ok(answered >= 490 && answered <= 530, `${answered} answers in five seconds`)
  const waits = Array.from({ length: 1_000 }, () => refuse(10_000))
  assert.ok(waits.every(wait => wait <= 1_000))
  assert.equal(refuse(20_000), 0)
  assert.equal(rules.of(judgedTopic('other')).refuse(10_000), 0)
})
