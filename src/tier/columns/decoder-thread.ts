// Restores record batches in threads. The memory of what was fetched is handed over: a call can be made once.

import type { Clock } from '../../base/clock.ts'
import { memoryOf } from '../../base/copied.ts'
import { ThreadEnded, Threads } from '../../base/threads.ts'
import type { DecoderCall } from './decoder-worker.ts'
import type { FetchedForeign, ForeignBounds } from './foreign-rows.ts'
import { DamagedFile } from './page-cursors.ts'
import type { Fetched } from './read.ts'
import type { RestoredBatch } from './restore.ts'
import type { FoundRecord, TimeQuery } from './time-search.ts'
import type { GroupSummary } from './verify.ts'

/**
 * A row group is read within this time. A damaged page of another writer can keep the library that reads it busy for
 * ever, and only the end of its thread stops it.
 */
const MOST_MS = 120_000

export class DecoderThreads {
  readonly #threads: Threads
  readonly #clock: Clock
  readonly #mostMs: number

  constructor(clock: Clock, most: number, mostMs = MOST_MS) {
    this.#clock = clock
    this.#mostMs = mostMs
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

  /** For openDataFile. */
  readonly bounds = async (fetched: FetchedForeign): Promise<ForeignBounds> =>
    await this.#run(fetched, own => ['bounds', own])

  async close(): Promise<void> {
    await this.#threads.close()
  }

  async #run<T, F extends Fetched>(fetched: F, callOf: (own: F) => DecoderCall): Promise<T> {
    const thread = await this.#threads.take()
    let isLate = false
    const limit = this.#clock.timer(this.#mostMs, () => {
      isLate = true
      void thread.end()
    })
    try {
      const own = withOwnFooter(fetched)
      return await thread.ask<T>(callOf(own), memoryOf(bytesIn(own)))
    } catch (cause) {
      if (isLate) throw new DamagedFile(`a row group cannot be read within ${this.#mostMs / 1000} s`, { cause })
      if (isOutOfMemory(cause)) throw new DamagedFile(`a row group needs more memory than a thread has`, { cause })
      throw cause
    } finally {
      limit.cancel()
      this.#threads.give(thread)
    }
  }
}

function isOutOfMemory(error: unknown): boolean {
  const { cause } = error as Error
  return error instanceof ThreadEnded && (cause as NodeJS.ErrnoException | null)?.code === 'ERR_WORKER_OUT_OF_MEMORY'
}

/** The footer of a file stays here for its other groups. */
function withOwnFooter<F extends Fetched>(fetched: F): F {
  return fetched.kind === 'foreign' ? { ...fetched, footer: Uint8Array.from(fetched.footer) } : fetched
}

function bytesIn(fetched: Fetched): readonly Uint8Array[] {
  return fetched.kind === 'foreign' ? [fetched.bytes, fetched.footer] : fetched.columns.map(({ bytes }) => bytes)
}
