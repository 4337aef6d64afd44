// Looks at the headers of all pages of a row group of another writer before hyparquet reads them: it makes room for as
// many values and bytes as a header says.

import type { ColumnChunk, RowGroup } from 'hyparquet'
import { parquetHeader } from 'hyparquet/src/column.js'
import { cut } from '../../base/cut.ts'
import { chunkOf, spanOf } from './chunk-places.ts'
import type { ByteSpan } from './file-bytes.ts'
import { DamagedFile, MOST_PAGE_BYTES, MOST_PAGE_VALUES } from './page-cursors.ts'
import { wholeNumber } from './parsing.ts'
import { FIELD } from './table-schema.ts'
import { endOfStruct } from './thrift-bounds.ts'

/** Each row becomes some objects. More of them do not fit the memory of a thread. */
const MOST_ROWS = 8_000_000

/** Throws an Error if a page cannot be as its header says. `bytes` are those of the group, which begins at `start`. */
export function checkForeignPages({ columns, num_rows }: RowGroup, bytes: Uint8Array, start: number): void {
  const rows = wholeNumber('the number of rows', num_rows)
  if (!(rows >= 0 && rows <= MOST_ROWS))
    throw new DamagedFile(`a row group has ${rows} rows; at most ${MOST_ROWS} are read`)
  // hyparquet would read both and use one.
  const paths = columns.map(({ meta_data }) => meta_data!.path_in_schema.join('.'))
  const twice = paths.find((path, i) => paths.indexOf(path) !== i)
  if (twice !== undefined) throw new DamagedFile(`the footer has the column '${cut(twice)}' twice in a row group`)
  const offsets = chunkOf(columns, FIELD.offset)
  if (offsets === undefined) throw new DamagedFile('the file has no column of offsets')
  for (const chunk of columns) {
    const values = countValues(chunk, bytes, start)
    if (chunk === offsets && values !== rows)
      throw new DamagedFile(`a row group of ${rows} rows has ${values} offsets in its pages`)
  }
}

function countValues(chunk: ColumnChunk, bytes: Uint8Array, start: number): number {
  const span: ByteSpan = spanOf(chunk)
  const own = bytes.subarray(span.start - start, span.end - start)
  const view = new DataView(own.buffer, own.byteOffset, own.byteLength)
  let total = 0
  // hyparquet takes no header from the last byte either.
  for (let at = 0; at < own.length - 1; ) {
    endOfStruct(own, at)
    const reader = { view, offset: at }
    const header = parquetHeader(reader)
    const size = wholeNumber('the size of a page', header.compressed_page_size)
    const plain = wholeNumber('the size of a page', header.uncompressed_page_size)
    const isDictionary = header.type === 'DICTIONARY_PAGE'
    const page = isDictionary ? header.dictionary_page_header : (header.data_page_header ?? header.data_page_header_v2)
    const values = wholeNumber('the number of values of a page', page?.num_values)
    if (size < 0 || values < 0 || plain < 0 || size > own.length - reader.offset)
      throw new DamagedFile(`a page of ${size} bytes and ${values} values does not fit`)
    if (!isDictionary) total += values
    if (plain > MOST_PAGE_BYTES || Math.max(values, total) > MOST_PAGE_VALUES)
      throw new DamagedFile(`a page of ${plain} bytes and ${values} values is larger than any`)
    at = reader.offset + size
  }
  return total
}
