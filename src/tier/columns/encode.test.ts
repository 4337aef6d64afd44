// Batches of every form go into a data file and come back byte for byte.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import {
  type CraftedBatch,
  type CraftedRecord,
  craftBatch,
  encodeFile,
  openBytes,
  readFile,
} from '../../../testing/data-files.ts'
import { fc } from '../../../testing/property.ts'
import { crc32c } from '../../base/crc32c.ts'
import { codecs } from '../../protocol/compression.ts'
import { encodeEmptyBatch, readRecords, viewBatch } from '../../protocol/records.ts'
import { BadBatch } from './bad-batch.ts'
import { type BatchBytes, FileEncoder, type FileEnd } from './encode.ts'

async function restored(batches: readonly Uint8Array[], options: Parameters<typeof encodeFile>[1] = {}) {
  const { bytes, facts } = encodeFile(batches, options)
  return { facts, back: await readFile(await openBytes(bytes)) }
}

async function assertSame(batches: readonly Uint8Array[], options: Parameters<typeof encodeFile>[1] = {}) {
  const { back, facts } = await restored(batches, options)
  const withRecords = batches.map(viewBatch).filter(({ recordCount }) => recordCount > 0)
  assert.equal(back.length, withRecords.length)
  for (const [i, { bytes, baseOffset, lastOffset, maxTimestamp }] of back.entries()) {
    const expected = withRecords[i]!
    assert.ok(expected.bytes.equals(bytes), `batch ${i} differs`)
    assert.deepEqual(
      { baseOffset, lastOffset, maxTimestamp },
      {
        baseOffset: expected.baseOffset,
        lastOffset: expected.lastOffset,
        maxTimestamp: expected.maxTimestamp,
      },
    )
  }
  return facts
}

const bytes = (most: number) => fc.uint8Array({ maxLength: most })
const nullable = (most: number) => fc.option(bytes(most), { freq: 4 })
const anyRecord: fc.Arbitrary<CraftedRecord> = fc.record({
  timestampDelta: fc.oneof(
    { weight: 8, arbitrary: fc.bigInt(-100_000n, 100_000n) },
    { weight: 1, arbitrary: fc.bigInt(-(2n ** 61n), 2n ** 61n) },
  ),
  key: nullable(20),
  value: nullable(300),
  headers: fc.array(fc.tuple(bytes(6), nullable(10)), { maxLength: 4 }),
  isPadded: fc.boolean().map(Boolean),
})
const anyBatch: fc.Arbitrary<CraftedBatch> = fc.record({
  records: fc.array(anyRecord, { minLength: 1, maxLength: 12 }),
  codec: fc.constantFrom(...codecs),
  baseTimestamp: fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(-1n, 0n, 1_700_000_000_000n) },
    { weight: 1, arbitrary: fc.bigInt(-(2n ** 62n), 2n ** 62n) },
  ),
  isAppendTime: fc.boolean(),
  isTransactional: fc.boolean(),
  producerId: fc.constantFrom(-1n, 0n, 77n, 2n ** 62n),
  producerEpoch: fc.constantFrom(-1, 0, 5),
  baseSequence: fc.constantFrom(-1, 0, 2 ** 31 - 3),
})

/** Puts the batches one behind the other, with gaps inside of them and between them. */
function placed(batches: readonly CraftedBatch[], gaps: readonly number[]): Buffer[] {
  let offset = 0
  return batches.map((batch, b) => {
    let delta = -1
    const records = batch.records.map((record, r) => {
      delta += 1 + (gaps[(b + r) % gaps.length] ?? 0)
      return { ...record, offsetDelta: delta }
    })
    const crafted = craftBatch({ ...batch, records, baseOffset: offset, leaderEpoch: b >> 1 })
    offset += delta + 1 + (gaps[b % gaps.length] ?? 0)
    return crafted
  })
}

test('batches of any form come back byte for byte', async () => {
  const gaps = fc.array(fc.nat(3), { minLength: 1, maxLength: 5 })
  const modes = fc.constantFrom<BatchBytes>('when-needed', 'always')
  const property = fc.asyncProperty(
    fc.array(anyBatch, { minLength: 1, maxLength: 8 }),
    gaps,
    modes,
    fc.constantFrom(1, 2000, 1e9),
    async (batches, steps, batchBytes, rowGroupBytes) => {
      await assertSame(placed(batches, steps), { batchBytes, rowGroupBytes })
    },
  )
  await fc.assert(property, { numRuns: 100 })
})

test('without original bytes the records stay the same', async () => {
  const property = fc.asyncProperty(fc.array(anyBatch, { minLength: 1, maxLength: 5 }), async batches => {
    const sources = placed(batches, [0, 2])
    const { back } = await restored(sources, { batchBytes: 'never' })
    assert.equal(back.length, sources.length)
    for (const [i, source] of sources.entries()) {
      const [before, after] = [viewBatch(source), viewBatch(back[i]!.bytes)]
      for (const name of [
        'baseOffset',
        'lastOffset',
        'leaderEpoch',
        'producerId',
        'producerEpoch',
        'baseSequence',
      ] as const)
        assert.equal(after[name], before[name], name)
      assert.deepEqual(await readRecords(back[i]!.bytes), await readRecords(source))
    }
  })
  await fc.assert(property, { numRuns: 50 })
})

test('batches of the Java client come back byte for byte with every codec', async () => {
  const lines = readFileSync(new URL('../../protocol/golden/batches.jsonl', import.meta.url), 'utf8')
    .trim()
    .split('\n')
  const batches = lines.map((line, i) => {
    const batch = Buffer.from(JSON.parse(line).hex, 'hex')
    batch.writeBigInt64BE(BigInt(i * 1000), 0)
    return batch
  })
  assert.equal(batches.length, codecs.length)
  const facts = await assertSame(batches)
  // Only the uncompressed one needs no original bytes.
  assert.equal(facts.rawBytes, facts.kafkaBytes - batches[0]!.length)
})

test('a plain batch keeps no original bytes', async () => {
  const headers = [
    [Buffer.from('schlüssel'), null],
    [Buffer.alloc(0), Buffer.alloc(0)],
  ] as const
  const records = Array.from({ length: 300 }, (_, i) => ({
    timestampDelta: BigInt(i * 7),
    key: i % 3 === 0 ? null : Buffer.from(`key ${i}`),
    value: i % 5 === 0 ? null : Buffer.alloc(i % 200, i),
    ...(i % 4 === 0 && { headers }),
  }))
  const batches = placed([{ records, producerId: 9n, producerEpoch: 1, baseSequence: 0 }, { records }], [0, 1])
  const facts = await assertSame(batches)
  assert.equal(facts.rawBytes, 0)
  assert.equal(facts.rows, 600)
})

test('a batch keeps its original bytes where the columns cannot restore it', async () => {
  const one = (batch: Partial<CraftedBatch>, record: CraftedRecord = {}) => craftBatch({ records: [record], ...batch })
  const cases: [string, Buffer][] = [
    ['compressed', one({ codec: 'zstd' })],
    ['numbers in too many bytes', one({}, { isPadded: true })],
    ['a header key that is not UTF-8', one({}, { headers: [[Buffer.of(0xff, 0xfe), null]] })],
    ['the year 10000', one({ baseTimestamp: 253_402_300_800_000n })],
    ['before the year 1', one({ baseTimestamp: -62_135_596_800_001n })],
    ['the largest timestamp', one({ baseTimestamp: 2n ** 63n - 1n })],
    ['the smallest timestamp', one({ baseTimestamp: -(2n ** 63n) + 1024n })],
    ['a largest timestamp that no record has', one({ maxTimestamp: 2n ** 62n })],
    ['append time over the times of the producer', one({ isAppendTime: true }, { timestampDelta: 5n })],
  ]
  for (const [name, batch] of cases) {
    const facts = await assertSame([batch])
    assert.equal(facts.rawBytes, batch.length, name)
  }
  for (const batch of [
    one({ baseTimestamp: -1n }),
    one({ isAppendTime: true }),
    one({ baseTimestamp: 253_402_300_799_999n }),
    // Then the file has a column of header values with only nulls.
    one({}, { headers: [[Buffer.from('h'), null]] }),
  ])
    assert.equal((await assertSame([batch])).rawBytes, 0)
})

test('even without original bytes a batch keeps them where its records would change', async () => {
  const odd = craftBatch({ records: [{ headers: [[Buffer.of(0xc0), null]] }], codec: 'gzip' })
  const hostile = craftBatch({ records: [{}], baseOffset: 5, baseTimestamp: 2n ** 60n })
  const compressed = craftBatch({ records: [{}], baseOffset: 9, codec: 'gzip' })
  const { facts, back } = await restored([odd, hostile, compressed], { batchBytes: 'never' })
  assert.equal(facts.rawBytes, odd.length + hostile.length)
  assert.ok(odd.equals(back[0]!.bytes) && hostile.equals(back[1]!.bytes))
  assert.equal(viewBatch(back[2]!.bytes).compression, 'none')
})

test('control batches and batches without records are archived', async () => {
  const marker = (type: number) => Buffer.of(0, 0, 0, type)
  const control = (baseOffset: number, type: number) =>
    craftBatch({
      records: [{ key: marker(type), value: Buffer.alloc(6) }],
      baseOffset,
      isControl: true,
      isTransactional: true,
      producerId: 4n,
      producerEpoch: 0,
    })
  const empty = encodeEmptyBatch(2, 7, 3)
  const batches = [control(0, 1), control(1, 0), empty, control(8, 5)]
  const facts = await assertSame(batches)
  assert.equal(facts.rows, 3)
  assert.equal(
    facts.kafkaBytes,
    batches.reduce((sum, { length }) => sum + length, 0),
  )
  const { facts: none, bytes: file } = encodeFile([empty])
  assert.deepEqual([none.rows, none.firstOffset, none.lastOffset, none.minTimestamp], [0, -1, -1, -1])
  assert.deepEqual((await openBytes(file)).file.groups, [])
})

test('a flipped bit is refused with the offset of its batch', () => {
  const good = craftBatch({ records: [{}, {}] })
  const batch = craftBatch({ records: [{ value: Buffer.from('hello') }], baseOffset: 4711 })
  for (const at of [CRC_PLACE, 21, 40, 61, batch.length - 1]) {
    const flipped = Buffer.from(batch)
    flipped[at]! ^= 0x10
    assert.throws(
      () => encodeFile([good, flipped]),
      (error: unknown) => error instanceof BadBatch && error.offset === 4711 && /4711.*checksum/.test(error.message),
    )
  }
})

const CRC_PLACE = 18

test('a batch that does not belong to its segment, or is no batch, is refused', () => {
  const crafted = (batch: CraftedBatch) => craftBatch({ baseOffset: 50, ...batch })
  const cases: [Buffer, RegExp][] = [
    [crafted({ records: [{}], lastOffsetDelta: -1 }), /covers 50 to 49/],
    [crafted({ records: [{}], baseOffset: 200 }), /covers 200 to 200, expected 10 to 99/],
    [crafted({ records: [{}], baseOffset: 3 }), /covers 3 to 3, expected 10 to 99/],
    [crafted({ records: [{}] }).subarray(0, 40), /40 bytes are not one batch/],
  ]
  const old = crafted({ records: [{}] })
  old[16] = 1
  cases.push([old, /magic must be 2/])
  for (const [batch, why] of cases)
    assert.throws(
      () => encodeFile([batch], {}, { base: 10, next: 100 }),
      (error: unknown) => error instanceof BadBatch && why.test(error.message),
      String(why),
    )
})

test('a batch whose records cannot be read is kept with its bytes, in one row', async () => {
  const sealed = (batch: Buffer) => {
    batch.writeUInt32BE(crc32c(batch.subarray(21)), 17)
    return batch
  }
  const records: CraftedRecord[] = [{ value: Buffer.from('hello') }, {}]
  const garbage = craftBatch({ records })
  garbage.fill(0xee, 61)
  const cut = craftBatch({ baseOffset: 2, records, codec: 'zstd' })
  cut.fill(1, 70)
  const many = craftBatch({ baseOffset: 4, records: new Array(9000).fill({}) })
  many[many.length - 2] = 0x7f
  const misplaced = craftBatch({ baseOffset: 9100, records: [{ offsetDelta: 3 }], lastOffsetDelta: 1 })
  const good = craftBatch({ baseOffset: 9200, records })
  const batches = [...[garbage, cut, many].map(sealed), misplaced, good]
  for (const batchBytes of ['when-needed', 'never'] as const) {
    const facts = await assertSame(batches, { batchBytes })
    assert.equal(facts.rows, 6)
    assert.equal(facts.segments[0]!.unreadable, 4)
    assert.equal(facts.rawBytes, facts.kafkaBytes - good.length)
  }
})

test('a file can end behind its last batch, and the next file goes on with the segment', async () => {
  const batches = Array.from({ length: 6 }, (_, i) => craftBatch({ baseOffset: i * 5, records: [{}, {}, {}] }))
  const segment = { base: 0, next: 40, ingestedAt: 1_700_000_000_000 }
  const encode = (base: number, some: readonly Uint8Array[], end: FileEnd) => {
    const encoder = new FileEncoder({ partition: 0, rowGroupBytes: 1e6, batchBytes: 'when-needed' })
    encoder.begin({ ...segment, base })
    for (const batch of some) encoder.add(batch)
    const facts = encoder.finish(end)
    return { facts, bytes: Buffer.concat(encoder.take()) }
  }
  const first = encode(0, batches.slice(0, 2), 'behind-last-batch')
  const empty = encode(first.facts.next, [], 'behind-last-batch')
  const last = encode(empty.facts.next, batches.slice(2), 'whole-segment')
  const ends = [first, empty, last].map(({ facts: { base, next, rows, segments } }) => [
    base,
    next,
    rows,
    segments.length,
  ])
  assert.deepEqual(ends, [
    [0, 8, 6, 1],
    [8, 8, 0, 1],
    [8, 40, 12, 1],
  ])
  assert.equal(last.facts.segments[0]!.next, 40)
  for (const { bytes, facts } of [first, last])
    assert.equal((await readFile(await openBytes(bytes))).length, facts.segments[0]!.batches)
})
