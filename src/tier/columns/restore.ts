// Restores record batches from the columns of a row group, or of some rows of it that begin and end between batches.
// A batch with original bytes is those; the others are written from their records, and the checksum of their header
// must match: it is that of the bytes that a client once sent. If all batches have original bytes, nothing is copied:
// the batches are views of the pages.

import { crc32c } from '../../base/crc32c.ts'
import { BATCH_HEADER_BYTES, type BatchView, CRC_FROM, viewBatch } from '../../protocol/records.ts'
import { LEAST_ROOM_BYTES } from '../../protocol/unpacking.ts'
import { BytesCursor, type ColumnBytes, DamagedFile, HeadersCursor, NumbersCursor, toMs } from './page-cursors.ts'
import { parsing } from './parsing.ts'
import { bodySize, type HeaderWalk, putRecord, type RecordParts } from './record-form.ts'
import { FIELD } from './table-schema.ts'

/** A batch as clients see it. */
export interface RestoredBatch {
  readonly baseOffset: number
  readonly lastOffset: number
  readonly maxTimestamp: number
  /** A view; the batches of one read share their memory, which is one piece or a few. */
  readonly bytes: Uint8Array
}

/** Columns of some rows. */
export interface FetchedColumns {
  readonly kind: 'columns'
  readonly rows: number
  /**
   * The columns that restoring needs, without those that have only nulls. `batch_raw` alone is enough if every batch
   * has its original bytes.
   */
  readonly columns: readonly ColumnBytes[]
}

const NOTHING = Buffer.alloc(0)

/** Where a batch begins, and its header or its original bytes. */
interface Start {
  readonly row: number
  readonly header: Buffer
  readonly raw: Buffer | null
  /** The page of the original bytes shares its memory with nothing else. */
  readonly isAlone: boolean
}

/**
 * Returns the batches in order, from the one that ends at `from` or later on. Throws DamagedFile.
 */
export function restoreBatches(fetched: FetchedColumns, from = 0): RestoredBatch[] {
  return parsing('the record batches of a row group', () => {
    const { starts, end } = readStarts(fetched)
    let kept: readonly RestoredBatch[] = []
    try {
      const first = starts.findIndex(({ header, raw }) => viewBatch(raw ?? header).lastOffset >= from)
      if (first < 0) return []
      const originals = originalsFrom(starts, first)
      if (originals === null) return restoreFrom(fetched, starts, first)
      const batches = originals.map(bytes => checked(viewBatch(bytes)))
      kept = batches
      return batches
    } finally {
      end(kept)
    }
  })
}

/** Returns the original bytes of the batches, if all have some that can be handed over; else null. */
function originalsFrom(starts: readonly Start[], first: number): Buffer[] | null {
  const originals: Buffer[] = []
  for (let i = first; i < starts.length; i++) {
    const { raw, isAlone } = starts[i]!
    if (raw === null || !isAlone) return null
    originals.push(raw)
  }
  return originals
}

function restoreFrom(fetched: FetchedColumns, starts: readonly Start[], first: number): RestoredBatch[] {
  let size = 0
  for (let i = first; i < starts.length; i++) size += sizeOf(starts[i]!)
  if (size > MOST_RESTORED_BYTES) throw new DamagedFile(`the batches of a row group say that they have ${size} bytes`)
  const output = Buffer.allocUnsafeSlow(size)
  const batches: RestoredBatch[] = []
  let rows: Rows | null = null
  let at = 0
  let row = 0
  for (let i = first; i < starts.length; i++) {
    const start = starts[i]!
    const bytes = output.subarray(at, at + sizeOf(start))
    at += bytes.length
    if (start.raw !== null) start.raw.copy(bytes)
    else {
      rows ??= new Rows(fetched.columns)
      for (; row < start.row; row++) rows.next()
      row = starts[i + 1]?.row ?? fetched.rows
      restore(bytes, start.header, rows, row - start.row)
    }
    batches.push(checked(viewBatch(bytes)))
  }
  rows?.end()
  return batches
}

interface Starts {
  readonly starts: readonly Start[]
  /** Frees the memory of the starts, but not that of these batches. */
  end(kept: readonly RestoredBatch[]): void
}

function readStarts({ rows, columns }: FetchedColumns): Starts {
  const cursor = (id: number) => {
    const column = columns.find(each => each.id === id)
    return column === undefined ? null : new BytesCursor(column, true)
  }
  const raws = cursor(FIELD.batchRaw)
  const headers = cursor(FIELD.batchHeader)
  // The number of rows comes from the footer. Without a column nothing would end them.
  if (raws === null && headers === null && rows > 0) throw new DamagedFile(`${rows} rows have no batch header`)
  const starts: Start[] = []
  for (let row = 0; row < rows; row++) {
    raws?.next()
    headers?.next()
    const raw = bytesAt(raws)
    const header = bytesAt(headers)
    if (raw === null && header === null) continue
    const isAlone = raws !== null && raws.bytes.length >= LEAST_ROOM_BYTES
    starts.push({ row, header: header ?? NOTHING, raw, isAlone })
  }
  if (starts.length > 0 && starts[0]!.row !== 0) throw new DamagedFile('the first batch of the rows has no header')
  const end = (kept: readonly RestoredBatch[]) => {
    raws?.end(new Set(kept.map(({ bytes }) => bytes.buffer)))
    headers?.end()
  }
  return { starts, end }
}

function bytesAt(cursor: BytesCursor | null): Buffer | null {
  return cursor === null || cursor.length < 0 ? null : cursor.bytes.subarray(cursor.from, cursor.from + cursor.length)
}

/** A batch whose header says that it is larger is damaged. The largest that is archived unpacks to 64 MiB. */
const MOST_BATCH_BYTES = 256 * 1024 * 1024
/** A part that is restored at once has a few MiB and one such batch. */
const MOST_RESTORED_BYTES = 1024 * 1024 * 1024

function sizeOf({ header, raw }: Start): number {
  if (raw !== null) return raw.length
  const size = header.length === BATCH_HEADER_BYTES ? viewBatch(header).batchLength : -1
  if (size < BATCH_HEADER_BYTES || size > MOST_BATCH_BYTES)
    throw new DamagedFile(`a batch header of ${header.length} bytes says that its batch has ${size}`)
  return size
}

/** Writes the batch of this header from the next rows. */
function restore(to: Buffer, header: Buffer, rows: Rows, count: number): void {
  header.copy(to)
  const batch = viewBatch(header)
  const { baseOffset, baseTimestamp, recordCount } = batch
  if (recordCount !== count)
    throw new DamagedFile(`the batch at offset ${baseOffset} has ${count} rows of ${recordCount} records`)
  const isAppendTime = batch.timestampType === 'LogAppendTime'
  let at = BATCH_HEADER_BYTES
  for (let i = 0; i < count; i++) {
    rows.next()
    rows.offsetDelta = rows.offset - baseOffset
    rows.timestampDelta = isAppendTime ? 0 : rows.timestamp - baseTimestamp
    const size = bodySize(rows)
    if (at + size + 1 > to.length) throw new DamagedFile(`the batch at offset ${baseOffset} has too many bytes`)
    at = putRecord(to, at, size, rows)
  }
  if (at !== to.length) throw new DamagedFile(`the batch at offset ${baseOffset} has ${at} bytes of ${to.length}`)
}

function checked(batch: BatchView): RestoredBatch {
  const { bytes, baseOffset, lastOffset, maxTimestamp } = batch
  if (bytes.length < BATCH_HEADER_BYTES || crc32c(bytes.subarray(CRC_FROM)) !== batch.crc)
    throw new DamagedFile(`the batch at offset ${baseOffset} fails its checksum`)
  // The checksum covers neither.
  if (batch.batchLength !== bytes.length || !Number.isSafeInteger(lastOffset) || baseOffset < 0)
    throw new DamagedFile(`the batch at offset ${baseOffset} has ${bytes.length} bytes and says ${batch.batchLength}`)
  return { baseOffset, lastOffset, maxTimestamp, bytes }
}

const NO_HEADERS: HeaderWalk = {
  keyBytes: NOTHING,
  keyFrom: 0,
  keyLength: 0,
  valueBytes: NOTHING,
  valueFrom: 0,
  valueLength: -1,
  rewind: () => {},
  next: () => {},
}

/** Walks over the records of the rows. */
class Rows implements RecordParts {
  offset = 0
  timestamp = 0
  offsetDelta = 0
  timestampDelta = 0
  keyBytes: Buffer = NOTHING
  keyFrom = 0
  keyLength = -1
  valueBytes: Buffer = NOTHING
  valueFrom = 0
  valueLength = -1
  headerCount = 0
  readonly headers: HeaderWalk
  readonly #offsets: NumbersCursor
  readonly #timestamps: NumbersCursor
  readonly #keys: BytesCursor | null
  readonly #values: BytesCursor | null
  readonly #headers: HeadersCursor | null

  constructor(columns: readonly ColumnBytes[]) {
    const find = (id: number) => columns.find(column => column.id === id)
    const bytesOf = (id: number) => {
      const column = find(id)
      return column === undefined ? null : new BytesCursor(column)
    }
    const numbersOf = (id: number) => {
      const column = find(id)
      if (column === undefined) throw new DamagedFile(`column ${id} is missing`)
      return new NumbersCursor(column)
    }
    this.#offsets = numbersOf(FIELD.offset)
    this.#timestamps = numbersOf(FIELD.timestamp)
    this.#keys = bytesOf(FIELD.key)
    this.#values = bytesOf(FIELD.value)
    const [keys, values] = [find(FIELD.headerKey), find(FIELD.headerValue)]
    this.#headers = keys === undefined || values === undefined ? null : new HeadersCursor(keys, values)
    this.headers = this.#headers ?? NO_HEADERS
  }

  /** Frees the memory of the rows. */
  end(): void {
    for (const cursor of [this.#offsets, this.#timestamps, this.#keys, this.#values, this.#headers]) cursor?.end()
  }

  next(): void {
    this.offset = this.#offsets.next()
    this.timestamp = toMs(this.#timestamps.next())
    const keys = this.#keys
    if (keys !== null) {
      keys.next()
      this.keyBytes = keys.bytes
      this.keyFrom = keys.from
      this.keyLength = keys.length
    }
    const values = this.#values
    if (values !== null) {
      values.next()
      this.valueBytes = values.bytes
      this.valueFrom = values.from
      this.valueLength = values.length
    }
    if (this.#headers !== null) this.headerCount = this.#headers.nextRow()
  }
}
