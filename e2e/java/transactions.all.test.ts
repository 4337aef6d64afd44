import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startBrokerProcess } from '../../testing/process.ts'
import { createTopic } from '../../testing/topic.ts'
import { javaConsole, runJava } from './client.ts'

const skip = javaConsole.absence() ?? false

test('a transactional producer stops and prints that there are no transactions, and the broker logs it', {
  skip,
  timeout: 120_000,
}, async t => {
  const broker = await startBrokerProcess(t)
  await createTopic(broker, 'orders', 1)
  const produced = runJava('org.apache.kafka.tools.ProducerPerformance', [
    ...['--bootstrap-server', broker.address, '--topic', 'orders', '--num-records', '1', '--record-size', '10'],
    ...['--throughput', '-1', '--transactional-id', 'orders', '--transaction-duration-ms', '100'],
  ])
  await assert.rejects(produced, /with key orders due to unexpected error: This broker has no transactions yet\./)
  assert.match(
    broker.output(),
    /WARN .*kafka\.find-coordinator.* This broker has no transactions yet\..*transactionalId=orders/,
  )
})
