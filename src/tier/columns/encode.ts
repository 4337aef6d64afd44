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
import { BadBatch } from './bad-batch.ts'
import { BatchSlices, SLICE_ROWS } from './batch-slices.ts'
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
import { SliceRebuild } from './slice-rebuild.ts'

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

/** Where the last segment of a file ends. */
export type FileEnd = 'whole-segment' | 'behind-last-batch'

type OpenSegment = { -readonly [K in keyof SegmentFacts]: SegmentFacts[K] }

/** A block also ends here, in bytes of records without compression. */
const MOST_BLOCK_PLAIN_BYTES = 1024 * 1024

export class FileEncoder {
  readonly #options: EncodeOptions
  readonly #writer: FileWriter
  readonly #columns: GroupColumns
  readonly #slices = new BatchSlices()
  readonly #rebuild = new SliceRebuild()
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
      unreadable: 0,
      ingestedAt,
      minTimestamp: Number.POSITIVE_INFINITY,
      maxTimestamp: Number.NEGATIVE_INFINITY,
    }
    this.#aborted = aborted
    this.#from = base
  }

  /**
   * Adds one batch of the segment. Does not keep its bytes. A batch whose checksum is right, but whose records cannot
   * be read, is kept as a row with its original bytes: clients could read it no better before. Throws BadBatch for a
   * damaged batch, and the file must be given up then.
   */
  add(bytes: Uint8Array): void {
    const segment = this.#segment
    assert(segment !== null && !this.#isFinished, 'a batch needs a segment that has begun')
    const batch = viewBatch(bytes)
    this.#check(batch, segment.next)
    segment.bytes += bytes.length
    this.#from = batch.lastOffset + 1
    const payload = unpacked(batch)
    try {
      this.#makeRoom(batch, payload?.length ?? 0)
      if (payload !== null && this.#isReadable(batch, payload)) this.#addRecords(batch, payload, segment)
      else this.#addUnreadable(batch, segment)
    } finally {
      this.#slices.release()
      this.#rebuild.trim()
      if (payload !== null && payload.buffer !== batch.bytes.buffer) discard(payload)
    }
    if (this.#blockBytes >= BLOCK_BYTES || this.#blockPlainBytes >= MOST_BLOCK_PLAIN_BYTES) this.#cut()
  }

  /** Checks everything about the batch but its records. */
  #check(batch: BatchView, next: number): void {
    const offset = batch.bytes.length < BATCH_HEADER_BYTES ? this.#from : batch.baseOffset
    try {
      codecOf(batch)
    } catch (error) {
      if (error instanceof InvalidRecords) throw BadBatch.because(offset, error.message, { cause: error })
      throw error
    }
    if (!batch.isIntact) throw BadBatch.because(offset, 'it fails its checksum')
    if (offset < this.#from || batch.lastOffsetDelta < 0 || batch.lastOffset >= next)
      throw BadBatch.because(
        offset,
        `it covers ${offset} to ${batch.lastOffset}, expected ${this.#from} to ${next - 1}`,
      )
  }

  /** Closes the row group if the batch does not fit it any more. */
  #makeRoom(batch: BatchView, plainBytes: number): void {
    const { batchBytes, rowGroupBytes } = this.#options
    const isCompressed = (batch.attributes & CODEC_MASK) !== 0
    const keepsRaw = batchBytes === 'always' || (batchBytes === 'when-needed' && isCompressed)
    const size = plainBytes + (keepsRaw ? batch.bytes.length : 0)
    if (this.#groupBytes > 0 && this.#groupBytes + size > rowGroupBytes) this.closeGroup()
  }

  /** Reads the first slice, or all of them: nothing of a batch that cannot be read must go into the columns. */
  #isReadable(batch: BatchView, payload: Buffer): boolean {
    const slices = this.#slices
    try {
      slices.begin(batch, payload)
      if (batch.recordCount > SLICE_ROWS) {
        while (slices.next());
        slices.begin(batch, payload)
      }
      slices.next()
      return true
    } catch (error) {
      if (error instanceof InvalidRecords) return false
      throw error
    }
  }

  #addRecords(batch: BatchView, payload: Buffer, segment: OpenSegment): void {
    const { recordCount } = batch
    if (recordCount === 0) return
    const slices = this.#slices
    const columns = this.#columns
    const rows = rowsOf(batch, segment.ingestedAt, this.#aborted)
    const header = canonicalHeader(batch)
    let rebuiltBytes = 0
    let isSame = true
    // The checksum covers the header from the attributes on, then the records. It does not cover the length.
    let crc = crc32c(header.subarray(CRC_FROM))
    do {
      columns.addSlice(slices, rows)
      const rebuilt = this.#rebuild.rebuild(batch, slices)
      isSame &&= rebuilt.compare(payload, slices.from, slices.end) === 0
      crc = crc32c(rebuilt, crc)
      rebuiltBytes += rebuilt.length
    } while (slices.next())
    header.writeInt32BE(BATCH_HEADER_BYTES + rebuiltBytes - LENGTH_OVERHEAD, 8)
    header.writeUInt32BE(crc, CRC_AT)

    const { batchBytes } = this.#options
    const isOdd = slices.isClamped || slices.hasOddHeaderKey
    const isRestored = isSame && !isOdd && (batch.attributes & CODEC_MASK) === 0
    const keepsRaw = isOdd || batchBytes === 'always' || (batchBytes === 'when-needed' && !isRestored)
    columns.endBatch(rows, recordCount, header, keepsRaw ? batch.bytes : null)
    segment.minTimestamp = Math.min(segment.minTimestamp, slices.minTimestamp)
    segment.maxTimestamp = Math.max(segment.maxTimestamp, slices.maxTimestamp)
    this.#count(batch, segment, recordCount, payload.length, keepsRaw)
  }

  #addUnreadable(batch: BatchView, segment: OpenSegment): void {
    const { maxTimestamp } = batch
    this.#columns.addUnreadable(rowsOf(batch, segment.ingestedAt, this.#aborted), maxTimestamp, batch.bytes)
    segment.unreadable++
    segment.minTimestamp = Math.min(segment.minTimestamp, maxTimestamp)
    segment.maxTimestamp = Math.max(segment.maxTimestamp, maxTimestamp)
    this.#count(batch, segment, 1, 0, true)
  }

  #count(batch: BatchView, segment: OpenSegment, rows: number, plainBytes: number, keepsRaw: boolean): void {
    const { leaderEpoch, baseOffset } = batch
    const rawBytes = keepsRaw ? batch.bytes.length : 0
    segment.batches++
    segment.rows += rows
    segment.rawBytes += rawBytes
    const first = baseOffset + this.#columns.firstDelta
    if (this.#firstOffset < 0) this.#firstOffset = first
    this.#lastOffset = baseOffset + this.#columns.lastDelta
    const epoch = this.#epochs.at(-1)
    if (epoch === undefined || epoch[0] < leaderEpoch) this.#epochs.push([leaderEpoch, first])
    this.#groupBytes += plainBytes + rawBytes
    this.#blockBytes += batch.bytes.length
    this.#blockPlainBytes += plainBytes
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

  /**
   * Ends the file. Its last bytes are those of the next take(). 'behind-last-batch': the last segment ends there, and
   * the next file goes on with it.
   */
  finish(end: FileEnd = 'whole-segment'): DataFileFacts {
    assert(!this.#isFinished, 'the file is finished')
    if (end === 'behind-last-batch' && this.#segment !== null) this.#segment.next = this.#from
    this.#endSegment()
    this.closeGroup()
    this.#columns.end()
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

/** Returns the records decompressed; null if they cannot be, or are more than any reader of ours takes. */
function unpacked(batch: BatchView): Buffer | null {
  try {
    return unpackSync(codecOf(batch), payloadOf(batch), MAX_UNPACKED_BYTES)
  } catch (error) {
    if (error instanceof NotDecompressed) return null
    throw error
  }
}

/** Returns the header of the batch as it is without compression; its length and checksum are not set yet. */
function canonicalHeader(batch: BatchView): Buffer {
  const header = Buffer.allocUnsafe(BATCH_HEADER_BYTES)
  batch.bytes.copy(header, 0, 0, BATCH_HEADER_BYTES)
  header.writeInt16BE(batch.attributes & ~CODEC_MASK, CRC_FROM)
  return header
}
