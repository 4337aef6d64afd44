// Bytes of a file from a store: ranges, and the end of the file, which is fetched once. It knows nothing of Parquet.

import { DamagedFile } from './page-cursors.ts'

/** Resolves with the bytes [start, end) of the file in memory of their own; null if the file is missing. */
export type ReadRange = (start: number, end: number) => Promise<Uint8Array | null>

export interface ByteSpan {
  readonly start: number
  readonly end: number
}

/** A page of a column chunk. */
export interface PageAt {
  /** Where it is in the file. */
  readonly start: number
  readonly end: number
  readonly firstRow: number
  readonly rows: number
  /** The smallest and the largest value; in ms for times. Null without a column index. */
  readonly least: number | null
  readonly most: number | null
}

/** The file is gone. Another one may have its records: the table has to be read again. */
export class MissingFile extends Error {
  override readonly name = 'MissingFile'
}

export async function fetchRange(read: ReadRange, { start, end }: ByteSpan): Promise<Uint8Array> {
  const bytes = await read(start, end)
  if (bytes === null) throw new MissingFile('the data file is missing')
  if (bytes.length !== end - start)
    throw new DamagedFile(`bytes ${start} to ${end} of the data file are ${bytes.length} bytes`)
  return bytes
}

/** An index larger than this is not kept. */
const MOST_KEPT_BYTES = 2 * 1024 * 1024

/** The bytes from `from` to the end of the file. Those from `start` on are here; the others are fetched once. */
export class Tail {
  readonly #read: ReadRange
  readonly #from: number
  #start: number
  #bytes: Uint8Array
  #more: Promise<void> | null = null

  constructor(read: ReadRange, from: number, start: number, bytes: Uint8Array) {
    this.#read = read
    this.#from = from
    this.#start = start
    this.#bytes = bytes
  }

  /** Returns the bytes [start, end); null if they are not all here. */
  here({ start, end }: ByteSpan): Uint8Array | null {
    return start < this.#start ? null : this.#bytes.subarray(start - this.#start, end - this.#start)
  }

  async at(start: number, length: number): Promise<Uint8Array> {
    if (start < this.#start) {
      const isLarge = this.#start - this.#from > MOST_KEPT_BYTES
      if (start < this.#from || isLarge) return await fetchRange(this.#read, { start, end: start + length })
      this.#more ??= this.#extend()
      await this.#more
    }
    return this.#bytes.subarray(start - this.#start, start - this.#start + length)
  }

  async #extend(): Promise<void> {
    try {
      const before = await fetchRange(this.#read, { start: this.#from, end: this.#start })
      this.#bytes = Buffer.concat([before, this.#bytes])
      this.#start = this.#from
    } finally {
      this.#more = null
    }
  }
}
