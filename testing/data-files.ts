// Record batches of every form, and data files of them in memory, for the tests of tier/columns. Batches are written
// by hand here, so that they can have what no client of ours writes: numbers in too many bytes, gaps, timestamps of 64
// bits, and header keys that are not UTF-8.

import { crc32c } from '../src/base/crc32c.ts'
import { type Codec, codecs, compressSync } from '../src/protocol/compression.ts'
import { BATCH_HEADER_BYTES, CRC_AT, CRC_FROM, LENGTH_OVERHEAD } from '../src/protocol/records.ts'
import type { DataFileFacts, SegmentStart } from '../src/tier/columns/data-file.ts'
import { type EncodeOptions, FileEncoder } from '../src/tier/columns/encode.ts'
import { type DataFile, openDataFile } from '../src/tier/columns/open-file.ts'
import { readGroup } from '../src/tier/columns/read.ts'
import type { RestoredBatch } from '../src/tier/columns/restore.ts'

export interface CraftedRecord {
  /** By default the record's place in the batch. */
  readonly offsetDelta?: number
  readonly timestampDelta?: bigint
  readonly key?: Uint8Array | null
  readonly value?: Uint8Array | null
  readonly headers?: readonly (readonly [key: Uint8Array, value: Uint8Array | null])[]
  /** Writes every number in one byte more than it needs. */
  readonly isPadded?: boolean
}

export interface CraftedBatch {
  readonly records: readonly CraftedRecord[]
  readonly baseOffset?: number
  /** By default that of the last record. */
  readonly lastOffsetDelta?: number
  readonly leaderEpoch?: number
  readonly codec?: Codec
  readonly baseTimestamp?: bigint
  /** By default the largest of the records. */
  readonly maxTimestamp?: bigint
  readonly isAppendTime?: boolean
  readonly isTransactional?: boolean
  readonly isControl?: boolean
  readonly producerId?: bigint
  readonly producerEpoch?: number
  readonly baseSequence?: number
}

export function craftBatch(batch: CraftedBatch): Buffer {
  const { records, baseTimestamp = 1_700_000_000_000n, codec = 'none' } = batch
  const payload = compressSync(codec, Buffer.concat(records.map(recordBytes)))
  const bytes = Buffer.alloc(BATCH_HEADER_BYTES + payload.length)
  bytes.writeBigInt64BE(BigInt(batch.baseOffset ?? 0), 0)
  bytes.writeInt32BE(bytes.length - LENGTH_OVERHEAD, 8)
  bytes.writeInt32BE(batch.leaderEpoch ?? 0, 12)
  bytes[16] = 2
  const flags = (batch.isAppendTime ? 0x08 : 0) | (batch.isTransactional ? 0x10 : 0) | (batch.isControl ? 0x20 : 0)
  bytes.writeInt16BE(codecs.indexOf(codec) | flags, CRC_FROM)
  const last = records.at(-1)?.offsetDelta ?? records.length - 1
  bytes.writeInt32BE(batch.lastOffsetDelta ?? last, 23)
  bytes.writeBigInt64BE(baseTimestamp, 27)
  const times = records.map(({ timestampDelta = 0n }) => baseTimestamp + timestampDelta)
  const most = times.reduce((a, b) => (a > b ? a : b), times[0] ?? -1n)
  bytes.writeBigInt64BE(batch.maxTimestamp ?? most, 35)
  bytes.writeBigInt64BE(batch.producerId ?? -1n, 43)
  bytes.writeInt16BE(batch.producerEpoch ?? -1, 51)
  bytes.writeInt32BE(batch.baseSequence ?? -1, 53)
  bytes.writeInt32BE(records.length, 57)
  bytes.set(payload, BATCH_HEADER_BYTES)
  bytes.writeUInt32BE(crc32c(bytes.subarray(CRC_FROM)), CRC_AT)
  return bytes
}

function recordBytes(record: CraftedRecord, place: number): Buffer {
  const { isPadded = false } = record
  const number = (value: number | bigint) => varint(BigInt(value), isPadded)
  const sized = (bytes: Uint8Array | null | undefined) =>
    bytes == null ? number(-1) : Buffer.concat([number(bytes.length), bytes])
  const headers = record.headers ?? []
  const body = Buffer.concat([
    Buffer.of(0),
    number(record.timestampDelta ?? 0n),
    number(record.offsetDelta ?? place),
    sized(record.key),
    sized(record.value),
    number(headers.length),
    ...headers.flatMap(([key, value]) => [sized(key), sized(value)]),
  ])
  return Buffer.concat([number(body.length), body])
}

function varint(value: bigint, isPadded: boolean): Buffer {
  const bytes: number[] = []
  let raw = BigInt.asUintN(64, (value << 1n) ^ (value >> 63n))
  for (; raw >= 0x80n; raw >>= 7n) bytes.push(Number(raw & 0x7fn) | 0x80)
  bytes.push(Number(raw))
  if (isPadded) {
    bytes[bytes.length - 1]! |= 0x80
    bytes.push(0)
  }
  return Buffer.from(bytes)
}

export interface EncodedFile {
  readonly bytes: Buffer
  readonly facts: DataFileFacts
}

export const INGESTED_AT = Date.UTC(2026, 1, 3, 4, 5, 6)

/** Encodes batches as one segment that ends with the last of them, or as these segments. */
export function encodeFile(
  batches: readonly Uint8Array[],
  options: Partial<EncodeOptions> = {},
  segment: Partial<SegmentStart> = {},
): EncodedFile {
  const encoder = new FileEncoder({ partition: 3, rowGroupBytes: 128e6, batchBytes: 'when-needed', ...options })
  const parts: Uint8Array[] = []
  encoder.begin({ base: 0, next: Number.MAX_SAFE_INTEGER, ingestedAt: INGESTED_AT, ...segment })
  for (const batch of batches) {
    encoder.add(batch)
    parts.push(...encoder.take())
  }
  const facts = encoder.finish()
  parts.push(...encoder.take())
  return { bytes: Buffer.concat(parts), facts }
}

/** A file in memory that counts what is read of it. */
export interface CountedFile {
  readonly file: DataFile
  requests: number
  readBytes: number
}

export async function openBytes(bytes: Buffer): Promise<CountedFile> {
  const counted = { requests: 0, readBytes: 0 }
  const read = async (start: number, end: number) => {
    counted.requests++
    counted.readBytes += end - start
    return Uint8Array.from(bytes.subarray(start, end))
  }
  return Object.assign(counted, { file: await openDataFile(read, bytes.length) })
}

/** Restores every batch of a file. */
export async function readFile({ file }: CountedFile): Promise<RestoredBatch[]> {
  const all: RestoredBatch[] = []
  for (const group of file.groups) all.push(...(await readGroup(file, group)))
  return all
}

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
export function manyBatches(count: number): Buffer[] {
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
