// Reads one segment once, for several files: each gets the batches that begin below an offset.

import { BATCH_HEADER_BYTES, viewBatch } from '../../protocol/records.ts'
import type { OffloadSegment } from './jobs.ts'
import type { OffloadSource } from './offload-source.ts'

export class SegmentCutter {
  readonly #batches: AsyncIterator<readonly Uint8Array[]>
  #left: readonly Uint8Array[] = []
  /** The bytes of batches that were read. */
  bytes = 0

  constructor(source: OffloadSource, { partition, base, next }: OffloadSegment) {
    this.#batches = source.read(partition, base, next)[Symbol.asyncIterator]()
  }

  /** Yields the next batches up to one that begins at the offset or above it; that one is for the next call. */
  async *read(until: number): AsyncGenerator<readonly Uint8Array[]> {
    for (;;) {
      const at = this.#left.findIndex(batch => beginsAt(batch) >= until)
      const mine = at < 0 ? this.#left : this.#left.slice(0, at)
      this.#left = at < 0 ? [] : this.#left.slice(at)
      this.bytes += mine.reduce((sum, { length }) => sum + length, 0)
      if (mine.length > 0) yield mine
      if (at >= 0) return
      const more = await this.#batches.next()
      if (more.done) return
      this.#left = more.value
    }
  }

  async close(): Promise<void> {
    await this.#batches.return?.()
  }
}

/** The encoder refuses bytes that are no batch. */
const beginsAt = (batch: Uint8Array) => (batch.length < BATCH_HEADER_BYTES ? 0 : viewBatch(batch).baseOffset)
