// Processes with `svc.broker.enabled=false`, which have no Kafka listener: alone on a store, and beside brokers.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import { metadata } from '../src/protocol/messages/metadata.ts'
import { adminClient } from '../testing/admin-client.ts'
import { type AskHttp, askHttp } from '../testing/ask-http.ts'
import { startBroker } from '../testing/broker.ts'
import { createCluster } from '../testing/cluster.ts'
import { eventually } from '../testing/eventually.ts'
import { startBrokerProcess } from '../testing/process.ts'
import { noRedis, startRedis } from '../testing/redis.ts'

const OPEN = { 'admin.security-enabled': false } as const

const PARTITIONS = 6

/** Requests that only the coordinator of the group can serve. */
const OF_A_GROUP = [
  ['/api/v1/groups/g', {}],
  ['/api/v1/groups/g', { method: 'DELETE' }],
  ['/api/v1/groups/g/offsets?topic=t', { method: 'DELETE' }],
] as const

interface Page {
  readonly messages: readonly { readonly partition: number; readonly offset: number }[]
}

interface Brokers {
  readonly brokers: readonly { readonly id: number; readonly isServing: boolean; readonly leads: number }[]
  readonly leaderless: number
}

interface Health {
  readonly status: string
  readonly components: Readonly<Record<string, { readonly status: string; readonly details?: object }>>
}

/** Produces one message to each partition. Resolves to the number that was appended. */
async function produceTo(url: string, topic: string): Promise<number> {
  const messages = Array.from({ length: PARTITIONS }, (_, partition) => ({ partition, value: { text: 'x' } }))
  const { status, body } = await adminClient(url).ask('POST', `/api/v1/topics/${topic}/messages`, { messages })
  assert.ok(status === 200 || body.code === 'LEADER_NOT_AVAILABLE', JSON.stringify(body))
  return status === 200 ? body.messages.filter((row: { error: unknown }) => row.error === null).length : 0
}

const healthOf = (ask: AskHttp) => ask<Health>('/actuator/health')

test('a process without the listener serves HTTP, leads its own store, and logs that at the start', async t => {
  const settings = { 'svc.broker.enabled': 'false', 'svc.admin.security-enabled': 'false' }
  const broker = await startBrokerProcess(t, { settings })
  assert.match(
    broker.output(),
    /Kafka clients cannot connect to this process, because svc\.broker\.enabled is false: it still leads the partitions/,
  )
  assert.doesNotMatch(broker.output(), /Kafka clients connect to|for credentials|undefined/)
  const socket = connect(broker.port, '127.0.0.1')
  const [error] = (await once(socket, 'error')) as [NodeJS.ErrnoException]
  assert.equal(error.code, 'ECONNREFUSED')

  const ask = askHttp(broker.url)
  await ask('/api/v1/topics', 201, { body: { name: 't', partitions: PARTITIONS } })
  assert.equal(await produceTo(broker.url, 't'), PARTITIONS)
  assert.equal((await ask<Page>('/api/v1/topics/t/messages')).messages.length, PARTITIONS)
  const { status, components } = await healthOf(ask)
  assert.deepEqual([status, components.broker?.status], ['UP', 'UP'])
  assert.equal((await ask<Health>('/actuator/health/readiness')).status, 'UP')
  assert.equal(await broker.kill('SIGTERM'), 0)
  assert.match(broker.output(), /closed\n$/)
})

test('alone on its store, a process without the listener is not serving, and retention goes on', async t => {
  const settings = { ...OPEN, 'broker.enabled': false, 'storage.worker.tick-interval': 200 }
  const { broker, url } = await startBroker(t, settings, { hasHttp: true })
  assert.deepEqual([broker.kafkaPorts, broker.address], [[], null])
  const ask = askHttp(url)
  const { brokers, leaderless } = await ask<Brokers>('/api/v1/brokers')
  assert.deepEqual([brokers.map(({ id, isServing }) => [id, isServing]), leaderless], [[[0, false]], 0])
  const configs = { 'retention.ms': '100', 'segment.ms': '100' }
  await ask('/api/v1/topics', 201, { body: { name: 't', partitions: PARTITIONS, configs } })
  assert.equal(await produceTo(url, 't'), PARTITIONS)
  await eventually('retention has deleted the old records', async () => {
    return (await ask<Page>('/api/v1/topics/t/messages')).messages.length === 0
  })
})

/** Starts two brokers, and a process without a listener beside them, on one Redis. */
async function startBeside(t: TestContext) {
  const { uri } = await startRedis(t)
  const shared = { ...OPEN, 'redis.uri': uri, 'broker.expiry': 2_000 }
  const start = (id: number, isEnabled: boolean) =>
    startBroker(t, { ...shared, 'broker.id': id, 'broker.enabled': isEnabled }, { hasHttp: true })
  const brokers = [await start(1, true), await start(2, true)] as const
  const beside = await start(3, false)
  const ask = askHttp(beside.url)
  await eventually('it sees both brokers', async () => {
    const { brokers: seen } = await ask<Brokers>('/api/v1/brokers')
    return seen.map(({ id }) => id).join() === '1,2'
  })
  return { brokers, beside, ask }
}

test('beside brokers a process without the listener leads nothing, and its HTTP API reaches the leaders', {
  skip: noRedis,
}, async t => {
  const { brokers, beside, ask } = await startBeside(t)
  assert.match(beside.log(), /svc\.broker\.enabled is false: it leads and coordinates nothing/)
  await ask('/api/v1/topics', 201, { body: { name: 't', partitions: PARTITIONS } })
  await eventually('each partition takes records', async () => (await produceTo(beside.url, 't')) === PARTITIONS)
  const first = await ask<Page>('/api/v1/topics/t/messages')
  assert.ok(first.messages.length >= PARTITIONS)
  const { brokers: seen, leaderless } = await ask<Brokers>('/api/v1/brokers')
  assert.deepEqual(
    seen.map(({ id, isServing }) => [id, isServing]),
    [
      [1, true],
      [2, true],
    ],
  )
  assert.deepEqual([seen.reduce((sum, { leads }) => sum + leads, 0), leaderless], [PARTITIONS, 0])
  for (const broker of brokers) {
    const wire = await broker.connect()
    const look = () => wire.send(metadata, 9, { topics: [{ name: 't' }] })
    await eventually('the broker lists both brokers', async () => {
      return (await look()).brokers.map(({ nodeId }) => nodeId).join() === '1,2'
    })
    const said = await look()
    assert.ok(said.topics[0]!.partitions.every(({ leaderId }) => leaderId === 1 || leaderId === 2))
  }
  const { messages } = await askHttp(brokers[0].url)<Page>('/api/v1/topics/t/messages')
  assert.equal(messages.length, first.messages.length)
  await ask('/api/v1/topics/t', 204, { method: 'DELETE' })
  const { status, components } = await healthOf(ask)
  assert.deepEqual([status, components.broker?.status], ['UP', 'UP'])
})

test('without any broker no partition is led, and a broker that starts does not consider the process without the listener dead', async t => {
  const cluster = createCluster(t, OPEN, { hasHttp: true })
  const beside = await cluster.start(3, { 'broker.enabled': false })
  const ask = askHttp(beside.url)
  await ask('/api/v1/topics', 201, { body: { name: 't', partitions: PARTITIONS } })
  assert.equal(await produceTo(beside.url, 't'), 0)
  const { brokers, leaderless } = await ask<Brokers>('/api/v1/brokers')
  assert.deepEqual([brokers, leaderless], [[], PARTITIONS])
  for (const [path, options] of OF_A_GROUP) {
    assert.equal((await ask(path, 503, options)).code, 'COORDINATOR_NOT_AVAILABLE')
  }
  await cluster.start(1)
  await eventually('the broker leads', async () => (await produceTo(beside.url, 't')) === PARTITIONS)
})
