import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Consumer } from 'kafkajs'
import { startBrokerProcess } from '../../testing/process.ts'
import { createTopic } from '../../testing/topic.ts'
import { openKafka } from './client.ts'

const settings = { 'svc.broker.rebalance-delay': '100ms' }

interface Member {
  readonly consumer: Consumer
  readonly values: Set<string>
  /** Resolves with the partitions of the first assignment that satisfies the test. */
  assigned(satisfies: (partitions: readonly number[]) => boolean): Promise<readonly number[]>
}

async function joinGroup(address: string, topic: string, onRecord: () => void): Promise<Member> {
  const consumer = openKafka(address).consumer({ groupId: 'two', heartbeatInterval: 100, maxWaitTimeInMs: 100 })
  const values = new Set<string>()
  let latest: readonly number[] | null = null
  let wake = () => {}
  consumer.on('consumer.group_join', ({ payload }) => {
    latest = payload.memberAssignment[topic] ?? []
    wake()
  })
  await consumer.connect()
  await consumer.subscribe({ topic, fromBeginning: true })
  await consumer.run({
    eachMessage: async ({ message }) => {
      values.add(String(message.value))
      onRecord()
    },
  })
  return {
    consumer,
    values,
    async assigned(satisfies) {
      while (latest === null || !satisfies(latest)) await new Promise<void>(resolve => (wake = resolve))
      return latest
    },
  }
}

test('two kafkajs consumers share a group; when one leaves, the other reads all partitions', async t => {
  const broker = await startBrokerProcess(t, { settings })
  await createTopic(broker, 'shared', 4)
  const producer = openKafka(broker.address).producer()
  await producer.connect()
  t.after(() => producer.disconnect())
  const send = (from: number, count: number) =>
    producer.send({
      topic: 'shared',
      messages: Array.from({ length: count }, (_, i) => ({ value: String(from + i), partition: i % 4 })),
    })
  let wake = () => {}
  const members: Member[] = []
  const everyoneHas = async (count: number) => {
    const seen = () => new Set(members.flatMap(member => [...member.values])).size
    while (seen() < count) await new Promise<void>(resolve => (wake = resolve))
  }
  try {
    for (let i = 0; i < 2; i++) members.push(await joinGroup(broker.address, 'shared', () => wake()))
    const halves = await Promise.all(members.map(member => member.assigned(partitions => partitions.length === 2)))
    assert.deepEqual(halves.flat().sort(), [0, 1, 2, 3])
    await send(0, 400)
    await everyoneHas(400)
    assert(
      members.every(member => member.values.size === 200),
      'each read its half',
    )

    await members[0]!.consumer.disconnect()
    assert.deepEqual([...(await members[1]!.assigned(partitions => partitions.length === 4))].sort(), [0, 1, 2, 3])
    await send(400, 400)
    await everyoneHas(800)
    assert.equal([...members[1]!.values].filter(value => Number(value) >= 400).length, 400)
  } finally {
    // Disconnects before the broker ends: a consumer that loses its broker first reconnects forever, and keeps the
    // process alive.
    for (const { consumer } of members) await consumer.disconnect()
  }
})

test('a kafkajs group continues at its committed offsets after a restart of the broker', async t => {
  const broker = await startBrokerProcess(t, { settings })
  const kafka = openKafka(broker.address)
  const producer = kafka.producer({ idempotent: true, maxInFlightRequests: 1 })
  const read = async (upTo: string): Promise<string[]> => {
    const consumer = kafka.consumer({ groupId: 'again', heartbeatInterval: 100, maxWaitTimeInMs: 100 })
    const values: string[] = []
    await consumer.connect()
    await consumer.subscribe({ topic: 'again', fromBeginning: true })
    await new Promise<void>((resolve, reject) => {
      consumer.on('consumer.crash', ({ payload }) => reject(payload.error))
      void consumer.run({
        eachMessage: async ({ message }) => {
          values.push(`${message.value} at ${message.offset}`)
          if (String(message.value) === upTo) resolve()
        },
      })
    })
    await consumer.disconnect()
    return values
  }
  const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => String(from + i))
  const places = (from: number, to: number) => numbers(from, to).map(value => `${value} at ${value}`)
  const send = async (from: number, to: number) => {
    await producer.connect()
    await producer.send({ topic: 'again', messages: numbers(from, to).map(value => ({ value })) })
    await producer.disconnect()
  }
  await send(0, 100)
  assert.deepEqual(await read('99'), places(0, 100))
  await broker.kill('SIGTERM')
  await broker.start()
  await send(100, 200)
  assert.deepEqual(await read('199'), places(100, 200))
})

test('the kafkajs admin creates, describes and deletes topics and reads their offsets', async t => {
  const broker = await startBrokerProcess(t, { settings })
  const kafka = openKafka(broker.address)
  const admin = kafka.admin()
  await admin.connect()
  t.after(() => admin.disconnect())
  const topic = { topic: 'ours', numPartitions: 3, configEntries: [{ name: 'retention.ms', value: '60000' }] }
  assert.equal(await admin.createTopics({ topics: [topic] }), true)
  assert.equal(await admin.createTopics({ topics: [topic] }), false)
  assert.deepEqual((await admin.listTopics()).sort(), ['ours'])
  const producer = kafka.producer()
  await producer.connect()
  await producer.send({ topic: 'ours', messages: [{ value: 'x', partition: 1 }] })
  await producer.disconnect()
  const offsets = await admin.fetchTopicOffsets('ours')
  assert.deepEqual(
    offsets.sort((a, b) => a.partition - b.partition).map(one => [one.partition, one.low, one.high]),
    [
      [0, '0', '0'],
      [1, '0', '1'],
      [2, '0', '0'],
    ],
  )
  await admin.deleteTopics({ topics: ['ours'] })
  assert.deepEqual(await admin.listTopics(), [])
})
