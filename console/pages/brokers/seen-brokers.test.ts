import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Broker, noteBrokers, silence } from './seen-brokers.ts'

const broker = (id: number, silentReason: string | null = null): Broker => ({
  id,
  rack: null,
  version: '0.1.0',
  listeners: [],
  leads: 3,
  isServing: true,
  isSelf: id === 0,
  isConfirmed: id === 0 ? true : null,
  uptimeMs: 5,
  activeConnections: 1,
  backpressureConnections: 0,
  pendingBytes: 0,
  requestsPerSecond: 0,
  requestLatencyMs: null,
  cpuUsage: 0,
  memoryBytes: 1,
  silentReason,
})

test('a silent broker keeps the time since when it does not answer, until it answers again', () => {
  const first = noteBrokers([], [broker(0), broker(1)], 100)
  assert.deepEqual(
    first.map(({ silentSinceMs }) => silentSinceMs),
    [null, null],
  )
  const silent = noteBrokers(first, [broker(0), broker(1, 'no answer')], 200)
  assert.equal(silent[1]!.silentSinceMs, 200)
  assert.equal(silence(silent[1]!), 'no answer.')
  const still = noteBrokers(silent, [broker(0), broker(1, 'timed out')], 300)
  assert.equal(still[1]!.silentSinceMs, 200)
  assert.equal(silence(still[1]!), 'timed out.')
  const back = noteBrokers(still, [broker(0), broker(1)], 400)
  assert.equal(back[1]!.silentSinceMs, null)
  assert.equal(silence(back[1]!), null)
})

test('the start of a broker is the same after each answer, until it starts again', () => {
  const at = (uptimeMs: number) => [{ ...broker(0), uptimeMs }]
  const first = noteBrokers([], at(4_600), 100_000)
  assert.equal(first[0]!.upSinceMs, 95_000)
  const second = noteBrokers(first, at(9_000), 105_300)
  assert.equal(second[0]!.upSinceMs, 95_000)
  assert.equal(noteBrokers(second, at(1_000), 110_000)[0]!.upSinceMs, 109_000)
  assert.equal(noteBrokers(second, [{ ...broker(0, 'no answer'), uptimeMs: null }], 110_000)[0]!.upSinceMs, null)
})

test('a broker that has left stays listed, without numbers, with the time since when', () => {
  const left = noteBrokers(noteBrokers([], [broker(0), broker(1)], 100), [broker(0)], 200)
  assert.deepEqual(
    left.map(each => each.broker.id),
    [0, 1],
  )
  assert.equal(left[1]!.goneSinceMs, 200)
  assert.equal(left[1]!.broker.memoryBytes, null)
  assert.equal(left[1]!.broker.leads, 0)
  assert.match(silence(left[1]!)!, /stopped/)
  assert.equal(noteBrokers(left, [broker(0)], 300)[1]!.goneSinceMs, 200)
  assert.equal(noteBrokers(left, [broker(0), broker(1)], 300)[1]!.goneSinceMs, null)
})
