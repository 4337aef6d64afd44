// The footer of a Parquet file as hyparquet reads it. It knows nothing of our columns.

import { type FileMetaData, parquetMetadata } from 'hyparquet'
import { parsing } from './parsing.ts'
import { endOfStruct } from './thrift-bounds.ts'

/** Throws DamagedFile. Bounds of columns are numbers and bigints, also those of times. */
export function parseFooter(footer: Uint8Array): FileMetaData {
  return parsing('the footer', () => {
    endOfStruct(footer, 0)
    // Without parsers hyparquet would make dates of the bounds.
    const parsers = { timestampFromMicroseconds: (micros: bigint) => micros }
    const metadata = parquetMetadata(footer, { parsers, geoparquet: false })
    checkSchema(metadata.schema)
    return metadata
  })
}

/** Throws an Error unless the elements form one tree. hyparquet would look for its children for hours. */
function checkSchema(schema: FileMetaData['schema']): void {
  let expected = 1
  for (const { num_children = 0 } of schema) {
    if (expected === 0 || !Number.isSafeInteger(num_children) || num_children < 0) break
    expected += num_children - 1
  }
  if (expected !== 0) throw new Error('its schema is no tree')
}
