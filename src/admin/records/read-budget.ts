// The most that one question about records may cost, shared by its readers. Whatever the log contains, a page, a look
// of a live tail or a round of an export ends when one of these limits is reached, and the next one continues there.

import type { Looker } from '../../log/unpacking.ts'

export interface ReadLimits {
  /** Bytes of logs, as they are read. */
  readonly bytes: number
  /** Bytes that unpacking batches produces. */
  readonly unpackedBytes: number
  /** Records that are decoded. */
  readonly records: number
  /** Bytes of records that are held until they are taken. */
  readonly keptBytes: number
}

export class ReadBudget {
  /** Looks into batches for this question. */
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

  /** Read from logs. */
  get bytes(): number {
    return this.#bytes
  }

  /** Records that were decoded. */
  get records(): number {
    return this.#records
  }

  /** No more bytes may be read. */
  get isSpent(): boolean {
    return this.#bytes >= this.#limits.bytes || this.isDone
  }

  /** The rest of the bytes that were read must not be decoded either. */
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
