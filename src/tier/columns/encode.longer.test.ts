// Batches as large as brokers take them, and larger ones.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type CraftedRecord, craftBatch, encodeFile, openBytes, readFile } from '../../../testing/data-files.ts'
import { codecs } from '../../protocol/compression.ts'

async function assertSame(batches: readonly Buffer[], rowGroupBytes = 128e6) {
  const { bytes, facts } = encodeFile(batches, { rowGroupBytes })
  const back = await readFile(await openBytes(bytes))
  assert.equal(back.length, batches.length)
  for (const [i, each] of back.entries()) assert.ok(batches[i]!.equals(each.bytes), `batch ${i} differs`)
  return facts
}

test('batches of ten megabytes come back with every codec', async () => {
  const records = Array.from({ length: 10 }, (_, i) => ({ value: Buffer.alloc(1_000_000, `record ${i}, `) }))
  const batches = codecs.map((codec, i) => craftBatch({ records, codec, baseOffset: i * 10 }))
  const facts = await assertSame(batches)
  assert.equal(facts.rawBytes, facts.kafkaBytes - batches[0]!.length)
})

test('a batch of one large record and one of many small ones come back', async () => {
  const large = craftBatch({ records: [{ value: Buffer.alloc(10_000_000, 'abc') }] })
  const tiny: CraftedRecord = { key: null, value: null }
  const many = craftBatch({ records: new Array(200_000).fill(tiny), baseOffset: 1 })
  const facts = await assertSame([large, many], 1e6)
  assert.equal(facts.splitOffsets.length, 2)
  assert.equal(facts.rawBytes, 0)
})

test('a batch that unpacks to more than a reader takes is kept with its bytes', async () => {
  const bomb = craftBatch({ records: [{ value: Buffer.alloc(65 * 1024 * 1024) }], codec: 'zstd' })
  const facts = await assertSame([bomb])
  assert.equal(facts.segments[0]!.unreadable, 1)
})
