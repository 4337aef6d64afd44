// Reads row groups that another writer made, such as an engine that rewrote the table: its pages can have any
// encoding, its rows any order, and rows of a batch may be gone. It makes an object for each row, which is slow; our
// own files are read by restore.ts. A batch whose rows are all there comes back as it was. The rows that are left of
// another one become a batch without a producer id, so that consumers get every record that the table has.

import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib'
import { type Compressors, parquetRead } from 'hyparquet'
import { systemClock } from '../../base/clock.ts'
import { crc32c } from '../../base/crc32c.ts'
import { writeInt64 } from '../../base/int64.ts'
import {
  BATCH_HEADER_BYTES,
  type BatchView,
  CRC_AT,
  CRC_FROM,
  encodeEmptyBatch,
  LENGTH_OVERHEAD,
  viewBatch,
} from '../../protocol/records.ts'
import { UNKNOWN_CONTROL } from './data-file.ts'
import { parseFooter } from './footer.ts'
import { checkForeignPages } from './foreign-pages.ts'
import { DamagedFile, toMs } from './page-cursors.ts'
import { parsingLater, wholeNumber } from './parsing.ts'
import { bodySize, type HeaderWalk, putRecord, type RecordParts, zigzagSize } from './record-form.ts'
import type { RestoredBatch } from './restore.ts'

/** A row group of another writer. */
export interface FetchedForeign {
  readonly kind: 'foreign'
  readonly footer: Uint8Array
  /** The index of the group. */
  readonly group: number
  /** Where the bytes of the group are in the file. */
  readonly start: number
  readonly bytes: Uint8Array
}

interface Row {
  readonly offset: number
  /** Ms. */
  readonly timestamp: number
  readonly isAppendTime: boolean
  readonly leaderEpoch: number
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: readonly { readonly key: Buffer; readonly value: Buffer | null }[]
  /** It is no record for consumers outside of its batch: a control record, or of an aborted transaction. */
  readonly isHidden: boolean
  /** It stands for a batch whose records cannot be read. */
  readonly isUnreadable: boolean
  readonly batchHeader: BatchView | null
  readonly batchRaw: BatchView | null
}

/** Returns the batches of the group, from the one that ends at `from` or later on. Throws DamagedFile. */
export function restoreForeign(fetched: FetchedForeign, from = 0): Promise<RestoredBatch[]> {
  return parsingLater(A_GROUP, async () => {
    const rows = await readRows(fetched)
    const batches: RestoredBatch[] = []
    for (let at = 0; at < rows.length; ) {
      const end = endOfBatch(rows, at)
      batches.push(...restore(rows.slice(at, end)))
      at = end
    }
    return batches.filter(({ lastOffset }) => lastOffset >= from)
  })
}

export interface ForeignBounds {
  readonly firstOffset: number
  readonly lastOffset: number
  readonly minTimestamp: number
  readonly maxTimestamp: number
}

/** Returns the bounds of a group by its rows. Throws DamagedFile. */
export function boundsOfForeign(fetched: FetchedForeign): Promise<ForeignBounds> {
  return parsingLater(A_GROUP, async () => {
    const rows = await readRows(fetched)
    const times = rows.map(({ timestamp }) => timestamp)
    return {
      firstOffset: rows[0]?.offset ?? -1,
      lastOffset: rows.at(-1)?.offset ?? -1,
      minTimestamp: times.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY),
      maxTimestamp: times.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY),
    }
  })
}

const A_GROUP = 'a row group of another writer'

/** Returns the end of the rows that belong to the batch of the row at `at`, or that belong to no batch. */
function endOfBatch(rows: readonly Row[], at: number): number {
  const first = rows[at]!
  const header = first.batchHeader ?? first.batchRaw
  let end = at + 1
  for (; end < rows.length; end++) {
    const row = rows[end]!
    if (row.batchHeader !== null || row.batchRaw !== null) break
    const belongs = header === null ? end - at < MOST_LEFT_ROWS && isLike(row, first) : row.offset <= header.lastOffset
    if (!belongs) break
  }
  return end
}

/** The most rows of a batch that is made of what is left. */
const MOST_LEFT_ROWS = 1000

function isLike(row: Row, first: Row): boolean {
  return (
    row.leaderEpoch === first.leaderEpoch &&
    row.isAppendTime === first.isAppendTime &&
    row.offset - first.offset <= 0x7fffffff
  )
}

function restore(rows: readonly Row[]): RestoredBatch[] {
  const { batchRaw: raw, batchHeader: header } = rows[0]!
  const isWhole = raw?.recordCount === rows.length || (rows.length === 1 && rows[0]!.isUnreadable)
  if (raw?.isIntact && isWhole) return [asBatch(ownCopy(raw.bytes))]
  if (header?.recordCount === rows.length) {
    const whole = writeBatch(header.bytes, rows, header.baseOffset, header.baseTimestamp)
    if (viewBatch(whole).crc === header.crc && whole.length === header.batchLength) return [asBatch(whole)]
  }
  const left = rows.filter(({ isHidden }) => !isHidden)
  return left.length === 0 ? [] : [asBatch(leftBatch(left))]
}

/** Returns a batch of the rows, without a producer id. */
function leftBatch(rows: readonly Row[]): Buffer {
  const [first, last] = [rows[0]!, rows.at(-1)!]
  const header = encodeEmptyBatch(first.offset, last.offset + 1, first.leaderEpoch)
  header.writeInt16BE(first.isAppendTime ? 0x08 : 0, CRC_FROM)
  writeInt64(header, 27, first.timestamp)
  writeInt64(
    header,
    35,
    rows.reduce((most, { timestamp }) => Math.max(most, timestamp), -1),
  )
  header.writeInt32BE(rows.length, 57)
  return writeBatch(header, rows, first.offset, first.timestamp)
}

/** Returns the batch of this header with these rows, and sets its length and checksum. */
function writeBatch(header: Buffer, rows: readonly Row[], baseOffset: number, baseTimestamp: number): Buffer {
  const record = new RowRecord()
  const size = rows.reduce((sum, row) => {
    const body = bodySize(record.read(row, baseOffset, baseTimestamp))
    return sum + zigzagSize(body) + body
  }, BATCH_HEADER_BYTES)
  const bytes = Buffer.allocUnsafeSlow(size)
  header.copy(bytes, 0, 0, BATCH_HEADER_BYTES)
  let at = BATCH_HEADER_BYTES
  for (const row of rows) {
    record.read(row, baseOffset, baseTimestamp)
    at = putRecord(bytes, at, bodySize(record), record)
  }
  bytes.writeInt32BE(size - LENGTH_OVERHEAD, 8)
  bytes.writeUInt32BE(crc32c(bytes.subarray(CRC_FROM)), CRC_AT)
  return bytes
}

/** A batch goes to another thread with its memory. That of a small page may be Node's pool, which stays here. */
function ownCopy(bytes: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length)
  bytes.copy(copy)
  return copy
}

function asBatch(bytes: Buffer): RestoredBatch {
  const { baseOffset, lastOffset, maxTimestamp } = viewBatch(bytes)
  return { baseOffset, lastOffset, maxTimestamp, bytes }
}

const NOTHING = Buffer.alloc(0)

class RowRecord implements RecordParts {
  offsetDelta = 0
  timestampDelta = 0
  keyBytes: Buffer = NOTHING
  keyFrom = 0
  keyLength = -1
  valueBytes: Buffer = NOTHING
  valueFrom = 0
  valueLength = -1
  headerCount = 0
  headers: HeaderWalk = new RowHeaders([])

  read(row: Row, baseOffset: number, baseTimestamp: number): this {
    this.offsetDelta = row.offset - baseOffset
    this.timestampDelta = row.isAppendTime ? 0 : row.timestamp - baseTimestamp
    this.keyBytes = row.key ?? NOTHING
    this.keyLength = row.key?.length ?? -1
    this.valueBytes = row.value ?? NOTHING
    this.valueLength = row.value?.length ?? -1
    this.headerCount = row.headers.length
    this.headers = new RowHeaders(row.headers)
    return this
  }
}

class RowHeaders implements HeaderWalk {
  keyBytes: Buffer = NOTHING
  keyFrom = 0
  keyLength = 0
  valueBytes: Buffer = NOTHING
  valueFrom = 0
  valueLength = -1
  readonly #headers: Row['headers']
  #at = 0

  constructor(headers: Row['headers']) {
    this.#headers = headers
  }

  rewind(): void {
    this.#at = 0
  }

  next(): void {
    const { key, value } = this.#headers[this.#at++]!
    this.keyBytes = key
    this.keyLength = key.length
    this.valueBytes = value ?? NOTHING
    this.valueLength = value?.length ?? -1
  }
}

// ------------------------------------------------------------------------------------------------------- reading rows

/** A row as hyparquet makes it. */
interface RawRow {
  readonly offset: bigint
  readonly timestamp: bigint
  readonly timestamp_type?: number
  readonly leader_epoch?: number
  readonly key?: Uint8Array | null
  readonly value?: Uint8Array | null
  readonly headers?: readonly { readonly key: string | Uint8Array; readonly value: Uint8Array | null }[] | null
  readonly control_type?: number | null
  readonly txn_state?: number | null
  readonly batch_header?: Uint8Array | null
  readonly batch_raw?: Uint8Array | null
}

const READ_COLUMNS: readonly (keyof RawRow)[] = [
  'offset',
  'timestamp',
  'timestamp_type',
  'leader_epoch',
  'key',
  'value',
  'headers',
  'control_type',
  'txn_state',
  'batch_header',
  'batch_raw',
]

const ABORTED = 2

/** hyparquet has Snappy itself. Pages in LZ4 are refused. */
const UNPACKERS: Compressors = {
  ZSTD: (input, size) => zstdDecompressSync(input, { maxOutputLength: Math.max(1, size) }),
  GZIP: (input, size) => gunzipSync(input, { maxOutputLength: Math.max(1, size) }),
  BROTLI: (input, size) => brotliDecompressSync(input, { maxOutputLength: Math.max(1, size) }),
}

/** Returns the rows of the group in the order of their offsets. */
async function readRows({ footer, group, start, bytes }: FetchedForeign): Promise<Row[]> {
  const metadata = parseFooter(footer)
  const groups = metadata.row_groups
  const rowStart = groups.slice(0, group).reduce((sum, { num_rows }) => sum + Number(num_rows), 0)
  const names = new Set(groups[group]!.columns.map(({ meta_data }) => meta_data?.path_in_schema[0]))
  const columns = READ_COLUMNS.filter(name => names.has(name))
  const { promise: allAsked, resolve: noteAllAsked } = Promise.withResolvers<void>()
  let isRefused = false
  // hyparquet asks for places in the file; only those of the group are here.
  const slice = async (from: number, end = start + bytes.length) => {
    // It asks for all columns before it awaits one. If it fails between two of them, it forgets the first one, and the
    // error of a forgotten column would end the process. So no column comes before all are asked for.
    systemClock.soon(() => {
      if (!isRefused) noteAllAsked()
    })
    await allAsked
    return bytes.buffer.slice(bytes.byteOffset + from - start, bytes.byteOffset + end - start) as ArrayBuffer
  }
  checkForeignPages(groups[group]!, bytes, start)
  let rows: RawRow[] = []
  await parquetRead({
    file: { byteLength: start + bytes.length, slice },
    metadata,
    columns,
    rowStart,
    rowEnd: rowStart + Number(groups[group]!.num_rows),
    rowFormat: 'object',
    utf8: false,
    compressors: UNPACKERS,
    parsers: { timestampFromMicroseconds: (micros: bigint) => micros },
    onComplete: read => {
      rows = read as unknown as RawRow[]
    },
  }).catch((error: unknown) => {
    isRefused = true
    throw error
  })
  return rows.map(asRow).sort((a, b) => a.offset - b.offset)
}

function asRow(row: RawRow): Row {
  if (typeof row.offset !== 'bigint' || typeof row.timestamp !== 'bigint')
    throw new DamagedFile('a row has no offset or no timestamp')
  return {
    offset: wholeNumber('the offset of a row', row.offset),
    timestamp: toMs(Number(row.timestamp)),
    isAppendTime: row.timestamp_type === 1,
    leaderEpoch: row.leader_epoch ?? -1,
    key: asBuffer(row.key),
    value: asBuffer(row.value),
    headers: (row.headers ?? []).map(({ key, value }) => ({
      key: typeof key === 'string' ? Buffer.from(key) : asBuffer(key)!,
      value: asBuffer(value),
    })),
    isHidden: (row.control_type ?? null) !== null || row.txn_state === ABORTED,
    isUnreadable: row.control_type === UNKNOWN_CONTROL,
    batchHeader: row.batch_header?.length === BATCH_HEADER_BYTES ? viewBatch(row.batch_header) : null,
    batchRaw: row.batch_raw != null && row.batch_raw.length >= BATCH_HEADER_BYTES ? viewBatch(row.batch_raw) : null,
  }
}

function asBuffer(bytes: Uint8Array | null | undefined): Buffer | null {
  return bytes == null ? null : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
}
