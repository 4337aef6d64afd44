// The shape of the log that the offload reads. The broker supplies it.

import type { AbortedTransaction } from '../columns/data-file.ts'

/** Where the batches of segments come from. */
export interface OffloadSource {
  /**
   * Yields all batches of a segment as clients see them, whole and in order. They are valid until the next ones are
   * asked for. Does not need the lead of the partition.
   * Throws BadBatch for a batch that fails its checksum, and StoreUnavailable if the store is away.
   */
  read(partition: number, base: number, next: number): AsyncIterable<readonly Uint8Array[]>
  /** Returns the aborted transactions that meet the offsets; by default there are none. */
  aborted?(partition: number, base: number, next: number): Promise<readonly AbortedTransaction[]>
}
