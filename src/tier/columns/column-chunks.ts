// Column chunks of values that differ from row to row: byte strings and numbers. Each takes the values of its column,
// a slice of records at a time, and finishes a page at each cut. All columns are cut at the same rows, so that pages
// with the same rows can be read together; a column that has only nulls so far is not cut. Values are copied once,
// into the page that is open.

import { type Bounds, boundOf, type Chunk, type ClosedChunk, NO_BOUNDS, numberBounds, putInt, Room } from './chunk.ts'
import { PageMemory } from './page-memory.ts'
import { dataPage, encodeLevels, equalLevels, type Page } from './pages.ts'
import { lowerBytes, upperBytes } from './parquet-schema.ts'
import { copyBytes } from './record-form.ts'
import type { Leaf } from './table-schema.ts'

/** Pages, counts and levels that all kinds of chunks have. */
abstract class Pages implements Chunk {
  readonly leaf: Leaf
  protected readonly room = new Room()
  protected readonly isNullable: boolean
  /** One level for each value of the open page; used if nulls and values are mixed. */
  protected readonly levels = new Room()
  protected rows = 0
  protected nulls = 0
  #isMixed = false
  readonly #memory = new PageMemory()
  #pages: Page[] = []
  #rows = 0
  #nulls = 0

  constructor(leaf: Leaf, isNullable: boolean) {
    this.leaf = leaf
    this.isNullable = isNullable
  }

  get heldBytes(): number {
    return this.#memory.bytes + this.room.bytes.length + this.levels.bytes.length
  }

  /** Adds rows that are null. */
  addNulls(count: number): void {
    if (this.nulls < this.rows || this.#isMixed) this.#level(0, count)
    this.rows += count
    this.nulls += count
  }

  protected addLevels(count: number): void {
    if (this.nulls > 0) this.#level(1, count)
    this.rows += count
  }

  /** Writes levels once there are nulls beside values. */
  #level(level: number, count: number): void {
    const { levels, rows } = this
    levels.need(rows - levels.used + count)
    if (!this.#isMixed) {
      this.#isMixed = true
      levels.bytes.fill(1 - level, 0, rows)
    }
    if (count === 1) levels.bytes[rows] = level
    else levels.bytes.fill(level, rows, rows + count)
    levels.used = rows + count
  }

  cut(): void {
    if (this.nulls < this.rows) this.#finishPage()
  }

  #finishPage(): void {
    const { rows, nulls } = this
    const definitionLevels = this.isNullable
      ? this.#isMixed
        ? encodeLevels(this.levels.take(), 1)
        : equalLevels(nulls === 0 ? 1 : 0, rows)
      : undefined
    const page = dataPage(this.#memory, {
      encoding: 'PLAIN',
      values: this.room.take(),
      valueCount: rows,
      nulls,
      rows,
      ...(definitionLevels && { definitionLevels }),
      bounds: this.pageBounds(),
    })
    this.#pages.push(page)
    this.#rows += rows
    this.#nulls += nulls
    this.rows = 0
    this.nulls = 0
    this.#isMixed = false
    this.room.clear()
    this.levels.clear()
  }

  end(): void {
    this.#memory.end()
  }

  close(): ClosedChunk {
    if (this.rows > 0) this.#finishPage()
    const pages = this.#pages
    const bounds = this.chunkBounds()
    const closed: ClosedChunk = {
      leaf: this.leaf,
      dictionary: null,
      pages,
      bytes: this.#memory.take(),
      encodings: ['PLAIN'],
      valueCount: this.#rows,
      nulls: this.#nulls,
      statistics: { null_count: BigInt(this.#nulls), ...bounds.statistics },
      lower: bounds.lower,
      upper: bounds.upper,
    }
    this.#pages = []
    this.#rows = 0
    this.#nulls = 0
    return closed
  }

  protected pageBounds(): readonly [Uint8Array, Uint8Array] | null {
    return null
  }

  /** Returns the bounds of the chunk and forgets them. */
  protected chunkBounds(): Bounds {
    return NO_BOUNDS
  }
}

/** Byte strings. Keys have bounds; headers of batches, original bytes and values have none. */
export class BytesChunk extends Pages {
  readonly #hasBounds: boolean
  #least: Buffer | null = null
  #most: Buffer | null = null

  constructor(leaf: Leaf, hasBounds: boolean) {
    super(leaf, true)
    this.#hasBounds = hasBounds
  }

  /** Adds one value for each length; -1 is null. */
  add(bytes: Buffer, from: Int32Array, length: Int32Array, count: number): void {
    for (let row = 0; row < count; row++) {
      const size = length[row]!
      if (size < 0) this.addNulls(1)
      else this.addOne(bytes, from[row]!, size)
    }
  }

  addOne(bytes: Buffer, from: number, size: number): void {
    this.addLevels(1)
    const { room } = this
    room.need(size + 4)
    const to = room.bytes
    let at = room.used
    to[at++] = size & 0xff
    to[at++] = (size >>> 8) & 0xff
    to[at++] = (size >>> 16) & 0xff
    to[at++] = size >>> 24
    copyBytes(to, at, bytes, from, size)
    room.used = at + size
    if (this.#hasBounds) this.#weigh(bytes, from, size)
  }

  #weigh(bytes: Buffer, from: number, size: number): void {
    const least = this.#least
    const most = this.#most
    if (least === null || isBefore(bytes, from, size, least))
      this.#least = Buffer.from(bytes.subarray(from, from + size))
    if (most === null || isAfter(bytes, from, size, most)) this.#most = Buffer.from(bytes.subarray(from, from + size))
  }

  protected override chunkBounds(): Bounds {
    const [least, most] = [this.#least, this.#most]
    this.#least = null
    this.#most = null
    if (least === null || most === null) return NO_BOUNDS
    return {
      statistics: { min_value: least, max_value: most },
      lower: lowerBytes(least),
      upper: upperBytes(most),
    }
  }
}

function isBefore(bytes: Buffer, from: number, size: number, other: Buffer): boolean {
  const common = Math.min(size, other.length)
  for (let i = 0; i < common; i++) if (bytes[from + i] !== other[i]) return bytes[from + i]! < other[i]!
  return size < other.length
}

function isAfter(bytes: Buffer, from: number, size: number, other: Buffer): boolean {
  const common = Math.min(size, other.length)
  for (let i = 0; i < common; i++) if (bytes[from + i] !== other[i]) return bytes[from + i]! > other[i]!
  return size > other.length
}

const HIGH = 2 ** 32

/** Numbers of 32 or 64 bits that differ from row to row, with bounds of each page. A timestamptz is given in ms. */
export class NumbersChunk extends Pages {
  readonly #isInt: boolean
  readonly #bound: (value: number) => Uint8Array
  #pageLeast = Number.POSITIVE_INFINITY
  #pageMost = Number.NEGATIVE_INFINITY
  #least = Number.POSITIVE_INFINITY
  #most = Number.NEGATIVE_INFINITY
  readonly #isTime: boolean

  constructor(leaf: Leaf, isNullable: boolean) {
    super(leaf, isNullable)
    this.#isInt = leaf.type === 'int'
    this.#isTime = leaf.type === 'timestamptz'
    this.#bound = boundOf(leaf)
  }

  /** Nullable numbers stay in one page: fastparquet 2026.9 fails on several. They are not read by block. */
  override cut(): void {
    if (!this.isNullable) super.cut()
  }

  /** Adds base + each delta. */
  add(base: number, delta: Int32Array | Float64Array, count: number): void {
    this.addLevels(count)
    const { room } = this
    room.need(count * 8)
    const to = room.bytes
    let at = room.used
    let least = this.#pageLeast
    let most = this.#pageMost
    for (let row = 0; row < count; row++) {
      const value = base + delta[row]!
      if (value < least) least = value
      if (value > most) most = value
      if (this.#isInt) at = putInt(to, at, value)
      else {
        const high = Math.floor(value / HIGH)
        const low = value - high * HIGH
        if (!this.#isTime) at = putInt(to, putInt(to, at, low), high)
        else {
          // The product needs more than 53 bits for dates after the year 2255.
          const micros = low * 1000
          const carry = Math.floor(micros / HIGH)
          at = putInt(to, putInt(to, at, micros - carry * HIGH), high * 1000 + carry)
        }
      }
    }
    room.used = at
    this.#pageLeast = least
    this.#pageMost = most
  }

  protected override pageBounds(): readonly [Uint8Array, Uint8Array] | null {
    const [least, most] = [this.#pageLeast, this.#pageMost]
    if (least > most) return null
    this.#least = Math.min(this.#least, least)
    this.#most = Math.max(this.#most, most)
    this.#pageLeast = Number.POSITIVE_INFINITY
    this.#pageMost = Number.NEGATIVE_INFINITY
    return [this.#bound(least), this.#bound(most)]
  }

  protected override chunkBounds(): Bounds {
    const bounds = numberBounds(this.leaf, this.#least, this.#most)
    this.#least = Number.POSITIVE_INFINITY
    this.#most = Number.NEGATIVE_INFINITY
    return bounds
  }
}
