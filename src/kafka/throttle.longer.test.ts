import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedClock } from '../../testing/sim/clock.ts'
import type { ClientQuota, QuotaEntity, QuotaValues } from '../coordinator/client-quotas.ts'
import { createThrottle } from './throttle.ts'

function open(...quotas: readonly (readonly [QuotaEntity, QuotaValues])[]) {
  const clock = new SimulatedClock()
  let current = asMap(quotas)
  const throttle = createThrottle(
    { current: () => current, catchUp: async () => {}, alter: () => assert.fail() },
    clock,
  )
  const change = (...next: typeof quotas) => {
    current = asMap(next)
  }
  return { clock, throttle, change }
}

function asMap(quotas: readonly (readonly [QuotaEntity, QuotaValues])[]): ReadonlyMap<string, ClientQuota> {
  return new Map(quotas.map(([entity, values]) => [JSON.stringify(entity), { entity, values }]))
}

const caller = (user: string, clientId: string | null) => ({ clientId, connection: { principal: `User:${user}` } })
const rate = (limit: number): QuotaValues => ({ consumer_byte_rate: limit })

test('the most specific quota counts, in the order of Kafka', () => {
  const all: [QuotaEntity, number][] = [
    [{ user: 'ann', 'client-id': 'app' }, 1],
    [{ user: 'ann', 'client-id': null }, 2],
    [{ user: 'ann' }, 3],
    [{ user: null, 'client-id': 'app' }, 4],
    [{ user: null, 'client-id': null }, 5],
    [{ user: null }, 6],
    [{ 'client-id': 'app' }, 7],
    [{ 'client-id': null }, 8],
  ]
  for (let from = 0; from < all.length; from++) {
    const { throttle } = open(...all.slice(from).map(([entity, limit]) => [entity, rate(limit)] as const))
    assert.equal(throttle.fetchableBytes(caller('ann', 'app')), all[from]![1] * 10, JSON.stringify(all[from]))
  }
  const { throttle } = open(...all.map(([entity, limit]) => [entity, rate(limit)] as const))
  assert.equal(throttle.fetchableBytes(caller('ann', 'other')), 20)
  assert.equal(throttle.fetchableBytes(caller('bob', 'app')), 40)
  assert.equal(throttle.fetchableBytes(caller('bob', 'other')), 50)
  // A client without a client id has no quota of a client id.
  assert.equal(throttle.fetchableBytes(caller('ann', null)), 30)
  assert.equal(throttle.fetchableBytes(caller('bob', '')), 60)
  assert.equal(open().throttle.fetchableBytes(caller('ann', 'app')), Number.POSITIVE_INFINITY)
})

test("clients that share a user's quota share its window; with a default, each user has its own window", () => {
  const shared = open([{ user: 'ann' }, { producer_byte_rate: 10 }]).throttle
  assert.equal(shared.produced(caller('ann', 'a'), 100), 0)
  assert(shared.produced(caller('ann', 'b'), 1) > 0)
  assert.equal(shared.produced(caller('bob', 'b'), 1000), 0)
  const each = open([{ 'client-id': null }, { producer_byte_rate: 10 }]).throttle
  assert.equal(each.produced(caller('ann', 'a'), 100), 0)
  assert.equal(each.produced(caller('ann', 'b'), 100), 0)
  assert(each.produced(caller('bob', 'a'), 1) > 0)
})

test('no name can be mistaken for a default or for another pair of names', () => {
  const { throttle } = open([{ user: null }, rate(1)], [{ user: 'a', 'client-id': 'b=c' }, rate(2)])
  assert.equal(throttle.fetchableBytes(caller('*', '')), 10)
  assert.equal(throttle.fetchableBytes(caller('a=b', 'c')), 10)
  assert.equal(throttle.fetchableBytes(caller('a', 'b=c')), 20)
  assert.equal(open([{ user: '*' }, rate(1)]).throttle.fetchableBytes(caller('x', '')), Number.POSITIVE_INFINITY)
})

test('a fetch above the quota is not counted, unless it alone is more than the window allows', async () => {
  const { throttle, clock } = open([{ 'client-id': 'app' }, rate(10)])
  const app = caller('ann', 'app')
  assert.deepEqual(throttle.fetching(app, 300), { throttleMs: 20_000, deliver: true })
  assert.deepEqual(throttle.fetching(app, 1), { throttleMs: 20_100, deliver: false })
  await clock.advance(11_000)
  assert.deepEqual(throttle.fetching(app, 60), { throttleMs: 0, deliver: true })
  assert.deepEqual(throttle.fetching(app, 60), { throttleMs: 2000, deliver: false })
  assert.deepEqual(throttle.fetching(app, 40), { throttleMs: 0, deliver: true })
})

test('a request quota is a percentage of the event loop, and no client waits longer than a second for it', () => {
  const { throttle, change } = open([{ user: null }, { request_percentage: 1 }])
  assert.equal(throttle.isTimed, true)
  assert.equal(throttle.worked(caller('ann', 'app'), 100), 0)
  assert.equal(throttle.worked(caller('ann', 'app'), 2), 200)
  assert.equal(throttle.worked(caller('ann', 'app'), 1000), 1000)
  change()
  assert.equal(throttle.isTimed, false)
})

test('a changed quota takes effect at once', () => {
  const { throttle, change } = open([{ user: 'ann' }, { producer_byte_rate: 10 }])
  assert(throttle.produced(caller('ann', 'a'), 200) > 0)
  change([{ user: 'ann' }, { producer_byte_rate: 1000 }])
  assert.equal(throttle.produced(caller('ann', 'a'), 1), 0)
  change()
  assert.equal(throttle.produced(caller('ann', 'a'), 1e9), 0)
})

test('connections of an address have one rate, however the address is written', async () => {
  const { throttle, clock } = open(
    [{ ip: '10.0.0.1' }, { connection_creation_rate: 1 }],
    [{ ip: '::1' }, { connection_creation_rate: 2 }],
  )
  for (let i = 0; i < 10; i++) assert.equal(throttle.connected('::ffff:10.0.0.1'), 0)
  assert.equal(throttle.connected('10.0.0.1'), 1000)
  assert.equal(throttle.connected('10.0.0.2'), 0)
  for (let i = 0; i < 20; i++) assert.equal(throttle.connected('0:0:0:0:0:0:0:1'), 0)
  assert(throttle.connected('::1') > 0)
  await clock.advance(11_000)
  assert.equal(throttle.connected('10.0.0.1'), 0)
})

test('two hundred thousand client ids cost no more memory than ten thousand', () => {
  const { throttle } = open([{ 'client-id': null }, { producer_byte_rate: 10 }])
  assert.equal(throttle.produced(caller('ann', 'first'), 100), 0)
  for (let i = 0; i < 9_999; i++) throttle.produced(caller('ann', `c${i}`), 1)
  assert(throttle.produced(caller('ann', 'first'), 1) > 0)
  for (let i = 0; i < 190_000; i++) throttle.produced(caller('ann', `d${i}`), 1)
  // It was idle for longer than ten thousand others, so it starts again at zero.
  assert.equal(throttle.produced(caller('ann', 'first'), 100), 0)
})
