// Runs damaged requests against the broker as a process, with a well-behaved client beside them. It checks the
// client's responses and measures memory and time. The caller decides on the limits.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { systemClock } from '../../src/base/clock.ts'
import { fetch } from '../../src/protocol/messages/fetch.ts'
import { produce } from '../../src/protocol/messages/produce.ts'
import { encodeBatch } from '../../src/protocol/records.ts'
import type { CleanUp } from '../../testing/broker.ts'
import { createAttack } from '../../testing/hostile.ts'
import { startBrokerProcess } from '../../testing/process.ts'
import { createTopic } from '../../testing/topic.ts'
import { connect, type Wire } from '../../testing/wire.ts'

const AT_ONCE = 200

export interface HostileReport {
  readonly sent: number
  /** Anonymous memory of the process in bytes: before the first request, and the growth since then. */
  readonly startBytes: number
  readonly growthBytes: number
  /** The slowest pair of a produce and a fetch of the well-behaved client, in ms. */
  readonly slowestMs: number
}

/** Sends this many damaged requests. Rejects if the broker ends, forgets a record, or logs its own mistake. */
export async function runHostile(
  cleanUp: CleanUp,
  options: { count: number; seed: number; progress?: (report: HostileReport) => void },
): Promise<HostileReport> {
  const broker = await startBrokerProcess(cleanUp)
  const startBytes = residentBytes(broker.pid)
  await createTopic(broker, 'calm', 1)
  const wire = await connect({ port: broker.port })
  cleanUp.after(async () => wire.close())
  const attack = createAttack(broker.port, options.seed)
  let slowestMs = 0
  const report = () => ({
    sent: attack.sent,
    startBytes,
    growthBytes: residentBytes(broker.pid) - startBytes,
    slowestMs,
  })
  for (let offset = 0; attack.sent < options.count; offset++) {
    const calm = async () => {
      const startedAt = systemClock.monotonic()
      await produceAndFetch(wire, offset)
      slowestMs = Math.max(slowestMs, systemClock.monotonic() - startedAt)
    }
    await Promise.all([attack.send(AT_ONCE), calm()])
    options.progress?.(report())
  }
  const last = report()
  assert.doesNotMatch(broker.output(), /defect in the broker/)
  assert.equal(await broker.kill('SIGTERM'), 0)
  return last
}

/** Returns the anonymous resident memory in bytes. */
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
