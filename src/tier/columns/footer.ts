// The footer of a Parquet file as hyparquet reads it. It knows nothing of our columns.

import { type FileMetaData, parquetMetadata } from 'hyparquet'
import { DamagedFile } from './page-cursors.ts'

/** Throws DamagedFile. Bounds of columns are numbers and bigints, also those of times. */
export function parseFooter(footer: Uint8Array): FileMetaData {
  try {
    // Without parsers hyparquet would make dates of the bounds.
    return parquetMetadata(footer, { parsers: { timestampFromMicroseconds: (micros: bigint) => micros } })
  } catch (error) {
    throw new DamagedFile(`the footer cannot be read: ${(error as Error).message}`, { cause: error })
  }
}
