// Tests the reference itself: comparisons with Apache Kafka need it to run and to answer our own client.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { metadata } from '../../src/protocol/messages/metadata.ts'
import { kafkaAbsence, startApacheKafka } from '../../testing/apache-kafka.ts'
import { createTopic } from '../../testing/topic.ts'
import { connect } from '../../testing/wire.ts'

test('Apache Kafka runs on this machine and answers our raw client', { skip: kafkaAbsence() ?? false }, async t => {
  const kafka = await startApacheKafka(t)
  await createTopic(kafka, 'made', 3)
  const wire = await connect(kafka)
  t.after(() => wire.close())
  const { brokers, topics } = await wire.send(metadata, 12, { topics: [{ name: 'made' }] })
  assert.deepEqual(
    brokers.map(({ host, port }) => `${host}:${port}`),
    [kafka.address],
  )
  assert.equal(topics[0]!.partitions.length, 3)
  t.diagnostic(`started in ${kafka.startedInMs.toFixed(0)} ms`)
})
