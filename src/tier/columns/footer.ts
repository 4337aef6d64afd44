// The footer of a Parquet file as hyparquet reads it. It knows nothing of our columns.

import { type FileMetaData, parquetMetadata } from 'hyparquet'
import { parsing } from './parsing.ts'
import { endOfStruct } from './thrift-bounds.ts'

/** Throws DamagedFile. Bounds of columns are numbers and bigints, also those of times. */
export function parseFooter(footer: Uint8Array): FileMetaData {
  return parsing('the footer', () => {
    endOfStruct(footer, 0)
    // Without parsers hyparquet would make dates of the bounds.
    return parquetMetadata(footer, { parsers: { timestampFromMicroseconds: (micros: bigint) => micros } })
  })
}
