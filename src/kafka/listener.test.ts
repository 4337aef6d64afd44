import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { startBroker } from '../../testing/broker.ts'
import { eventually } from '../../testing/eventually.ts'
import { batchOf, fetchFrom, produceTo, startGround } from '../../testing/kafka.ts'
import { SimulatedClock } from '../../testing/sim/clock.ts'
import { createMemoryStore } from '../../testing/sim/memory-store.ts'
import { connect } from '../../testing/wire.ts'
import { systemClock } from '../base/clock.ts'
import { NONE } from '../protocol/errors.ts'
import { apiVersions } from '../protocol/messages/api-versions.ts'
import { fetch } from '../protocol/messages/fetch.ts'
import { joinGroup } from '../protocol/messages/join-group.ts'
import { ListenFailed } from './listener.ts'

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

test('an address that this machine does not have is said so, with the setting', async t => {
  await assert.rejects(startBroker(t, { 'broker.host': '192.0.2.1' }, { openStore }), error => {
    assert.ok(error instanceof ListenFailed)
    assert.match(error.message, /no such address.*svc\.broker\.host/)
    return true
  })
})

test('what could not start has let go of its store, and another broker can take it', async t => {
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

test('what is not answered within the drain timeout is cut off', async t => {
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
