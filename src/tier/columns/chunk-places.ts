// Column chunks of a footer: found by the names of their columns, and where they are in the file.

import type { ColumnChunk } from 'hyparquet'
import type { ByteSpan } from './file-bytes.ts'
import { wholeNumber } from './parsing.ts'
import { LEAVES } from './table-schema.ts'

/** Returns the chunk of a leaf; undefined if the file does not have the column. Columns are found by their names. */
export function chunkOf(chunks: readonly ColumnChunk[], id: number): ColumnChunk | undefined {
  const path = LEAVES.find(leaf => leaf.id === id)!.path.join('.')
  return chunks.find(({ meta_data }) => meta_data?.path_in_schema.join('.') === path)
}

export function spanOf({ meta_data }: ColumnChunk): ByteSpan {
  const { dictionary_page_offset, data_page_offset, total_compressed_size } = meta_data!
  const start = wholeNumber('the place of a column', dictionary_page_offset ?? data_page_offset)
  return { start, end: start + wholeNumber('the size of a column', total_compressed_size) }
}
