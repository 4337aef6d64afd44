// A producer of kafkajs whose batches are judged: a bad batch is an error that is not tried again, and the records of
// other batches arrive once and in order.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startBroker } from '../../testing/broker.ts'
import { TestJudge } from '../../testing/judge.ts'
import { fetchOne, valuesOf } from '../../testing/kafka.ts'
import { openKafka } from './client.ts'

for (const idempotent of [false, true]) {
  test(`exactly the bad batches fail (${idempotent ? 'idempotent' : 'not idempotent'})`, async t => {
    const judge = new TestJudge()
    const broker = await startBroker(t, {}, { judge })
    const producer = openKafka(`127.0.0.1:${broker.port}`).producer({ idempotent, maxInFlightRequests: 1 })
    await producer.connect()
    t.after(() => producer.disconnect())
    const send = (...values: string[]) =>
      producer.send({ topic: 't', messages: values.map(value => ({ value, partition: 0 })) })
    await send('1', '2')
    const refused = { type: 'INVALID_RECORD', retriable: false }
    await assert.rejects(send('3', 'X'), ({ name, message, ...error }: Error) => {
      const cause = { ...error, ...(error as { cause?: object }).cause } as Record<string, unknown>
      assert.deepEqual({ type: cause.type, retriable: cause.retriable }, refused)
      return true
    })
    await send('4')
    assert.equal(judge.verdicts, 3)
    const values = await valuesOf(await fetchOne(await broker.connect(), 0))
    assert.deepEqual(
      values.map(([, value]) => value),
      ['1', '2', '4'],
    )
  })
}
