// A file that was read back is compared with the facts of its encoder.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { craftBatch, encodeFile } from '../../../testing/data-files.ts'
import { MissingFile } from './file-bytes.ts'
import { verifyFile } from './verify.ts'

const batches = Array.from({ length: 20 }, (_, i) =>
  craftBatch({
    baseOffset: i * 3,
    records: [{ value: Buffer.alloc(200, i) }, {}, {}],
    codec: i % 2 === 0 ? 'none' : 'lz4',
  }),
)
const { bytes, facts } = encodeFile(batches, { rowGroupBytes: 2000 }, { next: 60 })
const readOf = (file: Buffer) => async (start: number, end: number) => file.subarray(start, end)

test('a good file passes, by one row group and by everything', async () => {
  assert.ok(facts.splitOffsets.length > 1)
  await verifyFile(readOf(bytes), facts, 'one-group')
  await verifyFile(readOf(bytes), facts, 'everything')
  const empty = encodeFile([], {}, { base: 5, next: 9 })
  await verifyFile(readOf(empty.bytes), empty.facts, 'everything')
})

test('facts that differ are named', async () => {
  const verify = (changed: Partial<typeof facts>) => verifyFile(readOf(bytes), { ...facts, ...changed }, 'everything')
  await assert.rejects(verify({ rows: 61 }), /rows 60, expected 61/)
  await assert.rejects(verify({ next: 70 }), /next 60, expected 70/)
  await assert.rejects(verify({ splitOffsets: [4] }), /row groups \d+, expected 1/)
  await assert.rejects(verify({ segments: [{ ...facts.segments[0]!, batches: 21 }] }), /batches 20, expected 21/)
})

test('a damaged row group is found by reading everything', async () => {
  const damaged = Buffer.from(bytes)
  damaged.fill(0, facts.splitOffsets[0]! + 40, facts.splitOffsets[1])
  await verifyFile(readOf(damaged), facts, 'one-group')
  await assert.rejects(verifyFile(readOf(damaged), facts, 'everything'), { name: 'DamagedFile' })
})

test('a missing file and one of another length are refused', async () => {
  await assert.rejects(
    verifyFile(async () => null, facts, 'one-group'),
    MissingFile,
  )
  await assert.rejects(verifyFile(readOf(bytes.subarray(0, -9)), facts, 'one-group'), { name: 'DamagedFile' })
})
