// A column chunk of the headers of records: their keys or their values. A row has any number of them, so that each
// entry has two levels: whether it begins a row, and how much of it there is.

import { type Chunk, type ClosedChunk, putInt, Room } from './chunk.ts'
import { PageMemory } from './page-memory.ts'
import { dataPage, encodeLevels, type Page } from './pages.ts'
import { copyBytes } from './record-form.ts'
import type { Leaf } from './table-schema.ts'

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
  readonly #memory = new PageMemory()
  #pages: Page[] = []
  #chunkEntries = 0
  #chunkNulls = 0

  /** `mostLevel` is the definition level of a value. */
  constructor(leaf: Leaf, mostLevel: number) {
    this.leaf = leaf
    this.#mostLevel = mostLevel
  }

  get heldBytes(): number {
    const open = this.#room.bytes.length + this.#repetition.bytes.length + this.#definition.bytes.length
    return this.#memory.bytes + open
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
    const page = dataPage(this.#memory, {
      encoding: 'PLAIN',
      values: this.#room.take(),
      valueCount: this.#entries,
      nulls: this.#nulls,
      rows: this.#rows,
      repetitionLevels: encodeLevels(this.#repetition.take(), 1),
      definitionLevels: encodeLevels(this.#definition.take(), bits),
    })
    this.#pages.push(page)
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

  end(): void {
    this.#memory.end()
  }

  close(): ClosedChunk {
    if (this.#rows > 0) this.#finishPage()
    const closed: ClosedChunk = {
      leaf: this.leaf,
      dictionary: null,
      pages: this.#pages,
      bytes: this.#memory.take(),
      encodings: ['PLAIN'],
      valueCount: this.#chunkEntries,
      nulls: this.#chunkNulls,
      statistics: { null_count: BigInt(this.#chunkNulls) },
      lower: null,
      upper: null,
    }
    this.#pages = []
    this.#chunkEntries = 0
    this.#chunkNulls = 0
    return closed
  }
}
