// Writes the records of a slice again from the values that went into the columns, as a reader of the file will do. The
// encoder compares the result with the source.

import type { BatchView } from '../../protocol/records.ts'
import { type BatchSlices, SliceRecord } from './batch-slices.ts'
import { bodySize, putRecord } from './record-form.ts'

/** The longest length of a record. */
const LENGTH_BYTES = 5

export class SliceRebuild {
  readonly #record = new SliceRecord()
  #scratch: Buffer = Buffer.allocUnsafeSlow(64 * 1024)

  /** Returns the bytes of the records. They are valid until the next call. */
  rebuild(batch: BatchView, slices: BatchSlices): Buffer {
    const record = this.#record
    const isAppendTime = batch.timestampType === 'LogAppendTime'
    const { baseTimestamp } = batch
    let at = 0
    for (let row = 0; row < slices.count; row++) {
      record.read(slices, row, isAppendTime ? 0 : slices.timestamp[row]! - baseTimestamp)
      const size = bodySize(record)
      if (at + size + LENGTH_BYTES > this.#scratch.length) {
        const larger = Buffer.allocUnsafeSlow((at + size + LENGTH_BYTES) * 2)
        this.#scratch.copy(larger, 0, 0, at)
        this.#scratch = larger
      }
      at = putRecord(this.#scratch, at, size, record)
    }
    return this.#scratch.subarray(0, at)
  }

  /** Frees the memory that a large batch needed. */
  trim(): void {
    if (this.#scratch.length > MOST_KEPT_BYTES) this.#scratch = Buffer.allocUnsafeSlow(64 * 1024)
  }
}

const MOST_KEPT_BYTES = 8 * 1024 * 1024
