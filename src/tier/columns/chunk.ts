// A column chunk of the row group that is being written, whatever its values are: its contract, its result, and the
// bytes and bounds of numbers.

import type { Encoding, Statistics } from 'hyparquet'
import { release } from '../../base/copied.ts'
import type { ChunkBytes } from './page-memory.ts'
import type { Page } from './pages.ts'
import { intBound, longBound, timeBound } from './parquet-schema.ts'
import type { Leaf } from './table-schema.ts'

/** A finished chunk. */
export interface ClosedChunk {
  readonly leaf: Leaf
  readonly dictionary: Page | null
  readonly pages: readonly Page[]
  /** The dictionary, then the pages. */
  readonly bytes: ChunkBytes
  readonly encodings: readonly Encoding[]
  readonly valueCount: number
  readonly nulls: number
  readonly statistics: Statistics
  /** Bounds of the chunk in the form of Iceberg; null without values or without statistics. */
  readonly lower: Uint8Array | null
  readonly upper: Uint8Array | null
}

export interface Chunk {
  readonly leaf: Leaf
  /** Bytes of memory of its pages, open and finished. */
  readonly heldBytes: number
  /** Ends the open page. */
  cut(): void
  /** Ends the chunk, which is then empty again. */
  close(): ClosedChunk
  /** Frees the memory that the last closed chunk lent. No value comes any more. */
  end(): void
}

const FIRST_ROOM = 64 * 1024
/** An empty chunk keeps at most this much memory for its next page. */
const KEPT_ROOM = 1024 * 1024

/** Bytes that grow. */
export class Room {
  bytes: Buffer = Buffer.allocUnsafeSlow(FIRST_ROOM)
  used = 0

  need(more: number): void {
    const least = this.used + more
    if (least <= this.bytes.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(least, Math.min(this.bytes.length * 2, least + (least >> 1))))
    this.bytes.copy(larger, 0, 0, this.used)
    release([this.bytes])
    this.bytes = larger
  }

  take(): Uint8Array {
    return this.bytes.subarray(0, this.used)
  }

  clear(): void {
    this.used = 0
    if (this.bytes.length <= KEPT_ROOM) return
    release([this.bytes])
    this.bytes = Buffer.allocUnsafeSlow(FIRST_ROOM)
  }
}

export interface Bounds {
  readonly statistics: Statistics
  readonly lower: Uint8Array | null
  readonly upper: Uint8Array | null
}

export const NO_BOUNDS: Bounds = { statistics: {}, lower: null, upper: null }

export function putInt(to: Buffer, at: number, value: number): number {
  // Conversion to 32 bits drops what is above them.
  const bits = value | 0
  to[at] = bits & 0xff
  to[at + 1] = (bits >>> 8) & 0xff
  to[at + 2] = (bits >>> 16) & 0xff
  to[at + 3] = bits >>> 24
  return at + 4
}

export function boundOf({ type }: Leaf): (value: number) => Uint8Array {
  return type === 'int' ? intBound : type === 'timestamptz' ? timeBound : longBound
}

export function numberBounds(leaf: Leaf, least: number, most: number): Bounds {
  if (least > most) return NO_BOUNDS
  const value = (number: number) =>
    leaf.type === 'int' ? number : leaf.type === 'timestamptz' ? BigInt(number) * 1000n : BigInt(number)
  const bound = boundOf(leaf)
  return {
    statistics: { min_value: value(least), max_value: value(most) },
    lower: bound(least),
    upper: bound(most),
  }
}
