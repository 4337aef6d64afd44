// A compacted topic as users of kafkajs see it: the newest value of each key, tombstones for their time, and a refusal
// that names the record without a key.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startCleaningBroker } from '../../testing/cleaning.ts'
import { eventually } from '../../testing/eventually.ts'
import { createTopic } from '../../testing/topic.ts'
import { openKafka } from './client.ts'

const DAY_MS = 86_400_000

test('a consumer of a cleaned topic gets the newest value of each key, in the order of the offsets', async t => {
  const broker = await startCleaningBroker(t)
  await createTopic(broker, 'users', 1, { 'cleanup.policy': 'compact' })
  const kafka = openKafka(`127.0.0.1:${broker.port}`)
  const producer = kafka.producer({ idempotent: true, maxInFlightRequests: 1 })
  await producer.connect()
  const send = (messages: { key: string; value: string | null }[]) => producer.send({ topic: 'users', messages })
  for (let round = 0; round < 3; round++) {
    await send(Array.from({ length: 50 }, (_, i) => ({ key: `user-${i}`, value: `${round}` })))
  }
  await send([{ key: 'user-7', value: null }])
  const read = async (groupId: string, count: number) => {
    const consumer = kafka.consumer({ groupId, maxWaitTimeInMs: 50 })
    const got: { offset: number; key: string; value: string | null }[] = []
    await consumer.connect()
    await consumer.subscribe({ topic: 'users', fromBeginning: true })
    await consumer.run({
      eachMessage: async ({ message: { offset, key, value } }) => {
        got.push({ offset: Number(offset), key: String(key), value: value === null ? null : String(value) })
      },
    })
    await eventually(`${groupId} has read everything`, async () => got.length >= count)
    await consumer.disconnect()
    return got
  }
  assert.equal((await read('before', 151)).length, 151)
  await broker.clean('users')
  const after = await read('after', 50)
  assert.deepEqual(
    after.map(({ offset, key, value }) => `${offset} ${key} ${value}`),
    [
      ...Array.from({ length: 50 }, (_, i) => `${100 + i} user-${i} 2`).filter(line => !line.includes(' user-7 ')),
      '150 user-7 null',
    ],
  )
  // The sequences of the producer go on, although its batches were changed.
  await send([{ key: 'user-1', value: 'newest' }])
  await broker.clean('users', 2 * DAY_MS)
  const last = await read('later', 49)
  assert.deepEqual(
    last.filter(({ key }) => key === 'user-7' || key === 'user-1'),
    [{ offset: 151, key: 'user-1', value: 'newest' }],
  )
  await assert.rejects(
    producer.send({ topic: 'users', messages: [{ value: 'no key' }] }),
    ({ name, message }: Error) => `${name} ${message}`.includes('INVALID_RECORD') || /record.*valid/i.test(message),
  )
  await producer.disconnect()
})
