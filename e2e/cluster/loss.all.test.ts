// One of three brokers is killed and one is shut down, in an order that the seed draws, while clients of several kinds
// write and read as one crowd (crowd.ts). It is always the coordinator of their group, and it leads a third of their
// partitions. KETCH_LONG=1 kills one more.

import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { findCoordinator } from '../../src/protocol/messages/find-coordinator.ts'
import { metadata } from '../../src/protocol/messages/metadata.ts'
import { isLong } from '../../testing/at-length.ts'
import { eventually } from '../../testing/eventually.ts'
import { type BrokerProcess, startBrokerProcess } from '../../testing/process.ts'
import { noRedis, startRedis, startRedisCluster } from '../../testing/redis.ts'
import { seed } from '../../testing/seed.ts'
import { temporaryFolder } from '../../testing/temporary-folder.ts'
import { createTopicOfAll } from '../../testing/topic.ts'
import { connect, type Wire } from '../../testing/wire.ts'
import { runCommand } from '../command.ts'
import { confluentJs } from '../confluent-js/client.ts'
import { fetchJars } from '../java/jars.ts'
import { kcat } from '../kcat/client.ts'
import { confluentPython } from '../python/client.ts'
import { type Cast, commonCast, confluentJsCast, JAVA_PRODUCER_CONFIG, startCrowd } from './crowd.ts'

const TOPIC = 'orders'
const GROUP = 'workers'
/** The number of partitions that the keys of Kafka's verifiable producer reach. */
const PARTITIONS = 12
const LONGEST_MS = 120_000
const SIGNALS = ['SIGKILL', 'SIGTERM', 'SIGKILL'] as const
const signals = isLong ? SIGNALS : SIGNALS.slice(seed % 2).slice(0, 2)

type Brokers = ReadonlyMap<number, BrokerProcess>

async function startThree(t: TestContext, store: Readonly<Record<string, string>>): Promise<Brokers> {
  const started = [1, 2, 3].map(async id => {
    const settings = { ...store, 'svc.broker.id': String(id), 'svc.broker.rebalance-delay': '100ms' }
    return [id, await startBrokerProcess(t, { settings })] as const
  })
  return new Map(await Promise.all(started))
}

/** Returns the living brokers, and the leaders of the topic, as the broker of this connection reports them. */
async function look(wire: Wire): Promise<{ living: readonly number[]; leaders: ReadonlySet<number> }> {
  const { brokers, topics } = await wire.send(metadata, 9, { topics: [{ name: TOPIC }] })
  return {
    living: brokers.map(each => each.nodeId),
    leaders: new Set(topics[0]!.partitions.map(each => each.leaderId)),
  }
}

/** Resolves when each of these brokers reports that they, and no other, lead the topic. */
async function agree(brokers: Brokers, ids: readonly number[]): Promise<void> {
  for (const id of ids) {
    const wire = await connect(brokers.get(id)!)
    const isAgreed = async () => {
      const { living, leaders } = await look(wire)
      return living.join() === ids.join() && [...leaders].sort().join() === ids.join()
    }
    await eventually(`broker ${id} says that ${ids} lead`, isAgreed, LONGEST_MS)
    await wire.close()
  }
}

/** Returns the coordinator of the group, as this broker reports it. */
async function coordinator(broker: BrokerProcess): Promise<number> {
  const wire = await connect(broker)
  const { coordinators } = await wire.send(findCoordinator, 4, { keyType: 0, coordinatorKeys: [GROUP] })
  await wire.close()
  assert.equal(coordinators[0]!.errorCode, 0)
  return coordinators[0]!.nodeId
}

async function loseAndRegain(t: TestContext, store: Readonly<Record<string, string>>, cast: Cast): Promise<void> {
  const brokers = await startThree(t, store)
  const all = [1, 2, 3]
  await createTopicOfAll(brokers.get(1)!, TOPIC, PARTITIONS, all)
  await agree(brokers, all)
  const addresses = [...brokers.values()].map(each => each.address)
  const crowd = startCrowd(t, { addresses, topic: TOPIC, partitions: PARTITIONS, group: GROUP }, cast)
  await crowd.everybodyGoesOn('three brokers', LONGEST_MS)
  for (const signal of signals) {
    const lost = await coordinator(brokers.get(1)!)
    await brokers.get(lost)!.kill(signal)
    const left = all.filter(id => id !== lost)
    await crowd.everybodyGoesOn(`without broker ${lost}, after ${signal}`, LONGEST_MS)
    await agree(brokers, left)
    await crowd.everybodyGoesOn(`without broker ${lost}`, LONGEST_MS)
    assert.notEqual(await coordinator(brokers.get(left[0]!)!), lost)
    await brokers.get(lost)!.start()
    await agree(brokers, all)
    await crowd.everybodyGoesOn(`with broker ${lost} again`, LONGEST_MS)
  }
  await crowd.finish(LONGEST_MS)

  const format = ['-f', '%p %o %s\n', '-e', '-q']
  const output = await runCommand('kcat', ['-C', '-b', addresses.join(), '-t', TOPIC, ...format])
  const stored = output.toString().trimEnd().split('\n')
  const values = stored.map(line => line.split(' ')[2])
  assert.equal(new Set(values).size, values.length, 'a value is stored twice')
  const text = ({ partition, offset, value }: { partition: number; offset: number; value: number }) =>
    `${partition} ${offset} ${value}`
  const places = new Set(stored)
  const read = new Set(crowd.read.map(text))
  assert.deepEqual(
    crowd.acknowledged.map(text).filter(line => !places.has(line)),
    [],
    'was acknowledged and is not there',
  )
  assert.deepEqual(
    [...read].filter(line => !places.has(line)),
    [],
    'was read and is not there',
  )
  assert.deepEqual(
    stored.filter(line => !read.has(line)),
    [],
    'is there and was not read',
  )
  t.diagnostic(`${crowd.acknowledged.length} records acknowledged, ${crowd.read.length - read.size} read twice`)
}

test('kcat, Python and Java go on through kills of the brokers that they use, on a Redis Cluster', {
  skip: noRedis || (kcat.absence() ?? confluentPython.absence() ?? fetchJars() ?? false),
  timeout: 480_000,
}, async t => {
  const { uri } = await startRedisCluster(t)
  const folder = await temporaryFolder(t, 'ketch-crowd-')
  const config = join(folder, 'producer.properties')
  await writeFile(config, JAVA_PRODUCER_CONFIG)
  await loseAndRegain(t, { 'svc.redis.uri': uri, 'svc.redis.cluster': 'true' }, commonCast(config))
})

test('the newest librdkafka goes on through kills of the brokers that it uses', {
  skip: noRedis || (kcat.absence() ?? confluentJs.absence() ?? false),
  timeout: 480_000,
}, async t => {
  const { uri } = await startRedis(t)
  await loseAndRegain(t, { 'svc.redis.uri': uri }, confluentJsCast)
})
