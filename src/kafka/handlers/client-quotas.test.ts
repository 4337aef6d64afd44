import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../../testing/eventually.ts'
import { batchOf, fetchFrom, type Ground, produceTo, startGround } from '../../../testing/kafka.ts'
import { SimulatedClock } from '../../../testing/sim/clock.ts'
import type { Wire } from '../../../testing/wire.ts'
import { INVALID_REQUEST, NONE, UNSUPPORTED_VERSION } from '../../protocol/errors.ts'
import { alterClientQuotas } from '../../protocol/messages/alter-client-quotas.ts'
import { apiVersions } from '../../protocol/messages/api-versions.ts'
import { describeClientQuotas } from '../../protocol/messages/describe-client-quotas.ts'
import { fetch } from '../../protocol/messages/fetch.ts'
import { produce } from '../../protocol/messages/produce.ts'
import type { RequestInput } from '../../protocol/schema.ts'

type Entity = RequestInput<typeof alterClientQuotas>['entries'][number]['entity']

const APP: Entity = [{ entityType: 'client-id', entityName: 'app' }]

async function setQuota(wire: Wire, key: string, value: number | null, entity = APP, version = 1): Promise<number> {
  const ops = [{ key, value: value ?? 0, remove: value === null }]
  const { entries } = await wire.send(alterClientQuotas, version, { entries: [{ entity, ops }], validateOnly: false })
  return entries[0]!.errorCode
}

function describe(wire: Wire, matchType: number, match: string | null, version = 1) {
  const components = [{ entityType: 'client-id', matchType, match }]
  return wire.send(describeClientQuotas, version, { components, strict: true })
}

test('quotas are set, described and taken away in every version', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  for (const version of [0, 1]) {
    assert.equal(await setQuota(wire, 'producer_byte_rate', 1024, APP, version), NONE)
    assert.equal(await setQuota(wire, 'request_percentage', 12.5, APP, version), NONE)
    const values = [
      { key: 'producer_byte_rate', value: 1024 },
      { key: 'request_percentage', value: 12.5 },
    ]
    const { errorCode, entries } = await describe(wire, 0, 'app', version)
    assert.deepEqual([errorCode, entries!.map(each => each.entity)], [NONE, [APP]])
    assert.deepEqual(entries![0]!.values, values.toReversed())
    assert.deepEqual((await describe(wire, 1, null, version)).entries, [])
    assert.equal(await setQuota(wire, 'producer_byte_rate', -1, APP, version), INVALID_REQUEST.code)
    assert.equal(await setQuota(wire, 'producer_byte_rate', null, APP, version), NONE)
    assert.deepEqual((await describe(wire, 2, null, version)).entries?.[0]?.values, values.slice(1))
  }
  const odd = await describe(wire, 3, null)
  assert.deepEqual([odd.errorCode, odd.entries], [INVALID_REQUEST.code, null])
  const components = [{ entityType: 'group', matchType: 2, match: null }]
  const unsupported = await wire.send(describeClientQuotas, 1, { components, strict: false })
  assert.equal(unsupported.errorCode, UNSUPPORTED_VERSION.code)
})

test('entities, their parts and their values are answered in the order of Apache Kafka', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  const name = (user: string | null) => [{ entityType: 'user', entityName: user }]
  const client = (id: string | null) => [{ entityType: 'client-id', entityName: id }]
  const entities: Entity[] = [
    [...name('u1'), ...client('c1')],
    [...client('c2'), ...name('u2')],
    name(null),
    client(null),
    client('app'),
    [...name('zoe'), ...client(null)],
    ...Array.from({ length: 7 }, (_, i) => name(`user-${i}`)),
  ]
  const ops = ['request_percentage', 'producer_byte_rate', 'consumer_byte_rate'].map(key => ({
    key,
    value: 50,
    remove: false,
  }))
  const altered = await wire.send(alterClientQuotas, 1, {
    entries: entities.map(entity => ({ entity, ops })),
    validateOnly: false,
  })
  const shown = (entries: readonly { readonly entity: Entity }[]) =>
    entries.map(({ entity }) => entity.map(each => `${each.entityType}=${each.entityName}`).join('+'))
  // The answer of Apache Kafka 4.2 to the same request; e2e/tools/wire.all.test.ts asks it again.
  const order = [
    ...['user=user-6', 'user=user-3', 'user=user-4', 'user=user-2', 'user=user-5', 'client-id=null+user=zoe'],
    ...['client-id=c1+user=u1', 'user=user-0', 'client-id=app', 'user=null', 'client-id=null', 'user=user-1'],
    'client-id=c2+user=u2',
  ]
  assert.deepEqual(shown(altered.entries), order)
  const { entries } = await wire.send(describeClientQuotas, 1, { components: [], strict: false })
  assert.deepEqual(shown(entries!), order)
  assert.deepEqual(
    entries!.map(each => each.values.map(({ key }) => key).join()),
    order.map(() => 'consumer_byte_rate,request_percentage,producer_byte_rate'),
  )
})

test('an entity that is altered twice in a request has one row, a refusal', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  const entry = { entity: APP, ops: [{ key: 'producer_byte_rate', value: 9, remove: false }] }
  const { entries } = await wire.send(alterClientQuotas, 1, { entries: [entry, entry], validateOnly: false })
  assert.deepEqual(
    entries.map(each => [each.errorCode, each.entity]),
    [[INVALID_REQUEST.code, APP]],
  )
})

const ACKNOWLEDGED = 'svc_storage_ack_seconds_count{tier="local",result="success"}'

/** Produces this number of bytes as the client `app`, and returns how long the client is told to wait. */
async function produceAs(wire: Wire, bytes: number, acks = -1): Promise<number | null> {
  const records = batchOf([Buffer.alloc(bytes)])
  const topicData = [{ name: 't', partitionData: [{ index: 0, records }] }]
  const body = { acks, timeoutMs: 30_000, topicData }
  if (acks === 0) {
    await wire.post(produce, 9, body, { clientId: 'app' })
    return null
  }
  const { responses, throttleTimeMs } = await wire.send(produce, 9, body, { clientId: 'app' })
  assert.equal(responses[0]!.partitionResponses[0]!.errorCode, NONE)
  return throttleTimeMs
}

/** Asserts that a request of this connection is answered after about this time, and not before. */
async function assertMuted(
  ground: Ground,
  clock: SimulatedClock,
  wire: Wire,
  ms: number,
  moreMs: number,
): Promise<void> {
  const before = await ground.received('ApiVersions')
  const answer = wire.send(apiVersions, 0, {})
  await clock.advance(ms - 1)
  // Another connection is served meanwhile, so that the first one's request would have been read by now.
  const other = await ground.connect()
  await other.send(apiVersions, 0, {})
  assert.equal(await ground.received('ApiVersions'), before + 1)
  await clock.advance(1 + moreMs)
  await answer
}

test('a producer over its quota is answered at once, told to wait, and not read for that long', async t => {
  const clock = new SimulatedClock()
  const ground = await startGround(t, {}, clock)
  const wire = await ground.connect()
  assert.equal(await produceAs(wire, 200_000), 0)
  await setQuota(wire, 'producer_byte_rate', 10_000)
  assert.equal(await produceAs(wire, 90_000), 0)
  const throttleMs = (await produceAs(wire, 20_000))!
  // 110,000 bytes and their overhead, at 10,000 a second with a window of ten seconds.
  assert(throttleMs > 1000 && throttleMs < 1100, `${throttleMs} ms`)
  assert.equal(await ground.sample('svc_broker_throttle_seconds_count{api_key="Produce"}'), 1)
  await assertMuted(ground, clock, wire, throttleMs, 0)
  await produceTo(wire, batchOf(['v']))
  await setQuota(wire, 'producer_byte_rate', null)
  assert.equal(await produceAs(wire, 200_000), 0)
})

test('a producer that wants no answers waits too', async t => {
  const clock = new SimulatedClock()
  const ground = await startGround(t, {}, clock)
  const wire = await ground.connect()
  await setQuota(wire, 'producer_byte_rate', 10_000)
  await produceAs(wire, 110_000, 0)
  await eventually('it is written', async () => (await ground.sample(ACKNOWLEDGED)) === 1)
  await assertMuted(ground, clock, wire, 1000, 100)
})

test('a consumer gets what its quota allows at once, then nothing until its wait is over', async t => {
  const clock = new SimulatedClock()
  const ground = await startGround(t, {}, clock)
  const wire = await ground.connect()
  for (let i = 0; i < 4; i++) await produceAs(wire, 40_000)
  await setQuota(wire, 'consumer_byte_rate', 10_000)
  const read = (offset: number) => wire.send(fetch, 12, fetchFrom(offset), { clientId: 'app' })
  const first = await read(0)
  assert.equal(first.throttleTimeMs, 0)
  const bytes = first.responses[0]!.partitions[0]!.records!.length
  assert(bytes > 80_000 && bytes < 100_000, `${bytes} bytes`)
  const second = await read(2)
  assert.deepEqual([second.errorCode, second.responses], [NONE, []])
  assert(second.throttleTimeMs > 6000 && second.throttleTimeMs < 6100, `${second.throttleTimeMs} ms`)
  await clock.advance(11_000)
  const third = await read(2)
  assert.equal(third.responses[0]!.partitions[0]!.records!.length, bytes)
})

test('a quota of any user with a client id holds for the users without a quota of their own', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  const anybody = [
    { entityType: 'user', entityName: null },
    { entityType: 'client-id', entityName: 'app' },
  ]
  await setQuota(wire, 'producer_byte_rate', 10_000, anybody)
  assert((await produceAs(wire, 200_000))! > 0)
})

test('requests that keep the broker busy longer than their share make their client wait', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  const anonymous = [{ entityType: 'user', entityName: 'ANONYMOUS' }]
  // The quota is a millionth of a percent, so every request exceeds it.
  await setQuota(wire, 'request_percentage', 1e-6, anonymous)
  const other = await ground.connect()
  const { throttleTimeMs } = await other.send(apiVersions, 3, { clientSoftwareName: 'x', clientSoftwareVersion: '1' })
  assert(throttleTimeMs > 0 && throttleTimeMs <= 1000, `${throttleTimeMs} ms`)
})

test('connections that come faster than the quota of their address are kept waiting and then closed', async t => {
  const clock = new SimulatedClock()
  const ground = await startGround(t, {}, clock)
  const wire = await ground.connect()
  await setQuota(wire, 'connection_creation_rate', 1, [{ entityType: 'ip', entityName: '127.0.0.1' }])
  for (let i = 0; i < 10; i++) await (await ground.connect()).send(apiVersions, 0, {})
  const tooSoon = await ground.connect()
  const unanswered = assert.rejects(tooSoon.send(apiVersions, 0, {}))
  await eventually('it was turned away', async () => (await ground.failures('connection', 'connection-rate')) === 1)
  await clock.advance(1000)
  await Promise.all([tooSoon.closed, unanswered])
  await clock.advance(10_000)
  await (await ground.connect()).send(apiVersions, 0, {})
})
