// The time index of a partition. It has timestamps, sizes, counts and times of appends for each part of the log, with
// about one mark for each MiB. Searches by time, segments and retention use it. It is sparse on purpose: within a
// chunk, a search reads the batches. Marks are rows of the stream and are written with a later append. A chunk without
// a mark (the newest one after a restart) is learned again from its batches when it is needed. The batches do not tell
// the times of their appends, so another row keeps the time of the open chunk's first append. This file reads nothing
// and deletes nothing.
//
//   log start                                                                    end
//   | sealed chunk (mark) | sealed chunk (mark) | unknown (no mark yet) | open chunk |

import { assert } from '../base/assert.ts'
import { firstIndex } from '../base/bisect.ts'
import type { Batch, Row } from '../store/store.ts'

/** Null: unknown, because a mark of format 1 or the batches of a chunk without a mark do not say it. */
export interface Counts {
  /** The bytes of the batches as clients see them. */
  readonly plainBytes: number | null
  readonly batches: number | null
  readonly records: number | null
  /** The smallest timestamp of the first record of a batch; -1 when no batch has one. */
  readonly minTimestamp: number | null
}

export interface Chunk extends Counts {
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
  /** The times of its first and last append, by the clocks of the leaders; null also if it is empty. */
  readonly firstAppendMs: number | null
  readonly lastAppendMs: number | null
  /**
   * False if the chunk had no mark after a restart, or a rewrite cut it, and it was not read yet. Then only `from` and
   * `next` are right, and `newestMs` is the latest that it can be.
   */
  readonly isKnown: boolean
}

type MutableChunk = { -readonly [K in keyof Chunk]: Chunk[K] }

/** A batch as the store has it. */
export interface Weighed {
  readonly bytes: number
  readonly maxTimestamp: number
  readonly records: number
  /** Null if the batch is damaged. */
  readonly plainBytes: number | null
  /** The timestamp of its first record; null if the batch is damaged. */
  readonly minTimestamp: number | null
}

/** The batches that stay after a rewrite of a range. */
export interface Remains extends Counts {
  readonly bytes: number
  readonly maxTimestamp: number
}

/** A chunk that has grown to this many bytes is sealed by the next append. */
export const CHUNK_BYTES = 1024 * 1024

const FORMAT = 2
const MARK_BYTES = 81
const FORMER_FORMAT = 1
const FORMER_MARK_BYTES = 33

/** The log that an opening has found. */
export interface Extent {
  readonly start: number
  readonly end: number
  readonly emptyFrom: number
  readonly bytes: number
  readonly activeFrom: number
}

export class TimeIndex {
  #chunks: MutableChunk[] = [emptyChunk(0)]
  /** The log start. A trim may have cut the first chunk. */
  #start = 0

  /** The chunks, oldest first, without gaps. The last one is open and may be empty. */
  get chunks(): readonly Chunk[] {
    return this.#chunks
  }

  /**
   * Starts again from the marks among the stream's rows; `bytes` is the number of live bytes of the stream. A part
   * without a mark is divided at `activeFrom`, where the active segment begins. From `emptyFrom` on up to the end the
   * log has no batch. Returns rows that delete the marks of trimmed chunks and of lost batches.
   */
  adopt(
    rows: ReadonlyMap<string, Uint8Array>,
    { start, end, emptyFrom, bytes, activeFrom }: Extent,
    nowMs: number,
  ): Row[] {
    const found: MutableChunk[] = []
    for (const [key, value] of rows) if (key.startsWith('m')) found.push(decodeMark(Number(key.slice(1)), value))
    found.sort((a, b) => a.from - b.from)
    const marks: MutableChunk[] = []
    const dead: Row[] = []
    for (const mark of found) {
      // A chunk that begins below the log start still counts bytes that were dropped. A store that was damaged may have
      // the marks from before a rewrite beside a mark from after it. A leader that has not noticed that the store lost
      // batches may have written a mark of them.
      if (mark.from >= (marks.at(-1)?.next ?? start) && mark.next > start && mark.next <= emptyFrom) marks.push(mark)
      else dead.push({ key: markKey(mark.from), value: null })
    }
    let unmarkedBytes = bytes
    for (const mark of marks) unmarkedBytes -= mark.bytes
    const chunks: MutableChunk[] = []
    let at = start
    const unknown = (next: number) => {
      if (activeFrom > at && activeFrom < next) {
        unknown(activeFrom)
        at = activeFrom
      }
      chunks.push({ ...unknownChunk(at, next, nowMs), bytes: Math.max(0, unmarkedBytes) })
      unmarkedBytes = 0
    }
    for (const mark of marks) {
      if (mark.from > at) unknown(mark.from)
      chunks.push(mark)
      at = mark.next
    }
    const opening = decodeOpening(rows.get(OPENING))
    if (end > at) {
      unknown(end)
      const last = chunks.at(-1)!
      if (opening?.from === last.from) last.firstAppendMs = opening.firstAppendMs
    }
    chunks.push(emptyChunk(end))
    this.#chunks = chunks
    this.#start = start
    return dead
  }

  /**
   * Counts a batch that is in the log into the open chunk. `storedBytes` is its size in the store, `minTimestamp` the
   * timestamp of its first record. `appendedAtMs` is the time of the append by the clock of the rounds, which is behind
   * `nowMs` after a jump that is not trusted. Returns the row that keeps the time of the append if the batch is the
   * first one of the chunk, else null.
   */
  add(
    batch: Pick<Batch, 'nextOffset' | 'recordCount' | 'maxTimestamp' | 'bytes'>,
    storedBytes: number,
    minTimestamp: number,
    nowMs: number,
    appendedAtMs = nowMs,
  ): Row | null {
    const open = this.#open()
    const isFirst = open.firstAppendMs === null
    if (isFirst) open.firstAppendMs = appendedAtMs
    open.lastAppendMs = appendedAtMs
    open.next = batch.nextOffset
    const { bytes, recordCount, maxTimestamp } = batch
    count(open, storedBytes, bytes.length, recordCount, minTimestamp, maxTimestamp, nowMs)
    return isFirst ? encodeOpening(open.from, appendedAtMs) : null
  }

  /**
   * Seals the open chunk if it has at least this many bytes, or data that is at least this old. Returns the mark of the
   * chunk, or null if it was not sealed.
   */
  seal(minBytes: number, nowMs = 0, minAgeMs = Number.POSITIVE_INFINITY): Row | null {
    const open = this.#open()
    if (open.firstAppendMs === null) return null
    if (open.bytes < minBytes && nowMs - open.firstAppendMs < minAgeMs) return null
    this.#chunks.push(emptyChunk(open.next))
    return encodeMark(open)
  }

  /**
   * Fills in an unknown chunk from its batches and returns its mark. Returns null if the chunk was removed meanwhile.
   */
  learn(chunk: Chunk, batches: Iterable<Weighed>): Row | null {
    const at = this.#chunks.indexOf(chunk)
    if (at < 0) return null
    // The batches do not tell when they were appended: not later than the newest batch of the chunk can be.
    const { from, next, firstAppendMs, newestMs } = chunk
    const known: MutableChunk = { ...emptyChunk(from), next, firstAppendMs }
    for (const { bytes, plainBytes, records, minTimestamp, maxTimestamp } of batches) {
      count(known, bytes, plainBytes, records, minTimestamp, maxTimestamp, newestMs)
    }
    this.#chunks[at] = known
    return encodeMark(known)
  }

  /**
   * Returns the rows that a rewrite of [from, to) must carry: afterwards the range is one chunk with these counts. The
   * rest of a chunk that the range cuts becomes unknown. Changes nothing; `commitRewritten` does. A mark of the range
   * that still waits for its append would be written after these rows, so the caller lets its row here wait too.
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
  #replace(from: number, to: number, { bytes, plainBytes, batches, records, minTimestamp, maxTimestamp }: Remains) {
    assert(from < to && to <= this.#open().from, `a rewrite of [${from}, ${to}) reaches into the open chunk`)
    const at = firstIndex(this.#chunks, chunk => chunk.next > from)
    const before = this.#chunks.slice(
      at,
      firstIndex(this.#chunks, chunk => chunk.from >= to),
    )
    const areKnown = before.every(({ isKnown }) => isKnown)
    const newestMs = Math.max(...before.map(chunk => chunk.newestMs))
    const first = before[0]!
    const last = before.at(-1)!
    const one: MutableChunk = {
      from: Math.max(from, first.from),
      next: to,
      bytes,
      plainBytes,
      batches,
      records,
      minTimestamp,
      maxTimestamp,
      newestMs,
      firstAppendMs: extremeOf(before, 'firstAppendMs', Math.min),
      lastAppendMs: extremeOf(before, 'lastAppendMs', Math.max),
      // Without the times of the replaced batches its age is learned from the batches that stay.
      isKnown: areKnown,
    }
    const after = [one]
    if (first.from < from && this.#start < from) {
      after.unshift({ ...unknownChunk(first.from, from, first.newestMs), firstAppendMs: first.firstAppendMs })
    }
    if (last.next > to) after.push(unknownChunk(to, last.next, last.newestMs))
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
    this.#start = start
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
  return {
    from,
    next: from,
    bytes: 0,
    plainBytes: 0,
    batches: 0,
    records: 0,
    minTimestamp: -1,
    maxTimestamp: -1,
    newestMs: -1,
    firstAppendMs: null,
    lastAppendMs: null,
    isKnown: true,
  }
}

function unknownChunk(from: number, next: number, newestMs: number): MutableChunk {
  const unknown = { plainBytes: null, batches: null, records: null, minTimestamp: null }
  return { ...emptyChunk(from), ...unknown, next, newestMs, isKnown: false }
}

/** Counts a batch into a chunk. It has no object as an argument, because it runs for every batch that is appended. */
function count(
  chunk: MutableChunk,
  bytes: number,
  plainBytes: number | null,
  records: number,
  minTimestamp: number | null,
  maxTimestamp: number,
  nowMs: number,
): void {
  chunk.bytes += bytes
  chunk.plainBytes = chunk.plainBytes === null || plainBytes === null ? null : chunk.plainBytes + plainBytes
  chunk.batches = chunk.batches === null ? null : chunk.batches + 1
  chunk.records = chunk.records === null ? null : chunk.records + records
  const { minTimestamp: before } = chunk
  chunk.minTimestamp = before === null || minTimestamp === null ? null : earlierOf(before, minTimestamp)
  chunk.maxTimestamp = Math.max(chunk.maxTimestamp, maxTimestamp)
  chunk.newestMs = Math.max(chunk.newestMs, maxTimestamp < 0 ? nowMs : Math.min(maxTimestamp, nowMs))
}

/** Returns the smaller of two timestamps, each of which may be -1 for "no timestamp". */
export function earlierOf(one: number, other: number): number {
  if (one === -1) return other
  return other === -1 ? one : Math.min(one, other)
}

/** Returns the smallest or largest time of these chunks; null if a chunk with batches does not know it. */
function extremeOf(
  chunks: readonly Chunk[],
  name: 'firstAppendMs' | 'lastAppendMs',
  choose: (one: number, other: number) => number,
): number | null {
  let found: number | null = null
  for (const { isKnown, bytes, [name]: timeMs } of chunks) {
    if (isKnown && bytes === 0) continue
    if (timeMs === null) return null
    found = found === null ? timeMs : choose(found, timeMs)
  }
  return found
}

// A mark's row: key `m<from>`, value: format (1 byte), then as float64 big-endian: next, bytes, maxTimestamp, newestMs,
// and in format 2: plainBytes, batches, records, minTimestamp, firstAppendMs, lastAppendMs (NaN: unknown).

function markKey(from: number): string {
  return `m${from}`
}

function encodeMark(chunk: Chunk): Row {
  const { next, bytes, maxTimestamp, newestMs, plainBytes, batches, records, minTimestamp } = chunk
  const numbers = [next, bytes, maxTimestamp, newestMs, plainBytes, batches, records, minTimestamp]
  return row(markKey(chunk.from), FORMAT, [...numbers, chunk.firstAppendMs, chunk.lastAppendMs])
}

function decodeMark(from: number, value: Uint8Array): MutableChunk {
  const bytes = Buffer.from(value.buffer, value.byteOffset, value.length)
  const isFormer = bytes.length === FORMER_MARK_BYTES && bytes[0] === FORMER_FORMAT
  assert(
    isFormer || (bytes.length === MARK_BYTES && bytes[0] === FORMAT),
    `the mark at offset ${from} has format ${bytes[0]} and ${bytes.length} bytes, expected format ${FORMER_FORMAT} or ${FORMAT}`,
  )
  const added = (at: number) => {
    const number = isFormer ? Number.NaN : bytes.readDoubleBE(at)
    return Number.isNaN(number) ? null : number
  }
  return {
    from,
    next: bytes.readDoubleBE(1),
    bytes: bytes.readDoubleBE(9),
    maxTimestamp: bytes.readDoubleBE(17),
    newestMs: bytes.readDoubleBE(25),
    plainBytes: added(33),
    batches: added(41),
    records: added(49),
    minTimestamp: added(57),
    firstAppendMs: added(65),
    lastAppendMs: added(73),
    isKnown: true,
  }
}

// The row of the open chunk: key `o`, value: format (1 byte), then as float64 big-endian: from, firstAppendMs. It is
// stale once the chunk has its mark.

const OPENING = 'o'
const OPENING_FORMAT = 1
const OPENING_BYTES = 17

function encodeOpening(from: number, firstAppendMs: number): Row {
  return row(OPENING, OPENING_FORMAT, [from, firstAppendMs])
}

function decodeOpening(
  value: Uint8Array | undefined,
): { readonly from: number; readonly firstAppendMs: number } | null {
  if (value === undefined) return null
  const bytes = Buffer.from(value.buffer, value.byteOffset, value.length)
  assert(
    bytes.length === OPENING_BYTES && bytes[0] === OPENING_FORMAT,
    `the row of the open chunk has format ${bytes[0]} and ${bytes.length} bytes, expected format ${OPENING_FORMAT}`,
  )
  return { from: bytes.readDoubleBE(1), firstAppendMs: bytes.readDoubleBE(9) }
}

function row(key: string, format: number, numbers: readonly (number | null)[]): Row {
  const value = Buffer.allocUnsafe(1 + 8 * numbers.length)
  value.writeUInt8(format, 0)
  for (const [i, number] of numbers.entries()) value.writeDoubleBE(number ?? Number.NaN, 1 + 8 * i)
  return { key, value }
}
