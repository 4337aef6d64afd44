// Large row groups are read in parts, with few requests.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeFile, manyBatches, openBytes } from '../../../testing/data-files.ts'
import { viewBatch } from '../../protocol/records.ts'
import { DamagedFile } from './page-cursors.ts'
import { fetchParts, partsOf, readGroup, restoreGroup, WHOLE_GROUP_BYTES } from './read.ts'
import { verifyFile } from './verify.ts'

for (const batchBytes of ['when-needed', 'always'] as const)
  test(`a part of a large group is read with few requests, batch bytes ${batchBytes}`, async () => {
    const batches = manyBatches(1500)
    const { bytes, facts } = encodeFile(batches, { batchBytes })
    const counted = await openBytes(bytes)
    const group = counted.file.groups[0]!
    assert.ok(group.bytes > WHOLE_GROUP_BYTES && group.hasRaw === (batchBytes === 'always'))
    const wanted = 1024 * 1024
    const { requests: before } = counted
    await readGroup(counted.file, group, { from: 0, maxBytes: 1 })
    assert.ok(counted.requests - before <= 12, `${counted.requests - before} requests`)
    for (const from of [0, 5, 11, 12, 9_999, 17_987, 17_997]) {
      const { requests, readBytes } = counted
      const back = await readGroup(counted.file, group, { from, maxBytes: wanted })
      const first = batches.findIndex(batch => viewBatch(batch).lastOffset >= from)
      assert.ok(back.length > 0)
      for (const [i, each] of back.entries()) assert.ok(batches[first + i]!.equals(each.bytes), `batch ${first + i}`)
      const total = back.reduce((sum, each) => sum + each.bytes.length, 0)
      assert.ok(total >= wanted || first + back.length === batches.length, `${total} bytes from ${from}`)
      assert.ok(counted.requests - requests <= 12)
      assert.ok(counted.readBytes - readBytes <= 2 * wanted, `${counted.readBytes - readBytes} bytes read`)
    }
    // So does work that goes through the whole group.
    const parts: number[] = []
    for await (const part of fetchParts(counted.file, group, 9_999))
      parts.push(...(await restoreGroup(part, 9_999)).map(({ baseOffset }) => baseOffset))
    assert.deepEqual(
      parts,
      batches.map(batch => viewBatch(batch).baseOffset).filter(offset => offset + 9 >= 9_999),
    )
    await verifyFile(async (start, end) => bytes.subarray(start, end), facts, 'everything')
    // A reader that goes on behind the last batch sees each batch once.
    let next = 0
    for (let seen = 0; seen < batches.length; ) {
      const back = await readGroup(counted.file, group, { from: next, maxBytes: 3e6 })
      for (const each of back) assert.ok(batches[seen++]!.equals(each.bytes))
      next = back.at(-1)!.lastOffset + 1
    }
  })

test('the parts of a large group have all of its batches, and fetch hardly a byte twice', async () => {
  const batches = manyBatches(900)
  const counted = await openBytes(encodeFile(batches).bytes)
  const group = counted.file.groups[0]!
  const parts = await partsOf(counted.file, group)
  assert.ok(parts.length > 4)
  const { readBytes } = counted
  const back = []
  for (const part of parts) {
    const restored = await restoreGroup(await part.fetch())
    assert.equal(restored[0]!.baseOffset, part.firstOffset)
    assert.equal(restored.at(-1)!.lastOffset, part.lastOffset)
    const size = restored.reduce((sum, { bytes }) => sum + bytes.length, 0)
    assert.ok(size < 1.8e6 && part.bytes >= size, `${size} bytes, said ${part.bytes}`)
    back.push(...restored)
  }
  assert.ok(Buffer.concat(back.map(({ bytes }) => bytes)).equals(Buffer.concat(batches)))
  assert.ok(counted.readBytes - readBytes <= group.bytes * 1.05)
})

test('a page index that hides batches is damage', async () => {
  const { bytes } = encodeFile(manyBatches(400))
  const { file } = await openBytes(bytes)
  const group = file.groups[0]!
  const { column_index_offset: start } = file.metadata.row_groups[0]!.columns[1]!
  // The largest offset of a page in the middle becomes less than its smallest one.
  const most = Buffer.alloc(8)
  most.writeBigInt64LE(BigInt((await partsOf(file, group))[1]!.lastOffset))
  const at = bytes.indexOf(most, Number(start))
  assert.ok(at > 0, 'the index has the last offset of a page')
  const damaged = Buffer.from(bytes)
  damaged.writeBigInt64LE(5n, at)
  const opened = await openBytes(damaged)
  await assert.rejects(partsOf(opened.file, opened.file.groups[0]!), DamagedFile)
})
