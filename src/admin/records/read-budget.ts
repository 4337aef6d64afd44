// Limits the cost of one request for records. All readers of the request share the budget. For any content of the
// log, a page, a look of a live tail or a round of an export ends when it reaches one of these limits. The next page,
// look or round continues there.

import type { Looker } from '../../log/unpacking.ts'

export interface ReadLimits {
  /** Bytes that are read from logs. */
  readonly bytes: number
  /** Bytes that unpacking batches produces. */
  readonly unpackedBytes: number
  /** The number of records that are decoded. */
  readonly records: number
  /** Bytes of records that are kept in memory until they are taken. */
  readonly keptBytes: number
}

export class ReadBudget {
  /** Looks into batches for this request. */
  readonly looker: Looker
  readonly #limits: ReadLimits
  #bytes = 0
  #unpackedBytes = 0
  #records = 0
  #keptBytes = 0

  constructor(looker: Looker, limits: ReadLimits) {
    this.looker = looker
    this.#limits = limits
  }

  /** The bytes that were read from logs. */
  get bytes(): number {
    return this.#bytes
  }

  /** The number of records that were decoded. */
  get records(): number {
    return this.#records
  }

  /** True if no more bytes may be read. */
  get isSpent(): boolean {
    return this.#bytes >= this.#limits.bytes || this.isDone
  }

  /** True if also the bytes that were already read must not be decoded any further. */
  get isDone(): boolean {
    const { unpackedBytes, records, keptBytes } = this.#limits
    return (
      this.#records >= records ||
      this.#unpackedBytes >= unpackedBytes ||
      this.#keptBytes >= keptBytes ||
      this.looker.patience.isOver
    )
  }

  read(bytes: number): void {
    this.#bytes += bytes
  }

  unpacked(bytes: number): void {
    this.#unpackedBytes += bytes
  }

  decoded(): void {
    this.#records++
  }

  kept(bytes: number): void {
    this.#keptBytes += bytes
  }
}
