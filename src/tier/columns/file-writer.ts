// Writes the bytes of a Parquet file around finished column chunks: row groups in order, the page index, and the
// footer with the facts of the file. It streams: bytes are handed over as they are made, and large chunks without a
// copy.

import type { ColumnChunk, RowGroup } from 'hyparquet'
import { ByteWriter, ParquetWriter } from 'hyparquet-writer'
import type { PageIndexes } from 'hyparquet-writer/src/types.js'
import type { ClosedChunk } from './chunk.ts'
import type { DataFileFacts } from './data-file.ts'
import type { ChunkBytes } from './page-memory.ts'
import type { Page } from './pages.ts'
import { parquetSchema, physicalType } from './parquet-schema.ts'
import { FIELD, LEAVES, SORT_FIELD } from './table-schema.ts'

/** Names the writer in each file: files of other writers are read more carefully. */
export const CREATED_BY = 'ketch version 1'

/** The facts that the file writer adds itself. */
type FactsBefore = Omit<
  DataFileFacts,
  'size' | 'splitOffsets' | 'columnSizes' | 'valueCounts' | 'nullValueCounts' | 'lowerBounds' | 'upperBounds'
>

/** Small chunks go together into parts of about this size. */
const FLUSHED_BYTES = 256 * 1024

/** Pages of these columns have their bounds in the page index. */
const INDEXED: readonly number[] = [FIELD.offset, FIELD.timestamp]

export class FileWriter {
  readonly #bytes = new ByteWriter()
  readonly #parquet: ParquetWriter
  #parts: Uint8Array[] = []
  readonly #splitOffsets: number[] = []
  readonly #columnSizes = new Map<number, number>()
  readonly #valueCounts = new Map<number, number>()
  readonly #nullValueCounts = new Map<number, number>()
  readonly #lowerBounds = new Map<number, Uint8Array>()
  /** Null: a column without an upper bound. */
  readonly #upperBounds = new Map<number, Uint8Array | null>()

  constructor() {
    this.#parquet = new ParquetWriter({
      writer: this.#bytes,
      schema: parquetSchema(),
      codec: 'ZSTD',
      createdBy: CREATED_BY,
    })
  }

  /** Bytes made so far. */
  get size(): number {
    return this.#bytes.offset
  }

  /** Returns the bytes that were made since the last call. */
  take(): Uint8Array[] {
    this.#flush()
    const parts = this.#parts
    this.#parts = []
    return parts
  }

  /** Adds a row group with these chunks, unless it has no rows. */
  addGroup(chunks: readonly ClosedChunk[]): void {
    const rows = chunks[0]!.pages.reduce((sum, page) => sum + page.rows, 0)
    if (chunks[0]!.valueCount === 0) return
    const start = this.size
    const columns = chunks.map(chunk => this.#addChunk(chunk))
    const plain = columns.reduce((sum, { meta_data }) => sum + meta_data!.total_uncompressed_size, 0n)
    const group: RowGroup = {
      columns,
      total_byte_size: plain,
      num_rows: BigInt(rows),
      sorting_columns: [
        { column_idx: LEAVES.findIndex(({ id }) => id === SORT_FIELD), descending: false, nulls_first: false },
      ],
      file_offset: BigInt(start),
      total_compressed_size: BigInt(this.size - start),
    }
    this.#parquet.row_groups.push(group)
    this.#parquet.num_rows += BigInt(rows)
    this.#splitOffsets.push(start)
  }

  /** Ends the file. */
  finish(facts: FactsBefore, metadata: Readonly<Record<string, string>>): DataFileFacts {
    this.#parquet.kvMetadata = Object.entries({ ...metadata, ...keyValues(facts) }).map(([key, value]) => ({
      key,
      value,
    }))
    // It has nothing to wait for: its bytes go into memory.
    void this.#parquet.finish()
    return {
      ...facts,
      size: this.size,
      splitOffsets: this.#splitOffsets,
      columnSizes: this.#columnSizes,
      valueCounts: this.#valueCounts,
      nullValueCounts: this.#nullValueCounts,
      lowerBounds: this.#lowerBounds,
      upperBounds: new Map([...this.#upperBounds].flatMap(([id, bound]) => (bound === null ? [] : [[id, bound]]))),
    }
  }

  #addChunk(chunk: ClosedChunk): ColumnChunk {
    const { leaf, dictionary, pages } = chunk
    const start = this.size
    const pagesAt = start + (dictionary?.bytes ?? 0)
    const locations = []
    let pageAt = pagesAt
    let firstRow = 0
    for (const page of pages) {
      locations.push({
        offset: BigInt(pageAt),
        compressed_page_size: page.bytes,
        first_row_index: BigInt(firstRow),
      })
      pageAt += page.bytes
      firstRow += page.rows
    }
    this.#append(chunk.bytes)
    const all = dictionary === null ? pages : [dictionary, ...pages]
    const column: ColumnChunk = {
      file_offset: BigInt(start),
      meta_data: {
        type: physicalType(leaf),
        encodings: [...chunk.encodings],
        path_in_schema: [...leaf.path],
        codec: 'ZSTD',
        num_values: BigInt(chunk.valueCount),
        total_uncompressed_size: BigInt(all.reduce((sum, { plainBytes }) => sum + plainBytes, 0)),
        total_compressed_size: BigInt(this.size - start),
        data_page_offset: BigInt(pagesAt),
        ...(dictionary !== null && { dictionary_page_offset: BigInt(start) }),
        statistics: chunk.statistics,
        encoding_stats: encodingStats(chunk),
      },
    }
    const index: PageIndexes = { chunk: column, offsetIndex: { page_locations: locations } }
    if (INDEXED.includes(leaf.id)) index.columnIndex = columnIndex(leaf.id, pages)
    this.#parquet.pendingIndexes.push(index)
    this.#measure(chunk, this.size - start)
    return column
  }

  #measure({ leaf: { id }, valueCount, nulls, lower, upper }: ClosedChunk, size: number): void {
    const add = (to: Map<number, number>, more: number) => to.set(id, (to.get(id) ?? 0) + more)
    add(this.#columnSizes, size)
    add(this.#valueCounts, valueCount)
    add(this.#nullValueCounts, nulls)
    if (lower === null) return
    const least = this.#lowerBounds.get(id)
    const most = this.#upperBounds.get(id)
    if (least === undefined || isLess(id, lower, least)) this.#lowerBounds.set(id, lower)
    if (most === undefined || upper === null || (most !== null && isLess(id, most, upper)))
      this.#upperBounds.set(id, upper)
  }

  #append({ parts, isLent }: ChunkBytes): void {
    if (isLent) {
      for (const part of parts) this.#bytes.appendBytes(part)
      if (this.#bytes.index >= FLUSHED_BYTES) this.#flush()
      return
    }
    this.#flush()
    for (const part of parts) {
      this.#parts.push(part)
      this.#bytes.offset += part.length
    }
  }

  /** Takes what the Parquet writer wrote. */
  #flush(): void {
    if (this.#bytes.index === 0) return
    this.#parts.push(this.#bytes.getBytes().slice())
    this.#bytes.index = 0
  }
}

/** Compares bounds of a column. */
function isLess(id: number, a: Uint8Array, b: Uint8Array): boolean {
  if (id === FIELD.key) return Buffer.compare(a, b) < 0
  const number = (bytes: Uint8Array) =>
    bytes.length === 4
      ? BigInt(Buffer.from(bytes.buffer, bytes.byteOffset, 4).readInt32LE())
      : Buffer.from(bytes.buffer, bytes.byteOffset, 8).readBigInt64LE()
  return number(a) < number(b)
}

function encodingStats({ dictionary, pages, encodings }: ClosedChunk) {
  const data = { page_type: 'DATA_PAGE_V2' as const, encoding: encodings.at(-1)!, count: pages.length }
  return dictionary === null
    ? [data]
    : [{ page_type: 'DICTIONARY_PAGE' as const, encoding: 'PLAIN' as const, count: 1 }, data]
}

function columnIndex(id: number, pages: readonly Page[]) {
  return {
    null_pages: pages.map(() => false),
    min_values: pages.map(({ bounds }) => bounds![0]),
    max_values: pages.map(({ bounds }) => bounds![1]),
    boundary_order: id === SORT_FIELD ? ('ASCENDING' as const) : ('UNORDERED' as const),
    null_counts: pages.map(({ nulls }) => BigInt(nulls)),
  }
}

/** The names under which the facts stand in the metadata of the file. */
export const FACTS_KEY = 'kafka.facts'

function keyValues(facts: FactsBefore): Readonly<Record<string, string>> {
  return {
    'kafka.partition': String(facts.partition),
    'kafka.base': String(facts.base),
    'kafka.next': String(facts.next),
    'kafka.bytes': String(facts.kafkaBytes),
    [FACTS_KEY]: JSON.stringify(facts),
  }
}
