import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startBrokerProcess } from '../../testing/process.ts'
import { createTopic } from '../../testing/topic.ts'
import { javaConsole, runJava } from './client.ts'

const skip = javaConsole.absence() ?? false

test("Kafka's command line alters and describes configs and quotas", { skip, timeout: 120_000 }, async t => {
  const broker = await startBrokerProcess(t)
  await createTopic(broker, 'orders', 1, { 'retention.bytes': '77' })
  const configs = async (...args: string[]) => {
    const arguments_ = ['--bootstrap-server', broker.address, ...args]
    return (await runJava('kafka.admin.ConfigCommand', arguments_)).toString().trim().split('\n')
  }
  const orders = ['--entity-type', 'topics', '--entity-name', 'orders']
  // The tool describes the configs first. It refuses to delete a config that is not set.
  const change = ['--alter', '--add-config', 'retention.ms=1000', '--delete-config', 'retention.bytes']
  assert.deepEqual(await configs(...orders, ...change), ['Completed updating config for topic orders.'])
  assert.deepEqual(await configs(...orders, '--describe'), [
    'Dynamic configs for topic orders are:',
    '  retention.ms=1000 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:retention.ms=1000}',
  ])
  const quota = ['--entity-type', 'users', '--entity-name', 'ann', '--alter', '--add-config', 'producer_byte_rate=1024']
  assert.deepEqual(await configs(...quota), ['Completed updating config for user ann.'])
  assert.deepEqual(await configs('--entity-type', 'users', '--describe'), [
    "Quota configs for user-principal 'ann' are producer_byte_rate=1024.0",
  ])
})
