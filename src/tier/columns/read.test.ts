// Large row groups are read in parts, damaged files are refused, and files of other writers are read as far as they
// go.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { craftBatch, encodeFile, openBytes, readFile } from '../../../testing/data-files.ts'
import { viewBatch } from '../../protocol/records.ts'
import { MissingFile } from './file-bytes.ts'
import { openDataFile } from './open-file.ts'
import { DamagedFile } from './page-cursors.ts'
import { fetchGroup, fetchParts, readGroup, restoreGroup, WHOLE_GROUP_BYTES } from './read.ts'

import { verifyFile } from './verify.ts'

/** Bytes that zstd cannot make smaller, the same in each run. */
function noise(length: number, seed: number): Buffer {
  const bytes = Buffer.allocUnsafe(length)
  let state = seed * 2654435761 + 1
  for (let i = 0; i < length; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    bytes[i] = state >>> 24
  }
  return bytes
}

/** Batches of ten records of 1 KiB, with a gap behind each. */
function manyBatches(count: number): Buffer[] {
  return Array.from({ length: count }, (_, i) =>
    craftBatch({
      baseOffset: i * 12,
      records: Array.from({ length: 10 }, (_, r) => ({
        timestampDelta: BigInt(i * 10 + r),
        key: Buffer.from(`key ${i} ${r}`),
        value: noise(1024, i * 10 + r),
        ...(r === 3 && { headers: [[Buffer.from('h'), Buffer.from(String(i))]] as const }),
      })),
    }),
  )
}

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

test('a sequential reader fetches little more than the stored bytes', async () => {
  const { bytes } = encodeFile(manyBatches(400), { rowGroupBytes: 1e6 })
  const counted = await openBytes(bytes)
  assert.ok(counted.file.groups.length >= 4)
  await readFile(counted)
  assert.ok(counted.readBytes <= bytes.length * 1.1, `${counted.readBytes} of ${bytes.length}`)
})

test('a flipped bit anywhere in the data is noticed, or changes nothing', async () => {
  const batches = manyBatches(3)
  const { bytes } = encodeFile(batches)
  let noticed = 0
  for (let at = 4; at < bytes.length; at += 97) {
    const flipped = Buffer.from(bytes)
    flipped[at]! ^= 1 << (at % 8)
    try {
      const back = await readFile(await openBytes(flipped))
      // Columns that Kafka's readers do not need, and the facts in the footer, can be damaged unnoticed.
      for (const [i, each] of back.entries()) assert.ok(batches[i]!.equals(each.bytes), `bit ${at}`)
    } catch (error) {
      if (!(error instanceof DamagedFile)) throw error
      noticed++
    }
  }
  assert.ok(noticed > 200, `${noticed} noticed`)
})

test('a file that is cut, missing or no Parquet is refused with a reason', async () => {
  const { bytes } = encodeFile(manyBatches(2))
  await assert.rejects(openBytes(bytes.subarray(0, bytes.length - 5)), /does not end as a Parquet file/)
  await assert.rejects(openBytes(Buffer.alloc(5)), /at least 8 bytes/)
  await assert.rejects(
    openDataFile(async () => null, 100),
    MissingFile,
  )
  await assert.rejects(
    openDataFile(async () => Buffer.alloc(3), 100),
    /bytes 0 to 100 of the data file are 3 bytes/,
  )
})

test('fetched columns can be restored later, from any offset', async () => {
  const batches = manyBatches(5)
  const { file } = await openBytes(encodeFile(batches).bytes)
  const fetched = await fetchGroup(file, file.groups[0]!)
  const from = async (offset: number) => (await restoreGroup(fetched, offset)).map(({ baseOffset }) => baseOffset)
  assert.deepEqual(await from(0), [0, 12, 24, 36, 48])
  assert.deepEqual(await from(9), [0, 12, 24, 36, 48])
  assert.deepEqual(await from(10), [12, 24, 36, 48])
  assert.deepEqual(await from(57), [48])
  assert.deepEqual(await from(58), [])
})
