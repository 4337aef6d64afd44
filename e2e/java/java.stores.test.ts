// Kafka's own tools against a broker. On Redis a run takes one of the two tests, and on a Redis Cluster the other one,
// as the seed draws. KETCH_LONG=1 takes both on each store.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isLong } from '../../testing/at-length.ts'
import { chosenStore } from '../../testing/chosen-store.ts'
import { startBrokerProcess } from '../../testing/process.ts'
import { seed } from '../../testing/seed.ts'
import { createTopic } from '../../testing/topic.ts'
import { javaConsole, runJava } from './client.ts'

const skip = javaConsole.absence() ?? false
const shift = { embedded: 0, redis: 0, 'redis-cluster': 1 }[chosenStore()]
const isTaken = (place: number) => isLong || chosenStore() === 'embedded' || (place + shift + seed) % 2 === 0

if (isTaken(0))
  test("Kafka's own performance tools produce and consume", { skip, timeout: 120_000 }, async t => {
    const broker = await startBrokerProcess(t, { settings: { 'svc.broker.rebalance-delay': '100ms' } })
    await createTopic(broker, 'perf', 4)
    const count = '50000'
    const server = ['--bootstrap-server', broker.address]
    // The producer is idempotent, as Java producers are by default.
    const produced = await runJava('org.apache.kafka.tools.ProducerPerformance', [
      ...['--topic', 'perf', '--num-records', count, '--record-size', '1024', '--throughput', '-1'],
      ...server,
    ])
    const summary = produced.toString().trimEnd().split('\n').at(-1)!
    assert.match(summary, /^50000 records sent/)
    t.diagnostic(summary)
    const consumed = await runJava('org.apache.kafka.tools.ConsumerPerformance', [
      ...['--topic', 'perf', '--num-records', count, '--show-detailed-stats', '--reporting-interval', '60000'],
      ...server,
    ])
    t.diagnostic(consumed.toString().trimEnd().split('\n').at(-1)!)
  })

if (isTaken(1))
  test("Kafka's command line creates, lists, describes and deletes topics", { skip, timeout: 120_000 }, async t => {
    const broker = await startBrokerProcess(t)
    const topics = (...args: string[]) =>
      runJava('org.apache.kafka.tools.TopicCommand', ['--bootstrap-server', broker.address, ...args])
    await topics('--create', '--topic', 'made', '--partitions', '3')
    assert.equal((await topics('--list')).toString().trim(), 'made')
    await topics('--delete', '--topic', 'made')
    assert.equal((await topics('--list')).toString().trim(), '')
  })
