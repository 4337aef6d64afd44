// golden/batches.jsonl has batches that the Java client (kafka-clients 4.2.0) wrote, one for each codec: base offset
// 42, leader epoch 5, producer 77 with epoch 3 and sequence 9, and 20 records with a header each.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fc } from '../../testing/property.ts'
import { crc32c } from '../base/crc32c.ts'
import { seededRandom } from '../base/random.ts'
import { codecs } from './compression.ts'
import { isRefusal } from './errors.ts'
import {
  BatchView,
  checkBatches,
  encodeBatch,
  InvalidRecords,
  payloadOf,
  RecordWalk,
  readRecords,
  splitBatches,
  stamp,
  stampAppendTime,
  viewBatch,
} from './records.ts'

const three = [
  { key: 'a', value: 'one', timestamp: 1000 },
  { key: null, value: 'two', timestamp: 900 },
  {
    key: 'c',
    value: null,
    timestamp: 1100,
    headers: [
      { key: 'h', value: 'x' },
      { key: '', value: null },
    ],
  },
]

/** Returns a copy of the batch with changed bytes and a correct checksum. */
function changed(batch: Buffer, change: (bytes: Buffer) => void): Buffer {
  const bytes = Buffer.from(batch)
  change(bytes)
  bytes.writeUInt32BE(crc32c(bytes.subarray(21)), 17)
  return bytes
}

/** Returns a batch with this uncompressed payload. */
function batchOf(payload: Buffer, count: number): Buffer {
  const bytes = Buffer.concat([encodeBatch([{}]).subarray(0, 61), payload])
  return changed(bytes, bytes => {
    bytes.writeInt32BE(bytes.length - 12, 8)
    bytes.writeInt32BE(count - 1, 23)
    bytes.writeInt32BE(count, 57)
  })
}

function nameOf(outcome: unknown): string {
  return isRefusal(outcome) ? outcome.name : 'accepted'
}

test('batches of the Java client are accepted and read, with every codec', async () => {
  const rows = readFileSync(new URL('golden/batches.jsonl', import.meta.url), 'utf8')
    .trimEnd()
    .split('\n')
  assert.equal(rows.length, codecs.length)
  for (const row of rows) {
    const { codec, hex } = JSON.parse(row) as { codec: string; hex: string }
    const batch = checkBatches(Buffer.from(hex, 'hex'))
    assert.ok(batch instanceof BatchView, nameOf(batch))
    assert.equal(batch.compression, codec)
    assert.deepEqual(
      [
        batch.baseOffset,
        batch.leaderEpoch,
        batch.producerId,
        batch.producerEpoch,
        batch.baseSequence,
        batch.recordCount,
      ],
      [42, 5, 77, 3, 9, 20],
    )
    assert.deepEqual([batch.maxTimestamp, batch.lastOffset], [1700000000019, 61])
    const records = await readRecords(batch.bytes)
    assert.deepEqual(
      records.map(record => record.offset),
      Array.from({ length: 20 }, (_, i) => 42 + i),
    )
    assert.equal(records[3]!.timestamp, 1700000000000 - 500)
    assert.equal(records[5]!.key, null)
    assert.equal(records[7]!.value, null)
    assert.equal(String(records[8]!.value), `${'value '.repeat(30)}8`)
    assert.deepEqual(records[2]!.headers, [{ key: 'größe', value: null }])
    assert.deepEqual(records[4]!.headers[0]!.value, Buffer.of(4))
  }
})

test('any records come back as they were written, with every codec', async () => {
  const bytes = fc.option(fc.uint8Array({ maxLength: 200 }).map(array => Buffer.from(array)))
  const plain = { noNullPrototype: true } as const
  const header = fc.record({ key: fc.string(), value: bytes }, plain)
  const timestamp = fc.integer({ min: -1, max: 8_640_000_000_000_000 })
  const record = fc.record({ key: bytes, value: bytes, timestamp, headers: fc.array(header, { maxLength: 3 }) }, plain)
  await fc.assert(
    fc.asyncProperty(
      fc.array(record, { minLength: 1, maxLength: 5 }),
      fc.constantFrom(...codecs),
      async (records, compression) => {
        const batch = checkBatches(encodeBatch(records, { compression }))
        assert.ok(batch instanceof BatchView, nameOf(batch))
        const wanted = records.map((record, offset) => {
          return { offset, ...record, headerCount: record.headers.length, undecodedHeaders: null }
        })
        assert.deepEqual(await readRecords(batch.bytes), wanted)
      },
    ),
    { numRuns: 60 },
  )
})

test('a view reads the fields of the header', () => {
  const batch = new BatchView(
    encodeBatch(three, {
      compression: 'gzip',
      baseOffset: 2 ** 40 + 5,
      leaderEpoch: 7,
      producerId: 12345678901,
      producerEpoch: 2,
      baseSequence: 11,
      isTransactional: true,
    }),
  )
  assert.equal(batch.batchLength, batch.bytes.length)
  assert.deepEqual([batch.baseOffset, batch.leaderEpoch, batch.lastOffsetDelta], [2 ** 40 + 5, 7, 2])
  assert.deepEqual([batch.baseTimestamp, batch.maxTimestamp, batch.recordCount], [1000, 1100, 3])
  assert.deepEqual([batch.producerId, batch.producerEpoch, batch.baseSequence], [12345678901, 2, 11])
  assert.deepEqual(
    [batch.isTransactional, batch.isControl, batch.timestampType, batch.compression],
    [true, false, 'CreateTime', 'gzip'],
  )
  const none = new BatchView(encodeBatch(three))
  assert.deepEqual([none.producerId, none.producerEpoch, none.baseSequence, none.leaderEpoch], [-1, -1, -1, -1])
})

test('one wrong bit in the checksum, or in the bytes that it covers, is CORRUPT_MESSAGE', () => {
  const batch = encodeBatch(three, { compression: 'lz4' })
  for (let bit = 17 * 8; bit < batch.length * 8; bit += 5) {
    const bytes = Buffer.from(batch)
    bytes[bit >> 3]! ^= 1 << (bit & 7)
    assert.equal(nameOf(checkBatches(bytes)), 'CORRUPT_MESSAGE', `bit ${bit}`)
  }
  const unchecked = Buffer.from(batch)
  stamp(unchecked, 99, 4)
  assert.equal(nameOf(checkBatches(unchecked)), 'accepted')
})

test('bytes that are not one whole batch of magic 2 are INVALID_RECORD', () => {
  const batch = encodeBatch(three)
  const wrong: [string, Uint8Array | null][] = [
    ['nothing', null],
    ['no bytes', Buffer.alloc(0)],
    ['a few bytes', batch.subarray(0, 20)],
    ['a header that is cut', batch.subarray(0, 60)],
    ['records that are cut', batch.subarray(0, batch.length - 1)],
    ['bytes behind it', Buffer.concat([batch, Buffer.of(0)])],
    ['two batches', Buffer.concat([batch, batch])],
    ['magic 0', changed(batch, bytes => bytes.writeInt8(0, 16))],
    ['magic 1', changed(batch, bytes => bytes.writeInt8(1, 16))],
    ['magic 3', changed(batch, bytes => bytes.writeInt8(3, 16))],
    ['a length of -1', changed(batch, bytes => bytes.writeInt32BE(-1, 8))],
    ['a length of 2^31-1', changed(batch, bytes => bytes.writeInt32BE(0x7fffffff, 8))],
  ]
  for (const [what, bytes] of wrong) assert.equal(nameOf(checkBatches(bytes)), 'INVALID_RECORD', what)
})

test('a count that differs from the number of records is INVALID_RECORD', () => {
  for (const compression of codecs) {
    const batch = encodeBatch(three, { compression })
    const counted = (count: number, lastDelta: number) =>
      checkBatches(
        changed(batch, bytes => {
          bytes.writeInt32BE(lastDelta, 23)
          bytes.writeInt32BE(count, 57)
        }),
      )
    assert.equal(nameOf(counted(3, 2)), 'accepted')
    for (const [count, lastDelta] of [
      [0, -1],
      [-1, -2],
      [3, 3],
      [3, 1],
      [0x7fffffff, 0x7ffffffe],
      [4, 2],
    ] as const)
      assert.equal(nameOf(counted(count, lastDelta)), 'INVALID_RECORD', `${compression} ${count} ${lastDelta}`)
  }
  const plain = encodeBatch(three)
  for (const count of [2, 4])
    assert.equal(
      nameOf(
        checkBatches(
          changed(plain, bytes => {
            bytes.writeInt32BE(count - 1, 23)
            bytes.writeInt32BE(count, 57)
          }),
        ),
      ),
      'INVALID_RECORD',
    )
})

test('flags and producer fields that a client must not send are refused as Kafka does', () => {
  const batch = encodeBatch(three)
  const withAttributes = (attributes: number) =>
    checkBatches(changed(batch, bytes => bytes.writeInt16BE(attributes, 21)))
  assert.equal(nameOf(withAttributes(0x20)), 'INVALID_RECORD')
  assert.equal(nameOf(withAttributes(0x10)), 'INVALID_RECORD')
  assert.equal(nameOf(withAttributes(0x08)), 'INVALID_TIMESTAMP')
  for (const codec of [5, 6, 7]) assert.equal(nameOf(withAttributes(codec)), 'UNSUPPORTED_COMPRESSION_TYPE')
  const from = (producerId: number, producerEpoch: number, baseSequence: number, isTransactional = false) =>
    nameOf(checkBatches(encodeBatch(three, { producerId, producerEpoch, baseSequence, isTransactional })))
  assert.equal(from(5, 0, 0), 'accepted')
  assert.equal(from(5, 0, 0, true), 'accepted')
  assert.equal(from(5, 0, -1), 'INVALID_RECORD')
  assert.equal(from(5, -1, 0), 'INVALID_PRODUCER_EPOCH')
  assert.equal(from(-2, 0, 0), 'INVALID_RECORD')
  assert.equal(from(2 ** 60, 0, 0), 'INVALID_RECORD')
})

test('zstd is refused below Produce 7, other codecs are not', () => {
  for (const compression of codecs) {
    const bytes = encodeBatch(three, { compression })
    assert.equal(nameOf(checkBatches(bytes, 6)), compression === 'zstd' ? 'UNSUPPORTED_COMPRESSION_TYPE' : 'accepted')
    assert.equal(nameOf(checkBatches(bytes, 7)), 'accepted')
  }
})

test('append time replaces every timestamp, and the checksum is correct', async () => {
  const bytes = encodeBatch(three, { compression: 'snappy' })
  stamp(bytes, 500, 3)
  stampAppendTime(bytes, 1_700_000_000_123)
  const batch = new BatchView(bytes)
  assert.equal(crc32c(bytes.subarray(21)), batch.crc)
  assert.deepEqual(
    [batch.timestampType, batch.maxTimestamp, batch.baseOffset],
    ['LogAppendTime', 1_700_000_000_123, 500],
  )
  const records = await readRecords(bytes)
  assert.deepEqual(
    records.map(record => [record.offset, record.timestamp]),
    [500, 501, 502].map(offset => [offset, 1_700_000_000_123]),
  )
})

test('splitBatches returns each whole batch, and leaves out a last one that is cut', () => {
  const first = encodeBatch(three, { baseOffset: 10 })
  const second = encodeBatch(three, { baseOffset: 13, compression: 'gzip' })
  const both = Buffer.concat([first, second])
  assert.deepEqual(
    splitBatches(both).map(batch => batch.baseOffset),
    [10, 13],
  )
  assert.deepEqual(
    splitBatches(both.subarray(0, both.length - 1)).map(batch => batch.baseOffset),
    [10],
  )
  assert.deepEqual(splitBatches(Buffer.alloc(0)), [])
  assert.throws(() => splitBatches(Buffer.alloc(100)), InvalidRecords)
})

test('records that do not follow the format are InvalidRecords, and the message names the reason', async () => {
  const record = (hex: string) => {
    const body = Buffer.from(hex, 'hex')
    return Buffer.concat([Buffer.of(body.length * 2), body])
  }
  const good = record('000000010100')
  const wrong: [RegExp, Buffer, number][] = [
    [/a record of -1 bytes/, Buffer.from('01000000000000', 'hex'), 1],
    [/a record of 63 bytes/, Buffer.from('7e000000000000', 'hex'), 1],
    [/attributes of a record/, record('010000010100'), 1],
    [/key: 63 bytes do not fit/, record('0000007e0100'), 1],
    [/key: -2 bytes do not fit/, record('000000030100'), 1],
    [/value: 63 bytes do not fit/, record('000000017e00'), 1],
    [/-1 headers do not fit/, record('000000010101'), 1],
    [/63 headers do not fit/, record('00000001017e'), 1],
    [/header key must not be null/, record('0000000101020101'), 1],
    [/1 bytes left over/, record('00000001010000'), 1],
    [/offset delta 0 does not follow 0/, Buffer.concat([good, good]), 2],
    [/offset delta 1 does not follow -1 up to 0/, record('000002010100'), 1],
    [/offset delta -1/, record('000001010100'), 1],
    [/timestamp of a record is out of range/, record('00ffffffffffffffffff0100010100'), 1],
    [/timestamp delta: more than 10 bytes/, record('00ffffffffffffffffffff0100010100'), 1],
    [/offset delta: more than 5 bytes/, record('0000ffffffffffff01010100'), 1],
    [/the batch has 1 bytes left over/, Buffer.concat([good, Buffer.of(0)]), 1],
    [/1000 records do not fit/, good, 1000],
  ]
  for (const [reason, payload, count] of wrong)
    await assert.rejects(
      () => readRecords(batchOf(payload, count)),
      (error: unknown) => error instanceof InvalidRecords && reason.test(error.message),
      String(reason),
    )
  assert.equal((await readRecords(batchOf(good, 1))).length, 1)
})

test('damaged records are InvalidRecords or other records', async () => {
  const random = seededRandom(9)
  for (let i = 0; i < 300; i++) {
    const bytes = encodeBatch(three, { compression: codecs[i % codecs.length]! })
    for (let k = random.below(3); k >= 0; k--) bytes[21 + random.below(bytes.length - 21)] = random.below(256)
    try {
      await readRecords(bytes, 100_000)
    } catch (error) {
      assert.ok(error instanceof InvalidRecords, String(error))
    }
  }
})

test('a batch that unpacks to more than the limit is InvalidRecords', async () => {
  for (const compression of codecs) {
    const bytes = encodeBatch([{ value: Buffer.alloc(300_000) }], { compression })
    assert.equal((await readRecords(bytes)).length, 1)
    await assert.rejects(() => readRecords(bytes, 299_999), InvalidRecords, compression)
  }
})

const ALL = { count: 1000, bytes: 1e6 }

/** Returns the offsets of the records that `isRead` chooses; the walk skips the other records. */
function offsetsOf(batch: Buffer, isRead: (offset: number) => boolean): number[] {
  const walk = new RecordWalk(viewBatch(batch), payloadOf(viewBatch(batch)))
  const offsets: number[] = []
  while (walk.next()) if (isRead(walk.offset)) offsets.push(walk.read(ALL).offset)
  return offsets
}

test('a walk skips records without decoding them', async () => {
  const whole = encodeBatch(three, { baseOffset: 10 })
  for (const from of [0, 10, 11, 12, 13]) {
    assert.deepEqual(
      offsetsOf(whole, offset => offset >= from),
      [10, 11, 12].filter(offset => offset >= from),
    )
  }
  assert.equal((await readRecords(encodeBatch(three, { baseOffset: -(2 ** 63) }))).length, three.length)
  const damaged = encodeBatch(three)
  // The length of the first record's key.
  damaged[61 + 4] = 0x7e
  assert.throws(() => offsetsOf(damaged, () => true), InvalidRecords)
  assert.deepEqual(
    offsetsOf(damaged, offset => offset > 0),
    [1, 2],
  )
})

test('a walk finds key, value and headers in the payload without copies', () => {
  const headers = [
    { key: 'first', value: 'one' },
    { key: '', value: null },
    { key: 'last', value: '' },
  ]
  const records = [
    { key: 'k', value: 'v', headers },
    { key: null, value: null },
    { key: '', value: '', headers },
  ]
  const batch = viewBatch(encodeBatch(records))
  const walk = new RecordWalk(batch, payloadOf(batch))
  const text = (from: number, end: number) => walk.payload.toString('utf8', from, end)
  const found: unknown[] = []
  while (walk.next()) {
    const key = walk.hasKey() ? text(walk.keyFrom, walk.keyEnd) : null
    const value = walk.hasValue() ? text(walk.valueFrom, walk.valueEnd) : null
    const seen: unknown[] = []
    while (walk.nextHeader()) {
      const { headerKeyFrom, headerKeyEnd, headerFrom, headerEnd } = walk
      seen.push({ key: text(headerKeyFrom, headerKeyEnd), value: headerFrom < 0 ? null : text(headerFrom, headerEnd) })
    }
    assert.equal(walk.nextHeader(), false)
    found.push({ key, value, headers: seen })
  }
  assert.deepEqual(
    found,
    records.map(record => ({ headers: [], ...record })),
  )
})

test('a walk over headers that do not fit is refused with the reason', () => {
  const batch = encodeBatch([{ value: 'v', headers: [{ key: 'k', value: 'w' }] }])
  const damage = (at: number, byte: number) => {
    const bytes = Buffer.from(batch)
    bytes[bytes.length + at] = byte
    const walk = new RecordWalk(viewBatch(bytes), payloadOf(viewBatch(bytes)))
    assert.ok(walk.next())
    walk.hasKey()
    walk.hasValue()
    while (walk.nextHeader());
  }
  // From the end: value, its length, key, its length, the number of headers.
  damage(-1, 0)
  assert.throws(() => damage(-2, 4), /header value: 2 bytes do not fit/)
  assert.throws(() => damage(-2, 0), /a record has 1 bytes left over/)
  assert.throws(() => damage(-4, 1), /a header key must not be null/)
  assert.throws(() => damage(-5, 6), /3 headers do not fit/)
  assert.throws(() => damage(-5, 0), /a record has 4 bytes left over/)
})

test('headers are decoded up to a count and a size, and the others come back undecoded', () => {
  const headers = Array.from({ length: 50 }, (_, i) => ({ key: `k${i % 10}`, value: 'v' }))
  const batch = viewBatch(encodeBatch([{ value: 'x', headers }, { value: 'y' }]))
  const read = (count: number, bytes: number) => {
    const walk = new RecordWalk(batch, payloadOf(batch))
    walk.next()
    const { headers, headerCount, undecodedHeaders } = walk.read({ count, bytes })
    assert.equal(headerCount, 50)
    assert.ok(walk.next())
    assert.equal(String(walk.read(ALL).value), 'y')
    return [headers.length, undecodedHeaders?.length ?? null]
  }
  // Each header has two lengths of a byte, a key of two bytes and a value of one.
  assert.deepEqual(read(50, 250), [50, null])
  assert.deepEqual(read(49, 250), [49, 5])
  assert.deepEqual(read(50, 249), [49, 5])
  assert.deepEqual(read(3, 12), [2, 240])
  assert.deepEqual(read(0, 0), [0, 250])
})

test('a record of 30,000 headers and a batch of 30,000 small records are accepted', async () => {
  const headers = Array.from({ length: 30_000 }, () => ({ key: '', value: null }))
  const wide = checkBatches(encodeBatch([{ headers }]))
  assert.ok(wide instanceof BatchView)
  assert.equal((await readRecords(wide.bytes))[0]!.headers.length, 30_000)
  const long = checkBatches(
    encodeBatch(
      Array.from({ length: 30_000 }, () => ({ value: 'x' })),
      { compression: 'zstd' },
    ),
  )
  assert.ok(long instanceof BatchView, nameOf(long))
  assert.equal((await readRecords(long.bytes)).length, 30_000)
})

test('lengths of one, two and three bytes are read, and cut ones are refused', async () => {
  const sizes = [0, 63, 64, 65, 8_191, 8_192, 8_193]
  const batch = viewBatch(encodeBatch(sizes.map(size => ({ key: Buffer.alloc(size), value: Buffer.alloc(size) }))))
  const read = await readRecords(batch.bytes)
  assert.deepEqual(
    read.map(({ key, value }) => [key!.length, value!.length]),
    sizes.map(size => [size, size]),
  )
  // The end of the batch cuts the length of the second record, which has two bytes.
  const one = viewBatch(encodeBatch([{ value: Buffer.alloc(20) }, { value: Buffer.alloc(64) }]))
  const payload = payloadOf(one)
  const walk = new RecordWalk(one, payload.subarray(0, 27 + 1))
  assert.ok(walk.next())
  assert.throws(() => walk.next(), /record length: the bytes end too early/)
})
