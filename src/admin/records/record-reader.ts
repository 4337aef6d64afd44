// Reads the records of one partition one by one, in ascending or descending offset order, for callers that need only
// a few of them. A log can only be read forwards. To read backwards, the reader guesses the shortest stretch of
// offsets before its position that has enough records, reads it, and returns its records from the last to the first.
// It keeps only one portion of a batch at a time, in the form that the caller shows. For the next portion it looks
// into the batch again. All readers of one page share one budget, so the cost of a request is bounded for any content
// of the log.

import type { Turns } from '../../base/clock.ts'
import { isRefusal, OFFSET_OUT_OF_RANGE, type Refusal } from '../../protocol/errors.ts'
import type { BatchView, HeaderLimits } from '../../protocol/records.ts'
import { boundsOf, type Chunk, type Place, type ReachRooms, readFrom } from '../reach.ts'
import { type FoundRecord, lookThrough } from './batch-look.ts'
import type { ReadBudget } from './read-budget.ts'

/** Returns whether the caller wants the record. */
export type Filter = (record: FoundRecord, turn: Turns) => boolean | Promise<boolean>

/** How the reader keeps a record after it has looked into the batch. */
export interface Keeping<K> {
  readonly headers: HeaderLimits
  /** Returns the kept form of the record. It must not contain views of the record. */
  keep(record: FoundRecord): K
  bytesOf(kept: K): number
}

export interface Found<K> {
  readonly partition: number
  readonly offset: number
  /** Equal to `offset`, unless the entry stands for more than one record. */
  readonly lastOffset: number
  /** -1 if the record has no timestamp. */
  readonly timestamp: number
  readonly content: K
}

export interface ReaderOptions<K> {
  /** The bytes of one read. A larger batch is read whole. */
  readonly chunkBytes: number
  readonly budget: ReadBudget
  /** The reader skips records that the filter rejects. */
  readonly filter: Filter | null
  readonly keeping: Keeping<K>
  /** The most that the reader keeps at a time. It keeps the first record whatever its size. */
  readonly portion: { readonly records: number; readonly bytes: number }
}

export interface RecordReader<K> {
  readonly partition: number
  /** The record that comes next; null until `load`, and at the end. */
  readonly head: Found<K> | null
  /** No record is left, or the partition cannot be read. */
  readonly isDone: boolean
  /** Why the partition cannot be read. */
  readonly refusal: Refusal | null
  /** Where the next reader continues if the head is not taken. */
  readonly position: number
  /** Finds the head, unless the budget is spent first. */
  load(): Promise<void>
  /** Removes the head. */
  take(): void
}

/** Reads in ascending order from the offset `from` to `end` (exclusive). */
export function readForwards<K>(
  rooms: ReachRooms,
  place: Place,
  { start, from, end }: { readonly start: number; readonly from: number; readonly end: number },
  { chunkBytes, budget, filter, keeping, portion }: ReaderOptions<K>,
): RecordReader<K> {
  /** Records below this offset are in `found`, were taken, or were skipped. */
  let top = Math.min(Math.max(start, from), Math.max(start, end))
  let position = top
  let refusal: Refusal | null = null
  /** Records in ascending order. The record at `nextFound` is the head. */
  let found: Found<K>[] = []
  let nextFound = 0
  let batches: readonly BatchView[] = []
  let nextBatch = 0

  return {
    partition: place.partition,
    get head() {
      return found[nextFound] ?? null
    },
    get isDone() {
      return nextFound === found.length && (refusal !== null || top >= end)
    },
    get refusal() {
      return refusal
    },
    get position() {
      return nextFound === found.length ? top : position
    },
    take() {
      position = found[nextFound++]!.lastOffset + 1
    },
    async load() {
      while (nextFound === found.length && refusal === null && top < end) {
        if (nextBatch < batches.length) {
          if (budget.isDone) return
          await takePortion(batches[nextBatch]!)
        } else if (budget.isSpent) return
        else {
          const chunk = await readFrom(rooms, place, top, chunkBytes)
          if (isRefusal(chunk)) {
            const start = await startAbove(rooms, place, top, chunk)
            if (start === null) refusal = chunk
            else top = start
            continue
          }
          budget.read(chunk.bytes)
          batches = chunk.batches
          nextBatch = 0
          if (batches.length === 0) top = end
        }
      }
    },
  }

  async function takePortion(batch: BatchView): Promise<void> {
    const kept: Found<K>[] = []
    let keptBytes = 0
    let next = top
    const isWhole = await lookThrough(rooms, {
      partition: place.partition,
      batch,
      from: top,
      // Records above the end arrived after the request.
      before: end,
      budget,
      headers: keeping.headers,
      async visit(record, turn) {
        const isWanted = filter === null || (await filter(record, turn))
        if (isWanted) keptBytes += put(kept, record)
        next = record.lastOffset + 1
        return kept.length < portion.records && keptBytes < portion.bytes && !budget.isDone
      },
    })
    // The time limit was reached, so the budget is spent too.
    if (isRefusal(isWhole)) return
    if (isWhole) {
      nextBatch++
      next = Math.max(next, batch.lastOffset + 1)
    }
    top = Math.min(next, end)
    found = kept
    nextFound = 0
  }

  function put(kept: Found<K>[], record: FoundRecord): number {
    const one = foundOf(record, keeping)
    const bytes = keeping.bytesOf(one.content)
    budget.kept(bytes)
    kept.push(one)
    return bytes
  }
}

/**
 * Reads in descending order from `before` (exclusive) to `start`. `wanted` is the number of records that the caller is
 * likely to take.
 */
export function readBackwards<K>(
  rooms: ReachRooms,
  place: Place,
  { start, before }: { readonly start: number; readonly before: number },
  { chunkBytes, budget, filter, keeping, portion, wanted }: ReaderOptions<K> & { readonly wanted: number },
): RecordReader<K> {
  /** Records at and above this offset are in `found`, were taken, or were skipped. */
  let bottom = before
  let position = before
  let refusal: Refusal | null = null
  /** Records in ascending order. The last one is the head. */
  let found: Found<K>[] = []
  let span = Math.max(1, wanted)

  return {
    partition: place.partition,
    get head() {
      return found.at(-1) ?? null
    },
    get isDone() {
      return found.length === 0 && (refusal !== null || bottom <= start)
    },
    get refusal() {
      return refusal
    },
    get position() {
      return found.length === 0 ? bottom : position
    },
    take() {
      position = found.pop()!.offset
    },
    async load() {
      while (found.length === 0 && refusal === null && bottom > start && !budget.isSpent) {
        const stretch = await readStretch()
        if (isRefusal(stretch)) {
          if (stretch.code !== OFFSET_OUT_OF_RANGE.code) refusal = stretch
          // Retention has deleted the rest.
          else bottom = start
          return
        }
        position = bottom
        const isCut = await collect(stretch.from, stretch.chunk.batches)
        // Because of gaps, markers and filters, a stretch may have fewer records than the caller wants. Then the next
        // stretch is longer, up to the size of one read, unless this stretch has already filled a portion.
        if (isCut) span = found.length + 1
        else if (!stretch.isShortened) span *= SPAN_GROWTH
      }
    },
  }

  /**
   * Reads a chunk that reaches up to the bottom. If one read is too short for that, the chunk begins at a higher
   * offset.
   */
  async function readStretch(): Promise<Stretch | Refusal> {
    let from = Math.max(start, bottom - span)
    let isShortened = false
    for (;;) {
      const chunk = await readFrom(rooms, place, from, chunkBytes)
      if (isRefusal(chunk)) {
        const above = await startAbove(rooms, place, from, chunk)
        if (above === null || above >= bottom) return chunk
        from = above
        continue
      }
      budget.read(chunk.bytes)
      const last = chunk.batches.at(-1)
      if (last === undefined || last.lastOffset + 1 >= bottom || from === bottom - 1)
        return { from, chunk, isShortened }
      isShortened = true
      const half = Math.max(1, Math.floor((bottom - from) / 2))
      from = Math.max(bottom - half, Math.min(last.lastOffset + 1, bottom - 1))
      span = Math.max(1, bottom - from)
    }
  }

  /**
   * Fills `found` with the newest records below the bottom, up to one portion, and lowers the bottom as far as it has
   * looked. Resolves to true if there were more records than one portion may have.
   */
  async function collect(from: number, batches: readonly BatchView[]): Promise<boolean> {
    // A filter lets few records through, so the search covers everything that was read.
    const lowest = filter === null ? from : Math.max(start, Math.min(from, batches[0]?.baseOffset ?? from))
    let keptBytes = 0
    for (const batch of batches.toReversed()) {
      if (batch.baseOffset >= bottom || batch.lastOffset < lowest) continue
      if (found.length > 0 && (found.length >= portion.records || keptBytes >= portion.bytes || budget.isDone))
        return true
      const end = Math.min(bottom, batch.lastOffset + 1)
      const begin = Math.max(lowest, batch.baseOffset, end - MOST_SEARCHED)
      const newest = new Newest<K>(portion.records - found.length, portion.bytes - keptBytes, keeping)
      const looked = await lookThrough(rooms, {
        partition: place.partition,
        batch,
        from: begin,
        before: bottom,
        budget,
        headers: keeping.headers,
        async visit(record, turn) {
          if (filter === null || (await filter(record, turn))) newest.add(record)
          return true
        },
        finish: turn => newest.keep(turn),
      })
      if (isRefusal(looked)) return false
      keptBytes += newest.bytes
      budget.kept(newest.bytes)
      found = [...newest.kept, ...found]
      // A batch that cannot be decoded stands for all records from its offset on.
      const first = newest.kept[0]?.offset ?? begin
      bottom = newest.isCut ? first : Math.min(first, begin)
      if (newest.isCut || begin > Math.max(lowest, batch.baseOffset)) return newest.isCut
    }
    bottom = Math.min(bottom, lowest)
    return false
  }
}

/** Gets records in ascending order and keeps the newest of them, at least one. */
class Newest<K> {
  kept: Found<K>[] = []
  bytes = 0
  /** True if there were more records, which are older than the kept ones. */
  isCut = false
  readonly #most: number
  readonly #mostBytes: number
  readonly #keeping: Keeping<K>
  #records: FoundRecord[] = []
  /** The memory of `#records`, without the bytes that the records are views of. */
  #heldBytes = 0

  constructor(most: number, mostBytes: number, keeping: Keeping<K>) {
    this.#most = Math.max(1, most)
    this.#mostBytes = mostBytes
    this.#keeping = keeping
  }

  add(record: FoundRecord): void {
    this.#records.push(record)
    this.#heldBytes += heldBytesOf(record)
    // The oldest records of a large batch are dropped, because they would only take memory.
    if (this.#records.length >= 2 * this.#most || this.#heldBytes >= 2 * this.#mostBytes) this.#cut()
  }

  async keep(turn: Turns): Promise<void> {
    this.#cut()
    const kept: Found<K>[] = []
    for (const record of this.#records.toReversed()) {
      if (kept.length > 0 && this.bytes >= this.#mostBytes) {
        this.isCut = true
        break
      }
      const others = turn()
      if (others !== undefined) await others
      const one = foundOf(record, this.#keeping)
      this.bytes += this.#keeping.bytesOf(one.content)
      kept.push(one)
    }
    this.#records = []
    this.kept = kept.reverse()
  }

  /** Leaves out the oldest records that the caller would not keep. */
  #cut(): void {
    let from = this.#records.length
    let heldBytes = 0
    while (from > 0 && this.#records.length - from < this.#most && heldBytes < this.#mostBytes) {
      heldBytes += heldBytesOf(this.#records[--from]!)
    }
    if (from === 0) return
    this.isCut = true
    this.#records = this.#records.slice(from)
    this.#heldBytes = heldBytes
  }
}

/** The approximate memory of a decoded record, and of a header. */
const DECODED_BYTES = 256

function heldBytesOf({ headers }: FoundRecord): number {
  return DECODED_BYTES * (1 + headers.length)
}

interface Stretch {
  readonly from: number
  readonly chunk: Chunk
  /** True if the stretch was longer than one read. */
  readonly isShortened: boolean
}

const SPAN_GROWTH = 4
/**
 * The most offsets of one batch that a backward search covers at a time. A forward search can end at any record. A
 * backward search reads its range forwards, so it can end only when it has read the whole range.
 */
const MOST_SEARCHED = 50_000

function foundOf<K>(record: FoundRecord, { keep }: Keeping<K>): Found<K> {
  const { partition, offset, lastOffset, timestamp } = record
  return { partition, offset, lastOffset, timestamp, content: keep(record) }
}

/** Resolves to the current start of the log if it is above the offset that was just refused; else to null. */
async function startAbove(rooms: ReachRooms, place: Place, offset: number, refusal: Refusal): Promise<number | null> {
  if (refusal.code !== OFFSET_OUT_OF_RANGE.code) return null
  const [bounds] = await boundsOf(rooms, [place])
  return isRefusal(bounds) || bounds!.start <= offset ? null : bounds!.start
}
