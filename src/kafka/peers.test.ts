import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { startBroker } from '../../testing/broker.ts'
import { createCluster } from '../../testing/cluster.ts'
import { SimulatedClock } from '../../testing/sim/clock.ts'
import { createMemoryStore } from '../../testing/sim/memory-store.ts'
import { seededRandom } from '../base/random.ts'
import type { BrokerInfo } from '../cluster/broker-record.ts'
import type { ClusterWatch } from '../cluster/cluster.ts'
import { PeerUnavailable } from '../cluster/peers.ts'
import { describeCluster } from '../protocol/messages/describe-cluster.ts'
import { metadata } from '../protocol/messages/metadata.ts'
import { createLogger } from '../telemetry/logger.ts'
import { openPeers } from './peers.ts'

/** Brokers that the test defines. */
function open(t: TestContext, ports: Readonly<Record<number, number>>) {
  const infoOf = (id: number, port: number, incarnation = 'first'): BrokerInfo => ({
    id,
    incarnation,
    rack: null,
    endpoints: [{ name: 'PLAINTEXT', host: '127.0.0.1', port, security: 'plaintext' }],
    version: null,
    certificates: [],
    features: [],
    expiryMs: 1_000,
  })
  let living = Object.entries(ports).map(([id, port]) => infoOf(Number(id), port))
  const watches: ClusterWatch[] = []
  const clock = new SimulatedClock()
  const cluster = {
    brokerId: 9,
    incarnation: 'ninth',
    brokers: () => living,
    look: async () => {},
    watch: (watch: ClusterWatch) => void watches.push(watch),
  }
  const peers = openPeers({
    cluster,
    clock,
    store: createMemoryStore(clock),
    random: seededRandom(1),
    logger: createLogger({ clock, write: () => {}, format: 'plain' }),
    certificate: null,
  })
  t.after(() => peers.close())
  return {
    peers,
    clock,
    becomes(brokers: Readonly<Record<number, readonly [port: number, incarnation: string]>>) {
      living = Object.entries(brokers).map(([id, [port, incarnation]]) => infoOf(Number(id), port, incarnation))
      for (const watch of watches) watch.changed()
    },
  }
}

/** Takes connections and answers nothing. */
async function openDeaf(t: TestContext) {
  const sockets: Socket[] = []
  const server = createServer(socket => sockets.push(socket.resume())).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, sockets, server }
}

const ASKED = { includeClusterAuthorizedOperations: false }

const unavailable = (message: RegExp, isUnsent: boolean) => (error: unknown) => {
  assert.ok(error instanceof PeerUnavailable)
  assert.match(error.message, message)
  assert.equal(error.isUnsent, isUnsent)
  return true
}

test('many questions at once are answered, each with its own answer, and by each broker for itself', async t => {
  const [one, two] = await Promise.all([startBroker(t), startBroker(t, { 'broker.id': 2 })])
  const { peers } = open(t, { 0: one.port, 2: two.port })
  const ask = (id: number, topic: string) =>
    peers.ask(id, metadata, 12, { topics: [{ name: topic, topicId: undefined }], allowAutoTopicCreation: true })
  const asked = Array.from({ length: 50 }, (_, i) => [i % 2 === 0 ? 0 : 2, `topic-${i}`] as const)
  const answers = await Promise.all(asked.map(([id, topic]) => ask(id, topic)))
  assert.deepEqual(
    answers.map(({ controllerId, topics }) => [controllerId, topics[0]!.name]),
    asked,
  )
})

test('brokers of one cluster ask each other', async t => {
  const cluster = createCluster(t)
  const brokers = await Promise.all([cluster.start(1), cluster.start(2)])
  await cluster.agreed(brokers, [1, 2])
  const { peers } = open(t, { 1: brokers[0].port, 2: brokers[1].port })
  const { brokers: seen } = await peers.ask(2, describeCluster, 1, ASKED)
  assert.deepEqual(
    seen.map(({ brokerId }) => brokerId),
    [1, 2],
  )
})

test('a request to a broker that does not live, or does not listen, was certainly not sent', async t => {
  const { port, server } = await openDeaf(t)
  server.close()
  const { peers } = open(t, { 1: port })
  await assert.rejects(peers.ask(7, describeCluster, 1, ASKED), unavailable(/^broker 7 does not serve$/, true))
  await assert.rejects(peers.ask(1, describeCluster, 1, ASKED), unavailable(/^broker 1 cannot be reached at/, true))
})

test('if a broker does not answer in time, this request and all requests behind it fail', async t => {
  const { port, server } = await openDeaf(t)
  const { peers, clock } = open(t, { 1: port })
  const accepted = once(server, 'connection')
  const asked = [peers.ask(1, describeCluster, 1, ASKED), peers.ask(1, describeCluster, 1, ASKED)].map(each =>
    assert.rejects(each, unavailable(/^broker 1 has not answered within 5000 ms$/, false)),
  )
  const [socket] = (await accepted) as [Socket]
  await once(socket, 'data')
  await clock.advance(5_000)
  await Promise.all(asked)
})

test('a pending request to a broker that is gone fails, and its successor answers the next one', async t => {
  const { port, server } = await openDeaf(t)
  const successor = await startBroker(t, { 'broker.id': 1 })
  const { peers, becomes } = open(t, { 1: port })
  const accepted = once(server, 'connection')
  const asked = assert.rejects(peers.ask(1, describeCluster, 1, ASKED), unavailable(/^broker 1 is gone$/, false))
  await accepted
  becomes({ 1: [successor.port, 'second'] })
  await asked
  assert.equal((await peers.ask(1, describeCluster, 1, ASKED)).controllerId, 1)
})

test('a connection without questions is closed after a while, and opened again with the next', async t => {
  const sockets: Socket[] = []
  const { port } = await startBroker(t)
  // Between the two, to see the connections.
  const server = createServer(socket => {
    sockets.push(socket)
    const onward = connect(port, '127.0.0.1')
    socket.pipe(onward).pipe(socket)
    for (const each of [socket, onward]) each.on('error', () => {})
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => void server.close())
  const { peers, clock } = open(t, { 0: (server.address() as AddressInfo).port })
  await peers.ask(0, describeCluster, 1, ASKED)
  await peers.ask(0, describeCluster, 1, ASKED)
  assert.equal(sockets.length, 1)
  const ended = once(sockets[0]!, 'close')
  await clock.advance(30_000)
  await ended
  await peers.ask(0, describeCluster, 1, ASKED)
  assert.equal(sockets.length, 2)
})
