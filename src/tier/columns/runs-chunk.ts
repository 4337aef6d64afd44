// A column chunk of numbers that rarely change from row to row. Its memory is that of the changes.

import { type Bounds, boundOf, type Chunk, type ClosedChunk, numberBounds } from './chunk.ts'
import { PageMemory, SMALL_SLAB_BYTES } from './page-memory.ts'
import { dataPage, dictionaryPage } from './pages.ts'
import { physicalType } from './parquet-schema.ts'
import type { Leaf } from './table-schema.ts'

/** Above this number of values a dictionary is not worth it. */
const MOST_ENTRIES = 4096

/** Numbers that stay the same over many rows: a dictionary and runs, in one page. */
export class RunsChunk implements Chunk {
  readonly leaf: Leaf
  readonly #isNullable: boolean
  readonly #memory = new PageMemory(SMALL_SLAB_BYTES)
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

  end(): void {
    this.#memory.end()
  }

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
    const memory = this.#memory
    const dictionary = isPlain ? null : dictionaryPage(memory, plainNumbers(leaf, [...entries.keys()]), entries.size)
    const page = dataPage(memory, {
      encoding: isPlain ? 'PLAIN' : 'RLE_DICTIONARY',
      values: isPlain ? plainRuns(leaf, values, counts) : indexRuns(entries, values, counts),
      valueCount: rows,
      nulls,
      rows,
      ...(definitionLevels && { definitionLevels }),
    })
    return {
      leaf,
      dictionary,
      pages: [page],
      bytes: memory.take(),
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
