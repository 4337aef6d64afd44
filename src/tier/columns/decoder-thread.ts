// Restores record batches in threads. Fetched bytes are copied into memory that is handed over: a store may share
// its own, and compressed bytes are few.

import type { Clock } from '../../base/clock.ts'
import type { DecoderCall } from './decoder-worker.ts'
import { DamagedFile } from './page-cursors.ts'
import type { Fetched } from './read.ts'
import type { RestoredBatch } from './restore.ts'
import { Threads } from './threads.ts'
import type { FoundRecord, TimeQuery } from './time-search.ts'
import type { GroupSummary } from './verify.ts'

export class DecoderThreads {
  readonly #threads: Threads

  constructor(clock: Clock, most: number) {
    this.#threads = new Threads({
      name: 'decoder',
      script: new URL('./decoder-worker.ts', import.meta.url),
      most,
      clock,
      errorOf: ({ name, message }) => (name === 'DamagedFile' ? new DamagedFile(message) : new Error(message)),
    })
  }

  get size(): number {
    return this.#threads.size
  }

  /** Restores the batches from `from` on. They share one piece of memory. Rejects with DamagedFile or ThreadEnded. */
  async restore(fetched: Fetched, from = 0): Promise<RestoredBatch[]> {
    return await this.#run(fetched, copy => ['restore', copy, from])
  }

  /** For findByTime and findLargestTime. */
  readonly search = async (fetched: Fetched, query: TimeQuery): Promise<FoundRecord | null> =>
    await this.#run(fetched, copy => ['search', copy, query])

  /** For verifyFile. */
  readonly summarize = async (fetched: Fetched): Promise<GroupSummary> =>
    await this.#run(fetched, copy => ['summarize', copy])

  async close(): Promise<void> {
    await this.#threads.close()
  }

  async #run<T>(fetched: Fetched, callOf: (copy: Fetched) => DecoderCall): Promise<T> {
    const thread = await this.#threads.take()
    try {
      // Copied only when a thread is free, so that waiting calls take no memory twice.
      const { copy, memory } = copied(fetched)
      return await thread.ask<T>(callOf(copy), memory)
    } finally {
      this.#threads.give(thread)
    }
  }
}

function copied(fetched: Fetched): { readonly copy: Fetched; readonly memory: readonly ArrayBuffer[] } {
  if (fetched.kind === 'foreign') {
    const [bytes, footer] = [Uint8Array.from(fetched.bytes), Uint8Array.from(fetched.footer)]
    return { copy: { ...fetched, bytes, footer }, memory: [bytes.buffer, footer.buffer] }
  }
  const memory = new ArrayBuffer(fetched.columns.reduce((sum, { bytes }) => sum + bytes.length, 0))
  let at = 0
  const columns = fetched.columns.map(column => {
    const bytes = new Uint8Array(memory, at, column.bytes.length)
    bytes.set(column.bytes)
    at += bytes.length
    return { ...column, bytes }
  })
  return { copy: { ...fetched, columns }, memory: [memory] }
}
