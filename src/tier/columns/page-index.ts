// The page index of a column chunk: where its pages are and which rows they have. It lies between the row groups and
// the footer, so that the bytes that were fetched with the footer often have it.

import type { ColumnChunk, ColumnIndex } from 'hyparquet'
import { readColumnIndex, readOffsetIndex } from 'hyparquet'
import { spanOf } from './chunk-places.ts'
import type { ByteSpan, PageAt } from './file-bytes.ts'
import type { DataFile } from './open-file.ts'
import { DamagedFile, toMs } from './page-cursors.ts'
import { parsing, wholeNumber } from './parsing.ts'
import { endOfStruct } from './thrift-bounds.ts'

/** The columns of one group, about: a reader goes on in the group where it was. */
const MOST_KEPT = 16
/** That of a column with 100,000 pages has some 5 MB. */
const MOST_INDEX_BYTES = 32 * 1024 * 1024

/** Returns the pages of a chunk in order. A chunk without an index has one page, or must be read as one. */
export function pagesOf(file: DataFile, chunk: ColumnChunk, rows: number): Promise<readonly PageAt[]> {
  const { pages } = file
  const kept = pages.get(chunk)
  if (kept !== undefined) return kept
  if (pages.size >= MOST_KEPT) pages.clear()
  const loaded = loadPages(file, chunk, rows).catch(error => {
    pages.delete(chunk)
    throw error
  })
  pages.set(chunk, loaded)
  return loaded
}

async function loadPages(file: DataFile, chunk: ColumnChunk, rows: number): Promise<readonly PageAt[]> {
  const { offset_index_offset, offset_index_length } = chunk
  if (offset_index_offset === undefined || offset_index_length === undefined) {
    const bounds = chunk.meta_data?.statistics
    return [
      {
        ...spanOf(chunk),
        firstRow: 0,
        rows,
        least: asNumber(chunk, bounds?.min_value),
        most: asNumber(chunk, bounds?.max_value),
      },
    ]
  }
  const locations = await indexAt(file, offset_index_offset, offset_index_length)
  const pages = parsing('the page index', () =>
    readOffsetIndex(locations).page_locations.map(({ offset, compressed_page_size, first_row_index }) => {
      const start = wholeNumber('the place of a page', offset)
      const end = start + wholeNumber('the size of a page', compressed_page_size)
      return { start, end, firstRow: wholeNumber('the first row of a page', first_row_index) }
    }),
  )
  const bounds = await boundsOf(file, chunk)
  const found = pages.map((page, i) => ({
    ...page,
    rows: (pages[i + 1]?.firstRow ?? rows) - page.firstRow,
    least: asNumber(chunk, bounds?.min_values[i]),
    most: asNumber(chunk, bounds?.max_values[i]),
  }))
  checkPages(found, spanOf(chunk))
  return found
}

/** The index has no checksum. Pages must lie in the chunk in order, and their rows must follow each other. */
function checkPages(pages: readonly PageAt[], { start, end }: ByteSpan): void {
  let at = start
  for (const page of pages) {
    if (!(page.start >= at && page.end > page.start && page.end <= end && page.rows > 0))
      throw new DamagedFile(
        `the page index has a page of ${page.rows} rows at ${page.start} to ${page.end}, in ${at} to ${end}`,
      )
    at = page.end
  }
  if (pages[0]?.firstRow !== 0) throw new DamagedFile('the page index does not begin with the first row')
}

async function boundsOf(file: DataFile, chunk: ColumnChunk): Promise<ColumnIndex | null> {
  const { column_index_offset, column_index_length } = chunk
  if (column_index_offset === undefined || column_index_length === undefined) return null
  const path = chunk.meta_data!.path_in_schema
  const element = file.metadata.schema.find(({ name }) => name === path.at(-1))!
  const parsers = { timestampFromMicroseconds: (micros: bigint) => micros }
  const bytes = await indexAt(file, column_index_offset, column_index_length)
  return parsing('the page index', () => readColumnIndex(bytes, element, parsers))
}

function asNumber(chunk: ColumnChunk, bound: unknown): number | null {
  if (typeof bound !== 'bigint') return null
  return chunk.meta_data!.path_in_schema[0] === 'timestamp' ? toMs(Number(bound)) : Number(bound)
}

async function indexAt(file: DataFile, offset: bigint, length: number): Promise<{ view: DataView; offset: number }> {
  const start = wholeNumber('the place of the page index', offset)
  const size = wholeNumber('the size of the page index', length)
  if (!(start >= 0 && size > 0 && start + size <= file.size))
    throw new DamagedFile(`a page index of ${size} bytes at ${start} does not fit`)
  if (size > MOST_INDEX_BYTES) throw new DamagedFile(`a page index of ${size} bytes is larger than ${MOST_INDEX_BYTES}`)
  const bytes = await file.tail.at(start, size)
  parsing('the page index', () => endOfStruct(bytes, 0))
  return { view: new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength), offset: 0 }
}
