// Idempotent producers after Redis has lost the end of a log: the lost batches of a producer are gone from its state
// too. Apache Kafka 4.2.0 returns the same code for each of these sequences once the end of its log is cut, as after
// an unclean election, because it rebuilds its producer state from the rest of the log (ProducerStateManager,
// ProducerAppendInfo.checkSequence).

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NONE, OUT_OF_ORDER_SEQUENCE_NUMBER } from '../../src/protocol/errors.ts'
import { startBroker } from '../../testing/broker.ts'
import { eventually } from '../../testing/eventually.ts'
import { startForgetfulRedis } from '../../testing/forgetful-redis.ts'
import { batchOf, produceTo } from '../../testing/kafka.ts'
import { noRedis } from '../../testing/redis.ts'
import { createTopic } from '../../testing/topic.ts'

test('after a lost tail a producer continues after its last batch that is left, or with a new epoch, and the log names it until then', {
  skip: noRedis,
}, async t => {
  const { redis, remember, forget } = await startForgetfulRedis(t)
  const broker = await startBroker(t, {
    'storage.local.engine': 'redis',
    'redis.uri': redis.uri,
    'broker.expiry': 60_000,
  })
  await createTopic(broker, 't', 1)
  const wire = await broker.connect()
  const send = async (producerId: number, producerEpoch: number, baseSequence: number) => {
    const { errorCode } = await produceTo(wire, batchOf(['v'], { producerId, producerEpoch, baseSequence }))
    return errorCode
  }
  for (let sequence = 0; sequence < 3; sequence++) assert.equal(await send(1, 0, sequence), NONE)
  await remember()
  for (let sequence = 3; sequence < 6; sequence++) assert.equal(await send(1, 0, sequence), NONE)
  assert.equal(await send(2, 0, 0), NONE)

  await forget()
  await eventually('the loss is logged', () =>
    /the store lost the end of \S+: it came back at 3, offsets up to 7/.test(broker.log()),
  )
  let answer: number = NONE
  await eventually('the partition is led again', async () => {
    answer = await send(1, 0, 6)
    return answer === OUT_OF_ORDER_SEQUENCE_NUMBER.code
  })
  for (const sequence of [7, 6]) assert.equal(await send(1, 0, sequence), OUT_OF_ORDER_SEQUENCE_NUMBER.code)
  assert.match(
    broker.log(),
    /a producer is refused: its sequence numbers do not follow .* partition=t-0 .*Producer 1 sent sequence 6/,
  )
  // No batch of this producer is left.
  assert.equal(await send(2, 0, 1), NONE)
  assert.equal(await send(1, 0, 3), NONE)
  assert.equal(await send(1, 0, 6), OUT_OF_ORDER_SEQUENCE_NUMBER.code)
  assert.equal(await send(1, 1, 5), OUT_OF_ORDER_SEQUENCE_NUMBER.code)
  assert.equal(await send(1, 1, 0), NONE)
})
