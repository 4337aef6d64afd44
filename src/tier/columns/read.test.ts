// Reading fetches little more of a file than it needs, and refuses what is damaged.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeFile, manyBatches, openBytes, readFile } from '../../../testing/data-files.ts'
import { MissingFile } from './file-bytes.ts'
import { openDataFile } from './open-file.ts'
import { DamagedFile } from './page-cursors.ts'
import { fetchGroup, restoreGroup } from './read.ts'

test('a sequential reader fetches little more than the stored bytes', async () => {
  for (const count of [1, 2, 10, 400]) {
    const { bytes } = encodeFile(manyBatches(count), { rowGroupBytes: 1e6 })
    const counted = await openBytes(bytes)
    await readFile(counted)
    assert.ok(counted.readBytes <= bytes.length * 1.15, `${counted.readBytes} of ${bytes.length}`)
  }
})

for (const batchBytes of ['when-needed', 'always'] as const)
  test(`a flipped bit anywhere in the data is noticed, or changes nothing, batch bytes ${batchBytes}`, async () => {
    // Pages of more than 64 KiB are handed over.
    const batches = manyBatches(batchBytes === 'always' ? 7 : 3)
    const { bytes } = encodeFile(batches, { batchBytes })
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

test('a flipped bit anywhere in the footer is damage, or changes no batch', async () => {
  const batches = manyBatches(2)
  const { bytes } = encodeFile(batches)
  const footer = bytes.readUInt32LE(bytes.length - 8)
  let noticed = 0
  for (let at = bytes.length - footer - 8; at < bytes.length; at++) {
    const flipped = Buffer.from(bytes)
    flipped[at]! ^= 1 << (at % 8)
    try {
      const back = await readFile(await openBytes(flipped))
      for (const [i, each] of back.entries()) assert.ok(batches[i]!.equals(each.bytes), `byte ${at}`)
    } catch (error) {
      if (!(error instanceof DamagedFile)) throw error
      noticed++
    }
  }
  assert.ok(noticed > 50, `${noticed} noticed`)
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

test('original bytes are views of the pages that have them, and small pages are copied', async () => {
  const memoryOf = async (count: number, from: number) => {
    const batches = manyBatches(count)
    const { file } = await openBytes(encodeFile(batches, { batchBytes: 'always' }).bytes)
    const fetched = await fetchGroup(file, file.groups[0]!)
    const back = await restoreGroup(fetched, from)
    for (const [i, each] of back.entries()) assert.ok(batches.at(i - back.length)!.equals(each.bytes), `batch ${i}`)
    return [...new Set(back.map(({ bytes }) => bytes.buffer))].map(({ byteLength }) => byteLength)
  }
  // Each page has 256 KiB of batches and their lengths.
  const pages = await memoryOf(60, 0)
  assert.equal(pages.length, 3)
  assert.ok(pages[0]! > 256 * 1024 && pages[0]! < 280 * 1024, `${pages}`)
  // Pages that end before the wanted offset are not kept.
  assert.equal((await memoryOf(60, 30 * 12)).length, 2)
  const small = manyBatches(2).reduce((sum, { length }) => sum + length, 0)
  assert.deepEqual(await memoryOf(2, 0), [small])
})
