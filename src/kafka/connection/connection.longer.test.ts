import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect as connectSocket, createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { pattern } from '../../../testing/broker.ts'
import { eventually } from '../../../testing/eventually.ts'
import { batchOf, fetchFrom, fetchOne, LATE, produceTo, readLate, startGround } from '../../../testing/kafka.ts'
import { SimulatedClock } from '../../../testing/sim/clock.ts'
import type { Wire } from '../../../testing/wire.ts'
import type { Clock } from '../../base/clock.ts'
import { CORRUPT_MESSAGE, REQUEST_TIMED_OUT } from '../../protocol/errors.ts'
import { requestHeader } from '../../protocol/header.ts'
import { apiVersions } from '../../protocol/messages/api-versions.ts'
import { fetch } from '../../protocol/messages/fetch.ts'
import { joinGroup } from '../../protocol/messages/join-group.ts'
import { metadata } from '../../protocol/messages/metadata.ts'
import { produce } from '../../protocol/messages/produce.ts'
import { Admission } from './admission.ts'
import { Connection } from './connection.ts'
import { readThrough } from './reading.ts'
import { Session } from './session.ts'
import { Transport } from './transport.ts'

async function firstOffset(wire: Wire): Promise<number> {
  return (await produceTo(wire, batchOf(['v']))).baseOffset
}

test('answers come in the order of their requests, however long each takes', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  const order: string[] = []
  await Promise.all([
    wire.send(fetch, 12, fetchFrom(0, { maxWaitMs: 20 })).then(() => order.push('fetch that waits')),
    wire.send(apiVersions, 0, {}).then(() => order.push('versions')),
    wire.send(produce, 9, { acks: -1, timeoutMs: 1000, topicData: [] }).then(() => order.push('produce')),
    wire.send(metadata, 4, { topics: [] }).then(() => order.push('metadata')),
  ])
  assert.deepEqual(order, ['fetch that waits', 'versions', 'produce', 'metadata'])
})

test('while one request waits, the requests behind it are worked on', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  const waiting = wire.send(fetch, 12, fetchFrom(0))
  await produceTo(wire, batchOf(['wakes the fetch']))
  const { responses } = await waiting
  assert.ok(responses[0]!.partitions[0]!.records!.length > 0)
})

test('pipelined produces reach the log in the order in which they were sent', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  const offsets = await Promise.all(Array.from({ length: 200 }, () => firstOffset(wire)))
  assert.deepEqual(
    offsets,
    offsets.map((_, at) => at),
  )
})

test('a request that arrives byte by byte is answered', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  const header = requestHeader(apiVersions, 0, 77, 'slow')
  for (const byte of [0, 0, 0, header.length, ...header]) await wire.raw(Buffer.of(byte))
  assert.equal((await wire.answer()).readInt32BE(0), 77)
})

test('correlation ids are echoed, even if they are negative or repeated', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  for (const correlationId of [-1, 0x7fffffff, -2_147_483_648]) {
    const header = requestHeader(apiVersions, 0, correlationId, null)
    const frame = Buffer.concat([Buffer.of(0, 0, 0, header.length), header])
    await wire.raw(Buffer.concat([frame, frame]))
    assert.equal((await wire.answer()).readInt32BE(0), correlationId)
    assert.equal((await wire.answer()).readInt32BE(0), correlationId)
  }
})

test('at the in-flight limit reading pauses, and goes on when answers are out', async t => {
  const ground = await startGround(t, { 'broker.in-flight-limit': 4 })
  const [wire, other] = [await ground.connect(), await ground.connect()]
  const release = ground.store.faults.hold('append')
  const held: Promise<number>[] = []
  for (let i = 0; i < 4; i++) {
    held.push(firstOffset(wire))
    await eventually('the produce is in flight', async () => (await ground.received('Produce')) === i + 1)
  }
  const fifth = wire.send(metadata, 4, { topics: [] })
  const before = await ground.received('Metadata')
  for (let i = 0; i < 3; i++) await other.send(apiVersions, 0, {})
  assert.equal(await ground.received('Metadata'), before, 'the fifth request was read')
  release()
  assert.deepEqual(await Promise.all(held), [0, 1, 2, 3])
  await fifth
})

test('of many requests that arrive together, at most the in-flight limit is worked on at a time', async t => {
  const ground = await startGround(t, { 'broker.in-flight-limit': 4 })
  const [wire, other] = [await ground.connect(), await ground.connect()]
  const release = ground.store.faults.hold('append')
  wire.socket.cork()
  const held = Array.from({ length: 50 }, () => firstOffset(wire))
  wire.socket.uncork()
  await eventually('the first are in flight', async () => (await ground.received('Produce')) === 4)
  for (let i = 0; i < 3; i++) await other.send(apiVersions, 0, {})
  assert.equal(await ground.received('Produce'), 4)
  assert.ok((await ground.sample('svc_broker_pending_bytes')) > 46 * 69, 'what is kept is counted')
  release()
  assert.deepEqual(
    await Promise.all(held),
    held.map((_, at) => at),
  )
  await eventually('nothing is pending', async () => (await ground.sample('svc_broker_pending_bytes')) === 0)
})

test('netty reads again when one answer is sent, reactor_netty when three quarters of the limit are sent', async t => {
  for (const [stack, needed] of [
    ['netty', 1],
    ['reactor_netty', 6],
  ] as const) {
    const ground = await startGround(t, {
      'broker.stack': stack,
      'broker.in-flight-limit': 8,
      'broker.fetch-max-wait': 60_000,
      topics: [pattern('*', { partitions: 8 })],
    })
    const [wire, other] = [await ground.connect(), await ground.connect()]
    const waits = Array.from({ length: 8 }, (_, partition) => {
      const topics = [{ topic: 't', partitions: [{ partition, fetchOffset: 0, partitionMaxBytes: 1000 }] }]
      return wire.send(fetch, 12, { maxWaitMs: 60_000, minBytes: 1, topics })
    })
    await eventually('the limit is reached', async () => (await ground.received('Fetch')) === 8)
    const before = await ground.received('Metadata')
    const ninth = wire.send(metadata, 4, { topics: [] })
    for (let index = 0; index < needed; index++) {
      await other.send(apiVersions, 0, {})
      assert.equal(await ground.received('Metadata'), before, `${stack} reads on after ${index} answers`)
      await produceTo(other, batchOf(['v']), { index })
      await waits[index]
    }
    await eventually('the ninth is read', async () => (await ground.received('Metadata')) === before + 1)
    for (let index = needed; index < 8; index++) await produceTo(other, batchOf(['v']), { index })
    await ninth
  }
})

test('bytes that were read beyond the limit are released when their connection closes', async t => {
  const ground = await startGround(t, { 'broker.in-flight-limit': 4 })
  const wire = await ground.connect()
  const release = ground.store.faults.hold('append')
  wire.socket.cork()
  for (let i = 0; i < 50; i++) void firstOffset(wire).catch(() => {})
  wire.socket.uncork()
  await eventually('the first are in flight', async () => (await ground.received('Produce')) === 4)
  const closing = ground.broker.close()
  release()
  await wire.closed
  await closing
  assert.equal(await ground.sample('svc_broker_pending_bytes'), 0)
  assert.equal(await ground.received('Produce'), 4)
})

test('a client that does not take its answers is read no further, and then served in full', async t => {
  const ground = await startGround(t, LATE)
  const [wire, other] = [await ground.connect(), await ground.connect()]
  const { size, answers } = await readLate(ground, wire, other)
  for (const { responses } of await Promise.all(answers)) {
    // A client that has turned out to be slow gets less than all bytes.
    assert.ok(responses[0]!.partitions[0]!.records!.length > size)
  }
  await eventually('nothing is pending', async () => (await ground.sample('svc_broker_pending_bytes')) === 0)
  assert.equal(await ground.sample('svc_broker_backpressure_connections'), 0)
})

test('above the broker-wide budget no connection is read, and below its resume mark every connection is', async t => {
  const { client, frame, seen, admission, join } = await startAnswering(t, new SimulatedClock(), { bytes: 20_000_000 })
  client.pause()
  client.write(frame)
  await eventually('all are suspended', () => admission.isSuspended)
  const other = await join()
  other.write(frame)
  for (let i = 0; i < 20; i++) await new Promise(resolve => setImmediate(resolve))
  assert.equal(seen.received, 1)
  client.resume()
  other.resume()
  await eventually('both are answered', () => client.bytesRead + other.bytesRead === 40_000_000)
  assert.equal(admission.isSuspended, false)
  assert.equal(seen.backpressured, 0)
})

test('a client that takes no answer while all wait for its memory is closed, and the others are read', async t => {
  const { client, frame, seen, admission, join } = await startAnswering(t, new SimulatedClock(), { bytes: 20_000_000 })
  client.pause()
  client.write(frame)
  await eventually('all are suspended', () => admission.isSuspended)
  const other = await join()
  other.write(frame)
  for (let looks = 0; looks < 2; looks++) {
    assert.equal(seen.received, 1)
    await new Promise(resolve => setImmediate(resolve))
    admission.look()
  }
  assert.deepEqual(seen.refused, ['shed'])
  other.resume()
  await eventually('the other is answered', () => other.bytesRead === 20_000_000)
  assert.equal(admission.pendingBytes, 0)
})

test('a client that takes no byte of its answer for thirty seconds is closed, one that takes some is not', async t => {
  const clock = new SimulatedClock()
  const ground = await startGround(t, {}, clock)
  const [slow, stuck] = [await ground.connect(), await ground.connect()]
  for (let i = 0; i < 20; i++) await produceTo(slow, batchOf([Buffer.alloc(900_000, i)]))
  for (const wire of [slow, stuck]) {
    wire.socket.pause()
    // More bytes than the kernel buffers.
    for (let i = 0; i < 4; i++) void wire.send(fetch, 12, fetchFrom(0)).catch(() => {})
  }
  await eventually('both are answered', async () => (await ground.sample('svc_broker_pending_bytes')) > 20_000_000)
  const [taken] = [slow.socket.bytesRead]
  slow.socket.resume()
  await eventually('one has taken something', async () => slow.socket.bytesRead > taken)
  slow.socket.pause()
  await clock.advance(29_000)
  assert.equal(await ground.failures('connection', 'stalled'), 0)
  slow.socket.resume()
  await clock.advance(5000)
  assert.equal(await ground.failures('connection', 'stalled'), 1)
  stuck.socket.resume()
  await stuck.closed
  await slow.send(apiVersions, 0, {})
  assert.equal(await ground.sample('svc_broker_fetch_granted_bytes'), 0)
})

test('if incomplete frames fill the budget, the connection with the largest one is closed, and the others go on', async t => {
  const ground = await startGround(t, {
    'broker.global-max-pending-bytes': 4_000_000,
    'broker.global-resume-pending-bytes': 2_000_000,
  })
  const [liar, other] = [await ground.connect(), await ground.connect()]
  const size = Buffer.alloc(4)
  size.writeInt32BE(90_000_000)
  await liar.raw(size)
  const chunk = Buffer.alloc(500_000)
  for (let i = 0; i < 20; i++) void liar.raw(chunk).catch(() => {})
  await liar.closed
  assert.equal(await ground.failures('connection', 'shed'), 1)
  await other.send(apiVersions, 0, {})
  assert.equal(await ground.sample('svc_broker_pending_bytes'), 0)
})

test('joins that wait for other members use none of the budget, even if their metadata is large', async t => {
  const ground = await startGround(t, {
    'broker.global-max-pending-bytes': 4_000_000,
    'broker.global-resume-pending-bytes': 2_000_000,
    'broker.rebalance-delay': 600_000,
  })
  const metadataOfMember = Buffer.alloc(900_000)
  for (let i = 0; i < 8; i++) {
    const wire = await ground.connect()
    const body = {
      groupId: 'g',
      sessionTimeoutMs: 60_000,
      rebalanceTimeoutMs: 600_000,
      memberId: '',
      protocolType: 'x',
    }
    void wire.send(joinGroup, 3, { ...body, protocols: [{ name: 'p', metadata: metadataOfMember }] }).catch(() => {})
    await eventually('the join waits', async () => (await ground.received('JoinGroup')) === i + 1)
  }
  assert.equal(await ground.sample('svc_broker_pending_bytes'), 0)
  const other = await ground.connect()
  await other.send(metadata, 4, { topics: [] })
})

test('a request that is at the head for too long answers REQUEST_TIMED_OUT, and its late answer is dropped', async t => {
  const clock = new SimulatedClock()
  const ground = await startGround(t, { 'broker.produce-timeout': 0 }, clock)
  const wire = await ground.connect()
  const release = ground.store.faults.hold('append')
  const late = produceTo(wire, batchOf(['v']))
  const behind = wire.send(apiVersions, 0, {})
  await eventually('both are in flight', async () => (await ground.received('ApiVersions')) === 1)
  await clock.advance(10_000)
  const { errorCode, baseOffset } = await late
  assert.deepEqual([errorCode, baseOffset], [REQUEST_TIMED_OUT.code, -1])
  await behind
  release()
  assert.equal(await firstOffset(wire), 1)
  assert.equal(await ground.failures('Produce', 'REQUEST_TIMED_OUT'), 1)
  assert.match(ground.log(), /WARN .*Produce has no answer after the 10000 ms of svc.broker.response-queue-timeout/)
  assert.equal(await ground.sample('svc_broker_request_seconds_count{api_key="Produce",result="timeout"}'), 1)
})

test('each request has its own time at the head of the queue', async t => {
  const clock = new SimulatedClock()
  const ground = await startGround(t, { 'broker.produce-timeout': 0 }, clock)
  const wire = await ground.connect()
  const release = ground.store.faults.hold('append')
  const answered: number[] = []
  const both = [1, 2].map(which => produceTo(wire, batchOf(['v'])).then(() => answered.push(which)))
  await eventually('both are in flight', async () => (await ground.received('Produce')) === 2)
  await clock.advance(10_000)
  await both[0]
  await clock.advance(9_999)
  assert.deepEqual(answered, [1])
  await clock.advance(1)
  await Promise.all(both)
  assert.deepEqual(answered, [1, 2])
  release()
})

test('a fetch may hold the head for its wait on top of the response-queue timeout', async t => {
  const clock = new SimulatedClock()
  const ground = await startGround(t, { 'broker.response-queue-timeout': 100, 'broker.fetch-max-wait': 5000 }, clock)
  const wire = await ground.connect()
  const waiting = wire.send(fetch, 12, fetchFrom(0, { maxWaitMs: 5000 }))
  await eventually('the fetch is in flight', async () => (await ground.received('Fetch')) === 1)
  await clock.advance(5000)
  const { errorCode, responses } = await waiting
  assert.deepEqual([errorCode, responses.length], [0, 1])
})

test('a connection that is quiet for the idle timeout is closed; one whose request is worked on is not', async t => {
  const clock = new SimulatedClock()
  const ground = await startGround(
    t,
    { 'broker.idle-timeout': 60_000, 'broker.response-queue-timeout': 600_000, 'broker.produce-timeout': 0 },
    clock,
  )
  const [quiet, busy] = [await ground.connect(), await ground.connect()]
  await quiet.send(apiVersions, 0, {})
  await clock.advance(59_000)
  await quiet.send(apiVersions, 0, {})
  const release = ground.store.faults.hold('append')
  const answer = produceTo(busy, batchOf(['v']), { timeoutMs: 600_000 })
  await eventually('the produce is in flight', async () => (await ground.received('Produce')) === 1)
  await clock.advance(59_000)
  assert.equal(await ground.failures('connection', 'idle'), 0)
  await clock.advance(2000)
  await quiet.closed
  release()
  await answer
  assert.equal(await ground.failures('connection', 'idle'), 1)
})

test('a frame that is not complete after the frame timeout closes the connection, however it trickles in', async t => {
  const clock = new SimulatedClock()
  const ground = await startGround(t, {}, clock)
  const [loris, other] = [await ground.connect(), await ground.connect()]
  const bytes = Buffer.from([0, 0, 1, 0, ...Buffer.alloc(100)])
  for (let sent = 0; sent < 60; sent += 10) {
    await loris.raw(bytes.subarray(sent, sent + 10))
    await other.send(apiVersions, 0, {})
    await clock.advance(10_000)
  }
  await loris.closed
  assert.equal(await ground.failures('connection', 'frame-timeout'), 1)
  await other.send(apiVersions, 0, {})
})

test('three hundred clients that trickle disturb no other client, and all are closed', async t => {
  const clock = new SimulatedClock()
  const ground = await startGround(t, {}, clock)
  const other = await ground.connect()
  const loris = await Promise.all(Array.from({ length: 300 }, () => ground.connect()))
  for (let round = 0; round < 3; round++) {
    await Promise.all(loris.map(each => each.raw(Buffer.of(0))))
    assert.equal(await firstOffset(other), round)
    await clock.advance(10_000)
  }
  await eventually('all have run out of time', async () => {
    await clock.advance(10_000)
    return (await ground.failures('connection', 'frame-timeout')) === 300
  })
  await Promise.all(loris.map(each => each.closed))
  assert.ok(ground.log().split('a frame was not complete').length - 1 < 10, 'the log says it once in a while')
  assert.equal(await firstOffset(other), 3)
})

test('a produce that wants no answer gets no bytes, and a failure closes the connection', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  const unanswered = (records: Buffer) => ({
    acks: 0,
    timeoutMs: 30_000,
    topicData: [{ name: 't', partitionData: [{ index: 0, records }] }],
  })
  await wire.post(produce, 9, unanswered(batchOf(['v'])))
  assert.equal(await firstOffset(wire), 1)
  const broken = batchOf(['v'])
  broken[broken.length - 1]! ^= 1
  await wire.post(produce, 9, unanswered(broken))
  await assert.rejects(wire.send(apiVersions, 0, {}))
  await wire.closed
  const again = await ground.connect()
  assert.equal((await produceTo(again, broken)).errorCode, CORRUPT_MESSAGE.code)
})

test('after a request that closes the connection no later request is waited for, even if earlier answers are not taken', async t => {
  const clock = new SimulatedClock()
  const ground = await startGround(t, {}, clock)
  const [wire, other] = [await ground.connect(), await ground.connect()]
  for (let i = 0; i < 4; i++) await produceTo(other, batchOf([Buffer.alloc(500_000, i)]))
  wire.socket.pause()
  for (let i = 0; i < 10; i++) void wire.send(fetch, 12, fetchFrom(0)).catch(() => {})
  await eventually(
    'the fetches are answered',
    async () => (await ground.sample('svc_broker_pending_bytes')) > 2_000_000,
  )
  const broken = batchOf(['v'])
  broken[broken.length - 1]! ^= 1
  const topicData = [{ name: 't', partitionData: [{ index: 0, records: broken }] }]
  const release = ground.store.faults.hold('append')
  wire.socket.cork()
  void wire.post(produce, 9, { acks: 0, timeoutMs: 1000, topicData })
  void firstOffset(wire).catch(() => {})
  wire.socket.uncork()
  await eventually('both were read', async () => (await ground.received('Produce')) === 4 + 2)
  await other.close()
  await clock.advance(600_000)
  release()
  assert.equal(await ground.failures('connection', 'stalled'), 1)
  assert.doesNotMatch(ground.log(), /Produce has no answer after/)
  await eventually('nothing is pending', async () => (await ground.sample('svc_broker_pending_bytes')) === 0)
})

test('3,000 pipelined requests whose client does not read at first are all answered in order', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  wire.socket.pause()
  const order: number[] = []
  const answers = Array.from({ length: 3000 }, (_, at) =>
    wire.send(metadata, 1, { topics: [] }).then(() => order.push(at)),
  )
  await eventually('requests are worked on', async () => (await ground.received('Metadata')) >= 500)
  wire.socket.resume()
  await Promise.all(answers)
  assert.deepEqual(
    order,
    order.map((_, at) => at),
  )
})

test('records of a client that wants no answers are written, even if it closes right after sending', async t => {
  const ground = await startGround(t, { 'broker.in-flight-limit': 4 })
  const [wire, other] = [await ground.connect(), await ground.connect()]
  wire.socket.cork()
  for (let i = 0; i < 50; i++) {
    const topicData = [{ name: 't', partitionData: [{ index: 0, records: batchOf([`v${i}`]) }] }]
    void wire.post(produce, 9, { acks: 0, timeoutMs: 30_000, topicData })
  }
  wire.socket.uncork()
  wire.socket.end()
  await wire.closed
  await eventually('all are written', async () => (await fetchOne(other, 0, { maxWaitMs: 0 })).highWatermark === 50)
  await eventually('its connection is gone', async () => (await ground.sample('svc_broker_connections')) === 1)
  assert.equal(await ground.sample('svc_broker_pending_bytes'), 0)
})

test('if a client closes its side while it waits for an answer, the broker closes the connection', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  const release = ground.store.faults.hold('append')
  const lost = assert.rejects(firstOffset(wire))
  await eventually('the produce is in flight', async () => (await ground.received('Produce')) === 1)
  wire.socket.end()
  await lost
  await eventually('its connection is gone', async () => (await ground.sample('svc_broker_connections')) === 0)
  release()
  await eventually('nothing is pending', async () => (await ground.sample('svc_broker_pending_bytes')) === 0)
})

test('if a client sends nonsense after a request that waits, and disconnects, the broker closes the connection at once', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  const release = ground.store.faults.hold('append')
  const lost = assert.rejects(firstOffset(wire))
  wire.socket.write(Buffer.alloc(12))
  await eventually('the nonsense was met', async () => (await ground.sample('svc_broker_malformed_frames_total')) === 1)
  wire.socket.end()
  await lost
  await eventually('its connection is gone', async () => (await ground.sample('svc_broker_connections')) === 0)
  release()
  await eventually('nothing is pending', async () => (await ground.sample('svc_broker_pending_bytes')) === 0)
})

/** Connections whose requests are all answered at once, and the client of the first. */
async function startAnswering(
  t: TestContext,
  clock: Clock,
  { throttleMs = 0, bytes = 6, reason = null as string | null },
) {
  const parts = [Buffer.from('answer'), Buffer.alloc(bytes - 6)]
  const outcome = { kind: 'answer', parts, byteLength: bytes, throttleMs, onSent: null, reason } as const
  const seen = { received: 0, refused: [] as string[], backpressured: 0, closedFor: [] as string[] }
  const dispatch = {
    receive(frame: Buffer) {
      seen.received++
      return { outcome, frameBytes: frame.byteLength, holdsReading: false, patienceMs: () => 0, expire: () => outcome }
    },
  }
  const admission = new Admission({ maxBytes: 1000, resumeBytes: 500 })
  const closed = Promise.withResolvers<void>()
  const server = createServer({ pauseOnConnect: true }, accepted => {
    const socket = readThrough(Buffer.alloc(1024), accepted, chunk => connection.read(chunk))
    const limits = {
      maxRequestBytes: 1000,
      inFlightLimit: 10,
      inFlightResume: 9,
      maxPendingBytes: 1000,
      resumePendingBytes: 500,
      responseQueueTimeoutMs: 10_000,
      frameTimeoutMs: 10_000,
      idleTimeoutMs: 45_000,
      authenticationTimeoutMs: 30_000,
    }
    const connection = new Connection({
      transport: new Transport(socket),
      session: new Session(1, { name: 'PLAINTEXT', host: 'h', port: 1, security: 'plaintext' }, 'a', null),
      dispatch,
      admission,
      clock,
      acceptedAtMs: clock.monotonic(),
      limits,
      onClosed(_, why) {
        seen.closedFor.push(why)
        closed.resolve()
      },
      onRefused: reason => void seen.refused.push(reason),
      onBackpressure(isPaused) {
        seen.backpressured += isPaused ? 1 : -1
      },
    })
    t.after(() => connection.destroy())
  }).listen(0, '127.0.0.1')
  t.after(() => void server.close())
  await once(server, 'listening')
  async function join(): Promise<Socket> {
    const client = connectSocket((server.address() as AddressInfo).port, '127.0.0.1')
    client.on('error', () => {})
    t.after(() => void client.destroy())
    await once(client, 'connect')
    return client
  }
  const frame = Buffer.concat([Buffer.from([0, 0, 0, 10]), Buffer.alloc(10)])
  return { client: await join(), frame, seen, admission, closed: closed.promise, join }
}

test('a throttled client is answered at once and not read for that long', async t => {
  const clock = new SimulatedClock()
  const { client, frame, seen } = await startAnswering(t, clock, { throttleMs: 1000 })
  client.write(Buffer.concat([frame, frame]))
  assert.equal(String((await once(client, 'data'))[0]), 'answer')
  await clock.advance(999)
  assert.equal(seen.received, 1)
  const next = once(client, 'data')
  await clock.advance(1)
  assert.equal(String((await next)[0]), 'answer')
  assert.equal(seen.received, 2)
})

test('a client that is throttled for days and still sends requests is read for one request every thirty seconds', async t => {
  const clock = new SimulatedClock()
  const { client, frame, seen } = await startAnswering(t, clock, { throttleMs: 86_400_000 })
  client.write(Buffer.concat([frame, frame, frame]))
  let answered = once(client, 'data')
  for (let requests = 1; requests <= 3; requests++) {
    await answered
    await clock.advance(29_999)
    assert.equal(seen.received, requests)
    answered = once(client, 'data')
    await clock.advance(1)
  }
  assert.deepEqual(seen.refused, [])
})

for (const [how, leave] of [
  ['closes its side', (client: Socket) => void client.end()],
  ['resets its connection', (client: Socket) => void client.resetAndDestroy()],
] as const) {
  test(`if a throttled client ${how}, the broker closes the connection at once`, async t => {
    const { client, frame, closed } = await startAnswering(t, new SimulatedClock(), { throttleMs: 86_400_000 })
    client.write(frame)
    await once(client, 'data')
    leave(client)
    await closed
  })
}

test('if a throttled client sends requests and disconnects, the broker closes the connection when it answers the next one', async t => {
  const clock = new SimulatedClock()
  const { client, frame, seen, admission, closed } = await startAnswering(t, clock, { throttleMs: 86_400_000 })
  client.write(Buffer.concat(Array.from({ length: 50 }, () => frame)))
  await once(client, 'data')
  client.resetAndDestroy()
  await clock.advance(30_000)
  await closed
  assert.equal(seen.received, 2)
  assert.equal(admission.pendingBytes, 0)
})

test('a throttled client that is quiet for the idle timeout is closed', async t => {
  const clock = new SimulatedClock()
  const { client, frame, seen, closed } = await startAnswering(t, clock, { throttleMs: 86_400_000 })
  client.write(frame)
  await once(client, 'data')
  await clock.advance(45_000)
  await closed
  assert.deepEqual(seen.refused, ['idle'])
})

test('a connection closes behind its last answer, and requests that follow are not worked on', async t => {
  const { client, frame, seen, closed, admission } = await startAnswering(t, new SimulatedClock(), {
    reason: 'answered',
  })
  const chunks: Buffer[] = []
  client.on('data', chunk => chunks.push(chunk))
  client.write(Buffer.concat([frame, frame]))
  await once(client, 'end')
  client.end()
  await closed
  assert.equal(String(Buffer.concat(chunks)), 'answer')
  assert.deepEqual([seen.received, seen.closedFor], [1, ['answered']])
  assert.equal(admission.pendingBytes, 0)
})

test('the log says that a client closed its connection, and names the error if the client reset it', async t => {
  const { client, seen, closed, join } = await startAnswering(t, new SimulatedClock(), {})
  client.end()
  await closed
  const other = await join()
  other.resetAndDestroy()
  await eventually('both are closed', async () => seen.closedFor.length === 2)
  assert.deepEqual(seen.closedFor, ['client closed', 'ECONNRESET'])
})

test('when the client is gone its fetch no longer waits', async t => {
  const ground = await startGround(t, { 'broker.fetch-max-wait': 600_000 })
  const wire = await ground.connect()
  void wire.send(fetch, 12, fetchFrom(0, { maxWaitMs: 600_000 })).catch(() => {})
  await eventually('the fetch is in flight', async () => (await ground.received('Fetch')) === 1)
  await wire.close()
  await eventually('the connection is gone', async () => (await ground.sample('svc_broker_connections')) === 0)
  await eventually('nothing is pending', async () => (await ground.sample('svc_broker_pending_bytes')) === 0)
})
