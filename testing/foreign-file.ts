// Rewrites a data file as another engine would: other pages, another codec, no bounds of columns.

import { brotliCompressSync, gzipSync, zstdDecompressSync } from 'node:zlib'
import { parquetReadObjects } from 'hyparquet'
import { parquetHeader } from 'hyparquet/src/column.js'
import { ByteWriter, parquetWriteBuffer } from 'hyparquet-writer'
import { writePageHeader } from 'hyparquet-writer/src/datapage.js'
import type { ColumnBytes } from '../src/tier/columns/page-cursors.ts'
import { parquetSchema } from '../src/tier/columns/parquet-schema.ts'
import { TABLE_COLUMNS } from '../src/tier/columns/table-schema.ts'

export type ForeignRows = Record<string, unknown>[]

export interface ForeignWriter {
  /** Returns the rows that the file will have, in their order. */
  readonly change?: (rows: ForeignRows) => ForeignRows
  /** Columns that it leaves out. */
  readonly left?: readonly string[]
  readonly codec?: 'SNAPPY' | 'GZIP' | 'BROTLI'
  readonly rowGroupSize?: number
}

export async function rewriteFile(bytes: Buffer, writer: ForeignWriter = {}): Promise<Buffer> {
  const { change = rows => rows, left = [], codec = 'SNAPPY', rowGroupSize = 1000 } = writer
  const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length) as ArrayBuffer
  const rows = await parquetReadObjects({
    file,
    utf8: false,
    compressors: { ZSTD: input => zstdDecompressSync(input) },
    parsers: { timestampFromMicroseconds: (micros: bigint) => micros },
  })
  const columns = TABLE_COLUMNS.filter(({ name }) => !left.includes(name))
  const changed = change(rows)
  const written = parquetWriteBuffer({
    schema: parquetSchema(columns),
    columnData: columns.map(({ name }) => ({ name, data: changed.map(row => row[name]) })),
    statistics: false,
    rowGroupSize,
    codec,
    compressors: { GZIP: input => gzipSync(input), BROTLI: input => brotliCompressSync(input) },
  })
  return Buffer.from(written)
}

/** Returns a column without the checksums of its pages, so that damage gets behind them. */
export function withoutChecksums(column: ColumnBytes): ColumnBytes {
  const { buffer, byteOffset, byteLength } = column.bytes
  const reader = { view: new DataView(buffer, byteOffset, byteLength), offset: 0 }
  const parts: Uint8Array[] = []
  while (reader.offset < byteLength) {
    const { crc: _, ...header } = parquetHeader(reader)
    const writer = new ByteWriter(64)
    writePageHeader(writer, header)
    const end = reader.offset + header.compressed_page_size
    parts.push(writer.getBytes(), column.bytes.subarray(reader.offset, end))
    reader.offset = end
  }
  return { ...column, bytes: Uint8Array.from(Buffer.concat(parts)) }
}
