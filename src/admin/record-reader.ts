// Reads the records of one partition in offset order, or against it, one after the other, for whoever looks at a few of them.
// Logs can only be read forwards: to go back it reads a stretch that ends where it stands, as short as it can guess, and gives
// its records from the last to the first. What it reads is taken from a budget that the readers of one page share, so that no
// question costs more than so much, whatever lies in the log.

import { type Clock, type Turns, takingTurns } from '../base/clock.ts'
import { isRefusal, OFFSET_OUT_OF_RANGE, type Refusal } from '../protocol/errors.ts'
import {
  BATCH_HEADER_BYTES,
  type BatchView,
  type DecodedRecord,
  InvalidRecords,
  openRecords,
  type RecordHeader,
} from '../protocol/records.ts'
import { boundsOf, type Chunk, type Place, type ReachRooms, readFrom } from './reach.ts'

export interface FoundRecord {
  readonly partition: number
  readonly offset: number
  /** The offset itself, unless it stands for more than one record. */
  readonly lastOffset: number
  /** -1: none. */
  readonly timestamp: number
  readonly timestampType: BatchView['timestampType']
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: readonly RecordHeader[]
  /** Why the batch cannot be taken apart. The record then stands for what is left of it, and its value is those bytes. */
  readonly unreadable: string | null
}

export type Filter = (record: FoundRecord) => boolean

/** What the readers of one question may still read. */
export class ReadBudget {
  readonly #turn: Turns
  #bytes = 0
  #records = 0
  readonly #maxBytes: number
  readonly #maxRecords: number

  constructor(clock: Clock, limits: { readonly maxBytes: number; readonly maxRecords: number }) {
    this.#turn = takingTurns(clock, TURN_MS)
    this.#maxBytes = limits.maxBytes
    this.#maxRecords = limits.maxRecords
  }

  /** What was read of logs. */
  get bytes(): number {
    return this.#bytes
  }

  /** Records that were decoded. */
  get records(): number {
    return this.#records
  }

  /** Nothing more is to be read. */
  get isSpent(): boolean {
    return this.#bytes >= this.#maxBytes || this.isDecoded
  }

  /** Nor is more of what was read to be looked at. */
  get isDecoded(): boolean {
    return this.#records >= this.#maxRecords
  }

  took(bytes: number): void {
    this.#bytes += bytes
  }

  /** To be waited for where it is not undefined: the others' turn. */
  decoded(): Promise<void> | undefined {
    this.#records++
    return this.#turn()
  }
}

/** The work between two turns of others. A few hundred records. */
const TURN_MS = 0.5

/** What one read asks for; a larger batch comes whole. */
export interface ReaderOptions {
  readonly chunkBytes: number
  readonly budget: ReadBudget
  /** Records that it does not let through are passed over. */
  readonly filter: Filter | null
}

export interface RecordReader {
  readonly partition: number
  /** The record that comes next; null until `load`, and where there is none. */
  readonly head: FoundRecord | null
  /** There is no more, or the partition cannot be read. */
  readonly isDone: boolean
  /** Why it cannot be read. */
  readonly refusal: Refusal | null
  /** Where somebody goes on who has not taken the head. */
  readonly position: number
  /** Looks for the head, unless the budget is spent before. */
  load(): Promise<void>
  /** Takes the head away. */
  take(): void
}

/** From an offset on, up to the end (exclusive). */
export function readForwards(
  rooms: ReachRooms,
  place: Place,
  { start, from, end }: { readonly start: number; readonly from: number; readonly end: number },
  { chunkBytes, budget, filter }: ReaderOptions,
): RecordReader {
  let position = Math.min(Math.max(start, from), Math.max(start, end))
  let head: FoundRecord | null = null
  let refusal: Refusal | null = null
  let batches: readonly BatchView[] = []
  let nextBatch = 0
  let records: Iterator<FoundRecord> | null = null

  return {
    partition: place.partition,
    get head() {
      return head
    },
    get isDone() {
      return head === null && (refusal !== null || position >= end)
    },
    get refusal() {
      return refusal
    },
    get position() {
      return position
    },
    take() {
      position = head!.lastOffset + 1
      head = null
    },
    async load() {
      while (head === null && refusal === null && position < end) {
        if (budget.isDecoded) return
        if (records !== null) {
          const next = records.next()
          if (next.done) {
            records = null
            position = Math.max(position, batches[nextBatch - 1]!.lastOffset + 1)
            continue
          }
          const turn = budget.decoded()
          if (turn !== undefined) await turn
          const record = next.value
          if (record.lastOffset < position) continue
          // What lies above the end came after the question.
          if (record.offset >= end) position = end
          else if (filter === null || filter(record)) head = record
          else position = record.lastOffset + 1
        } else if (nextBatch < batches.length) records = await openBatch(place, batches[nextBatch++]!)
        else if (budget.isSpent) return
        else {
          const chunk = await readFrom(rooms, place, position, chunkBytes)
          if (isRefusal(chunk)) {
            const start = await startAbove(rooms, place, position, chunk)
            if (start === null) refusal = chunk
            else position = start
            continue
          }
          budget.took(chunk.bytes)
          batches = chunk.batches
          nextBatch = 0
          if (batches.length === 0) position = end
        }
      }
    },
  }
}

/** From below an offset (exclusive) down to the start. `wanted` is how many of them are likely to be taken. */
export function readBackwards(
  rooms: ReachRooms,
  place: Place,
  { start, before }: { readonly start: number; readonly before: number },
  { chunkBytes, budget, filter, wanted }: ReaderOptions & { readonly wanted: number },
): RecordReader {
  /** Records at and above it are in `found`, taken, or passed over. */
  let bottom = before
  let position = before
  let refusal: Refusal | null = null
  /** Ascending; the last is the head. */
  let found: FoundRecord[] = []
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
          // Retention has passed what was left.
          else bottom = start
          return
        }
        position = bottom
        bottom = await collect(stretch.from, stretch.chunk.batches)
        // Gaps, markers and filters may leave little of a stretch, and what was wanted was not enough: the next one is longer,
        // unless that is more than one read gives.
        if (!stretch.isShortened) span *= SPAN_GROWTH
      }
    },
  }

  /** A chunk that reaches to the bottom. One that is too short is given up for one that begins higher. */
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
      budget.took(chunk.bytes)
      const last = chunk.batches.at(-1)
      if (last === undefined || last.lastOffset + 1 >= bottom || from === bottom - 1)
        return { from, chunk, isShortened }
      isShortened = true
      const half = Math.max(1, Math.floor((bottom - from) / 2))
      from = Math.max(bottom - half, Math.min(last.lastOffset + 1, bottom - 1))
      span = Math.max(1, bottom - from)
    }
  }

  /** Fills `found` with the newest records below the bottom, and answers the new bottom. */
  async function collect(from: number, batches: readonly BatchView[]): Promise<number> {
    const [first] = batches
    const isPassedOver = filter === null && (first?.recordCount ?? 0) <= PASSED_OVER_AT_ONCE
    const lowest = isPassedOver ? from : Math.max(start, Math.min(from, first?.baseOffset ?? from))
    let kept: FoundRecord[] = []
    let isCut = false
    for (const batch of batches) {
      if (batch.baseOffset >= bottom) break
      const records = await openBatch(place, batch, lowest)
      for (let next = records.next(); !next.done; next = records.next()) {
        const record = next.value
        const turn = budget.decoded()
        if (turn !== undefined) await turn
        if (record.lastOffset < lowest) continue
        if (record.offset >= bottom) break
        if (filter !== null && !filter(record)) continue
        kept.push(record)
        if (kept.length < 2 * KEPT_RECORDS) continue
        // The oldest of a large batch would only take memory.
        kept = kept.slice(-KEPT_RECORDS)
        isCut = true
      }
    }
    found = kept
    return isCut ? kept[0]!.offset : lowest
  }
}

interface Stretch {
  readonly from: number
  readonly chunk: Chunk
  /** What was asked for first was more than one read gives. */
  readonly isShortened: boolean
}

const SPAN_GROWTH = 4
/** Records that are passed over without a turn of others. Of a larger batch all are decoded, once. */
const PASSED_OVER_AT_ONCE = 10_000
const KEPT_RECORDS = 1000

/** Where the log begins by now, if it begins above the offset that was just refused; else null. */
async function startAbove(rooms: ReachRooms, place: Place, offset: number, refusal: Refusal): Promise<number | null> {
  if (refusal.code !== OFFSET_OUT_OF_RANGE.code) return null
  const [bounds] = await boundsOf(rooms, [place])
  return isRefusal(bounds) || bounds!.start <= offset ? null : bounds!.start
}

/** The records of a batch, those of markers left out. What cannot be taken apart is one record that says so. */
async function openBatch(place: Place, batch: BatchView, from = 0): Promise<Iterator<FoundRecord, undefined>> {
  // Markers of transactions are the broker's own.
  if (batch.isControl) return [].values()
  let records: Iterable<DecodedRecord>
  try {
    records = await openRecords(batch.bytes, { from })
  } catch (error) {
    if (!(error instanceof InvalidRecords)) throw error
    return [unreadableFrom(place, batch, batch.baseOffset, error)].values()
  }
  return recordsOf(place, batch, records)
}

function* recordsOf(
  place: Place,
  batch: BatchView,
  records: Iterable<DecodedRecord>,
): Generator<FoundRecord, undefined> {
  const { partition } = place
  const { timestampType } = batch
  let next = batch.baseOffset
  try {
    for (const record of records) {
      next = record.offset + 1
      yield { ...record, lastOffset: record.offset, partition, timestampType, unreadable: null }
    }
  } catch (error) {
    if (!(error instanceof InvalidRecords)) throw error
    yield unreadableFrom(place, batch, next, error)
  }
}

function unreadableFrom({ partition }: Place, batch: BatchView, offset: number, error: InvalidRecords): FoundRecord {
  const { lastOffset, maxTimestamp, timestampType, bytes } = batch
  return {
    partition,
    offset,
    lastOffset,
    timestamp: maxTimestamp,
    timestampType,
    key: null,
    value: bytes.subarray(BATCH_HEADER_BYTES),
    headers: [],
    unreadable: `The records at the offsets ${offset} to ${lastOffset} cannot be read: ${error.message}.`,
  }
}
