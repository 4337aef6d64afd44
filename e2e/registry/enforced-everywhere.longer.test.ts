// Three brokers on one Redis: each of them judges by what any of them has registered. That it takes at most two seconds
// is tested with a simulated clock (src/registry/state/following.test.ts).

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { INVALID_RECORD, NONE } from '../../src/protocol/errors.ts'
import { metadata } from '../../src/protocol/messages/metadata.ts'
import { produce } from '../../src/protocol/messages/produce.ts'
import { encodeBatch, type NewRecord } from '../../src/protocol/records.ts'
import { framed } from '../../src/registry/payload/framing.ts'
import { eventually } from '../../testing/eventually.ts'
import { onRedis, startJudgedBroker } from '../../testing/judged-broker.ts'
import { noRedis } from '../../testing/redis.ts'

const hex = (text: string) => Buffer.from(text, 'hex')
const V1 = { type: 'record', name: 'Order', fields: [{ name: 'name', type: 'string' }] }
const V2 = { ...V1, fields: [...V1.fields, { name: 'count', type: 'int', default: 0 }] }

/** Enough that each broker leads some, wherever the hash puts them. */
const PARTITIONS = 30

/**
 * The promise of the registry: a batch that is sent later than this after an answer is judged by it. It holds on the
 * busiest machine, because a judge whose last look at the store began earlier asks the store.
 */
const WITHIN_MS = 2_000
const PATIENCE_MS = 30_000

test('a registration at one broker is enforced at the others, and its id counts at once', {
  skip: noRedis,
}, async t => {
  const shared = {
    ...(await onRedis(t)),
    'svc.topics[0].name': '*',
    'svc.topics[0].partitions': String(PARTITIONS),
  }
  const judged = await Promise.all(
    [1, 2, 3].map(id => startJudgedBroker(t, { settings: { ...shared, 'svc.broker.id': String(id) } })),
  )
  const [first] = judged
  const wires = new Map(judged.map(({ broker, wire }) => [broker.port, wire]))
  // Each partition is produced to at its leader, so that all three judge.
  const everywhere = async (record: NewRecord) => {
    const { brokers, topics } = await first!.wire.send(metadata, 9, { topics: [{ name: 't' }] })
    const sent = topics[0]!.partitions.map(async ({ partitionIndex, leaderId: leader }) => {
      const wire = wires.get(brokers.find(({ nodeId }) => nodeId === leader)?.port ?? -1)
      if (wire === undefined) return { code: null, leader }
      const partitionData = [{ index: partitionIndex, records: encodeBatch([record]) }]
      const topicData = [{ name: 't', partitionData }]
      const { responses } = await wire.send(produce, 9, { acks: -1, timeoutMs: 10_000, topicData })
      return { code: responses[0]!.partitionResponses[0]!.errorCode, leader }
    })
    return await Promise.all(sent)
  }
  /** Sends until all brokers answer so. Asserts that no other answer is to a batch that was sent too late. */
  const soonEverywhere = async (what: string, record: NewRecord, expected: number) => {
    const answeredAtMs = performance.now()
    await eventually(
      what,
      async () => {
        const sinceMs = performance.now() - answeredAtMs
        const others = (await everywhere(record)).filter(({ code }) => code !== expected)
        assert.ok(others.length === 0 || sinceMs < WITHIN_MS, `${what}: not after ${Math.round(sinceMs)} ms`)
        return others.length === 0
      },
      PATIENCE_MS,
    )
    t.diagnostic(`${what} ${Math.round(performance.now() - answeredAtMs)} ms after the answer`)
  }
  const raw = { value: hex('ff') }
  await eventually(
    'all three lead, and nothing is judged',
    async () => {
      const answers = await everywhere(raw)
      return answers.every(({ code }) => code === NONE) && new Set(answers.map(({ leader }) => leader)).size === 3
    },
    PATIENCE_MS,
  )
  const one = await judged[1]!.register('t-value', V1)
  await soonEverywhere('raw values are refused everywhere', raw, INVALID_RECORD.code)
  const old = await everywhere({ value: framed(one, hex('0261')) })
  assert.deepEqual(new Set(old.map(({ code }) => code)), new Set([NONE]))
  // The newest id is accepted at once by each broker, as it looks into the store before it refuses.
  const two = await judged[2]!.register('t-value', V2)
  const now = await everywhere({ value: framed(two, hex('026108')) })
  assert.deepEqual(new Set(now.map(({ code }) => code)), new Set([NONE]))
  await judged[0]!.ask('DELETE', '/subjects/t-value')
  await soonEverywhere('nothing is judged any longer', raw, NONE)
})
