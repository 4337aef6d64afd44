// The time index of a partition. It says which timestamps each part of the log has, with about one mark for each MiB.
// Searches by time and retention use it. It is sparse on purpose: within a chunk, a search reads the batches. Marks are
// rows of the stream and are written with a later append. A chunk without a mark (the newest one after a restart) is
// learned again from its batches when it is needed. This file reads nothing and deletes nothing.
//
//   log start                                                                    end
//   | sealed chunk (mark) | sealed chunk (mark) | unknown (no mark yet) | open chunk |

import { assert } from '../base/assert.ts'
import type { Row } from '../store/store.ts'

export interface Chunk {
  /** The end of the log when the chunk began. */
  readonly from: number
  /** The offset at which the next chunk begins. */
  readonly next: number
  /** Stored bytes of its batches. */
  readonly bytes: number
  /** The largest record timestamp; -1 when no record has one. */
  readonly maxTimestamp: number
  /** The time that retention uses: the largest of min(largest timestamp, append time) over all batches. */
  readonly newestMs: number
  /** The time of the append of its first batch, by the broker's clock; -1 if it is empty or was read from its mark. */
  readonly beganAtMs: number
  /** False if the chunk had no mark after a restart and was not read yet. Then only `from` and `next` are right. */
  readonly isKnown: boolean
}

/** The batches that stay after a rewrite of a range. */
export interface Remains {
  readonly bytes: number
  readonly plainBytes: number | null
  readonly batches: number | null
  readonly records: number | null
  readonly minTimestamp: number | null
  readonly maxTimestamp: number
}

type MutableChunk = { -readonly [K in keyof Chunk]: Chunk[K] }

/** A chunk that has grown to this many bytes is sealed by the next append. */
export const CHUNK_BYTES = 1024 * 1024

const FORMAT = 1
const MARK_BYTES = 33

export class TimeIndex {
  #chunks: MutableChunk[] = [emptyChunk(0)]
  #adoptedAtMs = 0

  /** The chunks, oldest first, without gaps. The last one is open and may be empty. */
  get chunks(): readonly Chunk[] {
    return this.#chunks
  }

  /**
   * Starts again from the marks among the stream's rows; `bytes` is the number of live bytes of the stream. Returns
   * rows that delete the marks of trimmed chunks.
   */
  adopt(rows: ReadonlyMap<string, Uint8Array>, start: number, end: number, bytes: number, nowMs: number): Row[] {
    const marks: MutableChunk[] = []
    const dead: Row[] = []
    for (const [key, value] of rows) {
      if (!key.startsWith('m')) continue
      const mark = decodeMark(Number(key.slice(1)), value)
      // A chunk that begins below the log start still counts bytes that were dropped.
      if (mark.from >= start && mark.next > start && mark.next <= end) marks.push(mark)
      else dead.push({ key, value: null })
    }
    marks.sort((a, b) => a.from - b.from)
    let unmarkedBytes = bytes
    for (const mark of marks) unmarkedBytes -= mark.bytes
    const chunks: MutableChunk[] = []
    let at = start
    const unknown = (next: number) => {
      chunks.push({ ...emptyChunk(at), next, bytes: Math.max(0, unmarkedBytes), isKnown: false })
      unmarkedBytes = 0
    }
    for (const mark of marks) {
      if (mark.from > at) unknown(mark.from)
      chunks.push(mark)
      at = mark.next
    }
    if (end > at) unknown(end)
    chunks.push(emptyChunk(end))
    this.#chunks = chunks
    this.#adoptedAtMs = nowMs
    return dead
  }

  /** Counts a batch that is in the log into the open chunk. */
  add(nextOffset: number, bytes: number, maxTimestamp: number, nowMs: number): void {
    const open = this.#open()
    if (open.beganAtMs < 0) open.beganAtMs = nowMs
    open.next = nextOffset
    open.bytes += bytes
    open.maxTimestamp = Math.max(open.maxTimestamp, maxTimestamp)
    open.newestMs = Math.max(open.newestMs, maxTimestamp < 0 ? nowMs : Math.min(maxTimestamp, nowMs))
  }

  /**
   * Seals the open chunk if it has at least this many bytes, or data that is at least this old. Returns the mark of the
   * chunk, or null if it was not sealed.
   */
  seal(minBytes: number, nowMs = 0, minAgeMs = Number.POSITIVE_INFINITY): Row | null {
    const open = this.#open()
    if (open.bytes === 0 || (open.bytes < minBytes && nowMs - open.beganAtMs < minAgeMs)) return null
    this.#chunks.push(emptyChunk(open.next))
    return encodeMark(open)
  }

  /**
   * Fills in an unknown chunk from its batches and returns its mark. Returns null if the chunk was removed meanwhile.
   */
  learn(chunk: Chunk, batches: Iterable<{ readonly bytes: number; readonly maxTimestamp: number }>): Row | null {
    const known = this.#chunks.find(other => other === chunk)
    if (known === undefined) return null
    known.bytes = 0
    for (const { bytes, maxTimestamp } of batches) {
      known.bytes += bytes
      known.maxTimestamp = Math.max(known.maxTimestamp, maxTimestamp)
      const atMs = maxTimestamp < 0 ? this.#adoptedAtMs : Math.min(maxTimestamp, this.#adoptedAtMs)
      known.newestMs = Math.max(known.newestMs, atMs)
    }
    known.isKnown = true
    return encodeMark(known)
  }

  /**
   * Returns the rows that a rewrite of [from, to) must carry: afterwards the range is one chunk with these counts. The
   * rest of a chunk that the range cuts becomes unknown. Changes nothing; `commitRewritten` does.
   */
  rewritten(from: number, to: number, remains: Remains): Row[] {
    const { before, after } = this.#replace(from, to, remains)
    const kept = new Set(after.filter(({ isKnown }) => isKnown).map(chunk => chunk.from))
    const dead = before.filter(chunk => !kept.has(chunk.from)).map(chunk => ({ key: markKey(chunk.from), value: null }))
    return [...dead, ...after.filter(({ isKnown }) => isKnown).map(encodeMark)]
  }

  /** Takes over the result of a rewrite that the store has made. */
  commitRewritten(from: number, to: number, remains: Remains): void {
    const { at, before, after } = this.#replace(from, to, remains)
    this.#chunks.splice(at, before.length, ...after)
  }

  /** Returns the chunks that a rewrite concerns, the first of which is `at`, and the chunks that replace them. */
  #replace(from: number, to: number, { bytes, maxTimestamp }: Remains) {
    assert(from < to && to <= this.#open().from, `a rewrite of [${from}, ${to}) reaches into the open chunk`)
    const at = this.#chunks.findIndex(chunk => chunk.next > from)
    const before = this.#chunks.slice(at).filter(chunk => chunk.from < to)
    const areKnown = before.every(({ isKnown }) => isKnown)
    const newestMs = Math.max(...before.map(chunk => chunk.newestMs))
    const first = before[0]!
    const last = before.at(-1)!
    const base = { ...emptyChunk(Math.max(from, first.from)), next: to, bytes, maxTimestamp, newestMs }
    const after: MutableChunk[] = [{ ...base, isKnown: areKnown }]
    if (first.from < from) after.unshift({ ...emptyChunk(first.from), next: from, isKnown: false })
    if (last.next > to) after.push({ ...emptyChunk(to), next: last.next, isKnown: false })
    return { at, before, after }
  }

  /** Returns rows that delete the marks that are no longer needed after a trim to `before`. */
  marksBefore(before: number): Row[] {
    return this.#chunks.slice(0, this.#count(before)).map(chunk => ({ key: markKey(chunk.from), value: null }))
  }

  /**
   * Forgets the chunks that lie wholly below the log start. The other dropped bytes belonged to the first chunk that
   * stays.
   */
  drop(start: number, bytes: number): void {
    const gone = this.#chunks.splice(0, this.#count(start))
    const rest = gone.reduce((left, chunk) => left - chunk.bytes, bytes)
    const first = this.#chunks[0]!
    first.bytes = Math.max(0, first.bytes - Math.max(0, rest))
  }

  /** Returns how many chunks lie wholly below an offset. The open chunk never counts. */
  #count(before: number): number {
    let count = 0
    while (count < this.#chunks.length - 1 && this.#chunks[count]!.next <= before) count++
    return count
  }

  #open(): MutableChunk {
    return this.#chunks[this.#chunks.length - 1]!
  }
}

function emptyChunk(from: number): MutableChunk {
  return { from, next: from, bytes: 0, maxTimestamp: -1, newestMs: -1, beganAtMs: -1, isKnown: true }
}

// A mark's row: key `m<from>`, value: format (1 byte), then as float64 big-endian: next, bytes, maxTimestamp, newestMs.

function markKey(from: number): string {
  return `m${from}`
}

function encodeMark(chunk: Chunk): Row {
  const value = Buffer.allocUnsafe(MARK_BYTES)
  value.writeUInt8(FORMAT, 0)
  value.writeDoubleBE(chunk.next, 1)
  value.writeDoubleBE(chunk.bytes, 9)
  value.writeDoubleBE(chunk.maxTimestamp, 17)
  value.writeDoubleBE(chunk.newestMs, 25)
  return { key: markKey(chunk.from), value }
}

function decodeMark(from: number, value: Uint8Array): MutableChunk {
  const bytes = Buffer.from(value.buffer, value.byteOffset, value.length)
  assert(
    bytes.length === MARK_BYTES && bytes[0] === FORMAT,
    `the mark at offset ${from} has format ${bytes[0]}, expected ${FORMAT}`,
  )
  return {
    from,
    next: bytes.readDoubleBE(1),
    bytes: bytes.readDoubleBE(9),
    maxTimestamp: bytes.readDoubleBE(17),
    newestMs: bytes.readDoubleBE(25),
    beganAtMs: -1,
    isKnown: true,
  }
}
