// The facts of a file: bounds and counts as Iceberg wants them, segments, epochs, and the same facts in the file
// itself.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { craftBatch, encodeFile, INGESTED_AT, openBytes } from '../../../testing/data-files.ts'
import { DAY_MS } from './data-file.ts'
import { FileEncoder } from './encode.ts'
import { factsIn } from './open-file.ts'
import { lowerBytes, parquetSchema, upperBytes } from './parquet-schema.ts'
import { FIELD, LEAVES, TABLE_COLUMNS } from './table-schema.ts'

const hex = (bytes: Uint8Array | undefined) => Buffer.from(bytes ?? []).toString('hex')

test('bounds, counts and sizes of columns are kept by field id', () => {
  const long = Buffer.alloc(20, 'k')
  const { facts } = encodeFile([
    craftBatch({
      records: [
        { key: Buffer.from('b'), timestampDelta: 1n, headers: [[Buffer.from('h'), null]] },
        { key: null, value: Buffer.from('v'), timestampDelta: -2n },
        {
          key: long,
          headers: [
            [Buffer.from('x'), Buffer.from('y')],
            [Buffer.from('z'), null],
          ],
        },
      ],
      baseOffset: 256,
      leaderEpoch: 2,
      producerId: 5n,
      producerEpoch: 1,
      baseSequence: 2 ** 31 - 2,
    }),
  ])
  assert.equal(hex(facts.lowerBounds.get(FIELD.offset)), '0001000000000000')
  assert.equal(hex(facts.upperBounds.get(FIELD.offset)), '0201000000000000')
  assert.equal(hex(facts.lowerBounds.get(FIELD.partition)), '03000000')
  assert.equal(Buffer.from(facts.lowerBounds.get(FIELD.timestamp)!).readBigInt64LE(), 1_699_999_999_998_000n)
  assert.equal(Buffer.from(facts.upperBounds.get(FIELD.timestamp)!).readBigInt64LE(), 1_700_000_000_001_000n)
  assert.equal(hex(facts.lowerBounds.get(FIELD.key)), hex(Buffer.from('b')))
  assert.equal(hex(facts.upperBounds.get(FIELD.key)), hex(Buffer.from('kkkkkkkkkkkkkkkl')))
  assert.equal(hex(facts.lowerBounds.get(FIELD.sequence)), '00000000')
  assert.equal(hex(facts.upperBounds.get(FIELD.sequence)), 'ffffff7f')
  for (const id of [FIELD.value, FIELD.headerKey, FIELD.batchHeader, FIELD.batchRaw])
    assert.equal(facts.lowerBounds.has(id), false)
  assert.deepEqual(
    [...facts.columnSizes.keys()],
    LEAVES.map(({ id }) => id),
  )
  assert.equal(facts.valueCounts.get(FIELD.headerKey), 4)
  assert.equal(facts.nullValueCounts.get(FIELD.headerKey), 1)
  assert.equal(facts.nullValueCounts.get(FIELD.headerValue), 3)
  assert.equal(facts.nullValueCounts.get(FIELD.key), 1)
  assert.deepEqual([facts.minTimestamp, facts.maxTimestamp], [1_699_999_999_998, 1_700_000_000_001])
  // They cross to other threads.
  assert.deepEqual(structuredClone(facts), facts)
})

test('a file of several segments has their facts, and so has its footer', async () => {
  const encoder = new FileEncoder({ partition: 9, rowGroupBytes: 1000, batchBytes: 'when-needed' })
  const parts: Uint8Array[] = []
  const segment = (base: number, next: number, later: number) =>
    encoder.begin({ base, next, ingestedAt: INGESTED_AT + later })
  segment(10, 20, 0)
  encoder.add(craftBatch({ baseOffset: 12, records: [{}, {}], leaderEpoch: 1 }))
  segment(20, 21, 5)
  segment(21, 40, 9)
  encoder.add(craftBatch({ baseOffset: 30, records: [{ value: Buffer.alloc(2000) }], leaderEpoch: 4, codec: 'gzip' }))
  encoder.closeGroup()
  parts.push(...encoder.take())
  const facts = encoder.finish()
  parts.push(...encoder.take())
  assert.deepEqual(
    facts.segments.map(({ base, next, rows, batches, ingestedAt }) => [
      base,
      next,
      rows,
      batches,
      ingestedAt - INGESTED_AT,
    ]),
    [
      [10, 20, 2, 1, 0],
      [20, 21, 0, 0, 5],
      [21, 40, 1, 1, 9],
    ],
  )
  assert.deepEqual(facts.epochs, [
    [1, 12],
    [4, 30],
  ])
  assert.deepEqual([facts.base, facts.next, facts.firstOffset, facts.lastOffset], [10, 40, 12, 30])
  assert.equal(facts.ingestedDay, Math.floor(INGESTED_AT / DAY_MS))
  assert.equal(
    facts.size,
    parts.reduce((sum, { length }) => sum + length, 0),
  )
  const { file } = await openBytes(Buffer.concat(parts))
  const { columnSizes, valueCounts, nullValueCounts, lowerBounds, upperBounds, ...stored } = facts
  assert.deepEqual(factsIn(file), JSON.parse(JSON.stringify(stored)))
  assert.deepEqual(
    file.groups.map(({ byteRange }) => byteRange.start),
    facts.splitOffsets,
  )
})

test('segments that do not follow each other, or are of two days, are a mistake', () => {
  const encoder = () => {
    const made = new FileEncoder({ partition: 0, rowGroupBytes: 1, batchBytes: 'always' })
    made.begin({ base: 0, next: 5, ingestedAt: INGESTED_AT })
    return made
  }
  assert.throws(() => encoder().begin({ base: 6, next: 7, ingestedAt: INGESTED_AT }), /begins at 6/)
  assert.throws(() => encoder().begin({ base: 5, next: 7, ingestedAt: INGESTED_AT + DAY_MS }), /two days/)
})

test('transactional batches say whether they were aborted', async () => {
  const batch = (baseOffset: number) =>
    craftBatch({ records: [{}], baseOffset, isTransactional: true, producerId: 8n, producerEpoch: 0, baseSequence: 0 })
  const aborted = [{ producerId: 8, firstOffset: 1, lastOffset: 1 }]
  const { facts } = encodeFile([batch(0), batch(1)], {}, { aborted })
  const [least, most] = [facts.lowerBounds.get(FIELD.txnState), facts.upperBounds.get(FIELD.txnState)]
  assert.deepEqual([hex(least), hex(most)], ['01000000', '02000000'])
})

test('every column has a field id of its own, also in the Parquet schema', () => {
  const ids = parquetSchema().flatMap(({ field_id }) => field_id ?? [])
  assert.equal(new Set(ids).size, ids.length)
  assert.equal(ids.length, TABLE_COLUMNS.length + 3)
  assert.ok(ids.every(id => id < 20))
})

test('an upper bound of more than 16 bytes is rounded up, or left out', () => {
  assert.equal(hex(lowerBytes(Buffer.alloc(17, 1))), '01'.repeat(16))
  assert.equal(hex(upperBytes(Buffer.alloc(16, 0xff))!), 'ff'.repeat(16))
  assert.equal(hex(upperBytes(Buffer.from(`01${'ff'.repeat(17)}`, 'hex'))!), '02')
  assert.equal(upperBytes(Buffer.alloc(17, 0xff)), null)
})
