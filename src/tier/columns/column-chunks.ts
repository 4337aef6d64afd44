// The column chunks of the row group that is being written. Each takes the values of its column, a slice of records at
// a time, and finishes a page at each cut. All columns are cut at the same rows, so that pages with the same rows can be
// read together; a column that has only nulls so far is not cut. Values are copied once, into the page that is open.

import type { Encoding, Statistics } from 'hyparquet'
import { dataPage, dictionaryPage, encodeLevels, equalLevels, type Page } from './pages.ts'
import { intBound, longBound, lowerBytes, physicalType, timeBound, upperBytes } from './parquet-schema.ts'
import { copyBytes } from './record-form.ts'
import type { Leaf } from './table-schema.ts'

/** A finished chunk. */
export interface ClosedChunk {
  readonly leaf: Leaf
  readonly dictionary: Page | null
  readonly pages: readonly Page[]
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
}

const FIRST_ROOM = 64 * 1024
/** An empty chunk keeps at most this much memory for its next page. */
const KEPT_ROOM = 1024 * 1024

/** Bytes that grow. */
class Room {
  bytes: Buffer = Buffer.allocUnsafeSlow(FIRST_ROOM)
  used = 0

  need(more: number): void {
    const least = this.used + more
    if (least <= this.bytes.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(least, Math.min(this.bytes.length * 2, least + (least >> 1))))
    this.bytes.copy(larger, 0, 0, this.used)
    this.bytes = larger
  }

  take(): Uint8Array {
    return this.bytes.subarray(0, this.used)
  }

  clear(): void {
    this.used = 0
    if (this.bytes.length > KEPT_ROOM) this.bytes = Buffer.allocUnsafeSlow(FIRST_ROOM)
  }
}

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
  #pages: Page[] = []
  #pageBytes = 0
  #rows = 0
  #nulls = 0

  constructor(leaf: Leaf, isNullable: boolean) {
    this.leaf = leaf
    this.isNullable = isNullable
  }

  get heldBytes(): number {
    return this.#pageBytes + this.room.bytes.length + this.levels.bytes.length
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
    const page = dataPage({
      encoding: 'PLAIN',
      values: this.room.take(),
      valueCount: rows,
      nulls,
      rows,
      ...(definitionLevels && { definitionLevels }),
      bounds: this.pageBounds(),
    })
    this.#pages.push(page)
    this.#pageBytes += page.bytes.length
    this.#rows += rows
    this.#nulls += nulls
    this.rows = 0
    this.nulls = 0
    this.#isMixed = false
    this.room.clear()
    this.levels.clear()
  }

  close(): ClosedChunk {
    if (this.rows > 0) this.#finishPage()
    const pages = this.#pages
    const bounds = this.chunkBounds()
    const closed: ClosedChunk = {
      leaf: this.leaf,
      dictionary: null,
      pages,
      encodings: ['PLAIN'],
      valueCount: this.#rows,
      nulls: this.#nulls,
      statistics: { null_count: BigInt(this.#nulls), ...bounds.statistics },
      lower: bounds.lower,
      upper: bounds.upper,
    }
    this.#pages = []
    this.#pageBytes = 0
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

interface Bounds {
  readonly statistics: Statistics
  readonly lower: Uint8Array | null
  readonly upper: Uint8Array | null
}

const NO_BOUNDS: Bounds = { statistics: {}, lower: null, upper: null }

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

function putInt(to: Buffer, at: number, value: number): number {
  // Conversion to 32 bits drops what is above them.
  const bits = value | 0
  to[at] = bits & 0xff
  to[at + 1] = (bits >>> 8) & 0xff
  to[at + 2] = (bits >>> 16) & 0xff
  to[at + 3] = bits >>> 24
  return at + 4
}

function boundOf({ type }: Leaf): (value: number) => Uint8Array {
  return type === 'int' ? intBound : type === 'timestamptz' ? timeBound : longBound
}

function numberBounds(leaf: Leaf, least: number, most: number): Bounds {
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

/** Above this number of values a dictionary is not worth it. */
const MOST_ENTRIES = 4096

/** Numbers that stay the same over many rows: a dictionary and runs, in one page. */
export class RunsChunk implements Chunk {
  readonly leaf: Leaf
  readonly #isNullable: boolean
  /** NaN stands for null. */
  #values: number[] = []
  #counts: number[] = []

  constructor(leaf: Leaf, isNullable: boolean) {
    this.leaf = leaf
    this.#isNullable = isNullable
  }

  get heldBytes(): number {
    return this.#values.length * 16
  }

  /** Adds `count` rows of a value. */
  add(value: number | null, count: number): void {
    const next = value ?? Number.NaN
    const last = this.#values.length - 1
    if (last >= 0 && Object.is(this.#values[last], next)) this.#counts[last]! += count
    else {
      this.#values.push(next)
      this.#counts.push(count)
    }
  }

  /** Its one page ends with the chunk. */
  cut(): void {}

  close(): ClosedChunk {
    const { leaf } = this
    const [values, counts] = [this.#values, this.#counts]
    this.#values = []
    this.#counts = []
    const entries = new Map<number, number>()
    let rows = 0
    let nulls = 0
    let least = Number.POSITIVE_INFINITY
    let most = Number.NEGATIVE_INFINITY
    values.forEach((value, i) => {
      rows += counts[i]!
      if (Number.isNaN(value)) nulls += counts[i]!
      else {
        if (!entries.has(value)) entries.set(value, entries.size)
        least = Math.min(least, value)
        most = Math.max(most, value)
      }
    })
    const isPlain = entries.size === 0 || entries.size > MOST_ENTRIES
    const definitionLevels = this.#isNullable ? levelRuns(values, counts) : undefined
    const page = dataPage({
      encoding: isPlain ? 'PLAIN' : 'RLE_DICTIONARY',
      values: isPlain ? plainRuns(leaf, values, counts) : indexRuns(entries, values, counts),
      valueCount: rows,
      nulls,
      rows,
      ...(definitionLevels && { definitionLevels }),
    })
    return {
      leaf,
      dictionary: isPlain ? null : dictionaryPage(plainNumbers(leaf, [...entries.keys()]), entries.size),
      pages: [page],
      encodings: isPlain ? ['PLAIN'] : ['PLAIN', 'RLE_DICTIONARY'],
      valueCount: rows,
      nulls,
      ...withNulls(numberBounds(leaf, least, most), nulls),
    }
  }
}

function withNulls({ statistics, lower, upper }: Bounds, nulls: number): Bounds {
  return { statistics: { ...statistics, null_count: BigInt(nulls) }, lower, upper }
}

function plainNumbers(leaf: Leaf, values: readonly number[]): Uint8Array {
  return Buffer.concat(values.map(boundOf(leaf)))
}

function plainRuns(leaf: Leaf, values: readonly number[], counts: readonly number[]): Uint8Array {
  const width = physicalType(leaf) === 'INT32' ? 4 : 8
  const bound = boundOf(leaf)
  const rows = counts.reduce((sum, count, i) => (Number.isNaN(values[i]) ? sum : sum + count), 0)
  const bytes = Buffer.allocUnsafe(rows * width)
  let at = 0
  values.forEach((value, i) => {
    if (Number.isNaN(value)) return
    bytes.fill(bound(value), at, at + counts[i]! * width)
    at += counts[i]! * width
  })
  return bytes
}

/** Returns the bit width, then a run for each value. */
function indexRuns(entries: ReadonlyMap<number, number>, values: readonly number[], counts: readonly number[]): Buffer {
  const bits = 32 - Math.clz32(entries.size - 1)
  const width = (bits + 7) >> 3
  const bytes = Buffer.allocUnsafe(1 + values.length * (5 + width))
  bytes[0] = bits
  let at = 1
  values.forEach((value, i) => {
    if (Number.isNaN(value)) return
    at = putRun(bytes, at, counts[i]!, entries.get(value)!, width)
  })
  return bytes.subarray(0, at)
}

function levelRuns(values: readonly number[], counts: readonly number[]): Uint8Array {
  const bytes = Buffer.allocUnsafe(values.length * 6)
  let at = 0
  for (let i = 0; i < values.length; ) {
    const isNull = Number.isNaN(values[i])
    let count = 0
    for (; i < values.length && Number.isNaN(values[i]) === isNull; i++) count += counts[i]!
    at = putRun(bytes, at, count, isNull ? 0 : 1, 1)
  }
  return bytes.subarray(0, at)
}

function putRun(to: Buffer, from: number, count: number, value: number, width: number): number {
  let at = from
  let header = count * 2
  for (; header > 0x7f; header = Math.floor(header / 0x80)) to[at++] = (header % 0x80) | 0x80
  to[at++] = header
  for (let i = 0; i < width; i++) to[at++] = (value >>> (8 * i)) & 0xff
  return at
}

/** A leaf of the headers. Both leaves of a row have the same levels, but for null values. */
export class HeadersChunk implements Chunk {
  readonly leaf: Leaf
  readonly #mostLevel: number
  readonly #room = new Room()
  readonly #repetition = new Room()
  readonly #definition = new Room()
  #rows = 0
  #nulls = 0
  #entries = 0
  #hasEntries = false
  #pages: Page[] = []
  #pageBytes = 0
  #chunkEntries = 0
  #chunkNulls = 0

  /** `mostLevel` is the definition level of a value. */
  constructor(leaf: Leaf, mostLevel: number) {
    this.leaf = leaf
    this.#mostLevel = mostLevel
  }

  get heldBytes(): number {
    const open = this.#room.bytes.length + this.#repetition.bytes.length + this.#definition.bytes.length
    return this.#pageBytes + open
  }

  /** Adds rows without headers. */
  addEmpty(rows: number): void {
    this.#levels(0, 0, rows)
    this.#rows += rows
    this.#nulls += rows
  }

  /** Adds an entry; the first of a row begins the row. -1 is null. */
  add(isFirst: boolean, bytes: Buffer, from: number, length: number): void {
    if (isFirst) this.#rows++
    this.#hasEntries = true
    this.#levels(isFirst ? 0 : 1, length < 0 ? this.#mostLevel - 1 : this.#mostLevel, 1)
    if (length < 0) {
      this.#nulls++
      return
    }
    const room = this.#room
    room.need(length + 4)
    room.used = putInt(room.bytes, room.used, length)
    copyBytes(room.bytes, room.used, bytes, from, length)
    room.used += length
  }

  #levels(repetition: number, definition: number, count: number): void {
    this.#entries += count
    for (const [room, level] of [
      [this.#repetition, repetition],
      [this.#definition, definition],
    ] as const) {
      room.need(count)
      if (count === 1) room.bytes[room.used] = level
      else room.bytes.fill(level, room.used, room.used + count)
      room.used += count
    }
  }

  cut(): void {
    if (this.#hasEntries) this.#finishPage()
  }

  #finishPage(): void {
    const bits = 32 - Math.clz32(this.#mostLevel)
    const page = dataPage({
      encoding: 'PLAIN',
      values: this.#room.take(),
      valueCount: this.#entries,
      nulls: this.#nulls,
      rows: this.#rows,
      repetitionLevels: encodeLevels(this.#repetition.take(), 1),
      definitionLevels: encodeLevels(this.#definition.take(), bits),
    })
    this.#pages.push(page)
    this.#pageBytes += page.bytes.length
    this.#chunkEntries += this.#entries
    this.#chunkNulls += this.#nulls
    this.#rows = 0
    this.#nulls = 0
    this.#entries = 0
    this.#hasEntries = false
    this.#room.clear()
    this.#repetition.clear()
    this.#definition.clear()
  }

  close(): ClosedChunk {
    if (this.#rows > 0) this.#finishPage()
    const closed: ClosedChunk = {
      leaf: this.leaf,
      dictionary: null,
      pages: this.#pages,
      encodings: ['PLAIN'],
      valueCount: this.#chunkEntries,
      nulls: this.#chunkNulls,
      statistics: { null_count: BigInt(this.#chunkNulls) },
      lower: null,
      upper: null,
    }
    this.#pages = []
    this.#pageBytes = 0
    this.#chunkEntries = 0
    this.#chunkNulls = 0
    return closed
  }
}
