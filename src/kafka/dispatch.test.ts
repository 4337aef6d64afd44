import assert from 'node:assert/strict'
import { test } from 'node:test'
import { atLength } from '../../testing/at-length.ts'
import { startBroker } from '../../testing/broker.ts'
import { eventually } from '../../testing/eventually.ts'
import { enter } from '../../testing/group-calls.ts'
import { createAttack } from '../../testing/hostile.ts'
import { batchOf, fetchFrom, fetchOne, type Ground, produceTo, startGround, valuesOf } from '../../testing/kafka.ts'
import { SimulatedClock } from '../../testing/sim/clock.ts'
import { subscribing } from '../../testing/sim/groups.ts'
import { createMemoryStore } from '../../testing/sim/memory-store.ts'
import { COORDINATOR_NOT_AVAILABLE, KAFKA_STORAGE_ERROR, NONE, UNSUPPORTED_VERSION } from '../protocol/errors.ts'
import { requestHeader } from '../protocol/header.ts'
import { betweenBrokers, messages } from '../protocol/messages/all.ts'
import { apiVersions } from '../protocol/messages/api-versions.ts'
import { createTopics } from '../protocol/messages/create-topics.ts'
import { fetch } from '../protocol/messages/fetch.ts'
import { joinGroup } from '../protocol/messages/join-group.ts'
import { metadata } from '../protocol/messages/metadata.ts'
import { produce } from '../protocol/messages/produce.ts'
import type { Api } from '../protocol/schema.ts'
import { testSettings } from '../settings/settings.ts'
import { StoreUnavailable } from '../store/store.ts'
import { createLogger, type Level } from '../telemetry/logger.ts'
import { createMetrics } from '../telemetry/metrics.ts'
import { Session } from './connection/session.ts'
import { createDispatch, type Exchange, type Outcome } from './dispatch.ts'
import { type Answering, handler, type Request, type Rooms } from './handler.ts'
import { handlers } from './handlers/all.ts'
import { NO_NEEDS } from './needs.ts'
import { createThrottle } from './throttle.ts'

test('every advertised API and every API between brokers has one handler, and no other API has one', () => {
  const byKey = (a: { api: Api }, b: { api: Api }) => a.api.key - b.api.key
  const answered = [...handlers].sort(byKey).map(each => each.api)
  assert.deepEqual(
    answered,
    [...messages, ...betweenBrokers].sort((a, b) => a.key - b.key),
  )
})

/** Returns a frame: the size, a header with these values, and a body. */
function frame(apiKey: number, apiVersion: number, body: Uint8Array = Buffer.alloc(0), clientId = Buffer.from('raw')) {
  const header = Buffer.alloc(4 + 10 + clientId.length)
  header.writeInt32BE(10 + clientId.length + body.length, 0)
  header.writeInt16BE(apiKey, 4)
  header.writeInt16BE(apiVersion, 6)
  header.writeInt32BE(9, 8)
  header.writeInt16BE(clientId.length, 12)
  header.set(clientId, 14)
  return Buffer.concat([header, body])
}

/** Sends bytes on a connection of their own and returns once the broker has closed it; fails if it answers. */
async function expectClosed(ground: Ground, bytes: Uint8Array): Promise<void> {
  const wire = await ground.connect()
  const answered = wire.answer().then(
    () => assert.fail('the broker answered'),
    () => {},
  )
  await wire.raw(bytes)
  await wire.closed
  await answered
}

test('bytes that are not a Kafka frame close the connection, are counted by reason and named in the log', async t => {
  const ground = await startGround(t)
  const cases: [Uint8Array, string][] = [
    [Buffer.from('ffffffff', 'hex'), 'negative-size'],
    [Buffer.from('80000000', 'hex'), 'negative-size'],
    [Buffer.from('00000000', 'hex'), 'short-frame'],
    [Buffer.from('00000007', 'hex'), 'short-frame'],
    [Buffer.from('7fffffff', 'hex'), 'too-large'],
    [Buffer.from('06400001', 'hex'), 'too-large'],
    [Buffer.from('GET / HTTP/1.1\r\nHost: secret.example\r\n\r\n'), 'http'],
    [Buffer.from('1603010200010001fc0303', 'hex'), 'tls'],
    [Buffer.from('SSH-2.0-OpenSSH_9.6\r\n'), 'ssh'],
    [Buffer.from('PROXY TCP4 10.0.0.1 10.0.0.2 1 2\r\n'), 'proxy-protocol'],
    [Buffer.from('\r\n\r\n\0\r\nQUIT\n'), 'proxy-protocol'],
  ]
  for (const [bytes, reason] of cases) {
    const before = await ground.failures('connection', reason)
    await expectClosed(ground, bytes)
    assert.equal(await ground.failures('connection', reason), before + 1, reason)
  }
  assert.match(ground.log(), /HTTP on the Kafka port/)
  assert.doesNotMatch(ground.log(), /secret/)
  assert.equal(await ground.sample('svc_broker_malformed_frames_total'), cases.length)
})

test('a mistake that a client repeats often is logged only now and then', async t => {
  const ground = await startGround(t)
  for (let i = 0; i < 20; i++) await expectClosed(ground, Buffer.from('GET / HTTP/1.1\r\n\r\n'))
  assert.equal(ground.log().split('HTTP on the Kafka port').length - 1, 1)
})

test('a line about a request says which request: its correlation id, client, API and version', async t => {
  const clock = new SimulatedClock()
  const store = createMemoryStore(clock)
  const settings = { 'logging.structured.format.console': 'logstash' as const }
  const ground = await startBroker(t, settings, { openStore: async () => store })
  const scopes = (logger = 'svc.kafka.dispatch') =>
    ground
      .log()
      .trim()
      .split('\n')
      .map(line => JSON.parse(line) as Record<string, unknown>)
      .filter(({ logger_name }) => logger_name === logger)
      .map(({ correlationId, clientId, apiKey, apiVersion }) => [correlationId, clientId, apiKey, apiVersion])
  const wire = await ground.connect()
  await wire.raw(frame(metadata.key, 99, Buffer.of(0)))
  await wire.closed
  assert.deepEqual(scopes(), [[9, 'raw', 'Metadata', 99]])
  const other = await ground.connect()
  await other.raw(frame(metadata.key, 1, Buffer.from('7fffffff', 'hex')))
  await other.closed
  assert.deepEqual(scopes()[1], [9, 'raw', 'Metadata', 1])
  const third = await ground.connect()
  // The lower rooms know no requests, but lines that they write for one carry its fields.
  await enter(third, 'g')
  assert.deepEqual(scopes('svc.coordinator.groups').at(-1)!.slice(1), ['wire', 'SyncGroup', 3])
  store.faults.failNext('commit', 'unavailable', 3)
  await third.send(metadata, 4, { topics: [{ name: 't' }] }, { clientId: 'mine', correlationId: 12 })
  assert.deepEqual(scopes()[2], [12, 'mine', 'Metadata', 4])
})

test('an unknown API and a version that is not served close the connection', async t => {
  const ground = await startGround(t)
  for (const apiKey of [999, -1, 4, 71]) await expectClosed(ground, frame(apiKey, 0))
  assert.equal(await ground.failures('request', 'unknown-api'), 4)
  const versions = messages
    .filter(api => api !== apiVersions)
    .flatMap(api => [-1, api.versions.min - 1, api.versions.max + 1].map(version => [api.key, version] as const))
  for (const [apiKey, version] of versions) await expectClosed(ground, frame(apiKey, version, Buffer.of(0)))
  assert.equal(await ground.failures('request', 'unsupported-version'), versions.length)
})

test('Produce 0 to 2 is advertised, for librdkafka, and refused', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  const { apiKeys } = await wire.send(apiVersions, 0, {})
  assert.deepEqual(apiKeys[0], { apiKey: 0, minVersion: 0, maxVersion: 13 })
  for (const version of [0, 1, 2]) await expectClosed(ground, frame(produce.key, version, Buffer.alloc(8)))
})

test('an ApiVersions version that is not served is answered in version 0 with its own range, its body unread', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  for (const version of [5, 99, 0x7fff]) {
    await wire.raw(frame(apiVersions.key, version, Buffer.from([0, 0xff, 0xff, 0xff])))
    const answer = await wire.answer()
    assert.equal(answer.readInt32BE(0), 9)
    assert.equal(answer.readInt16BE(4), UNSUPPORTED_VERSION.code)
    assert.deepEqual([...answer.subarray(6)], [0, 0, 0, 1, 0, 18, 0, 0, 0, 4])
  }
})

test('malformed headers and bodies close the connection and are counted', async t => {
  const ground = await startGround(t)
  const tags = (count: number[]) => frame(apiVersions.key, 3, Buffer.from([...count, ...Array(100).fill(0)]))
  const hostile: Record<string, Uint8Array> = {
    'twenty million tagged fields in the header': tags([0x80, 0xda, 0xc4, 0x09]),
    'sixty-five tagged fields in the header': tags([65]),
    'a varint of six bytes': tags([0xff, 0xff, 0xff, 0xff, 0xff, 0x01]),
    'a client id that is longer than the frame': frameWithClientIdLength(1000),
    'a client id of length -2': frameWithClientIdLength(-2),
    'a client id that is not UTF-8': frame(apiVersions.key, 0, Buffer.alloc(0), Buffer.from([0xc3, 0x28])),
    'bytes after the body': frame(apiVersions.key, 0, Buffer.of(0)),
    'an array count of 2^31-1': frame(metadata.key, 1, Buffer.from('7fffffff', 'hex')),
    'an array count of -2': frame(metadata.key, 1, Buffer.from('fffffffe', 'hex')),
    'a compact count of 2^32-1': frame(metadata.key, 9, Buffer.from('00ffffffff0f', 'hex')),
    'a name that is longer than the frame': frame(metadata.key, 1, Buffer.from('000000017fff', 'hex')),
    'a name of length -1': frame(metadata.key, 1, Buffer.from('00000001ffff', 'hex')),
    'a name that is not UTF-8': frame(metadata.key, 1, Buffer.from('000000010002eda0', 'hex')),
  }
  for (const [name, bytes] of Object.entries(hostile)) {
    const before = await ground.failures('request', 'malformed')
    await expectClosed(ground, bytes)
    assert.equal(await ground.failures('request', 'malformed'), before + 1, name)
  }
})

function frameWithClientIdLength(length: number): Buffer {
  const bytes = frame(apiVersions.key, 0)
  bytes.writeInt16BE(length, 12)
  return bytes
}

test('requests before the malformed one are answered', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  const answer = wire.send(fetch, 12, fetchFrom(0, { maxWaitMs: 30 }))
  const versions = wire.send(apiVersions, 0, {})
  await wire.raw(frame(999, 0))
  assert.equal((await answer).errorCode, NONE)
  await versions
  await wire.closed
})

test('a client id with control characters is accepted, and cannot break a line of the log', async t => {
  const ground = await startGround(t, { 'logging.level': new Map([['root', 'TRACE']]) })
  const wire = await ground.connect()
  ground.store.faults.failNext('commit', 'unavailable')
  const clientId = 'evil\n2026-01-01 ERROR forged\u0000\u001b[31m'
  await wire.send(createTopics, 5, { topics: [topicNamed('new')], timeoutMs: 1000 }, { clientId })
  assert.match(ground.log(), /evil\\n2026-01-01 ERROR forged/)
  assert.doesNotMatch(ground.log(), /^2026-01-01/m)
})

const topicNamed = (name: string) => ({
  name,
  numPartitions: 1,
  replicationFactor: -1,
  assignments: [],
  configs: [],
})

test('while the store is unavailable, the answer has a retriable code in the shape of the API, logged without a stack', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  ground.store.faults.failNext('commit', 'unavailable')
  ground.store.faults.failNext('create', 'unavailable')
  const { topics } = await wire.send(createTopics, 5, { topics: [topicNamed('new')], timeoutMs: 1000 })
  assert.deepEqual([topics[0]!.name, topics[0]!.errorCode], ['new', KAFKA_STORAGE_ERROR.code])
  assert.equal(await ground.failures('CreateTopics', 'StoreUnavailable'), 1)
  assert.match(ground.log(), /CreateTopics failed/)
  assert.doesNotMatch(ground.log(), /^ {4}at /m)
})

/** A dispatch of this one handler, a client of it, and the lines of its log. */
function startDispatch(answering: Partial<Answering<typeof apiVersions>>, level: Level = 'INFO') {
  const lines: Record<string, unknown>[] = []
  const clock = new SimulatedClock()
  const write = (line: string) => void lines.push(JSON.parse(line))
  const logger = createLogger({ clock, write, format: 'logstash', levels: new Map([['root', level]]) })
  const answered = handler(apiVersions, () => ({
    needs: () => NO_NEEDS,
    answer: () => ({ errorCode: NONE, apiKeys: [] }),
    refused: (_request, refusal) => ({ errorCode: refusal.code, apiKeys: [] }),
    ...answering,
  }))
  const throttle = createThrottle({ current: () => new Map(), catchUp: async () => {}, alter: async () => [] }, clock)
  const metrics = createMetrics()
  const rooms = { clock, logger, metrics, settings: testSettings(), throttle } as unknown as Rooms
  const dispatch = createDispatch([answered], rooms, new AbortController().signal)
  const session = new Session(1, { name: 'PLAINTEXT', host: 'h', port: 1, security: 'plaintext' }, 'a')
  const settled = Promise.withResolvers<Outcome>()
  const send = () =>
    dispatch.receive(requestHeader(apiVersions, 0, 7, 'c'), session, (_, outcome) => settled.resolve(outcome))
  return { clock, lines, metrics, session, send, settled: settled.promise }
}

test('a defect of the broker is answered, and logged only now and then', () => {
  const { lines, send } = startDispatch({
    answer() {
      throw new TypeError('we did not think of that')
    },
  })
  for (let i = 0; i < 20; i++) {
    const { outcome } = send()
    assert.ok(outcome?.kind === 'answer')
    assert.deepEqual([...Buffer.concat(outcome.parts)], [0, 0, 0, 10, 0, 0, 0, 7, 255, 255, 0, 0, 0, 0])
  }
  assert.equal(lines.filter(({ message }) => String(message).includes('because of a defect in the broker')).length, 1)
})

test('if a session has expired, the next request closes the connection, unless it authenticates the client again', async () => {
  const { clock, session, send, lines } = startDispatch({})
  const identity = { principal: 'User:alice', tenant: 'acme', deadlineMs: clock.monotonic() + 1000, policy: null }
  session.identify(identity)
  assert.deepEqual([session.principal, session.tenant], ['User:alice', 'acme'])
  assert.equal(send().outcome?.kind, 'answer')
  await clock.advance(999)
  assert.equal(send().outcome?.kind, 'answer')
  await clock.advance(1)
  assert.deepEqual(send().outcome, { kind: 'close', reason: 'session-expired' })
  assert.match(String(lines.at(-1)!.message), /has not authenticated again/)
  session.identify({ ...identity, deadlineMs: clock.monotonic() + 1000 })
  assert.equal(send().outcome?.kind, 'answer')

  const renewing = startDispatch({
    saslPart: 'handshake',
    answer({ connection }) {
      connection.identify({ ...identity, deadlineMs: null, policy: null })
      return { errorCode: NONE, apiKeys: [] }
    },
  })
  renewing.session.identify({ ...identity, deadlineMs: renewing.clock.monotonic() })
  assert.equal(renewing.send().outcome?.kind, 'answer')
  assert.equal(renewing.session.isExpired(Number.MAX_SAFE_INTEGER), false)
})

test('an answer can close its connection, whether it is made at once, later or for a refusal', async () => {
  const closing = { errorCode: UNSUPPORTED_VERSION.code, apiKeys: [], close: true } as const
  const atOnce = startDispatch({ answer: () => closing }).send().outcome
  assert.ok(atOnce?.kind === 'answer')
  assert.deepEqual([atOnce.reason, [...Buffer.concat(atOnce.parts)].slice(8, 10)], ['answered', [0, 35]])
  const later = startDispatch({ answer: async () => closing })
  later.send()
  assert.equal(((await later.settled) as { reason: unknown }).reason, 'answered')
  const refused = startDispatch({ answer: () => assert.fail(), refused: () => closing }).send().outcome
  assert.ok(refused?.kind === 'answer')
  assert.equal(refused.reason, 'answered')
})

test('while the store is unavailable, a handler returns a code after which its clients retry', () => {
  const away = { answer: () => assert.fail(new StoreUnavailable('no disk')) as never }
  const codeOf = ({ outcome }: Exchange) => {
    assert.ok(outcome?.kind === 'answer')
    return Buffer.concat(outcome.parts).readInt16BE(8)
  }
  assert.equal(codeOf(startDispatch(away).send()), KAFKA_STORAGE_ERROR.code)
  const storeAway = COORDINATOR_NOT_AVAILABLE
  assert.equal(codeOf(startDispatch({ ...away, storeAway }).send()), COORDINATOR_NOT_AVAILABLE.code)
})

test('a client must wait for a quota that only its API counts', () => {
  const counted: number[] = []
  const { send } = startDispatch({
    throttleMs(_request, frameBytes) {
      counted.push(frameBytes)
      return 1500
    },
  })
  const { outcome } = send()
  assert.ok(outcome?.kind === 'answer')
  assert.deepEqual([outcome.throttleMs, counted], [1500, [11]])
})

test('at TRACE each request has a line as it comes, at DEBUG one with its error codes and time when it is over', async () => {
  const answer = async (request: Request<unknown>) => {
    await Promise.resolve()
    request.waitedMs += 5
    return { errorCode: UNSUPPORTED_VERSION.code, apiKeys: [] }
  }
  const scope = { correlationId: 7, clientId: 'c', apiKey: 'ApiVersions', apiVersion: 0 }
  const known = (line: Record<string, unknown>) =>
    Object.fromEntries(Object.entries(line).filter(([key]) => !/^@|_name$|_value$/.test(key)))
  const come = { message: 'ApiVersions is received', level: 'TRACE', ...scope, connection: 1, address: 'a', bytes: 11 }
  const over = {
    ...{ message: 'ApiVersions is answered', level: 'DEBUG', ...scope, connection: 1, result: 'success' },
    ...{ errors: 'UNSUPPORTED_VERSION', ms: 0, waitedMs: 5 },
  }
  for (const [level, expected] of [
    ['TRACE', [come, over]],
    ['DEBUG', [over]],
    ['INFO', []],
  ] as const) {
    const { lines, send, settled } = startDispatch({ answer }, level)
    send()
    await settled
    assert.deepEqual(lines.map(known), expected)
  }
})

test('the time of a request in the percentiles is without its wait for other clients, and in the scrape with it', async () => {
  const { clock, metrics, send, settled } = startDispatch({
    async answer(request) {
      const sinceMs = clock.monotonic()
      await new Promise<void>(resolve => clock.timer(400, resolve))
      request.waitedMs += clock.monotonic() - sinceMs
      return { errorCode: NONE, apiKeys: [] }
    },
  })
  send()
  await clock.advance(400)
  await settled
  const [series] = metrics.series('svc.broker.request')
  assert.equal(series!.value, 0.4)
  assert.ok(series!.step!.percentiles().p99 < 1)
})

test('a fetch that waits for records and a member that waits for its group take no time in the percentiles', async t => {
  const clock = new SimulatedClock()
  const ground = await startGround(t, {}, clock)
  const wire = await ground.connect()
  await clock.passing(fetchOne(wire, 0, { maxWaitMs: 400 }))
  await clock.passing(enter(wire, 'g'))
  const { protocols } = subscribing('t')
  const second = {
    groupId: 'g',
    memberId: '',
    groupInstanceId: 'there',
    sessionTimeoutMs: 10_000,
    rebalanceTimeoutMs: 10_000,
  }
  await clock.passing((await ground.connect()).send(joinGroup, 9, { ...second, protocolType: 'consumer', protocols }))
  const times = new Map(
    [...ground.broker.metrics.series('svc.broker.request')].map(({ labels, value, step }) => {
      return [labels.api_key, { seconds: value, p99: step!.percentiles().p99 }]
    }),
  )
  for (const api of ['Fetch', 'JoinGroup']) {
    const { seconds, p99 } = times.get(api)!
    assert.ok(seconds >= 0.4, `${api} took ${seconds} s`)
    assert.ok(p99 < 1, `${api} has a p99 of ${p99} ms`)
  }
})

test('requests, frames and topics are measured by name', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  await produceTo(wire, batchOf(['a', 'b', 'c']))
  await fetchOne(wire, 0)
  await fetchOne(wire, 3, { maxWaitMs: 0 })
  const lines = {
    'svc_broker_request_seconds_count{api_key="Produce",result="success"}': 1,
    'svc_broker_request_seconds_count{api_key="Fetch",result="success"}': 2,
    'svc_broker_frame_size_count{direction="in",api_key="Produce"}': 1,
    'svc_broker_frame_size_count{direction="out",api_key="Fetch"}': 2,
    'svc_broker_produce_seconds_count{topic="t"}': 1,
    'svc_broker_produce_records_total{topic="t"}': 3,
    'svc_broker_fetch_seconds_count{topic="t"}': 2,
    'svc_broker_fetch_delivery_seconds_count{topic="t"}': 1,
    'svc_broker_fetch_empty_seconds_count{topic="t"}': 1,
    'svc_broker_fetch_records_total{topic="t"}': 3,
  }
  for (const [line, value] of Object.entries(lines)) assert.equal(await ground.sample(line), value, line)
  assert.equal(
    await ground.sample('svc_broker_produce_bytes_total{topic="t"}'),
    await ground.sample('svc_broker_fetch_bytes_total{topic="t"}'),
  )
})

const DAMAGED = atLength(10_000, 2_000)

test(`${DAMAGED} damaged requests harm neither the broker nor a client beside them`, async t => {
  const ground = await startGround(t)
  const attack = createAttack(ground.port, 20_261_121)
  const wire = await ground.connect()
  let value = 0
  while (attack.sent < DAMAGED) {
    await attack.send(100)
    const { baseOffset } = await produceTo(wire, batchOf([`v${value++}`]))
    assert.deepEqual(await valuesOf(await fetchOne(wire, baseOffset)), [[baseOffset, `v${value - 1}`]])
  }
  await eventually('the connections are gone', async () => (await ground.sample('svc_broker_connections')) === 1)
  await eventually('their memory is given back', async () => (await ground.sample('svc_broker_pending_bytes')) === 0)
  assert.ok((await ground.failures('request', 'malformed')) > DAMAGED / 10)
  assert.doesNotMatch(ground.log(), /defect in the broker/)
})
