// Record batches of magic 2 (KIP-98). The broker keeps the bytes of a batch as they arrived: it checks the header and
// the checksum, writes offset and epoch in place, and sends the same bytes to consumers. It decodes the records only
// for code that needs them. All numbers are big-endian; the checksum does not cover the bytes before it.
//
//    0  baseOffset int64          21  attributes int16       43  producerId int64
//    8  batchLength int32         23  lastOffsetDelta int32  51  producerEpoch int16
//   12  leaderEpoch int32         27  baseTimestamp int64    53  baseSequence int32
//   16  magic int8 = 2            35  maxTimestamp int64     57  recordCount int32
//   17  crc uint32, of 21 to the end                         61  records, compressed as a whole
//
//   batchLength counts from byte 12 on.
//   attributes: bits 0-2 codec, 3 timestamp type (1: log append time), 4 transactional, 5 control, 6 delete horizon
//   record: length varint | attributes int8 = 0 | timestampDelta varlong | offsetDelta varint | key | value |
//           header count varint | (key, value)*    with key and value as varint length (-1: null) and bytes

import { assert } from '../base/assert.ts'
import { crc32c } from '../base/crc32c.ts'
import { readInt64, writeInt64 } from '../base/int64.ts'
import { type Codec, codecs, compressSync, decompress, NotDecompressed } from './compression.ts'
import {
  because,
  CORRUPT_MESSAGE,
  INVALID_PRODUCER_EPOCH,
  INVALID_RECORD,
  INVALID_TIMESTAMP,
  type Refusal,
  UNSUPPORTED_COMPRESSION_TYPE,
} from './errors.ts'

/** Bytes of a batch before its records. */
export const BATCH_HEADER_BYTES = 61

/** Bytes at the start of a batch that batchLength does not count. */
export const LENGTH_OVERHEAD = 12
export const CRC_AT = 17
/** The offset from which the checksum covers the bytes; the attributes are there. */
export const CRC_FROM = 21

export const CODEC_MASK = 0x07
const LOG_APPEND_TIME_BIT = 0x08
const TRANSACTIONAL_BIT = 0x10
const CONTROL_BIT = 0x20
/** Set by log compaction (KIP-534): baseTimestamp is the time from which on the tombstones of the batch may go. */
const DELETE_HORIZON_BIT = 0x40

/**
 * The size of the smallest record: length, attributes, timestampDelta, offsetDelta, key length, value length and
 * header count of one byte each.
 */
const SMALLEST_RECORD_BYTES = 7

/**
 * The most bytes that one compressed byte can become, by codec number. For zstd it is a block of 128 KiB in four
 * bytes.
 */
const LARGEST_EXPANSION: readonly number[] = [1, 1032, 64, 256, 1 << 15]

/** The first version of Produce that may carry zstd (KIP-110). */
const ZSTD_PRODUCE_VERSION = 7

/** The fields of a batch header. Each is read from the bytes when it is requested. */
export class BatchView {
  readonly bytes: Buffer

  /** `bytes` are exactly one batch. */
  constructor(bytes: Uint8Array) {
    this.bytes = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  get baseOffset(): number {
    return readInt64(this.bytes, 0)
  }
  /** The size of the whole batch in bytes, with the bytes before batchLength. */
  get batchLength(): number {
    return this.bytes.readInt32BE(8) + LENGTH_OVERHEAD
  }
  get leaderEpoch(): number {
    return this.bytes.readInt32BE(12)
  }
  get crc(): number {
    return this.bytes.readUInt32BE(CRC_AT)
  }
  /** Whether the checksum matches the bytes that it covers. */
  get isIntact(): boolean {
    return crc32c(this.bytes.subarray(CRC_FROM)) === this.crc
  }
  get attributes(): number {
    return this.bytes.readInt16BE(CRC_FROM)
  }
  get compression(): Codec {
    return codecs[this.attributes & CODEC_MASK] ?? 'none'
  }
  get timestampType(): 'CreateTime' | 'LogAppendTime' {
    return this.attributes & LOG_APPEND_TIME_BIT ? 'LogAppendTime' : 'CreateTime'
  }
  get isTransactional(): boolean {
    return (this.attributes & TRANSACTIONAL_BIT) !== 0
  }
  get isControl(): boolean {
    return (this.attributes & CONTROL_BIT) !== 0
  }
  /** The time in ms since 1970 from which on the tombstones of the batch may go; null until a cleaning has set it. */
  get deleteHorizonMs(): number | null {
    return this.attributes & DELETE_HORIZON_BIT ? this.baseTimestamp : null
  }
  get lastOffsetDelta(): number {
    return this.bytes.readInt32BE(23)
  }
  get lastOffset(): number {
    return this.baseOffset + this.lastOffsetDelta
  }
  get baseTimestamp(): number {
    return readInt64(this.bytes, 27)
  }
  get maxTimestamp(): number {
    return readInt64(this.bytes, 35)
  }
  /** -1 if the batch has no producer id. */
  get producerId(): number {
    return readInt64(this.bytes, 43)
  }
  get producerEpoch(): number {
    return this.bytes.readInt16BE(51)
  }
  get baseSequence(): number {
    return this.bytes.readInt32BE(53)
  }
  get recordCount(): number {
    return this.bytes.readInt32BE(57)
  }
}

/** Returns a view of bytes that are exactly one batch, such as the store returns. Nothing is checked. */
export function viewBatch(bytes: Uint8Array): BatchView {
  return new BatchView(bytes)
}

/**
 * Checks the records of one partition of a Produce request: exactly one batch of magic 2, whole, with a correct
 * checksum and a count that fits. It does not decompress records; of uncompressed ones it reads only the lengths. The
 * codes are those of Kafka's ProduceRequest#validateRecords and LogValidator, but a batch of timestamp type
 * LogAppendTime is always INVALID_TIMESTAMP. It ignores baseOffset and leaderEpoch, because the log assigns them.
 */
export function checkBatches(bytes: Uint8Array | null, produceVersion = ZSTD_PRODUCE_VERSION): BatchView | Refusal {
  if (bytes === null || bytes.length === 0) return because(INVALID_RECORD, 'There is no record batch.')
  if (bytes.length < CRC_FROM)
    return because(INVALID_RECORD, `A record batch has at least ${BATCH_HEADER_BYTES} bytes, got ${bytes.length}.`)
  const batch = viewBatch(bytes)
  const magic = batch.bytes.readInt8(16)
  if (magic !== 2) return because(INVALID_RECORD, `A record batch must have magic 2, got ${magic}.`)
  if (bytes.length < BATCH_HEADER_BYTES)
    return because(INVALID_RECORD, `A record batch has at least ${BATCH_HEADER_BYTES} bytes, got ${bytes.length}.`)
  if (batch.batchLength !== bytes.length)
    return because(
      INVALID_RECORD,
      `There must be one record batch of ${bytes.length} bytes, it says ${batch.batchLength}.`,
    )
  if (!batch.isIntact) return because(CORRUPT_MESSAGE, 'The checksum of the record batch is wrong.')
  return checkAttributes(batch, produceVersion) ?? checkProducer(batch) ?? checkCount(batch) ?? batch
}

function checkAttributes(batch: BatchView, produceVersion: number): Refusal | null {
  const codec = batch.attributes & CODEC_MASK
  if (codec >= codecs.length) return because(UNSUPPORTED_COMPRESSION_TYPE, `The compression type ${codec} is unknown.`)
  if (codecs[codec] === 'zstd' && produceVersion < ZSTD_PRODUCE_VERSION)
    return because(UNSUPPORTED_COMPRESSION_TYPE, `Produce must have version ${ZSTD_PRODUCE_VERSION} or later for zstd.`)
  if (batch.isControl) return because(INVALID_RECORD, 'Clients must not write control records.')
  if (batch.deleteHorizonMs !== null)
    return because(INVALID_RECORD, 'Clients must not set the delete horizon: the cleaner of the broker sets it.')
  if (batch.timestampType === 'LogAppendTime')
    return because(INVALID_TIMESTAMP, 'Producers must not set the timestamp type to log append time.')
  return null
}

function checkProducer(batch: BatchView): Refusal | null {
  const { producerId } = batch
  if (producerId === -1)
    return batch.isTransactional ? because(INVALID_RECORD, 'A transactional batch needs a producer id.') : null
  // The broker hands out ids by counting up. Two ids beyond 2^53 would be read as the same number, and the broker
  // would drop batches of one producer as duplicates of the other's.
  if (producerId < -1 || !Number.isSafeInteger(producerId))
    return because(INVALID_RECORD, `The producer id ${producerId} is not valid.`)
  if (batch.producerEpoch < 0)
    return because(INVALID_PRODUCER_EPOCH, `The producer epoch ${batch.producerEpoch} is below 0.`)
  if (batch.baseSequence < 0)
    return because(INVALID_RECORD, `With a producer id the sequence must not be below 0, got ${batch.baseSequence}.`)
  return null
}

function checkCount(batch: BatchView): Refusal | null {
  const { recordCount: count, bytes } = batch
  if (count <= 0) return because(INVALID_RECORD, `A record batch must have records, it says ${count}.`)
  if (batch.lastOffsetDelta !== count - 1)
    return because(
      INVALID_RECORD,
      `The last offset delta of ${count} records must be ${count - 1}, got ${batch.lastOffsetDelta}.`,
    )
  const codec = batch.attributes & CODEC_MASK
  const payload = bytes.length - BATCH_HEADER_BYTES
  const fits =
    codec === 0 ? hasRecords(bytes, count) : count * SMALLEST_RECORD_BYTES <= payload * LARGEST_EXPANSION[codec]!
  return fits ? null : because(INVALID_RECORD, `The bytes of the batch are not those of ${count} records.`)
}

/** Returns whether exactly count records fill the rest of an uncompressed batch, judged by their lengths. */
function hasRecords(bytes: Buffer, count: number): boolean {
  const end = bytes.length
  let at = BATCH_HEADER_BYTES
  for (let i = 0; i < count; i++) {
    // A zigzag varint of at most five bytes; an odd first byte is a negative length.
    let shift = 0
    let raw = 0
    for (;;) {
      if (at >= end || shift > 28) return false
      const byte = bytes[at++]!
      raw |= (byte & 0x7f) << shift
      if (byte < 0x80) break
      shift += 7
    }
    const length = raw >>> 1
    if ((raw & 1) !== 0 || length < SMALLEST_RECORD_BYTES - 1 || length > end - at) return false
    at += length
  }
  return at === end
}

/** Writes base offset and leader epoch, which the log decides, into the batch. The checksum does not cover them. */
export function stamp(bytes: Buffer, baseOffset: number, leaderEpoch: number): void {
  writeInt64(bytes, 0, baseOffset)
  bytes.writeInt32BE(leaderEpoch, 12)
}

/** Makes ms (since 1970) the timestamp of every record of the batch, in place. */
export function stampAppendTime(bytes: Buffer, ms: number): void {
  bytes.writeInt16BE(bytes.readInt16BE(21) | LOG_APPEND_TIME_BIT, 21)
  writeInt64(bytes, 35, ms)
  bytes.writeUInt32BE(crc32c(bytes.subarray(CRC_FROM)), CRC_AT)
}

// ----------------------------------------------------------------------------------------------------------- reading

/** Thrown if bytes are not batches or records, or decompress to more than is allowed. */
export class InvalidRecords extends Error {
  override readonly name = 'InvalidRecords'
}

export interface RecordHeader {
  readonly key: string
  readonly value: Buffer | null
}

export interface DecodedRecord {
  readonly offset: number
  /** Ms since 1970; -1: no timestamp. */
  readonly timestamp: number
  /** Key and value are views of the batch, or of its decompressed bytes. */
  readonly key: Buffer | null
  readonly value: Buffer | null
  /** The first headers, which were decoded. */
  readonly headers: readonly RecordHeader[]
  /** The number of headers that the record says it has. */
  readonly headerCount: number
  /** The undecoded bytes of the other headers; null if all were decoded. */
  readonly undecodedHeaders: Buffer | null
}

/**
 * Limits for the decoded headers of one record. Each decoded header is an object, and a batch of a few hundred bytes
 * can have millions.
 */
export interface HeaderLimits {
  readonly count: number
  readonly bytes: number
}

const ALL_HEADERS: HeaderLimits = { count: Number.POSITIVE_INFINITY, bytes: Number.POSITIVE_INFINITY }

/** The most bytes of the decompressed records of one batch, by default. */
export const MAX_UNPACKED_BYTES = 64 * 1024 * 1024

/**
 * Splits bytes, such as those of a fetched partition, into whole batches. It leaves out a last one that is cut, as
 * clients do.
 */
export function splitBatches(bytes: Uint8Array): BatchView[] {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const batches: BatchView[] = []
  for (let at = 0; buffer.length - at >= BATCH_HEADER_BYTES; ) {
    const length = buffer.readInt32BE(at + 8) + LENGTH_OVERHEAD
    if (length < BATCH_HEADER_BYTES) throw new InvalidRecords(`a batch says that it has ${length} bytes`)
    if (length > buffer.length - at) break
    batches.push(viewBatch(buffer.subarray(at, at + length)))
    at += length
  }
  return batches
}

/**
 * Returns every record of one batch with all its parts, for tests and tools: the batch decides how much work and
 * memory that takes. The broker reads batches through log/unpacking.ts. Throws InvalidRecords.
 */
export async function readRecords(bytes: Uint8Array, maxBytes = MAX_UNPACKED_BYTES): Promise<DecodedRecord[]> {
  const batch = viewBatch(bytes)
  const codec = codecOf(batch)
  const unpacked = await decompress(codec, payloadOf(batch), maxBytes).catch(asInvalid)
  const records: DecodedRecord[] = []
  for (const walk = new RecordWalk(batch, unpacked); walk.next(); ) records.push(walk.read(ALL_HEADERS))
  return records
}

/** Returns the codec of a batch. Throws InvalidRecords if the bytes are not one batch of magic 2 with a known codec. */
export function codecOf({ bytes, batchLength, attributes }: BatchView): Codec {
  if (bytes.length < BATCH_HEADER_BYTES || batchLength !== bytes.length)
    throw new InvalidRecords(`${bytes.length} bytes are not one batch`)
  if (bytes[16] !== 2) throw new InvalidRecords(`magic must be 2, got ${bytes[16]}`)
  const codec = codecs[attributes & CODEC_MASK]
  if (codec === undefined) throw new InvalidRecords(`the compression type ${attributes & CODEC_MASK} is unknown`)
  return codec
}

/** Returns the records as they are in the batch, compressed or not. */
export function payloadOf({ bytes }: BatchView): Buffer {
  return bytes.subarray(BATCH_HEADER_BYTES)
}

/** Throws InvalidRecords for a failed decompression, and any other error as it is. */
export function asInvalid(error: unknown): never {
  if (error instanceof NotDecompressed) throw new InvalidRecords(error.message, { cause: error })
  throw error
}

/**
 * Walks from record to record of a batch. A step reads only length, timestamp and offset of a record, so it is little
 * work for any record; read() decodes the rest. All methods throw InvalidRecords, and the walk is at its end then.
 */
export class RecordWalk {
  /** The offset of the current record. */
  offset = -1
  /** Ms since 1970; -1 if the record has no timestamp. */
  timestamp = -1
  /** Where the current record begins in the payload, with its length. */
  from = 0
  /** Where the key of the current record begins, with its length. */
  keyAt = 0
  /** Where the bytes of the key begin and end in the payload, after hasKey() has returned true. */
  keyFrom = 0
  keyEnd = 0
  /** Where the bytes of the value begin and end, after hasValue() has returned true. */
  valueFrom = 0
  valueEnd = 0
  /** Where the key of the current header begins and ends, after nextHeader() has returned true. */
  headerKeyFrom = 0
  headerKeyEnd = 0
  /** The same for its value; both are -1 if it is null. */
  headerFrom = 0
  headerEnd = 0
  readonly #payload: Buffer
  readonly #baseOffset: number
  readonly #baseTimestamp: number
  readonly #lastOffsetDelta: number
  readonly #appendTime: number | null
  #left: number
  /** The headers of the current record that nextHeader() has not reached; -1 if it has not read how many there are. */
  #headersLeft = -1
  #lastDelta = -1
  #at = 0
  /** The end of the current record, once its length is known. */
  #end: number

  /** `payload` is the decompressed records of the batch. */
  constructor(batch: BatchView, payload: Buffer) {
    const { recordCount } = batch
    if (recordCount < 0 || recordCount * SMALLEST_RECORD_BYTES > payload.length)
      throw new InvalidRecords(`${recordCount} records do not fit ${payload.length} bytes`)
    this.#payload = payload
    this.#left = recordCount
    this.#end = 0
    this.#baseOffset = batch.baseOffset
    this.#baseTimestamp = batch.baseTimestamp
    this.#lastOffsetDelta = batch.lastOffsetDelta
    this.#appendTime = batch.timestampType === 'LogAppendTime' ? batch.maxTimestamp : null
  }

  /** Goes to the next record, or to the first; false after the last. */
  next(): boolean {
    const payload = this.#payload
    this.#at = this.#end
    this.#end = payload.length
    if (this.#left === 0) {
      if (this.#at !== this.#end) throw new InvalidRecords(`the batch has ${this.#end - this.#at} bytes left over`)
      return false
    }
    this.#left--
    this.from = this.#at
    const length = this.#varint('record length')
    if (length < 0 || length > payload.length - this.#at)
      throw new InvalidRecords(`a record of ${length} bytes does not fit`)
    this.#end = this.#at + length
    if (length < 1) throw new InvalidRecords('the bytes of a record end too early')
    if (payload[this.#at++] !== 0) throw new InvalidRecords('the attributes of a record must be 0')
    const timestamp = this.#baseTimestamp + this.#varint('timestamp delta', 10)
    if (Math.abs(timestamp) >= 2 ** 63) throw new InvalidRecords('the timestamp of a record is out of range')
    const delta = this.#varint('offset delta')
    if (delta <= this.#lastDelta || delta > this.#lastOffsetDelta)
      throw new InvalidRecords(
        `the offset delta ${delta} does not follow ${this.#lastDelta} up to ${this.#lastOffsetDelta}`,
      )
    this.#lastDelta = delta
    this.offset = this.#baseOffset + delta
    this.timestamp = this.#appendTime ?? timestamp
    this.keyAt = this.#at
    this.#headersLeft = -1
    return true
  }

  /** The bytes into which all positions point: the decompressed records of the batch. */
  get payload(): Buffer {
    return this.#payload
  }

  /** Where the current record ends in the payload. */
  get end(): number {
    return this.#end
  }

  /** Returns the key of the current record alone. Call it instead of read(), at most once for each record. */
  key(): Buffer | null {
    return this.#slice('key')
  }

  /** Returns whether the current record has a key. Call it instead of key(), where the bytes may not be needed. */
  hasKey(): boolean {
    const length = this.#length('key')
    this.keyEnd = this.#at
    this.keyFrom = this.#at - length
    return length >= 0
  }

  /** Returns whether the current record has a value. Call it after key() or hasKey(). */
  hasValue(): boolean {
    const length = this.#length('value')
    this.valueEnd = this.#at
    this.valueFrom = this.#at - length
    return length >= 0
  }

  /**
   * Goes to the next header of the current record, or to its first; false after the last. Call it after hasValue(), and
   * to the end: only then is it known that the record is whole. A record can have millions of headers.
   */
  nextHeader(): boolean {
    if (this.#headersLeft < 0) this.#headersLeft = this.#headerCount()
    if (this.#headersLeft === 0) {
      this.#mustBeWhole()
      return false
    }
    this.#headersLeft--
    const keyLength = this.#length('header key')
    if (keyLength < 0) throw new InvalidRecords('a header key must not be null')
    this.headerKeyEnd = this.#at
    this.headerKeyFrom = this.#at - keyLength
    const length = this.#length('header value')
    this.headerEnd = length < 0 ? -1 : this.#at
    this.headerFrom = length < 0 ? -1 : this.#at - length
    return true
  }

  /** Decodes the current record. Call it at most once for each. */
  read(limits: HeaderLimits): DecodedRecord {
    const { offset, timestamp } = this
    const key = this.#slice('key')
    const value = this.#slice('value')
    const headerCount = this.#headerCount()
    const headers: RecordHeader[] = []
    const from = this.#at
    let undecodedHeaders: Buffer | null = null
    while (headers.length < headerCount) {
      const before = this.#at
      if (headers.length < limits.count) {
        const key = this.#slice('header key')
        if (key === null) throw new InvalidRecords('a header key must not be null')
        const value = this.#slice('header value')
        if (this.#at - from <= limits.bytes) {
          headers.push({ key: key.toString(), value })
          continue
        }
      }
      undecodedHeaders = this.#payload.subarray(before, this.#end)
      break
    }
    if (undecodedHeaders === null) this.#mustBeWhole()
    return { offset, timestamp, key, value, headers, headerCount, undecodedHeaders }
  }

  #headerCount(): number {
    const count = this.#varint('header count')
    if (count < 0 || count * 2 > this.#end - this.#at) throw new InvalidRecords(`${count} headers do not fit`)
    return count
  }

  #mustBeWhole(): void {
    if (this.#at !== this.#end) throw new InvalidRecords(`a record has ${this.#end - this.#at} bytes left over`)
  }

  /** Reads a zigzag number. Beyond 2^53 it is the nearest number. */
  #varint(what: string, maxBytes = 5): number {
    const payload = this.#payload
    const end = this.#end
    const at = this.#at
    if (at < end) {
      // Most numbers have one byte or two.
      const byte = payload[at]!
      if (byte < 0x80) {
        this.#at = at + 1
        return byte & 1 ? -(byte >> 1) - 1 : byte >> 1
      }
      const second = at + 1 < end ? payload[at + 1]! : 0x80
      if (second < 0x80) {
        this.#at = at + 2
        const magnitude = ((byte & 0x7f) >> 1) | (second << 6)
        return byte & 1 ? -magnitude - 1 : magnitude
      }
    }
    let magnitude = 0
    let negative = false
    for (let i = 0; i < maxBytes; i++) {
      if (this.#at >= end) throw new InvalidRecords(`${what}: the bytes end too early`)
      const byte = payload[this.#at++]!
      if (i === 0) {
        negative = (byte & 1) !== 0
        magnitude = (byte & 0x7f) >> 1
      } else magnitude += (byte & 0x7f) * 2 ** (7 * i - 1)
      if (byte < 0x80) return negative ? -magnitude - 1 : magnitude
    }
    throw new InvalidRecords(`${what}: more than ${maxBytes} bytes`)
  }

  /** Reads a length and goes behind the bytes that have it. Returns -1 for null. */
  #length(what: string): number {
    const length = this.#varint(what)
    if (length < -1 || length > this.#end - this.#at) throw new InvalidRecords(`${what}: ${length} bytes do not fit`)
    if (length > 0) this.#at += length
    return length
  }

  #slice(what: string): Buffer | null {
    const length = this.#length(what)
    return length === -1 ? null : this.#payload.subarray(this.#at - length, this.#at)
  }
}

// ----------------------------------------------------------------------------------------------------------- writing

/** The parts of a batch in which the result of a cleaning differs from the batch. */
export interface Rest {
  /** The records that stay, before compression. */
  readonly payload: Buffer
  readonly recordCount: number
  readonly baseTimestamp: number
  readonly maxTimestamp: number
  readonly deleteHorizonMs: number | null
}

/** Returns the batch with these records instead of its own. Without records it has no codec, as in Apache Kafka. */
export function rebuildBatch(batch: BatchView, rest: Rest): Buffer {
  const { payload, recordCount, baseTimestamp, maxTimestamp, deleteHorizonMs } = rest
  const packed = recordCount === 0 ? payload : compressSync(batch.compression, payload)
  const bytes = Buffer.allocUnsafeSlow(BATCH_HEADER_BYTES + packed.length)
  batch.bytes.copy(bytes, 0, 0, BATCH_HEADER_BYTES)
  bytes.writeInt32BE(bytes.length - LENGTH_OVERHEAD, 8)
  const kept = batch.attributes & ~(DELETE_HORIZON_BIT | (recordCount === 0 ? CODEC_MASK : 0))
  bytes.writeInt16BE(kept | (deleteHorizonMs === null ? 0 : DELETE_HORIZON_BIT), CRC_FROM)
  // A timestamp beyond 2^53 is only the nearest number here, so one that does not change stays as it is.
  if (baseTimestamp !== batch.baseTimestamp) writeInt64(bytes, 27, baseTimestamp)
  if (maxTimestamp !== batch.maxTimestamp) writeInt64(bytes, 35, maxTimestamp)
  bytes.writeInt32BE(recordCount, 57)
  bytes.set(packed, BATCH_HEADER_BYTES)
  bytes.writeUInt32BE(crc32c(bytes.subarray(CRC_FROM)), CRC_AT)
  return bytes
}

export interface NewRecord {
  readonly key?: string | Uint8Array | null
  readonly value?: string | Uint8Array | null
  /** Ms since 1970. The default is -1, Kafka's value for no timestamp. */
  readonly timestamp?: number
  readonly headers?: readonly { readonly key: string; readonly value: string | Uint8Array | null }[]
}

export interface BatchOptions {
  readonly compression?: Codec
  readonly baseOffset?: number
  readonly leaderEpoch?: number
  readonly producerId?: number
  readonly producerEpoch?: number
  readonly baseSequence?: number
  readonly isTransactional?: boolean
  readonly isControl?: boolean
}

/** Returns one batch of these records, as a producer sends it. There must be at least one. */
export function encodeBatch(records: readonly NewRecord[], options: BatchOptions = {}): Buffer {
  assert(records.length > 0, 'a batch must have records')
  const baseTimestamp = records[0]!.timestamp ?? -1
  const stamps = records.map(record => record.timestamp ?? -1)
  const plain = encodeRecords(
    records,
    stamps.map(stamp => stamp - baseTimestamp),
  )
  const compression = options.compression ?? 'none'
  const payload = compression === 'none' ? plain : compressSync(compression, plain)

  const bytes = Buffer.alloc(BATCH_HEADER_BYTES + payload.length)
  bytes.writeInt32BE(bytes.length - LENGTH_OVERHEAD, 8)
  stamp(bytes, options.baseOffset ?? 0, options.leaderEpoch ?? -1)
  bytes[16] = 2
  const flags = (options.isTransactional ? TRANSACTIONAL_BIT : 0) | (options.isControl ? CONTROL_BIT : 0)
  bytes.writeInt16BE(codecs.indexOf(compression) | flags, 21)
  bytes.writeInt32BE(records.length - 1, 23)
  writeInt64(bytes, 27, baseTimestamp)
  writeInt64(
    bytes,
    35,
    stamps.reduce((a, b) => Math.max(a, b)),
  )
  writeInt64(bytes, 43, options.producerId ?? -1)
  bytes.writeInt16BE(options.producerEpoch ?? -1, 51)
  bytes.writeInt32BE(options.baseSequence ?? -1, 53)
  bytes.writeInt32BE(records.length, 57)
  payload.copy(bytes, BATCH_HEADER_BYTES)
  bytes.writeUInt32BE(crc32c(bytes.subarray(CRC_FROM)), CRC_AT)
  return bytes
}

/**
 * Returns a batch without records, such as the log cleaner of Apache Kafka leaves behind; consumers continue after
 * it. It covers the offsets from `from` to below `to`, or the most that one batch can.
 */
export function encodeEmptyBatch(from: number, to: number, leaderEpoch: number): Buffer {
  const bytes = Buffer.alloc(BATCH_HEADER_BYTES)
  bytes.writeInt32BE(bytes.length - LENGTH_OVERHEAD, 8)
  stamp(bytes, from, leaderEpoch)
  bytes[16] = 2
  bytes.writeInt32BE(Math.min(to - from - 1, 0x7fffffff), 23)
  // Timestamps, producer id, its epoch and sequence: -1 says that the batch has none of them.
  bytes.fill(0xff, 27, 57)
  bytes.writeUInt32BE(crc32c(bytes.subarray(CRC_FROM)), CRC_AT)
  return bytes
}

/**
 * Returns the bytes of records before compression. The first pass computes the parts and their sizes, the second
 * writes them.
 */
function encodeRecords(records: readonly NewRecord[], timestampDeltas: readonly number[]): Buffer {
  const bodies = records.map((record, i) => {
    const headers = record.headers ?? []
    const parts: (number | Buffer)[] = [timestampDeltas[i]!, i, ...sized(record.key), ...sized(record.value)]
    parts.push(headers.length)
    for (const header of headers) parts.push(...sized(header.key), ...sized(header.value))
    const size = parts.reduce<number>(
      (sum, part) => sum + (typeof part === 'number' ? zigzagSize(part) : part.length),
      1,
    )
    return { parts, size }
  })
  const bytes = Buffer.allocUnsafe(bodies.reduce((sum, { size }) => sum + zigzagSize(size) + size, 0))
  let at = 0
  for (const { parts, size } of bodies) {
    at = putZigzag(bytes, at, size)
    bytes[at++] = 0
    for (const part of parts) at = typeof part === 'number' ? putZigzag(bytes, at, part) : at + part.copy(bytes, at)
  }
  return bytes
}

/** Returns the length, then the bytes. */
function sized(value: string | Uint8Array | null | undefined): (number | Buffer)[] {
  if (value === null || value === undefined) return [-1]
  const bytes =
    typeof value === 'string' ? Buffer.from(value) : Buffer.from(value.buffer, value.byteOffset, value.length)
  return [bytes.length, bytes]
}

function zigzagSize(value: number): number {
  let size = 1
  for (let rest = Math.floor((value < 0 ? -value - 1 : value) / 0x40); rest > 0; rest = Math.floor(rest / 0x80)) size++
  return size
}

/** Writes a zigzag number and returns the offset after it. */
export function putZigzag(bytes: Buffer, at: number, value: number): number {
  const magnitude = value < 0 ? -value - 1 : value
  let p = at
  let low = ((magnitude % 0x40) << 1) | (value < 0 ? 1 : 0)
  for (let rest = Math.floor(magnitude / 0x40); ; rest = Math.floor(rest / 0x80)) {
    if (rest === 0) {
      bytes[p++] = low
      return p
    }
    bytes[p++] = low | 0x80
    low = rest % 0x80
  }
}
