import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../../testing/property.ts'
import {
  type BatchOptions,
  encodeBatch,
  MAX_UNPACKED_BYTES,
  type NewRecord,
  payloadOf,
  readRecords,
  viewBatch,
} from '../../protocol/records.ts'
import { unpackSync } from '../../protocol/unpacking.ts'
import { type Cleaned, cleanBatch, type Newest, type Terms } from './clean-batch.ts'

const NOW = 1_700_000_000_000
const RETENTION = 86_400_000

/** Nothing is mapped above an offset, and readers see offsets far above. */
const TERMS: Terms = { mapTo: 1e6, nowMs: NOW, deleteRetentionMs: RETENTION, newestFrom: 1e6 }

function clean(bytes: Uint8Array, newest: Record<string, number> = {}, terms: Partial<Terms> = {}): Cleaned {
  const batch = viewBatch(bytes)
  const payload = unpackSync(batch.compression, payloadOf(batch), 1e6)
  const map: Newest = {
    isNewest: (offset, bytes, from, end) => offset >= (newest[bytes.toString('utf8', from, end)] ?? -1),
  }
  return cleanBatch(batch, payload, map, { ...TERMS, ...terms })
}

function batchOf(records: readonly NewRecord[], options: BatchOptions = {}): Buffer {
  return encodeBatch(records, { baseOffset: 10, leaderEpoch: 4, ...options })
}

/** The bytes of the batch that stays. */
function bytesOf({ bytes }: Cleaned): Buffer {
  assert.ok(bytes !== null && bytes !== 'same')
  return Buffer.from(bytes)
}

test('a batch whose records are all newest stays byte for byte', () => {
  const batch = batchOf([
    { key: 'a', value: '1', timestamp: 5 },
    { key: 'b', value: '2', timestamp: 6 },
  ])
  const { bytes, kept, dropped } = clean(batch, { a: 10, b: 11 })
  assert.deepEqual([bytes, kept, dropped], ['same', 2, 0])
})

for (const compression of ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const) {
  test(`older records go, and the others keep offset, timestamp, headers and the batch its fields (${compression})`, async () => {
    const headers = [
      { key: 'h', value: 'x' },
      { key: 'n', value: null },
    ]
    const records = [
      { key: 'a', value: 'old', timestamp: 1_000 },
      { key: 'b', value: 'b', timestamp: 900, headers },
      { key: 'c', value: 'old', timestamp: 5_000 },
      { key: 'd', value: 'd'.repeat(500), timestamp: 1_200 },
    ]
    const options = { compression, producerId: 7, producerEpoch: 2, baseSequence: 30 }
    const before = batchOf(records, options)
    const cleaned = clean(before, { a: 100, b: 11, c: 101 })
    assert.deepEqual([cleaned.kept, cleaned.dropped, cleaned.firstTimestamp, cleaned.maxTimestamp], [2, 2, 900, 1_200])
    const after = viewBatch(bytesOf(cleaned))
    assert.ok(after.isIntact)
    const { baseOffset, lastOffset, leaderEpoch, producerId, producerEpoch, baseSequence, recordCount } = after
    assert.deepEqual(
      [baseOffset, lastOffset, leaderEpoch, producerId, producerEpoch, baseSequence, recordCount],
      [10, 13, 4, 7, 2, 30, 2],
    )
    assert.deepEqual([after.compression, after.maxTimestamp, after.deleteHorizonMs], [compression, 1_200, null])
    const all = await readRecords(before)
    assert.deepEqual(await readRecords(after.bytes), [all[1], all[3]])
  })
}

test('records without a key go and are counted, but only in the mapped part', () => {
  const batch = batchOf([{ value: '1' }, { key: 'a', value: '2' }, { value: '3' }])
  const { kept, dropped, keyless } = clean(batch, {}, { mapTo: 12 })
  assert.deepEqual([kept, dropped, keyless], [2, 1, 1])
})

test('the first cleaning that keeps a tombstone sets the delete horizon and moves no timestamp', async () => {
  const records = [
    { key: 'a', value: '1', timestamp: 1_000 },
    { key: 'b', timestamp: -5 },
    { key: 'c', value: '' },
  ]
  for (const timestamp of [-1, 0, 1_700_000_000_123, -(2 ** 40)]) {
    const before = batchOf(records.map((each, i) => ({ timestamp: timestamp + i, ...each })))
    const after = viewBatch(bytesOf(clean(before)))
    assert.equal(after.deleteHorizonMs, NOW + RETENTION)
    assert.ok(after.isIntact)
    assert.deepEqual(await readRecords(after.bytes), await readRecords(before))
    // Until the horizon the batch does not change any more; a later pass does not move the horizon.
    assert.equal(clean(after.bytes, {}, { nowMs: NOW + RETENTION - 1 }).bytes, 'same')
    const last = clean(after.bytes, {}, { nowMs: NOW + RETENTION })
    assert.deepEqual([last.kept, last.dropped], [2, 1])
    assert.equal(viewBatch(bytesOf(last)).deleteHorizonMs, NOW + RETENTION)
    assert.deepEqual(
      (await readRecords(bytesOf(last))).map(({ offset }) => offset),
      [10, 12],
    )
  }
})

test('a timestamp of 64 bits survives the move to the delete horizon bit by bit', () => {
  const plain = batchOf([{ key: 'a', timestamp: 0 }])
  plain.writeBigInt64BE(-4_611_684_000_000_000_001n, 27)
  const after = bytesOf(clean(plain))
  // The delta of the only record: after its length and its attributes.
  let raw = 0n
  for (let at = 61 + 2, shift = 0n; ; at++, shift += 7n) {
    raw |= BigInt(after[at]! & 0x7f) << shift
    if (after[at]! < 0x80) break
  }
  const delta = (raw >> 1n) ^ -(raw & 1n)
  assert.equal(BigInt.asIntN(64, after.readBigInt64BE(27) + delta), -4_611_684_000_000_000_001n)
})

test('a batch that could not be read with a delete horizon gets none, and loses its older records all the same', async () => {
  const records = [{ key: 'old' }, { key: 'tombstone' }]
  const early = batchOf(records.map(record => ({ ...record, timestamp: -(2 ** 62) - 2 ** 52 })))
  const { bytes, kept } = clean(early, { tombstone: 11 })
  assert.deepEqual([bytes, kept], ['same', 2])
  const cleaned = clean(early, { old: 12, tombstone: 11 })
  const after = viewBatch(bytesOf(cleaned))
  assert.deepEqual([after.deleteHorizonMs, after.recordCount], [null, 1])
  assert.deepEqual(await readRecords(after.bytes), (await readRecords(early)).slice(1))

  // Each of these records takes five bytes more with a horizon.
  const growing = Array.from({ length: 100_000 }, () => ({ key: '' }))
  const padding = 'x'.repeat(MAX_UNPACKED_BYTES - 1_200_000)
  const large = viewBatch(batchOf([...growing, { key: 'padding', value: padding }]))
  assert.ok(cleanBatch(large, payloadOf(large), { isNewest: () => true }, TERMS).bytes === 'same')
})

test('with log append time a cleaned batch keeps the time of its append', async () => {
  const batch = batchOf([
    { key: 'a', value: '1', timestamp: 5 },
    { key: 'b', timestamp: 6 },
  ])
  batch.writeInt16BE(8, 21)
  batch.writeBigInt64BE(777n, 35)
  const after = bytesOf(clean(batch, { a: 100 }))
  assert.equal(viewBatch(after).maxTimestamp, 777)
  assert.deepEqual(
    (await readRecords(after)).map(({ timestamp }) => timestamp),
    [777],
  )
})

test('an emptied batch goes, but the newest one of the log stays without records and goes later', () => {
  const batch = batchOf([{ key: 'a', value: '1', timestamp: 9 }], {
    compression: 'gzip',
    producerId: 3,
    producerEpoch: 1,
    baseSequence: 0,
  })
  assert.equal(clean(batch, { a: 20 }).bytes, null)
  const empty = viewBatch(bytesOf(clean(batch, { a: 20 }, { newestFrom: 11 })))
  assert.deepEqual([empty.bytes.length, empty.recordCount, empty.lastOffset, empty.producerId], [61, 0, 10, 3])
  assert.deepEqual([empty.maxTimestamp, empty.baseTimestamp, empty.compression, empty.isIntact], [9, -1, 'none', true])
  assert.equal(clean(empty.bytes, {}, { newestFrom: 11 }).bytes, 'same')
  assert.equal(clean(empty.bytes, {}, { newestFrom: 12 }).bytes, null)
})

test('a batch of a transaction is a defect, until transactions have their rules', () => {
  const batch = batchOf([{ key: 'a' }], { isTransactional: true, producerId: 1, producerEpoch: 0, baseSequence: 0 })
  assert.throws(() => clean(batch), /belongs to a transaction/)
})

test('of any batch exactly the newest records and the young tombstones stay', async () => {
  const record = fc.record({
    key: fc.constantFrom('a', 'b', 'c', null),
    value: fc.constantFrom('v', '', null),
    timestamp: fc.integer({ min: -1, max: 2 ** 42 }),
  })
  const records = fc.array(record, { minLength: 1, maxLength: 20 })
  const offsets = fc.integer({ min: -1, max: 40 })
  const any = fc.record({ a: offsets, b: offsets, c: offsets })
  await fc.assert(
    fc.asyncProperty(records, any, fc.nat(35), fc.boolean(), async (list, newest, mapTo, isLater) => {
      const first = batchOf(list)
      const all = await readRecords(first)
      const stays = ({ offset, key, value }: (typeof all)[number], tombstones: boolean) =>
        offset >= mapTo || (key !== null && offset >= newest[key.toString() as 'a'] && (tombstones || value !== null))
      const expected = all.filter(each => stays(each, true))
      const cleaned = clean(first, newest, { mapTo })
      const bytes = cleaned.bytes === 'same' ? first : cleaned.bytes
      assert.deepEqual(bytes === null ? [] : await readRecords(bytes), expected)
      if (bytes === null || !isLater) return
      const hasHorizon = viewBatch(bytes).deleteHorizonMs !== null
      const later = clean(bytes, newest, { mapTo, nowMs: NOW + RETENTION })
      const rest = later.bytes === 'same' ? bytes : later.bytes
      const left = expected.filter(each => stays(each, !hasHorizon))
      assert.deepEqual(rest === null ? [] : await readRecords(rest), left)
    }),
  )
})
