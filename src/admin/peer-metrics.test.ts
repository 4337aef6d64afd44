import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedClock } from '../../testing/sim/clock.ts'
import type { BrokerInfo } from '../cluster/broker-record.ts'
import type { Peers } from '../cluster/peers.ts'
import { PeerMetrics } from './peer-metrics.ts'

const OTHER: BrokerInfo = {
  id: 2,
  incarnation: 'first',
  rack: null,
  endpoints: [{ name: 'PLAINTEXT', host: '127.0.0.1', port: 1, security: 'plaintext' }],
  version: null,
  certificates: [],
  features: [],
  expiryMs: 1_000,
}

test('an answer is kept until the next step of the other broker, and for a minute at most', async () => {
  const clock = new SimulatedClock()
  for (const [nextStepMs, keptMs] of [
    [15_000, 15_100],
    [Number.MAX_SAFE_INTEGER, 60_000],
  ] as const) {
    let asked = 0
    const topics: unknown[] = []
    const peers = {
      async ask() {
        asked++
        return { throttleTimeMs: 0, errorCode: 0, steps: 1, nextStepMs, commonStep: 1, intervalMs: 15_000, topics }
      },
    } as unknown as Peers
    const metrics = new PeerMetrics({ cluster: { brokerId: 1, brokers: () => [OTHER] }, peers, clock })
    const ask = async () => {
      const { answers, silent } = await metrics.busyTopics()
      assert.deepEqual([answers.size, silent], [1, []])
      return asked
    }
    assert.equal(await ask(), 1)
    await clock.advance(keptMs - 1)
    assert.equal(await ask(), 1, `${keptMs - 1} ms`)
    await clock.advance(1)
    assert.equal(await ask(), 2, `${keptMs} ms`)
  }
})
