// Makes one Parquet file of sealed segments of one partition. Batches come whole and in the order of their offsets.
// Each is checked and decoded, its records go into the columns, and the records are written again from the columns and
// compared with the source. Bytes of the file come out as they are made: a row group when it is closed, then the
// footer. Memory is that of the pages of the open group, compressed, and of one decompressed batch.

import { assert } from '../../base/assert.ts'
import { crc32c } from '../../base/crc32c.ts'
import { NotDecompressed } from '../../protocol/compression.ts'
import {
  BATCH_HEADER_BYTES,
  type BatchView,
  CODEC_MASK,
  CRC_AT,
  CRC_FROM,
  codecOf,
  InvalidRecords,
  LENGTH_OVERHEAD,
  MAX_UNPACKED_BYTES,
  payloadOf,
  viewBatch,
} from '../../protocol/records.ts'
import { discard, unpackSync } from '../../protocol/unpacking.ts'
import { BatchSlices, SliceRecord } from './batch-slices.ts'
import {
  type AbortedTransaction,
  BLOCK_BYTES,
  DAY_MS,
  type DataFileFacts,
  type SegmentFacts,
  type SegmentStart,
} from './data-file.ts'
import { FileWriter } from './file-writer.ts'
import { GroupColumns, rowsOf } from './group-columns.ts'
import { bodySize, putRecord } from './record-form.ts'

/** A batch that cannot be archived. */
export class BadBatch extends Error {
  override readonly name = 'BadBatch'
  /** The base offset that the batch says it has; the expected one if it cannot be read. */
  readonly offset: number

  constructor(offset: number, message: string, options?: ErrorOptions) {
    super(message, options)
    this.offset = offset
  }

  /** `why` is the end of a sentence about the batch. */
  static because(offset: number, why: string, options?: ErrorOptions): BadBatch {
    return new BadBatch(offset, `the batch at offset ${offset} cannot be archived: ${why}`, options)
  }
}

/**
 * When a file keeps the original bytes of a batch. 'when-needed': if the columns cannot restore them. 'never': only if
 * the columns cannot restore its records; the batch is served without compression, with the same records. 'always'.
 */
export type BatchBytes = 'when-needed' | 'always' | 'never'

export interface EncodeOptions {
  readonly partition: number
  /** Bytes without compression after which a row group is closed. A larger batch is a group of its own. */
  readonly rowGroupBytes: number
  readonly batchBytes: BatchBytes
  /** More entries for the key-value metadata of the file, such as the topic. */
  readonly metadata?: Readonly<Record<string, string>>
}

type OpenSegment = { -readonly [K in keyof SegmentFacts]: SegmentFacts[K] }

/** A block also ends here, in bytes of records without compression. */
const MOST_BLOCK_PLAIN_BYTES = 1024 * 1024

export class FileEncoder {
  readonly #options: EncodeOptions
  readonly #writer: FileWriter
  readonly #columns: GroupColumns
  readonly #slices = new BatchSlices()
  readonly #record = new SliceRecord()
  #scratch: Buffer = Buffer.allocUnsafeSlow(64 * 1024)
  readonly #segments: SegmentFacts[] = []
  readonly #epochs: [epoch: number, firstOffset: number][] = []
  #segment: OpenSegment | null = null
  #aborted: readonly AbortedTransaction[] = []
  /** The first offset that the next batch may have. */
  #from = 0
  #blockBytes = 0
  #blockPlainBytes = 0
  #groupBytes = 0
  #firstOffset = -1
  #lastOffset = -1
  #isFinished = false

  constructor(options: EncodeOptions) {
    assert(options.rowGroupBytes > 0, `rowGroupBytes must be positive, got ${options.rowGroupBytes}`)
    this.#options = options
    this.#columns = new GroupColumns(options.partition)
    this.#writer = new FileWriter()
  }

  /** Bytes of memory that the open row group takes. */
  get heldBytes(): number {
    return this.#columns.heldBytes
  }

  /** Bytes of the file that are made, including those that were taken. */
  get writtenBytes(): number {
    return this.#writer.size
  }

  /** Begins the next segment. It begins where the last one ended, on the same UTC day of ingestedAt. */
  begin({ base, next, ingestedAt, aborted = [] }: SegmentStart): void {
    this.#endSegment()
    const first = this.#segments[0]
    const last = this.#segments.at(-1)
    assert(last === undefined || last.next === base, `a segment begins at ${base}, the last one ends at ${last?.next}`)
    assert(base <= next, `a segment ends at ${next} before it begins at ${base}`)
    assert(
      first === undefined || Math.floor(first.ingestedAt / DAY_MS) === Math.floor(ingestedAt / DAY_MS),
      `segments of two days: ${first?.ingestedAt} and ${ingestedAt}`,
    )
    this.#segment = {
      base,
      next,
      bytes: 0,
      batches: 0,
      rows: 0,
      rawBytes: 0,
      ingestedAt,
      minTimestamp: Number.POSITIVE_INFINITY,
      maxTimestamp: Number.NEGATIVE_INFINITY,
    }
    this.#aborted = aborted
    this.#from = base
  }

  /**
   * Adds one batch of the segment. Does not keep its bytes. Throws BadBatch, and the file must be given up then.
   */
  add(bytes: Uint8Array): void {
    const segment = this.#segment
    assert(segment !== null && !this.#isFinished, 'a batch needs a segment that has begun')
    const batch = viewBatch(bytes)
    const payload = this.#unpack(batch, segment.next)
    try {
      this.#addRecords(batch, payload, segment)
    } catch (error) {
      if (error instanceof InvalidRecords)
        throw BadBatch.because(batch.baseOffset, `its records cannot be read: ${error.message}`, { cause: error })
      throw error
    } finally {
      this.#slices.release()
      if (payload.buffer !== batch.bytes.buffer) discard(payload)
    }
  }

  /** Checks everything about the batch but its records, and returns them decompressed. */
  #unpack(batch: BatchView, next: number): Buffer {
    const { bytes } = batch
    const offset = bytes.length < BATCH_HEADER_BYTES ? this.#from : batch.baseOffset
    try {
      const codec = codecOf(batch)
      if (!batch.isIntact) throw BadBatch.because(offset, 'it fails its checksum')
      if (offset < this.#from || batch.lastOffsetDelta < 0 || batch.lastOffset >= next)
        throw BadBatch.because(
          offset,
          `it covers ${offset} to ${batch.lastOffset}, expected ${this.#from} to ${next - 1}`,
        )
      return unpackSync(codec, payloadOf(batch), MAX_UNPACKED_BYTES)
    } catch (error) {
      if (error instanceof InvalidRecords) throw BadBatch.because(offset, error.message, { cause: error })
      if (error instanceof NotDecompressed)
        throw BadBatch.because(offset, `it cannot be unpacked: ${error.message}`, { cause: error })
      throw error
    }
  }

  #addRecords(batch: BatchView, payload: Buffer, segment: OpenSegment): void {
    const { recordCount } = batch
    segment.bytes += batch.bytes.length
    this.#from = batch.lastOffset + 1
    const columns = this.#columns
    const size = payload.length + (this.#options.batchBytes === 'always' ? batch.bytes.length : 0)
    if (this.#groupBytes > 0 && this.#groupBytes + size > this.#options.rowGroupBytes) this.closeGroup()

    const slices = this.#slices
    slices.begin(batch, payload)
    const rows = rowsOf(batch, segment.ingestedAt, this.#aborted)
    // The checksum covers the header from the attributes on, then the records.
    const header = canonicalHeader(batch)
    let rebuiltBytes = 0
    let isSame = true
    let crc = 0
    let isFirst = true
    while (slices.next()) {
      columns.addSlice(slices, rows)
      const rebuilt = this.#rebuild(batch, slices)
      isSame &&= rebuilt.compare(payload, slices.from, slices.end) === 0
      // The length of the batch stands before the checked part, so pieces can be summed up as they come.
      crc = crc32c(rebuilt, isFirst ? crc32c(header.subarray(CRC_FROM)) : crc)
      rebuiltBytes += rebuilt.length
      isFirst = false
    }
    if (recordCount === 0) return
    header.writeInt32BE(BATCH_HEADER_BYTES + rebuiltBytes - LENGTH_OVERHEAD, 8)
    header.writeUInt32BE(crc, CRC_AT)

    const { batchBytes } = this.#options
    const isOdd = slices.isClamped || slices.hasOddHeaderKey
    const isRestored = isSame && !isOdd && (batch.attributes & CODEC_MASK) === 0
    const keepsRaw = isOdd || batchBytes === 'always' || (batchBytes === 'when-needed' && !isRestored)
    columns.endBatch(rows, recordCount, header, keepsRaw ? batch.bytes : null)
    this.#count(batch, segment, keepsRaw)
    this.#groupBytes += payload.length + (keepsRaw ? batch.bytes.length : 0)
    this.#blockBytes += batch.bytes.length
    this.#blockPlainBytes += payload.length
    if (this.#blockBytes >= BLOCK_BYTES || this.#blockPlainBytes >= MOST_BLOCK_PLAIN_BYTES) this.#cut()
  }

  /** Writes the records of a slice from the values that went into the columns. Valid until the next call. */
  #rebuild(batch: BatchView, slices: BatchSlices): Buffer {
    const record = this.#record
    const isAppendTime = batch.timestampType === 'LogAppendTime'
    const { baseTimestamp } = batch
    let at = 0
    for (let row = 0; row < slices.count; row++) {
      record.read(slices, row, isAppendTime ? 0 : slices.timestamp[row]! - baseTimestamp)
      const size = bodySize(record)
      if (at + size + 5 > this.#scratch.length) {
        const larger = Buffer.allocUnsafeSlow((at + size + 5) * 2)
        this.#scratch.copy(larger, 0, 0, at)
        this.#scratch = larger
      }
      at = putRecord(this.#scratch, at, size, record)
    }
    return this.#scratch.subarray(0, at)
  }

  #count(batch: BatchView, segment: OpenSegment, keepsRaw: boolean): void {
    const { recordCount, leaderEpoch } = batch
    const { minTimestamp, maxTimestamp } = this.#slices
    segment.batches++
    segment.rows += recordCount
    if (keepsRaw) segment.rawBytes += batch.bytes.length
    segment.minTimestamp = Math.min(segment.minTimestamp, minTimestamp)
    segment.maxTimestamp = Math.max(segment.maxTimestamp, maxTimestamp)
    const first = batch.baseOffset + this.#columns.firstDelta
    if (this.#firstOffset < 0) this.#firstOffset = first
    this.#lastOffset = batch.baseOffset + this.#columns.lastDelta
    const epoch = this.#epochs.at(-1)
    if (epoch === undefined || epoch[0] < leaderEpoch) this.#epochs.push([leaderEpoch, first])
  }

  #cut(): void {
    this.#columns.cut()
    this.#blockBytes = 0
    this.#blockPlainBytes = 0
  }

  /** Closes the row group, also to free its memory. A group without rows is left out. */
  closeGroup(): void {
    this.#writer.addGroup(this.#columns.close())
    this.#groupBytes = 0
    this.#blockBytes = 0
    this.#blockPlainBytes = 0
  }

  /** Returns the bytes of the file that were made since the last call. */
  take(): Uint8Array[] {
    return this.#writer.take()
  }

  /** Ends the file. Its last bytes are those of the next take(). */
  finish(): DataFileFacts {
    assert(!this.#isFinished, 'the file is finished')
    this.#endSegment()
    this.closeGroup()
    this.#isFinished = true
    const segments = this.#segments
    const first = segments[0]
    assert(first !== undefined, 'a file has at least one segment')
    const sum = (part: 'rows' | 'bytes' | 'rawBytes') => segments.reduce((total, each) => total + each[part], 0)
    const withRows = segments.filter(({ rows }) => rows > 0)
    const facts = {
      partition: this.#options.partition,
      base: first.base,
      next: segments.at(-1)!.next,
      firstOffset: this.#firstOffset,
      lastOffset: this.#lastOffset,
      rows: sum('rows'),
      kafkaBytes: sum('bytes'),
      rawBytes: sum('rawBytes'),
      ingestedAt: first.ingestedAt,
      ingestedDay: Math.floor(first.ingestedAt / DAY_MS),
      minTimestamp: withRows.reduce((least, each) => Math.min(least, each.minTimestamp), Number.POSITIVE_INFINITY),
      maxTimestamp: withRows.reduce((most, each) => Math.max(most, each.maxTimestamp), Number.NEGATIVE_INFINITY),
      epochs: this.#epochs,
      segments,
    }
    if (withRows.length === 0) Object.assign(facts, { minTimestamp: -1, maxTimestamp: -1 })
    return this.#writer.finish(facts, this.#options.metadata ?? {})
  }

  #endSegment(): void {
    const segment = this.#segment
    if (segment === null) return
    if (segment.rows === 0) Object.assign(segment, { minTimestamp: -1, maxTimestamp: -1 })
    this.#segments.push(segment)
    this.#segment = null
  }
}

/** Returns the header of the batch as it is without compression; its length and checksum are not set yet. */
function canonicalHeader(batch: BatchView): Buffer {
  const header = Buffer.allocUnsafe(BATCH_HEADER_BYTES)
  batch.bytes.copy(header, 0, 0, BATCH_HEADER_BYTES)
  header.writeInt16BE(batch.attributes & ~CODEC_MASK, CRC_FROM)
  return header
}
