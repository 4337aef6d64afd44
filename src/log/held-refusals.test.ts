import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TestJudge } from '../../testing/judge.ts'
import { batchOf, openLogWorld } from '../../testing/sim/logs.ts'
import { because, INVALID_RECORD, isRefusal } from '../protocol/errors.ts'

test('a refusal that is held back holds back no other batch, and comes by the deadline of its caller', async t => {
  const judge = new TestJudge()
  const world = await openLogWorld(t, { judge })
  const partition = await world.createPartition()
  const held = { ...because(INVALID_RECORD, 'bad'), holdMs: 800 }
  judge.next.push(held, held)
  const seen: (string | number)[] = []
  const send = (producerId: number, timeoutMs: number) =>
    partition
      .append(batchOf([{ value: 'v' }], { producerId, producerEpoch: 0, baseSequence: 0 }), timeoutMs)
      .then(answer => void seen.push(isRefusal(answer) ? answer.message : answer.baseOffset))
  const sent = [send(1, 0), send(2, 300), send(3, 0), send(4, 0)]
  await world.clock.settle()
  assert.deepEqual(seen, [0, 1])
  await world.clock.advance(299)
  assert.deepEqual(seen, [0, 1])
  await world.clock.advance(1)
  assert.deepEqual(seen, [0, 1, 'bad'])
  await world.clock.advance(500)
  assert.deepEqual(seen, [0, 1, 'bad', 'bad'])
  await Promise.all(sent)
})
