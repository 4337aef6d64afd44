import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedClock } from '../../testing/sim/clock.ts'
import { createMemoryStore } from '../../testing/sim/memory-store.ts'
import type { Commit } from '../store/store.ts'
import { createLogger } from '../telemetry/logger.ts'
import { SegmentDocuments } from './segment-documents.ts'
import { NO_SEGMENTS, type SealedSegments } from './segments.ts'

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

test('only the document of a partition of the remote tier may use the reserve of a full store', async () => {
  const clock = new SimulatedClock()
  const memory = createMemoryStore(clock)
  const commits: Commit[] = []
  const store = {
    ...memory,
    confirm: async () => ({ kind: 'confirmed' }),
    commit: (commit: Commit) => {
      commits.push(commit)
      return memory.commit(commit)
    },
  }
  const documents = new SegmentDocuments({ store, clock, leadership: { stillLeads: async () => true } } as never)
  const change = async (stream: string, remote: SealedSegments['remote']) => {
    const state = { ...{ epoch: 1, stream, name: stream, remote: null, refusal: null, hold: null }, topic: { id: 'a' } }
    assert.ok(await documents.change(state as never, () => ({ ...NO_SEGMENTS, remote })))
    return commits.at(-1)!.mayOverfill
  }
  assert.equal(await change('a:0', null), false)
  // Without its ranges the leader drops nothing of what the table has, and a full store stays full.
  assert.equal(await change('a:1', { logStart: 0, ranges: [], lost: [], epochs: [], version: 1, readUnder: 'x' }), true)
})
