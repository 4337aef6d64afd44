// Records of a file are found by their times as a plain search through all records finds them.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type CraftedBatch, craftBatch, encodeFile, openBytes } from '../../../testing/data-files.ts'
import { fc } from '../../../testing/property.ts'
import { type FoundRecord, findByTime, findLargestTime } from './time-search.ts'

const times = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: -1, max: 60 }) },
  { weight: 1, arbitrary: fc.constantFrom(253_402_300_799_999, 253_402_300_800_000, 2 ** 53 - 1, -62_135_596_800_001) },
)

/** The records as a plain search sees them. */
function recordsOf(batches: readonly CraftedBatch[]): FoundRecord[] {
  return batches.flatMap(batch =>
    batch.records.map((record, i) => ({
      offset: batch.baseOffset! + i,
      timestamp: Number(batch.isAppendTime ? batch.maxTimestamp : batch.baseTimestamp! + record.timestampDelta!),
      leaderEpoch: batch.leaderEpoch!,
    })),
  )
}

test('the first record since a time and the largest time are those of a plain search', async () => {
  const property = fc.asyncProperty(
    fc.array(fc.tuple(fc.array(times, { minLength: 1, maxLength: 5 }), fc.boolean()), { minLength: 1, maxLength: 12 }),
    fc.array(times, { minLength: 1, maxLength: 6 }),
    fc.nat(30),
    fc.constantFrom(1, 400, 1e9),
    async (stamps, questions, from, rowGroupBytes) => {
      let offset = 0
      const batches = stamps.map(([own, isAppendTime], b): CraftedBatch => {
        const batch = {
          baseOffset: offset,
          leaderEpoch: b,
          baseTimestamp: BigInt(own[0]!),
          records: own.map(time => ({ timestampDelta: BigInt(time) - BigInt(own[0]!), value: Buffer.alloc(40) })),
          maxTimestamp: BigInt(Math.max(...own)),
          isAppendTime,
        }
        offset += own.length
        return batch
      })
      const { file } = await openBytes(encodeFile(batches.map(craftBatch), { rowGroupBytes }).bytes)
      const all = recordsOf(batches).filter(record => record.offset >= from)
      for (const since of questions)
        assert.deepEqual(
          await findByTime(file, since, from),
          all.find(({ timestamp }) => timestamp >= since) ?? null,
          `since ${since} from ${from}`,
        )
      const most = all.reduce((a, { timestamp }) => Math.max(a, timestamp), -1)
      const largest = most < 0 ? null : all.find(({ timestamp }) => timestamp === most)!
      assert.deepEqual(await findLargestTime(file, from), largest)
      const until = from + 7
      const below = all.filter(record => record.offset < until)
      const mostBelow = below.reduce((a, { timestamp }) => Math.max(a, timestamp), -1)
      assert.deepEqual(
        await findLargestTime(file, from, undefined, until),
        mostBelow < 0 ? null : below.find(({ timestamp }) => timestamp === mostBelow)!,
      )
    },
  )
  await fc.assert(property, { numRuns: 100 })
})

test('a search in a large group reads one block', async () => {
  const batches = Array.from({ length: 3000 }, (_, i) =>
    craftBatch({
      baseOffset: i,
      leaderEpoch: i >= 1000 ? 2 : 1,
      baseTimestamp: BigInt(1_000_000 + i),
      records: [{ value: Buffer.alloc(2000, i) }],
    }),
  )
  const counted = await openBytes(encodeFile(batches).bytes)
  const before = counted.readBytes
  assert.deepEqual(await findByTime(counted.file, 1_002_000), { offset: 2000, timestamp: 1_002_000, leaderEpoch: 2 })
  assert.deepEqual(await findLargestTime(counted.file), { offset: 2999, timestamp: 1_002_999, leaderEpoch: 2 })
  assert.ok(counted.readBytes - before < 16_384, `${counted.readBytes - before} bytes`)
  assert.equal(await findByTime(counted.file, 1_003_000), null)
})

test('a timestamp of 64 bits is found by the offset of its batch', async () => {
  const batch = craftBatch({ baseOffset: 7, baseTimestamp: 2n ** 63n - 1n, records: [{}] })
  const { file } = await openBytes(encodeFile([batch]).bytes)
  assert.deepEqual(await findByTime(file, 5), { offset: 7, timestamp: 2 ** 63, leaderEpoch: 0 })
})
