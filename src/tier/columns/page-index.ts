// The page index of a column chunk: where its pages are and which rows they have. It lies between the row groups and
// the footer, so that the bytes that were fetched with the footer often have it.

import type { ColumnChunk, ColumnIndex } from 'hyparquet'
import { readColumnIndex, readOffsetIndex } from 'hyparquet'
import type { ByteSpan, PageAt } from './file-bytes.ts'
import { type DataFile, spanOf } from './open-file.ts'
import { DamagedFile, toMs } from './page-cursors.ts'

/** The columns of one group, about: a reader goes on in the group where it was. */
const MOST_KEPT = 16

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
  const pages = parsed(() => readOffsetIndex(locations).page_locations)
  const bounds = await boundsOf(file, chunk)
  const found = pages.map(({ offset, compressed_page_size, first_row_index }, i) => ({
    start: Number(offset),
    end: Number(offset) + compressed_page_size,
    firstRow: Number(first_row_index),
    rows: Number(pages[i + 1]?.first_row_index ?? rows) - Number(first_row_index),
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
  return parsed(() => readColumnIndex(bytes, element, parsers))
}

function parsed<T>(parse: () => T): T {
  try {
    return parse()
  } catch (error) {
    throw new DamagedFile(`the page index cannot be read: ${(error as Error).message}`, { cause: error })
  }
}

function asNumber(chunk: ColumnChunk, bound: unknown): number | null {
  if (typeof bound !== 'bigint') return null
  return chunk.meta_data!.path_in_schema[0] === 'timestamp' ? toMs(Number(bound)) : Number(bound)
}

async function indexAt(file: DataFile, offset: bigint, length: number): Promise<{ view: DataView; offset: number }> {
  const start = Number(offset)
  if (!(length > 0 && start + length <= file.size))
    throw new DamagedFile(`a page index of ${length} bytes does not fit`)
  const bytes = await file.tail.at(start, length)
  return { view: new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength), offset: 0 }
}
