import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedClock } from '../../testing/sim/clock.ts'
import { createMemoryStore } from '../../testing/sim/memory-store.ts'
import { createLogger } from '../telemetry/logger.ts'
import { SegmentDocuments } from './segment-documents.ts'

const SEGMENT = {
  ...{ next: 5, sealedAtMs: 1, bytes: 9, plainBytes: 9, batches: 1, records: 5, minTimestamp: 2 ** 60 },
  ...{ maxTimestamp: 2 ** 60, firstAppendMs: 1, lastAppendMs: 1, epochs: [], cleanedAtMs: null },
}

test('a segment with a time that no date has cannot be read; record timestamps may be any', async () => {
  const clock = new SimulatedClock()
  const store = createMemoryStore(clock)
  const leadership = { isConfirmed: true, stillLeads: async () => true, led() {} }
  const logger = createLogger({ clock, write() {}, format: 'plain' })
  const documents = new SegmentDocuments({ store, clock, leadership, logger } as never)
  const read = async (name: string, members: Record<string, number>) => {
    const rows = { sealed: { format: 1, epoch: 1, end: 5 }, 0: { ...SEGMENT, ...members } }
    const changes = Object.entries(rows).map(([key, value]) => ({ key, value: Buffer.from(JSON.stringify(value)) }))
    await store.commit({ kind: 'segments', name, expect: 0, changes })
    return await documents.read(name as never)
  }
  assert.deepEqual((await read('good:0', {})).segments, [{ base: 0, ...SEGMENT }])
  for (const name of ['sealedAtMs', 'firstAppendMs', 'lastAppendMs', 'cleanedAtMs'])
    await assert.rejects(read(`${name}:0`, { [name]: 8.65e15 }), /its field "0" describes no segment/)
})
