import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { startBroker } from '../../testing/broker.ts'
import { eventually } from '../../testing/eventually.ts'
import { batchOf, fetchFrom, fetchOne, produceTo, startGround } from '../../testing/kafka.ts'
import { freePort } from '../../testing/process.ts'
import { SimulatedClock } from '../../testing/sim/clock.ts'
import { createMemoryStore } from '../../testing/sim/memory-store.ts'
import { connect } from '../../testing/wire.ts'
import { systemClock } from '../base/clock.ts'
import { NONE } from '../protocol/errors.ts'
import { apiVersions } from '../protocol/messages/api-versions.ts'
import { fetch } from '../protocol/messages/fetch.ts'
import { findCoordinator } from '../protocol/messages/find-coordinator.ts'
import { joinGroup } from '../protocol/messages/join-group.ts'
import { metadata } from '../protocol/messages/metadata.ts'
import { ListenFailed } from '../settings/listen-failed.ts'
import type { ListenerSettings } from '../settings/settings.ts'

const further = (name: string, fields: Partial<ListenerSettings> = {}): ListenerSettings => ({
  name,
  host: null,
  port: 0,
  advertisedHost: null,
  advertisedPort: null,
  security: null,
  ...fields,
})

const openStore = async () => createMemoryStore(systemClock)

test('a port that is taken is one message that names the address, the setting and what to write instead', async t => {
  const server = createServer().listen(0, '127.0.0.1')
  t.after(() => void server.close())
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  await assert.rejects(startBroker(t, { 'broker.port': port }, { openStore }), error => {
    assert.ok(error instanceof ListenFailed)
    assert.match(error.message, new RegExp(`127\\.0\\.0\\.1:${port}.*taken`))
    assert.match(error.message, new RegExp(`svc\\.broker\\.port.*--svc\\.broker\\.port=${port + 1}.*SVC_BROKER_PORT`))
    assert.doesNotMatch(error.message, /\n/)
    return true
  })
})

test('an address that this machine does not have is an error that names the setting', async t => {
  await assert.rejects(startBroker(t, { 'broker.host': '192.0.2.1' }, { openStore }), error => {
    assert.ok(error instanceof ListenFailed)
    assert.match(error.message, /no such address.*svc\.broker\.host/)
    return true
  })
})

test('a broker that could not start has released its store, and another broker can use it', async t => {
  const server = createServer().listen(0, '127.0.0.1')
  t.after(() => void server.close())
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  const dir = await mkdtemp(join(tmpdir(), 'ketch-'))
  await assert.rejects(startBroker(t, { 'broker.port': port }, { dir }), ListenFailed)
  const second = await startBroker(t, {}, { dir })
  const wire = await second.connect()
  await wire.send(apiVersions, 0, {})
  await second.broker.close()
  await rm(dir, { recursive: true })
})

test('draining answers what is in flight, parked fetches at once, and closes every connection', async t => {
  const ground = await startGround(t, { 'broker.fetch-max-wait': 600_000 })
  const [consumer, producer, idle] = [await ground.connect(), await ground.connect(), await ground.connect()]
  const parked = consumer.send(fetch, 12, fetchFrom(0, { maxWaitMs: 600_000 }))
  const release = ground.store.faults.hold('append')
  const produced = produceTo(producer, batchOf(['v']))
  await eventually('both are in flight', async () => {
    return (await ground.received('Fetch')) === 1 && (await ground.received('Produce')) === 1
  })
  const closing = ground.broker.close()
  assert.equal((await parked).errorCode, NONE)
  await idle.closed
  await assert.rejects(connect({ port: ground.port }))
  release()
  assert.equal((await produced).errorCode, NONE)
  await closing
  await Promise.all([consumer.closed, producer.closed])
})

test('a request that is sent while the broker drains is not worked on', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  const release = ground.store.faults.hold('append')
  const produced = produceTo(wire, batchOf(['v']))
  await eventually('the produce is in flight', async () => (await ground.received('Produce')) === 1)
  const closing = ground.broker.close()
  const late = assert.rejects(produceTo(wire, batchOf(['late'])))
  release()
  assert.equal((await produced).baseOffset, 0)
  await late
  await closing
})

test('a member that waits in a rebalance is answered when the broker drains', async t => {
  const ground = await startGround(t, { 'broker.rebalance-delay': 600_000 })
  const wire = await ground.connect()
  const joining = wire.send(joinGroup, 0, {
    groupId: 'g',
    sessionTimeoutMs: 30_000,
    memberId: '',
    protocolType: 'consumer',
    protocols: [{ name: 'range', metadata: Buffer.alloc(0) }],
  })
  await eventually('the join is in flight', async () => (await ground.received('JoinGroup')) === 1)
  const closing = ground.broker.close()
  assert.notEqual((await joining).errorCode, NONE)
  await closing
})

test('a request that is not answered within the drain timeout is cut off', async t => {
  const clock = new SimulatedClock()
  const ground = await startGround(t, { 'broker.produce-timeout': 0 }, clock)
  const wire = await ground.connect()
  const release = ground.store.faults.hold('append')
  const produced = assert.rejects(produceTo(wire, batchOf(['v'])))
  await eventually('the produce is in flight', async () => (await ground.received('Produce')) === 1)
  const closing = ground.broker.close()
  await clock.advance(4999)
  assert.equal(wire.socket.closed, false)
  await clock.advance(1)
  await produced
  release()
  await closing
  assert.match(ground.log(), /the drain timeout is over/)
})

test('closing twice is closing once, and the connections are counted while they are there', async t => {
  const ground = await startGround(t)
  const wires = [await ground.connect(), await ground.connect()]
  for (const wire of wires) await wire.send(apiVersions, 0, {})
  assert.equal(await ground.sample('svc_broker_connections'), 2)
  assert.equal(await ground.sample('svc_broker_up'), 1)
  await Promise.all([ground.broker.close(), ground.broker.close()])
  assert.equal(await ground.sample('svc_broker_connections'), 0)
  assert.equal(await ground.sample('svc_broker_up'), 0)
})

test('clients get the endpoint of the listener that they use, and the log names each listener', async t => {
  const far = further('FAR', { advertisedHost: 'kafka.example.com', advertisedPort: 19_092 })
  const ground = await startGround(t, { 'broker.listeners': [further('NEAR'), far] })
  const [first, near, other] = ground.broker.kafkaPorts
  const endpoints: (readonly [string, number])[] = []
  for (const port of [first!, near!, other!]) {
    const wire = await connect({ port })
    t.after(() => wire.close())
    const { brokers } = await wire.send(metadata, 12, { topics: [] })
    const { host, port: told } = brokers[0]!
    endpoints.push([host, told])
    const coordinator = await wire.send(findCoordinator, 3, { key: 'g', keyType: 0 })
    assert.deepEqual([coordinator.host, coordinator.port], [host, told])
    assert.equal((await fetchOne(wire, 0, { maxWaitMs: 0 })).errorCode, NONE)
  }
  assert.deepEqual(endpoints, [
    ['127.0.0.1', first],
    ['127.0.0.1', near],
    ['kafka.example.com', 19_092],
  ])
  assert.match(ground.log(), /Kafka clients connect to kafka\.example\.com:19092.*FAR/)
  assert.equal(await ground.sample('svc_broker_connections'), 3)
})

test('when one listener cannot be bound none of them listens, and the message names that one', async t => {
  const server = createServer().listen(0, '127.0.0.1')
  t.after(() => void server.close())
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  const free = await freePort()
  const overrides = { 'broker.port': free, 'broker.listeners': [further('SECOND', { port })] }
  await assert.rejects(startBroker(t, overrides, { openStore }), error => {
    assert.ok(error instanceof ListenFailed)
    assert.match(error.message, new RegExp(`127\\.0\\.0\\.1:${port}.*svc\\.broker\\.listeners\\[0\\]\\.port`))
    assert.match(error.message, /SVC_BROKER_LISTENERS_0_PORT/)
    return true
  })
  await assert.rejects(connect({ port: free }))
})

test('draining closes every listener', async t => {
  const ground = await startGround(t, { 'broker.listeners': [further('SECOND')] })
  const [first, second] = ground.broker.kafkaPorts
  const wire = await connect({ port: second! })
  await ground.broker.close()
  await wire.closed
  for (const port of [first!, second!]) await assert.rejects(connect({ port }))
})

for (const [setting, reason] of [
  ['broker.max-connections', 'max-connections'],
  ['broker.max-connections-per-address', 'max-connections-per-address'],
] as const) {
  test(`a client beyond svc.${setting} is closed at once, is counted, and disturbs no other`, async t => {
    const ground = await startGround(t, { [setting]: 2, 'broker.listeners': [further('SECOND')] })
    await eventually('the connection of the start is gone', async () => {
      return (await ground.sample('svc_broker_connections')) === 0
    })
    const held = [await ground.connect(), await connect({ port: ground.broker.kafkaPorts[1]! })]
    for (const wire of held) await wire.send(apiVersions, 0, {})
    for (let i = 0; i < 3; i++) await (await ground.connect()).closed
    assert.equal(await ground.failures('connection', reason), 3)
    assert.equal(ground.log().split(`as svc.${setting} allows`).length - 1, 1, 'one line for all of them')
    for (const wire of held) await wire.send(apiVersions, 0, {})
    await held[1]!.close()
    await eventually('there is room', async () => (await ground.sample('svc_broker_connections')) === 1)
    await (await ground.connect()).send(apiVersions, 0, {})
  })
}
