// The facts of one data file, as plain data: a thread hands them over, a commit writes them into a manifest, and an
// index of the archive is made from them. The same facts stand in the key-value metadata of the file (kafka.*), so
// that they can be read again without the table. This file writes and reads no Parquet.

/** A range of offsets in which a producer id's transaction was aborted. */
export interface AbortedTransaction {
  readonly producerId: number
  readonly firstOffset: number
  readonly lastOffset: number
}

export interface SegmentStart {
  /** The segment covers the offsets [base, next). */
  readonly base: number
  readonly next: number
  /** When the broker sealed it, in ms since 1970. */
  readonly ingestedAt: number
  /** Transactional batches outside of these ranges count as committed. */
  readonly aborted?: readonly AbortedTransaction[]
}

/** A sealed segment of the log whose records are in the file. */
export interface SegmentFacts {
  /** The segment covers the offsets [base, next). */
  readonly base: number
  readonly next: number
  /** Bytes of its batches, as clients see them. */
  readonly bytes: number
  /** Batches that stand in the file. Those without records have no rows and are not counted. */
  readonly batches: number
  readonly rows: number
  /** Bytes of those batches whose original bytes the file keeps, before the compression of Parquet. */
  readonly rawBytes: number
  /** Batches whose records cannot be read. Each has one row, with its original bytes and the control type -1. */
  readonly unreadable: number
  /** When the broker sealed it, in ms since 1970. */
  readonly ingestedAt: number
  /** The smallest and the largest timestamp of its records, in ms; both -1 without rows. */
  readonly minTimestamp: number
  readonly maxTimestamp: number
}

export interface DataFileFacts {
  readonly partition: number
  /** The file covers the offsets [base, next), which its segments fill without gaps. */
  readonly base: number
  readonly next: number
  /** The offsets of its first and last row; both -1 without rows. Such a file must not be added to a table. */
  readonly firstOffset: number
  readonly lastOffset: number
  readonly rows: number
  /** Bytes of all batches of the segments, as clients see them. */
  readonly kafkaBytes: number
  /** The part of kafkaBytes whose original bytes the file keeps. */
  readonly rawBytes: number
  /** When the broker sealed the first segment, in ms since 1970. */
  readonly ingestedAt: number
  /** The UTC day of ingestedAt of all segments, in days since 1970: the partition value `ingested_at_day`. */
  readonly ingestedDay: number
  /** The smallest and the largest timestamp of the records, in ms, as Kafka has them: not limited to a range. */
  readonly minTimestamp: number
  readonly maxTimestamp: number
  /** The leader epochs of the rows, ascending, each with the first offset that has it. */
  readonly epochs: readonly (readonly [epoch: number, firstOffset: number])[]
  readonly segments: readonly SegmentFacts[]
  /** Size of the whole file in bytes. */
  readonly size: number
  /** Where each row group begins in the file, ascending. */
  readonly splitOffsets: readonly number[]
  /** By field id, for every leaf: bytes in the file, values (nulls and list elements count), and nulls. */
  readonly columnSizes: ReadonlyMap<number, number>
  readonly valueCounts: ReadonlyMap<number, number>
  readonly nullValueCounts: ReadonlyMap<number, number>
  /**
   * Bounds by field id, as the Iceberg specification serializes single values (int 4 bytes, long and timestamptz 8
   * bytes, little-endian; binary cut to 16 bytes, the upper one rounded up). Columns without statistics have none.
   */
  readonly lowerBounds: ReadonlyMap<number, Uint8Array>
  readonly upperBounds: ReadonlyMap<number, Uint8Array>
}

/** Milliseconds of a day. */
export const DAY_MS = 86_400_000

/** The range of the column `timestamp` in ms: the years 1 to 9999, which every engine can show. */
export const MIN_TIMESTAMP_MS = -62_135_596_800_000
export const MAX_TIMESTAMP_MS = 253_402_300_799_999

/** The control type of a row that stands for a batch whose records cannot be read, or a marker without a type. */
export const UNKNOWN_CONTROL = -1

/**
 * A block of rows ends with the batch that makes it this large, in bytes as clients see them. Pages begin only where
 * blocks begin, so that a part of a large row group can be read.
 */
export const BLOCK_BYTES = 256 * 1024
