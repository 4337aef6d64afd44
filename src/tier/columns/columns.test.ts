// The columns say of each record what its batch says, as an independent reader of Parquet sees them.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { zstdDecompressSync } from 'node:zlib'
import { parquetMetadata, parquetReadObjects } from 'hyparquet'
import { type CraftedBatch, craftBatch, encodeFile, INGESTED_AT } from '../../../testing/data-files.ts'
import { FileEncoder } from './encode.ts'
import { LEAVES } from './table-schema.ts'

async function rowsIn(bytes: Buffer) {
  const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length) as ArrayBuffer
  const rows = await parquetReadObjects({
    file,
    compressors: { ZSTD: input => zstdDecompressSync(input) },
    utf8: false,
    parsers: { timestampFromMicroseconds: (micros: bigint) => micros },
  })
  return { rows, metadata: parquetMetadata(file) }
}

const text = (bytes: Uint8Array | null | undefined) => (bytes == null ? null : Buffer.from(bytes).toString('latin1'))

/** Batches of many producers, with and without transactions, over several epochs. */
function variedBatches(count: number): CraftedBatch[] {
  let baseOffset = 0
  return Array.from({ length: count }, (_, i) => {
    const records = Array.from({ length: 1 + (i % 3) }, (_, k) => ({
      offsetDelta: k * 2,
      timestampDelta: BigInt((i * 7 + k) % 50),
      key: i % 4 === 0 ? null : Buffer.from(`key ${i % 60}`),
      value: k === 2 ? null : Buffer.from(`value ${i} ${k}`),
      headers: i % 5 === 0 ? [[Buffer.from('schlüssel'), k === 0 ? null : Buffer.from([i & 255])] as const] : [],
    }))
    const hasProducer = i % 10 !== 0
    const batch = {
      records,
      baseOffset,
      leaderEpoch: i >> 10,
      baseTimestamp: BigInt(INGESTED_AT + i),
      isAppendTime: i % 6 === 5,
      isTransactional: hasProducer && i % 8 === 1,
      ...(hasProducer && { producerId: BigInt(i), producerEpoch: i % 7, baseSequence: 2 ** 31 - 1 - (i % 4) }),
    }
    baseOffset += records.length * 2
    return batch
  })
}

// 4500 producers are too many for a dictionary.
for (const [count, rowGroupBytes] of [
  [4500, 1e9],
  [500, 20_000],
] as const)
  test(`another reader sees every column of the records of ${count} batches`, async () => {
    const batches = variedBatches(count)
    const { bytes, facts } = encodeFile(batches.map(craftBatch), { rowGroupBytes })
    const { rows, metadata } = await rowsIn(bytes)
    const expected = batches.flatMap(batch => {
      const times = batch.records.map(record => Number(batch.baseTimestamp! + record.timestampDelta!))
      return batch.records.map((record, k) => ({
        partition: 3,
        offset: BigInt(batch.baseOffset! + record.offsetDelta!),
        timestamp: BigInt(batch.isAppendTime ? Math.max(...times) : times[k]!) * 1000n,
        timestamp_type: batch.isAppendTime ? 1 : 0,
        key: text(record.key),
        value: text(record.value),
        headers: record.headers?.length ? record.headers.map(([key, value]) => [text(key), text(value)]) : null,
        ingested_at: BigInt(INGESTED_AT) * 1000n,
        leader_epoch: batch.leaderEpoch,
        producer_id: batch.producerId ?? null,
        producer_epoch: batch.producerEpoch ?? null,
        sequence: batch.baseSequence === undefined ? null : (batch.baseSequence + record.offsetDelta!) % 2 ** 31,
        control_type: null,
        txn_state: batch.isTransactional ? 1 : null,
        has_header: k === 0,
      }))
    })
    assert.equal(rows.length, expected.length)
    for (const [i, { batch_header, batch_raw, key, value, headers, ...others }] of rows.entries())
      assert.deepEqual(
        {
          ...others,
          key: text(key),
          value: text(value),
          headers:
            headers?.map((header: { key: string; value: Uint8Array | null }) => [
              Buffer.from(header.key).toString('latin1'),
              text(header.value),
            ]) ?? null,
          has_header: batch_header !== null,
        },
        expected[i],
      )
    assert.equal(facts.rows, rows.length)
    const encodings = metadata.row_groups.flatMap(({ columns }) => columns.flatMap(c => c.meta_data!.encodings))
    assert.deepEqual([...new Set(encodings)].sort(), ['PLAIN', 'RLE_DICTIONARY'])
    const unlike = metadata.row_groups.filter(({ columns }) => columns.length !== LEAVES.length)
    assert.deepEqual(unlike, [])
  })

test('a control record says whether it commits or aborts', async () => {
  const marker = (baseOffset: number, key: Buffer | null) =>
    craftBatch({
      baseOffset,
      records: [{ key }],
      isControl: true,
      isTransactional: true,
      producerId: 1n,
      producerEpoch: 0,
    })
  const { bytes } = encodeFile([
    marker(0, Buffer.of(0, 0, 0, 0)),
    marker(1, Buffer.of(0, 0, 0, 1)),
    marker(2, Buffer.of(0)),
    marker(3, null),
  ])
  const { rows } = await rowsIn(bytes)
  assert.deepEqual(
    rows.map(row => [row.control_type, row.sequence, row.producer_id]),
    [
      [0, null, 1n],
      [1, null, 1n],
      [-1, null, 1n],
      [-1, null, 1n],
    ],
  )
})

test('a timestamp beyond the years 1 to 9999 is limited in its column', async () => {
  const at = (baseOffset: number, baseTimestamp: bigint) => craftBatch({ baseOffset, baseTimestamp, records: [{}] })
  const { bytes } = encodeFile([at(0, 2n ** 62n), at(1, -(2n ** 62n)), at(2, -1n), at(3, 8_000_000_000_000n)])
  const { rows } = await rowsIn(bytes)
  assert.deepEqual(
    rows.map(({ timestamp }) => timestamp),
    [253_402_300_799_999_000n, -62_135_596_800_000_000n, -1000n, 8_000_000_000_000_000n],
  )
})

test('an open row group takes the memory of its compressed pages', () => {
  const encoder = new FileEncoder({ partition: 0, rowGroupBytes: 1e9, batchBytes: 'when-needed' })
  encoder.begin({ base: 0, next: 1e9, ingestedAt: INGESTED_AT })
  const records = Array.from({ length: 200 }, (_, i) => ({ key: Buffer.from(`k${i}`), value: Buffer.alloc(100, i) }))
  let plain = 0
  for (let i = 0; i < 500; i++) {
    const batch = craftBatch({ baseOffset: i * 200, records })
    plain += batch.length
    encoder.add(batch)
  }
  assert.ok(plain > 10e6 && encoder.writtenBytes === 4)
  assert.ok(encoder.heldBytes < plain / 4, `${encoder.heldBytes} of ${plain}`)
  encoder.closeGroup()
  assert.ok(encoder.writtenBytes > 4 && encoder.heldBytes < 8e6, `${encoder.heldBytes} after closing`)
})
