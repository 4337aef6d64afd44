// Reads columns of our own files value by value, in order: each cursor holds one decompressed page, and gives
// positions in it instead of objects. The memory of a page is freed when the cursor leaves it, or at the end of a
// cursor that keeps its pages. Files of other writers have pages of more kinds; foreign-rows.ts reads those.

import { crc32, zstdDecompressSync } from 'node:zlib'
import { parquetHeader } from 'hyparquet/src/column.js'
import { discard, LEAST_ROOM_BYTES } from '../../protocol/unpacking.ts'
import { readLevels } from './levels.ts'
import type { HeaderWalk } from './record-form.ts'
import { endOfStruct } from './thrift-bounds.ts'

/** The bytes of a data file are not those that were written. */
export class DamagedFile extends Error {
  override readonly name = 'DamagedFile'
}

/** The pages of one column, from the first byte of a page on. */
export interface ColumnBytes {
  /** The field id. */
  readonly id: number
  readonly bytes: Uint8Array
  /** Rows of its first page before the first wanted row. */
  readonly skippedRows: number
}

const NOTHING = Buffer.alloc(0)

/** A page ends with the batch that fills it, and the largest batch has 64 MiB. */
export const MOST_PAGE_BYTES = 256 * 1024 * 1024
/** A record takes seven bytes at least, and a header two. */
export const MOST_PAGE_VALUES = 48 * 1024 * 1024

/** One page after the other. */
class Pages {
  readonly #column: ColumnBytes
  readonly #mostRepetition: number
  readonly #mostDefinition: number
  readonly #view: DataView
  readonly #keeps: boolean
  #kept: Buffer[] = []
  #at = 0
  /** The values of the page that are not null. */
  values: Buffer = NOTHING
  count = 0
  /** Null if no value is null. */
  definition: Uint8Array | null = null
  repetition: Uint8Array | null = null

  constructor(column: ColumnBytes, mostRepetition: number, mostDefinition: number, keeps = false) {
    this.#keeps = keeps
    this.#column = column
    this.#mostRepetition = mostRepetition
    this.#mostDefinition = mostDefinition
    const { buffer, byteOffset, byteLength } = column.bytes
    this.#view = new DataView(buffer, byteOffset, byteLength)
  }

  fail(why: string, cause?: unknown): never {
    throw new DamagedFile(`column ${this.#column.id} of the data file is damaged: ${why}`, { cause })
  }

  next(): void {
    try {
      this.#leave()
      this.#read()
    } catch (error) {
      // zlib and hyparquet have no class for bytes that they cannot read.
      if (error instanceof DamagedFile) throw error
      this.fail((error as Error).message, error)
    }
  }

  /** Frees all pages but those that have this memory. */
  end(handedOver?: ReadonlySet<ArrayBufferLike>): void {
    this.#kept.push(this.values)
    for (const page of this.#kept) if (handedOver?.has(page.buffer) !== true) free(page)
    this.#kept = []
    this.values = NOTHING
  }

  #leave(): void {
    if (this.#keeps) this.#kept.push(this.values)
    else free(this.values)
    this.values = NOTHING
  }

  #read(): void {
    const reader = { view: this.#view, offset: this.#at }
    const { bytes } = this.#column
    if (this.#at >= bytes.length) this.fail('it has too few values')
    endOfStruct(bytes, this.#at)
    const header = parquetHeader(reader)
    const { data_page_header_v2: page, compressed_page_size: size, uncompressed_page_size: plain, crc } = header
    if (page === undefined) this.fail('a page is not a data page of version 2')
    if (page.encoding !== 'PLAIN') this.fail(`the values are ${page.encoding} and not PLAIN`)
    const end = reader.offset + size
    const repetitionBytes = page.repetition_levels_byte_length
    const definitionBytes = page.definition_levels_byte_length
    const levelBytes = repetitionBytes + definitionBytes
    const numbers = [size, plain, repetitionBytes, definitionBytes, page.num_values]
    if (!numbers.every(each => Number.isSafeInteger(each) && each >= 0)) this.fail('a page header lacks a size')
    if (!(size >= levelBytes && plain >= levelBytes && end <= bytes.length))
      this.fail(`a page of ${size} bytes does not fit`)
    if (plain > MOST_PAGE_BYTES || page.num_values > MOST_PAGE_VALUES)
      this.fail(`a page of ${plain} bytes and ${page.num_values} values is larger than any`)
    if (crc !== undefined && crc32(bytes.subarray(reader.offset, end)) !== crc >>> 0)
      this.fail('a page fails its checksum')
    const levels = (most: number, at: number, length: number): Uint8Array | null => {
      if (most === 0) return null
      return readLevels(bytes.subarray(at, at + length), 32 - Math.clz32(most), page.num_values)
    }
    this.repetition = levels(this.#mostRepetition, reader.offset, repetitionBytes)
    this.definition =
      page.num_nulls === 0 ? null : levels(this.#mostDefinition, reader.offset + repetitionBytes, definitionBytes)
    this.count = page.num_values
    this.values = unpackPage(bytes.subarray(reader.offset + levelBytes, end), plain - levelBytes)
    this.#at = end
  }
}

/** Most pages unpack into one piece of memory. The size of a large one may be a lie. */
const MOST_CHUNK_BYTES = 4 * 1024 * 1024

function unpackPage(bytes: Uint8Array, size: number): Buffer {
  if (size === 0) return NOTHING
  // One byte more shows that there is nothing behind the end.
  const chunkSize = Math.min(Math.max(64, size + 1), MOST_CHUNK_BYTES)
  const values = zstdDecompressSync(bytes, { chunkSize, maxOutputLength: size })
  if (values.length !== size) throw new Error(`a page unpacks to ${values.length} bytes, expected ${size}`)
  return values
}

function free(page: Buffer): void {
  if (page.length >= LEAST_ROOM_BYTES) discard(page)
}

/** 64-bit numbers that are never null. */
export class NumbersCursor {
  readonly #pages: Pages
  #row = 0
  #count = 0

  constructor(column: ColumnBytes) {
    this.#pages = new Pages(column, 0, 0)
    for (let i = 0; i < column.skippedRows; i++) this.next()
  }

  next(): number {
    while (this.#row === this.#count) {
      this.#pages.next()
      this.#row = 0
      this.#count = this.#pages.count
      if (this.#pages.values.length !== this.#count * 8) this.#pages.fail('a page has not 8 bytes for each value')
    }
    const at = this.#row++ * 8
    const { values } = this.#pages
    const low = (values[at]! | (values[at + 1]! << 8) | (values[at + 2]! << 16) | (values[at + 3]! << 24)) >>> 0
    const high = values[at + 4]! | (values[at + 5]! << 8) | (values[at + 6]! << 16) | (values[at + 7]! << 24)
    return high * 2 ** 32 + low
  }

  /** Frees the memory of its pages. */
  end(): void {
    this.#pages.end()
  }
}

/** Microseconds to ms. Beyond 2^53 the number is the nearest one, so that rounding gives the exact ms. */
export function toMs(micros: number): number {
  return Number.isSafeInteger(micros) ? Math.floor(micros / 1000) : Math.round(micros / 1000)
}

/** Byte strings, which may be null. */
export class BytesCursor {
  bytes: Buffer = NOTHING
  from = 0
  /** -1: null. */
  length = -1
  readonly #pages: Pages
  #row = 0
  #count = 0
  #at = 0

  /** With `keeps` the bytes of all values are there until the end of the cursor. */
  constructor(column: ColumnBytes, keeps = false) {
    this.#pages = new Pages(column, 0, 1, keeps)
    for (let i = 0; i < column.skippedRows; i++) this.next()
  }

  next(): void {
    if (this.#row === this.#count) this.#turn()
    const { definition } = this.#pages
    if (definition !== null && definition[this.#row++] === 0) {
      this.length = -1
      return
    }
    if (definition === null) this.#row++
    const { bytes } = this
    const at = this.#at
    const length = bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)
    // A missing byte gives a number too, so the end is compared.
    if (length < 0 || at + 4 + length > bytes.length) this.#pages.fail(`a value of ${length} bytes does not fit`)
    this.from = at + 4
    this.length = length
    this.#at = at + 4 + length
  }

  /** Frees the memory of its pages, but not the memory that was handed over. */
  end(handedOver?: ReadonlySet<ArrayBufferLike>): void {
    this.#pages.end(handedOver)
  }

  #turn(): void {
    while (this.#row === this.#count) {
      this.#pages.next()
      this.#row = 0
      this.#count = this.#pages.count
      this.#at = 0
      this.bytes = this.#pages.values
    }
  }
}

/** The definition level of a header; below it the row has none. */
const HAS_HEADER = 2

/** The headers of each row, from the columns of their keys and values. */
export class HeadersCursor implements HeaderWalk {
  keyBytes: Buffer = NOTHING
  keyFrom = 0
  keyLength = 0
  valueBytes: Buffer = NOTHING
  valueFrom = 0
  valueLength = -1
  readonly #keys: HeaderLeaf
  readonly #values: HeaderLeaf

  constructor(keys: ColumnBytes, values: ColumnBytes) {
    this.#keys = new HeaderLeaf(keys, 2)
    this.#values = new HeaderLeaf(values, 3)
  }

  /** Goes to the next row and returns the number of its headers. */
  nextRow(): number {
    const count = this.#keys.nextRow()
    const valueCount = this.#values.nextRow()
    if (count !== valueCount) this.#keys.fail(`a row has ${count} header keys and ${valueCount} values`)
    this.keyBytes = this.#keys.bytes
    this.valueBytes = this.#values.bytes
    return count
  }

  rewind(): void {
    this.#keys.rewind()
    this.#values.rewind()
  }

  /** Frees the memory of its pages. */
  end(): void {
    this.#keys.end()
    this.#values.end()
  }

  next(): void {
    const keys = this.#keys
    const values = this.#values
    keys.next()
    values.next()
    this.keyFrom = keys.from
    this.keyLength = keys.length
    this.valueFrom = values.from
    this.valueLength = values.length
  }
}

class HeaderLeaf {
  bytes: Buffer = NOTHING
  from = 0
  length = -1
  readonly #pages: Pages
  readonly #most: number
  /** The entry of the page that comes next, and where its value begins. */
  #entry = 0
  #at = 0
  /** Those of the first entry of the row. */
  #firstEntry = 0
  #firstAt = 0
  /** The entry behind the row. */
  #rowEnd = 0

  constructor(column: ColumnBytes, most: number) {
    this.#pages = new Pages(column, 1, most)
    this.#most = most
    for (let i = 0; i < column.skippedRows; i++) this.nextRow()
  }

  fail(why: string): never {
    this.#pages.fail(why)
  }

  end(): void {
    this.#pages.end()
  }

  nextRow(): number {
    // Entries of the last row that no caller read are skipped.
    while (this.#entry < this.#rowEnd) this.next()
    if (this.#entry === this.#pages.count) this.#turn()
    const { definition, repetition, count } = this.#pages
    const first = this.#entry
    let end = first + 1
    while (end < count && repetition![end] !== 0) end++
    this.#rowEnd = end
    if (definition !== null && definition[first]! < HAS_HEADER) {
      if (end !== first + 1) this.fail('a row without headers has several entries')
      this.#entry = end
      this.#firstEntry = end
      return 0
    }
    this.#firstEntry = first
    this.#firstAt = this.#at
    return end - first
  }

  #turn(): void {
    do this.#pages.next()
    while (this.#pages.count === 0)
    this.#entry = 0
    this.#rowEnd = 0
    this.#at = 0
    this.bytes = this.#pages.values
  }

  rewind(): void {
    this.#entry = this.#firstEntry
    this.#at = this.#firstAt
  }

  next(): void {
    const { definition } = this.#pages
    const level = definition === null ? this.#most : definition[this.#entry]!
    if (this.#entry >= this.#rowEnd) this.fail('a row has too few headers')
    this.#entry++
    if (level < this.#most) {
      this.length = -1
      return
    }
    const { bytes } = this
    const at = this.#at
    const length = bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)
    if (length < 0 || at + 4 + length > bytes.length) this.fail(`a header of ${length} bytes does not fit`)
    this.from = at + 4
    this.length = length
    this.#at = at + 4 + length
  }
}
