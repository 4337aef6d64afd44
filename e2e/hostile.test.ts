// Damaged requests against the broker as a process: it stays up, does not grow, and a well-behaved client beside them
// notices nothing.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fetch } from '../src/protocol/messages/fetch.ts'
import { produce } from '../src/protocol/messages/produce.ts'
import { encodeBatch } from '../src/protocol/records.ts'
import { createAttack } from '../testing/hostile.ts'
import { startBrokerProcess } from '../testing/process.ts'
import { createTopic } from '../testing/topic.ts'
import { connect, type Wire } from '../testing/wire.ts'

const MOST_GROWTH_BYTES = 50e6
const COUNT = 10_000

/** Resident memory that no file stands behind. */
function residentBytes(pid: number): number {
  return Number(/RssAnon:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) * 1024
}

async function produceAndFetch(wire: Wire, offset: number): Promise<void> {
  const records = encodeBatch([{ key: null, value: Buffer.from(`v${offset}`), timestamp: 1, headers: [] }])
  const produced = await wire.send(produce, 9, {
    acks: -1,
    timeoutMs: 5000,
    topicData: [{ name: 'calm', partitionData: [{ index: 0, records }] }],
  })
  const row = produced.responses[0]!.partitionResponses[0]!
  assert.deepEqual([row.errorCode, row.baseOffset], [0, offset])
  const fetched = await wire.send(fetch, 11, {
    maxWaitMs: 0,
    minBytes: 0,
    maxBytes: 1e6,
    isolationLevel: 0,
    topics: [{ topic: 'calm', partitions: [{ partition: 0, fetchOffset: offset, partitionMaxBytes: 1e6 }] }],
  })
  const { errorCode, records: bytes } = fetched.responses[0]!.partitions[0]!
  assert.equal(errorCode, 0)
  assert.ok(Buffer.from(bytes!).includes(`v${offset}`))
}

test('10,000 damaged requests leave the process up, small, and good to its other clients', async t => {
  const broker = await startBrokerProcess(t)
  await createTopic(broker, 'calm', 1)
  const wire = await connect({ port: broker.port })
  t.after(() => wire.close())
  const attack = createAttack(broker.port, 7)
  let offset = 0
  const round = async () => {
    await Promise.all([attack.send(200), produceAndFetch(wire, offset++)])
  }
  // Code is compiled and the young part of the heap takes its size while the first of them arrive.
  while (attack.sent < COUNT / 5) await round()
  const before = residentBytes(broker.pid)
  while (attack.sent < COUNT + COUNT / 5) await round()
  const growth = residentBytes(broker.pid) - before
  t.diagnostic(`resident memory grew by ${(growth / 1e6).toFixed(1)} MB`)
  assert.ok(growth < MOST_GROWTH_BYTES, `resident memory grew by ${growth} bytes`)
  assert.doesNotMatch(broker.output(), /mistake of the broker/)
  assert.equal(await broker.kill('SIGTERM'), 0)
})
