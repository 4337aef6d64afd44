// The tables that the engines read, and the records that they must find. The engines know only the URL and the token
// of the catalog.

import type { SeenRecord } from './sums.ts'

/** A bucket, as the lines of docs/guides/iceberg.md name it to an engine. */
export interface Lake {
  readonly bucket: string
  /** An URL without a path. */
  readonly endpoint: string
  readonly region: string
  readonly keyId: string
  readonly secret: string
}

export interface World {
  /** The URL of the catalog without `/v1`. */
  readonly catalog: string
  readonly token: string
  /** The folder of the tables; an empty one if they are in a bucket. */
  readonly folder: string
  /** The bucket of the tables; null if they are in a folder. */
  readonly lake: Lake | null
  /** Each topic with a table, and the records that a Kafka client reads from it. */
  readonly topics: ReadonlyMap<string, readonly SeenRecord[]>
  /**
   * Moves the log start of partition 0 of the first topic, and waits until files below it are gone from the table.
   * Resolves with the log start. The engines still see records below it, in a file that has others above it.
   */
  retain(): Promise<number>
}

export const TOKEN = 'the token of the catalog in this test'
