// Reads the records of one batch into preallocated arrays, a slice of records at a time: a batch can have millions of
// records, and the memory of the arrays must not depend on that. It checks the same things as RecordWalk of
// protocol/records.ts and all parts of a record, but it takes any timestamp. The arrays hold positions in the payload;
// no bytes are copied.

import { isUtf8 } from 'node:buffer'
import { type BatchView, InvalidRecords } from '../../protocol/records.ts'
import { MAX_TIMESTAMP_MS, MIN_TIMESTAMP_MS } from './data-file.ts'
import type { HeaderWalk, RecordParts } from './record-form.ts'

/** The most records of a slice. */
export const SLICE_ROWS = 8192

/** The bytes of the smallest record. */
const SMALLEST_RECORD_BYTES = 7

const NOTHING = Buffer.alloc(0)

export class BatchSlices {
  /** The records of the slice. */
  count = 0
  /** The slice is these bytes of the payload. */
  from = 0
  end = 0
  payload: Buffer = NOTHING
  readonly offsetDelta = new Int32Array(SLICE_ROWS)
  /** As the records have them. In ms; beyond 2^53 it is the nearest number, and `isClamped` is set then. */
  readonly timestampDelta = new Float64Array(SLICE_ROWS)
  /** In ms, limited to the range of the column. */
  readonly timestamp = new Float64Array(SLICE_ROWS)
  readonly keyFrom = new Int32Array(SLICE_ROWS)
  /** -1: null. So for values. */
  readonly keyLength = new Int32Array(SLICE_ROWS)
  readonly valueFrom = new Int32Array(SLICE_ROWS)
  readonly valueLength = new Int32Array(SLICE_ROWS)
  /** Where the first header begins. */
  readonly headersFrom = new Int32Array(SLICE_ROWS)
  readonly headerCount = new Int32Array(SLICE_ROWS)
  /** Headers of all records of the slice. */
  headersInSlice = 0

  // Of the batch, up to the end of the slice:
  /** A timestamp is outside of the range of the column, or too large to be an exact number. */
  isClamped = false
  /** A header key is not UTF-8, so that a column of strings cannot hold it. */
  hasOddHeaderKey = false
  /** The smallest and the largest timestamp, not limited to a range. */
  minTimestamp = Number.POSITIVE_INFINITY
  maxTimestamp = Number.NEGATIVE_INFINITY

  #left = 0
  #lastDelta = -1
  #lastOffsetDelta = 0
  #baseTimestamp = 0
  #appendTime: number | null = null
  #at = 0
  /** Bytes of the record end here. */
  #recordEnd = 0

  /** Begins with a batch and its decompressed records. Throws InvalidRecords. */
  begin(batch: BatchView, payload: Buffer): void {
    const { recordCount } = batch
    if (recordCount < 0 || recordCount * SMALLEST_RECORD_BYTES > payload.length)
      throw new InvalidRecords(`${recordCount} records do not fit ${payload.length} bytes`)
    this.payload = payload
    this.count = 0
    this.from = 0
    this.end = 0
    this.isClamped = false
    this.hasOddHeaderKey = false
    this.minTimestamp = Number.POSITIVE_INFINITY
    this.maxTimestamp = Number.NEGATIVE_INFINITY
    this.#left = recordCount
    this.#lastDelta = -1
    this.#lastOffsetDelta = batch.lastOffsetDelta
    this.#baseTimestamp = batch.baseTimestamp
    this.#appendTime = batch.timestampType === 'LogAppendTime' ? batch.maxTimestamp : null
    this.#at = 0
    if (!isInRange(this.#baseTimestamp) || !isInRange(batch.maxTimestamp)) this.isClamped = true
  }

  /** Reads the next slice; false after the last. Throws InvalidRecords. */
  next(): boolean {
    const { payload } = this
    this.from = this.#at
    this.headersInSlice = 0
    const count = Math.min(this.#left, SLICE_ROWS)
    for (let row = 0; row < count; row++) {
      this.#recordEnd = payload.length
      const length = this.#number('record length')
      if (length < 1 || length > payload.length - this.#at)
        throw new InvalidRecords(`a record of ${length} bytes does not fit`)
      this.#recordEnd = this.#at + length
      this.#record(row)
    }
    this.count = count
    this.end = this.#at
    this.#left -= count
    if (this.#left === 0 && this.#at !== payload.length)
      throw new InvalidRecords(`the batch has ${payload.length - this.#at} bytes left over`)
    return count > 0
  }

  /** Forgets the payload, so that its memory can go. */
  release(): void {
    this.payload = NOTHING
  }

  #record(row: number): void {
    if (this.payload[this.#at++] !== 0) throw new InvalidRecords('the attributes of a record must be 0')
    const timestampDelta = this.#number('timestamp delta', 10)
    const own = this.#baseTimestamp + timestampDelta
    const delta = this.#number('offset delta')
    if (delta <= this.#lastDelta || delta > this.#lastOffsetDelta)
      throw new InvalidRecords(
        `the offset delta ${delta} does not follow ${this.#lastDelta} up to ${this.#lastOffsetDelta}`,
      )
    this.#lastDelta = delta
    this.offsetDelta[row] = delta
    this.timestampDelta[row] = timestampDelta
    let timestamp = this.#appendTime ?? own
    if (timestamp < this.minTimestamp) this.minTimestamp = timestamp
    if (timestamp > this.maxTimestamp) this.maxTimestamp = timestamp
    if (!isInRange(timestamp) || !isInRange(own)) {
      this.isClamped = true
      timestamp = Math.min(Math.max(timestamp, MIN_TIMESTAMP_MS), MAX_TIMESTAMP_MS)
    }
    this.timestamp[row] = timestamp
    const keyLength = this.#length('key')
    this.keyLength[row] = keyLength
    this.keyFrom[row] = this.#at
    if (keyLength > 0) this.#at += keyLength
    const valueLength = this.#length('value')
    this.valueLength[row] = valueLength
    this.valueFrom[row] = this.#at
    if (valueLength > 0) this.#at += valueLength
    const headerCount = this.#number('header count')
    if (headerCount < 0 || headerCount * 2 > this.#recordEnd - this.#at)
      throw new InvalidRecords(`${headerCount} headers do not fit`)
    this.headerCount[row] = headerCount
    this.headersFrom[row] = this.#at
    if (headerCount > 0) this.#headers(headerCount)
    if (this.#at !== this.#recordEnd)
      throw new InvalidRecords(`a record has ${this.#recordEnd - this.#at} bytes left over`)
  }

  #headers(count: number): void {
    this.headersInSlice += count
    for (let i = 0; i < count; i++) {
      const key = this.#length('header key')
      if (key < 0) throw new InvalidRecords('a header key must not be null')
      if (!this.hasOddHeaderKey && !isText(this.payload, this.#at, this.#at + key)) this.hasOddHeaderKey = true
      this.#at += key
      const value = this.#length('header value')
      if (value > 0) this.#at += value
    }
  }

  #length(what: string): number {
    const length = this.#number(what)
    if (length < -1 || length > this.#recordEnd - this.#at)
      throw new InvalidRecords(`${what}: ${length} bytes do not fit`)
    return length
  }

  /** Reads a zigzag number. Beyond 2^53 it is the nearest number. */
  #number(what: string, maxBytes = 5): number {
    const { payload } = this
    const end = this.#recordEnd
    let at = this.#at
    if (at < end) {
      const byte = payload[at]!
      if (byte < 0x80) {
        this.#at = at + 1
        return (byte >>> 1) ^ -(byte & 1)
      }
      if (at + 1 < end) {
        const second = payload[at + 1]!
        if (second < 0x80) {
          this.#at = at + 2
          const raw = (byte & 0x7f) | (second << 7)
          return (raw >>> 1) ^ -(raw & 1)
        }
      }
    }
    let magnitude = 0
    let negative = false
    for (let i = 0; i < maxBytes; i++) {
      if (at >= end) throw new InvalidRecords(`${what}: the bytes end too early`)
      const byte = payload[at++]!
      if (i === 0) {
        negative = (byte & 1) !== 0
        magnitude = (byte & 0x7f) >> 1
      } else magnitude += (byte & 0x7f) * 2 ** (7 * i - 1)
      if (byte < 0x80) {
        this.#at = at
        return negative ? -magnitude - 1 : magnitude
      }
    }
    throw new InvalidRecords(`${what}: more than ${maxBytes} bytes`)
  }
}

/** Returns whether the column `timestamp` can hold this. */
function isInRange(timestamp: number): boolean {
  return timestamp >= MIN_TIMESTAMP_MS && timestamp <= MAX_TIMESTAMP_MS
}

function isText(bytes: Buffer, from: number, end: number): boolean {
  for (let at = from; at < end; at++) if (bytes[at]! >= 0x80) return isUtf8(bytes.subarray(from, end))
  return true
}

/** A record of a slice, for record-form.ts. The slice has been checked, so this checks nothing. */
export class SliceRecord implements RecordParts {
  offsetDelta = 0
  timestampDelta = 0
  keyBytes: Buffer = NOTHING
  keyFrom = 0
  keyLength = -1
  valueBytes: Buffer = NOTHING
  valueFrom = 0
  valueLength = -1
  headerCount = 0
  readonly headers = new SliceHeaders()

  read(slice: BatchSlices, row: number, timestampDelta: number): void {
    this.offsetDelta = slice.offsetDelta[row]!
    this.timestampDelta = timestampDelta
    this.keyBytes = slice.payload
    this.keyFrom = slice.keyFrom[row]!
    this.keyLength = slice.keyLength[row]!
    this.valueBytes = slice.payload
    this.valueFrom = slice.valueFrom[row]!
    this.valueLength = slice.valueLength[row]!
    this.headerCount = slice.headerCount[row]!
    this.headers.begin(slice.payload, slice.headersFrom[row]!)
  }
}

/** The headers of a record of a slice. */
export class SliceHeaders implements HeaderWalk {
  keyBytes: Buffer = NOTHING
  keyFrom = 0
  keyLength = 0
  valueBytes: Buffer = NOTHING
  valueFrom = 0
  valueLength = -1
  #from = 0
  #at = 0

  begin(payload: Buffer, from: number): void {
    this.keyBytes = payload
    this.valueBytes = payload
    this.#from = from
    this.#at = from
  }

  rewind(): void {
    this.#at = this.#from
  }

  next(): void {
    this.keyLength = this.#length()
    this.keyFrom = this.#at
    this.#at += this.keyLength
    this.valueLength = this.#length()
    this.valueFrom = this.#at
    if (this.valueLength > 0) this.#at += this.valueLength
  }

  #length(): number {
    const bytes = this.keyBytes
    let raw = 0
    let scale = 1
    for (;;) {
      const byte = bytes[this.#at++]!
      raw += (byte & 0x7f) * scale
      if (byte < 0x80) return raw % 2 === 1 ? -(raw + 1) / 2 : raw / 2
      scale *= 0x80
    }
  }
}
