// The reads of the archive that one fetch has started. They may take seconds, so a fetch does not wait for them as it
// waits for the store. Their results are collected here until the fetch looks at its rows again. If the fetch is
// answered before, the reads go on: the archive keeps what they have fetched, and the next fetch finds it there. This
// file does not decide how long a fetch waits; handlers/fetch.ts does.
//
//   start ──> pending ──settles──> kept (news for the fetch) ──taken──> in the answer
//                └─────────────── end of the fetch ────┴──> given up

import type { Partition, ReadResult } from '../../log/partition.ts'
import { isRefusal, type Refusal } from '../../protocol/errors.ts'
import type { FetchRow } from './row.ts'

export interface ArchiveReadOptions {
  /** The most reads that one fetch tries. */
  readonly most: number
  /** Called with the error of a read that has rejected: a defect of the broker. Returns the refusal of its row. */
  readonly failed: (error: unknown) => Refusal
}

interface ArchiveRead {
  readonly row: FetchRow
  /** A topic that was made again under the same name has other partitions. */
  readonly partition: Partition | null
  /** Null while it is pending. */
  result: ReadResult | Refusal | null
}

export class ArchiveReads {
  readonly #options: ArchiveReadOptions
  readonly #reads = new Map<FetchRow, ArchiveRead>()
  #tries = 0
  #pending = 0
  /** Whether a read has settled since the fetch began to look at its rows. */
  hasNews = false
  /** Whether a read was started since then. */
  isFresh = false
  /** Called when a read settles; null while the fetch does not wait. */
  onNews: (() => void) | null = null

  constructor(options: ArchiveReadOptions) {
    this.#options = options
  }

  /** Whether a read has not settled yet. */
  get isPending(): boolean {
    return this.#pending > 0
  }

  /** Whether the fetch may try one more read. */
  get mayTry(): boolean {
    return this.#tries < this.#options.most
  }

  /** Counts a read that was refused at once, so that a fetch of a thousand rows does not ask a full queue for each. */
  refused(): void {
    this.#tries++
  }

  start(row: FetchRow, reading: Promise<ReadResult | Refusal>): void {
    const former = this.#reads.get(row)
    if (former !== undefined) giveUp(former)
    const read: ArchiveRead = { row, partition: row.partition, result: null }
    this.#tries++
    this.#pending++
    this.isFresh = true
    this.#reads.set(row, read)
    reading.then(
      result => this.#settle(read, result),
      error => this.#settle(read, this.#options.failed(error)),
    )
  }

  /** Returns the result of the row's read; null while it is pending, undefined if there is no read. */
  resultOf(row: FetchRow): ReadResult | Refusal | null | undefined {
    const read = this.#reads.get(row)
    return read === undefined || read.partition !== row.partition ? undefined : read.result
  }

  /** Returns the rows with results. */
  settled(): FetchRow[] {
    return [...this.#reads.values()].filter(({ result }) => result !== null).map(({ row }) => row)
  }

  /** Forgets the result of a row: it belongs to the answer now. */
  taken(row: FetchRow): void {
    this.#reads.delete(row)
  }

  /** The fetch has its answer, or gets none. Results that it did not take are given up, and so are those to come. */
  end(): void {
    this.onNews = null
    for (const read of this.#reads.values()) giveUp(read)
    this.#reads.clear()
  }

  #settle(read: ArchiveRead, result: ReadResult | Refusal): void {
    this.#pending--
    read.result = result
    if (this.#reads.get(read.row) !== read) {
      giveUp(read)
      return
    }
    this.hasNews = true
    this.onNews?.()
  }
}

function giveUp({ result }: ArchiveRead): void {
  if (result !== null && !isRefusal(result)) result.release?.()
}
