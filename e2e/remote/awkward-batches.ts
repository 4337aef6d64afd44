// Record batches of every form that a broker takes from a producer, written by hand: each codec, nulls, headers that
// are no text, hostile timestamps, batches of one record and of ten megabytes, and bytes that no client can unpack.

import { crc32c } from '../../src/base/crc32c.ts'
import { seededRandom } from '../../src/base/random.ts'
import { type Codec, codecs } from '../../src/protocol/compression.ts'
import { BATCH_HEADER_BYTES, CRC_AT, CRC_FROM } from '../../src/protocol/records.ts'
import { type CraftedBatch, type CraftedRecord, craftBatch } from '../../testing/data-files.ts'

const MILLION = 1_000_000
const START = 1_700_000_000_000n

type Random = ReturnType<typeof seededRandom>

/** Records of every awkward kind, in time order with a few that are late. */
function awkwardRecords(random: Random, count: number): CraftedRecord[] {
  return Array.from({ length: count }, (_, i): CraftedRecord => {
    const headers: (readonly [Buffer, Buffer | null])[] = []
    if (i % 3 === 0) headers.push([Buffer.from('größe'), Buffer.from('ü')])
    if (i % 4 === 0) headers.push([Buffer.alloc(0), null], [Buffer.from('twice'), Buffer.alloc(0)])
    if (i % 5 === 0) headers.push([Buffer.from('twice'), random.bytes(40)])
    return {
      timestampDelta: BigInt(i * 10 - (i % 7 === 6 ? 500 : 0)),
      key: i % 4 === 1 ? null : i % 4 === 2 ? Buffer.alloc(0) : random.bytes(1 + random.below(24)),
      value: i % 6 === 2 ? null : i % 6 === 4 ? Buffer.alloc(0) : Buffer.alloc(random.below(600), `value ${i} `),
      headers,
    }
  })
}

/** The identity of an idempotent producer, as InitProducerId answers. */
export interface Identity {
  readonly producerId: number
  readonly producerEpoch: number
}

/** Batches of all codecs; every other one is the next of the idempotent producer. */
export function batchesOfAllCodecs(seed: number, count: number, { producerId, producerEpoch }: Identity): Buffer[] {
  const random = seededRandom(seed)
  let baseSequence = 0
  return Array.from({ length: count }, (_, i) => {
    const records = awkwardRecords(random, i % 4 === 3 ? 1 : 1 + random.below(40))
    const batch: CraftedBatch = { records, codec: codecOf(i), baseTimestamp: START + BigInt(i) * 700n }
    if (i % 2 === 0) return craftBatch(batch)
    const sent = craftBatch({ ...batch, producerId: BigInt(producerId), producerEpoch, baseSequence })
    baseSequence += records.length
    return sent
  })
}

const codecOf = (place: number): Codec => codecs[place % codecs.length]!

/** Batches with hostile times: none, before 1970, beyond 2^53, of 64 bits, and headers that say other times. */
export function batchesOfAnyTime(seed: number): Buffer[] {
  const random = seededRandom(seed)
  const bases = [-1n, 0n, 1n, START, 2n ** 53n + 1n, 2n ** 62n, -(2n ** 40n), -(2n ** 62n), 253_402_300_800_000n]
  const batches: CraftedBatch[] = bases.flatMap((baseTimestamp, i) => {
    const records = awkwardRecords(random, 6)
    const untimed = records.map(record => ({ ...record, timestampDelta: 0n }))
    return [
      { records, baseTimestamp, codec: codecOf(i) },
      { records: untimed, baseTimestamp },
      { records: untimed.slice(0, 1), baseTimestamp, codec: codecOf(i + 1) },
    ]
  })
  const jumping = awkwardRecords(random, 8).map((record, i) => ({
    ...record,
    timestampDelta: (i % 2 === 0 ? 1n : -1n) * 2n ** BigInt(i * 7),
  }))
  const records = awkwardRecords(random, 5)
  batches.push(
    { records: jumping },
    { records: jumping, codec: 'zstd' },
    { records, baseTimestamp: START + 9_000_000n, maxTimestamp: START },
    { records, baseTimestamp: START + 9_100_000n, maxTimestamp: START + 99_000_000n },
    { records, baseTimestamp: START + 9_200_000n, maxTimestamp: -1n },
    { records, baseTimestamp: START + 9_300_000n, maxTimestamp: -1n, codec: 'gzip' },
    { records, baseTimestamp: START + 9_400_000n },
  )
  return batches.map(craftBatch)
}

/** Batches of about ten megabytes as they arrive: one record, and many, with each codec. */
export function largeBatches(seed: number): Buffer[] {
  const random = seededRandom(seed)
  const noise = noiseOf(random, 10)
  const many = Array.from({ length: 10_000 }, (_, i): CraftedRecord => {
    const at = i * 1_000
    return { timestampDelta: BigInt(i), key: Buffer.from(`k${i}`), value: noise.subarray(at, at + 980) }
  })
  const one: CraftedRecord = { key: Buffer.from('large'), value: noise }
  const batches = codecs.flatMap((codec, i): CraftedBatch[] => [
    i % 2 === 0 ? { records: many, codec } : { records: [one], codec },
  ])
  return [...batches, { records: [one] }, { records: [{ key: noise, value: null }] }].map(craftBatch)
}

/** Batches that unpack to a thousand times their size: below the limit of readers, and beyond it. */
export function swellingBatches(): Buffer[] {
  return [50, 80].map(millions =>
    craftBatch({ records: [{ value: Buffer.alloc(millions * MILLION, 'again ') }], codec: 'zstd' }),
  )
}

/** Batches that no client can read, because the broker does not unpack what it takes. */
export function unreadableBatches(seed: number): Buffer[] {
  const random = seededRandom(seed)
  const packed = craftBatch({ records: awkwardRecords(random, 30), codec: 'gzip' })
  const cut = { records: awkwardRecords(random, 3) }
  const padded = awkwardRecords(random, 12).map(record => ({ ...record, isPadded: true }))
  const foreignKey = [{ headers: [[Buffer.from([0xff, 0xfe]), Buffer.from([0x80])]] as const, value: random.bytes(9) }]
  return [
    craftBatch({ records: padded }),
    craftBatch({ records: padded, codec: 'lz4' }),
    craftBatch({ records: foreignKey }),
    ...codecs
      .slice(1)
      .map(codec => sealedAgain(craftBatch({ ...cut, codec }), bytes => bytes.set(random.bytes(bytes.length)))),
    sealedAgain(packed, bytes => bytes.fill(0x55, bytes.length >> 1)),
    craftBatch(cut),
  ]
}

/** Lets `change` write into the bytes of the records, and gives the batch a checksum that is right. */
function sealedAgain(batch: Buffer, change: (payload: Buffer) => void): Buffer {
  change(batch.subarray(BATCH_HEADER_BYTES))
  batch.writeUInt32BE(crc32c(batch.subarray(CRC_FROM)), CRC_AT)
  return batch
}

/** Bytes that no codec makes smaller. */
function noiseOf(random: Random, millions: number): Buffer {
  const block = random.bytes(MILLION)
  return Buffer.concat(Array.from({ length: millions }, (_, i) => block.map(byte => byte ^ (i * 23))))
}
