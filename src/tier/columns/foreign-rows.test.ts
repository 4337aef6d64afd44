// Files that another writer made: whole batches come back as they were, and of others the records that are left.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { craftBatch, encodeFile, openBytes, readFile } from '../../../testing/data-files.ts'
import { type ForeignRows, rewriteFile } from '../../../testing/foreign-file.ts'
import { crc32c } from '../../base/crc32c.ts'
import { readRecords, viewBatch } from '../../protocol/records.ts'
import { findByTime, findLargestTime } from './time-search.ts'

/** Returns the file of these batches as another writer makes it. */
async function rewritten(
  batches: readonly Buffer[],
  change: (rows: ForeignRows) => ForeignRows,
  left: readonly string[] = [],
  codec: 'SNAPPY' | 'GZIP' | 'BROTLI' = 'SNAPPY',
  rowGroupSize = 1000,
) {
  return await openBytes(await rewriteFile(encodeFile(batches).bytes, { change, left, codec, rowGroupSize }))
}

const headers = [
  [Buffer.from('h'), Buffer.from('v')],
  [Buffer.from('n'), null],
] as const
const batches = [
  craftBatch({
    records: [{ key: Buffer.from('a'), headers }, { value: Buffer.from('b'), timestampDelta: 5n }, {}],
    producerId: 3n,
    producerEpoch: 0,
    baseSequence: 0,
  }),
  craftBatch({ baseOffset: 3, records: [{ value: Buffer.from('packed') }, {}], codec: 'zstd', leaderEpoch: 1 }),
  craftBatch({
    baseOffset: 5,
    records: [{}, { timestampDelta: 2n }],
    isAppendTime: true,
    maxTimestamp: 1_700_000_000_009n,
  }),
]

test('batches whose rows are all there come back byte for byte, in any order of the rows', async () => {
  for (const change of [(rows: ForeignRows) => rows, (rows: ForeignRows) => [...rows].reverse()]) {
    const counted = await rewritten(batches, change)
    assert.equal(counted.file.isOurs, false)
    const [group] = counted.file.groups
    assert.deepEqual([group!.firstOffset, group!.lastOffset, group!.rows], [0, 6, 7])
    const back = await readFile(counted)
    assert.equal(back.length, batches.length)
    for (const [i, { bytes }] of back.entries()) assert.ok(batches[i]!.equals(bytes), `batch ${i}`)
  }
})

test('files in other codecs and batches that cannot be read come back too', async () => {
  const garbage = craftBatch({ baseOffset: 7, records: [{}, {}] })
  garbage.fill(0xee, 61)
  garbage.writeUInt32BE(crc32c(garbage.subarray(21)), 17)
  for (const codec of ['GZIP', 'BROTLI'] as const) {
    const back = await readFile(await rewritten([...batches, garbage], rows => rows, [], codec))
    assert.deepEqual(
      back.map(({ bytes }) => bytes.length),
      [...batches, garbage].map(({ length }) => length),
    )
    assert.ok(garbage.equals(back.at(-1)!.bytes))
  }
})

test('the rows that are left of a batch become a batch without a producer id', async () => {
  const isLeft = ({ offset }: Record<string, unknown>) => ![0n, 4n].includes(offset as bigint)
  const back = await readFile(await rewritten(batches, rows => rows.filter(isLeft)))
  assert.deepEqual(
    back.map(({ baseOffset, lastOffset }) => [baseOffset, lastOffset]),
    [
      [1, 2],
      [3, 3],
      [5, 6],
    ],
  )
  assert.equal(viewBatch(back[0]!.bytes).producerId, -1)
  assert.equal(viewBatch(back[1]!.bytes).leaderEpoch, 1)
  assert.ok(back.every(({ bytes }) => viewBatch(bytes).isIntact))
  const source = (await Promise.all(batches.map(batch => readRecords(batch)))).flat()
  const records = (await Promise.all(back.map(({ bytes }) => readRecords(bytes)))).flat()
  assert.deepEqual(
    records,
    source.filter(({ offset }) => ![0, 4].includes(offset)),
  )
})

test('columns that another writer left out are no obstacle', async () => {
  const counted = await rewritten(batches, rows => rows, ['batch_header', 'batch_raw', 'headers', 'txn_state'])
  const back = await readFile(counted)
  const records = (await Promise.all(back.map(({ bytes }) => readRecords(bytes)))).flat()
  assert.deepEqual(
    records.map(({ offset, value }) => [offset, value?.toString() ?? null]),
    [
      [0, null],
      [1, 'b'],
      [2, null],
      [3, 'packed'],
      [4, null],
      [5, null],
      [6, null],
    ],
  )
})

test('control records and aborted ones do not come back without their batch', async () => {
  const control = craftBatch({
    records: [{ key: Buffer.of(0, 0, 0, 0), value: Buffer.alloc(6) }],
    isControl: true,
    isTransactional: true,
    producerId: 1n,
    producerEpoch: 0,
  })
  const back = await readFile(await rewritten([control], rows => rows, ['batch_header']))
  assert.deepEqual(back, [])
})

test('records are found by time in files of other writers', async () => {
  const { file } = await rewritten(batches, rows => rows)
  const found = { offset: 1, timestamp: 1_700_000_000_005, leaderEpoch: 0 }
  assert.deepEqual(await findByTime(file, 1_700_000_000_001), found)
  assert.deepEqual(await findLargestTime(file), { offset: 5, timestamp: 1_700_000_000_009, leaderEpoch: 0 })
})

test('the first record since a time is found where groups overlap', async () => {
  const single = [0, 1, 2, 3].map(offset => craftBatch({ baseOffset: offset, records: [{}] }))
  // The groups have the offsets 0 and 3, and 1 and 2.
  const { file } = await rewritten(single, rows => [0, 3, 1, 2].map(i => rows[i]!), [], 'SNAPPY', 2)
  assert.equal(file.groups.length, 2)
  assert.equal((await findByTime(file, 1_700_000_000_000, 1))?.offset, 1)
})
