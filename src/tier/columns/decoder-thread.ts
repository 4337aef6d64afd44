// Restores record batches in threads. The memory of what was fetched is handed over: a call can be made once.

import type { Clock } from '../../base/clock.ts'
import { memoryOf } from '../../base/copied.ts'
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
    return await this.#run(fetched, own => ['restore', own, from])
  }

  /** For findByTime and findLargestTime. */
  readonly search = async (fetched: Fetched, query: TimeQuery): Promise<FoundRecord | null> =>
    await this.#run(fetched, own => ['search', own, query])

  /** For verifyFile. */
  readonly summarize = async (fetched: Fetched): Promise<GroupSummary> =>
    await this.#run(fetched, own => ['summarize', own])

  async close(): Promise<void> {
    await this.#threads.close()
  }

  async #run<T>(fetched: Fetched, callOf: (own: Fetched) => DecoderCall): Promise<T> {
    const thread = await this.#threads.take()
    try {
      const own = withOwnFooter(fetched)
      return await thread.ask<T>(callOf(own), memoryOf(bytesIn(own)))
    } finally {
      this.#threads.give(thread)
    }
  }
}

/** The footer of a file stays here for its other groups. */
function withOwnFooter(fetched: Fetched): Fetched {
  return fetched.kind === 'foreign' ? { ...fetched, footer: Uint8Array.from(fetched.footer) } : fetched
}

function bytesIn(fetched: Fetched): readonly Uint8Array[] {
  return fetched.kind === 'foreign' ? [fetched.bytes, fetched.footer] : fetched.columns.map(({ bytes }) => bytes)
}
