// A broker on Redis as its users start it: real servers, a real client, and what happens when either server is
// killed.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startBrokerProcess } from '../../testing/process.ts'
import { noRedis, startRedis, startRedisCluster } from '../../testing/redis.ts'
import { runCommand } from '../command.ts'
import { kcat } from '../kcat/client.ts'

const skip = kcat.absence() ?? noRedis

const lines = (count: number) => Array.from({ length: count }, (_, i) => `line ${i}`).join('\n')

async function produce(address: string, topic: string, input: string): Promise<void> {
  const options = ['-X', 'enable.idempotence=true', '-X', 'batch.num.messages=100', '-X', 'linger.ms=1']
  await runCommand('kcat', ['-P', '-b', address, '-t', topic, ...options], { input })
}

async function consume(address: string, topic: string): Promise<string> {
  return (await runCommand('kcat', ['-C', '-b', address, '-t', topic, '-e', '-q'])).toString().trimEnd()
}

test('kcat writes and reads on Redis, and all records are there after the broker and Redis were killed', {
  skip,
}, async t => {
  const redis = await startRedis(t, { appendfsync: 'always' })
  const broker = await startBrokerProcess(t, { settings: { 'svc.redis.uri': redis.uri } })
  await produce(broker.address, 'kept', lines(10_000))
  assert.equal(await consume(broker.address, 'kept'), lines(10_000))
  await redis.stop('SIGKILL')
  await broker.kill('SIGKILL')
  await redis.start()
  await broker.start()
  assert.equal(await consume(broker.address, 'kept'), lines(10_000))
  await produce(broker.address, 'kept', lines(10))
  assert.equal(await consume(broker.address, 'kept'), `${lines(10_000)}\n${lines(10)}`)
})

test('kcat writes and reads on a Redis Cluster', { skip }, async t => {
  const { uri, primaries } = await startRedisCluster(t)
  const settings = {
    'svc.redis.uri': uri,
    'svc.redis.cluster': 'true',
    'svc.topics[0].name': '*',
    'svc.topics[0].auto-create': 'true',
    'svc.topics[0].partitions': '12',
  }
  const broker = await startBrokerProcess(t, { settings })
  await produce(broker.address, 'spread', lines(10_000))
  const read = await consume(broker.address, 'spread')
  assert.deepEqual(read.split('\n').sort(), lines(10_000).split('\n').sort())
  for (const primary of primaries)
    assert.ok(Number(await primary.ask('DBSIZE')) > 0, `${primary.port} holds some of it`)
})
