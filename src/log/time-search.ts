// Searches a partition for records by their time. The time index says which chunks can have the record. The search
// reads the batches of those chunks, and only the timestamps and offsets of their records. It ends when its patience
// ends. All searches of a broker share a limited number of slots. A search changes nothing but the time index.

import type { Patience } from '../base/patience.ts'
import type { Semaphore } from '../base/semaphore.ts'
import { because, isRefusal, OFFSET_OUT_OF_RANGE, REQUEST_TIMED_OUT, type Refusal } from '../protocol/errors.ts'
import { BATCH_HEADER_BYTES, type BatchView, InvalidRecords, viewBatch } from '../protocol/records.ts'
import type { Read } from '../store/store.ts'
import type { PartitionState } from './partition-state.ts'
import { encodingOf } from './stored-batch.ts'
import type { Chunk, Weighed } from './time-index.ts'
import type { Look, Looker, Unpacking } from './unpacking.ts'

/** A record found by its time. */
export interface FoundOffset {
  readonly offset: number
  readonly timestamp: number
  readonly leaderEpoch: number
}

export interface SearchRooms {
  readonly unpacking: Unpacking
  /** The slots for searches; there are SEARCHES_AT_ONCE of them. */
  readonly searches: Semaphore
}

type MaybeLater<T> = T | Promise<T>

/** The partition that is searched. */
export interface SearchedLog {
  readonly state: PartitionState
  /**
   * Returns whole batches from this offset on, in the form that clients see. It returns at least one batch, unless
   * there is no batch below the high watermark.
   */
  read(offset: number, maxBytes: number): MaybeLater<{ readonly batches: readonly Uint8Array[] } | Refusal>
  /** Resolves with the batches that the store has from this offset on, unchecked. */
  load(offset: number, maxBytes: number): Promise<Read | Refusal>
}

/** A search reads this many bytes at once. */
const STEP_BYTES = 1024 * 1024

/**
 * The most searches at one time, over all partitions of a broker. Each search takes memory for STEP_BYTES or one batch,
 * and one request can search thousands of partitions.
 */
export const SEARCHES_AT_ONCE = 16

const TIMED_OUT = because(REQUEST_TIMED_OUT, 'The search through the records took too long.')

export class TimeSearch {
  readonly #rooms: SearchRooms
  readonly #log: SearchedLog

  constructor(rooms: SearchRooms, log: SearchedLog) {
    this.#rooms = rooms
    this.#log = log
  }

  get #state(): PartitionState {
    return this.#log.state
  }

  /**
   * Resolves with the first record whose timestamp is at or after this one, with the record's own timestamp. Null if
   * there is no such record. REQUEST_TIMED_OUT if the patience ends first.
   */
  first(timestamp: number, patience: Patience): Promise<FoundOffset | null | Refusal> {
    return this.#inTurn(patience, async looker => {
      for (const chunk of [...this.#state.timeIndex.chunks]) {
        if (chunk.isKnown && chunk.maxTimestamp < timestamp) continue
        const found = await this.#firstOf(chunk, timestamp, looker)
        if (found !== null) return found
      }
      return null
    })
  }

  /**
   * Resolves with the record that has the largest timestamp; the first one if several have it (KIP-734). Null if no
   * record has a timestamp. REQUEST_TIMED_OUT if the patience ends first.
   */
  largest(patience: Patience): Promise<FoundOffset | null | Refusal> {
    return this.#inTurn(patience, async looker => {
      const refusal = await this.learn(patience)
      if (refusal !== null) return refusal
      let best: FoundOffset | null = null
      const most = (chunk: Chunk) => (chunk.isKnown ? chunk.maxTimestamp : Number.MAX_SAFE_INTEGER)
      const chunks = [...this.#state.timeIndex.chunks].sort((a, b) => most(b) - most(a))
      for (const chunk of chunks) {
        if (most(chunk) < 0 || (best !== null && best.timestamp >= most(chunk))) break
        const found = await this.#largestOf(chunk, best, looker)
        if (isRefusal(found)) return found
        best = found
      }
      return best
    })
  }

  /**
   * Reads the chunks that have no mark. Afterwards the time index knows all chunks but those that replicas do not have
   * yet: their batches cannot be read, and they would be taken for empty.
   */
  async learn(patience: Patience): Promise<Refusal | null> {
    const { timeIndex, pendingRows, highWatermark } = this.#state
    for (const chunk of timeIndex.chunks.filter(({ isKnown, next }) => !isKnown && next <= highWatermark)) {
      const found = await this.#weigh(chunk, patience)
      if (isRefusal(found)) return found
      const mark = timeIndex.learn(chunk, found)
      if (mark !== null) pendingRows.push(mark)
    }
    return null
  }

  /**
   * Resolves with the sizes and times of a chunk's batches as stored. A batch that fails its checksum does not keep the
   * log from ageing.
   */
  async #weigh({ from, next }: Chunk, patience: Patience): Promise<readonly Weighed[] | Refusal> {
    const found: Weighed[] = []
    for (let offset = from; offset < next; ) {
      if (patience.isOver) return TIMED_OUT
      offset = Math.max(offset, this.#state.start)
      const read = await this.#log.load(offset, STEP_BYTES)
      if (isRefusal(read)) {
        if (read.code === OFFSET_OUT_OF_RANGE.code && this.#state.start > offset) continue
        return read
      }
      const within = read.batches.filter(batch => batch.baseOffset < next)
      for (const batch of within) found.push(weighed(batch))
      read.release?.()
      offset = within.length === 0 ? next : within.at(-1)!.nextOffset
    }
    return found
  }

  /** Waits for a slot, then runs work that reads the log and looks into batches. */
  async #inTurn(
    patience: Patience,
    work: (looker: Looker) => Promise<FoundOffset | null | Refusal>,
  ): Promise<FoundOffset | null | Refusal> {
    const { searches, unpacking } = this.#rooms
    if (!(await searches.take(1, patience))) return this.#state.refusal ?? TIMED_OUT
    try {
      const found = await work(unpacking.looker(patience))
      return isRefusal(found) ? found : (this.#state.refusal ?? found)
    } finally {
      searches.give(1)
    }
  }

  /** Resolves with the first record of a chunk whose timestamp is at or after this one. */
  async #firstOf(chunk: Chunk, timestamp: number, looker: Looker): Promise<FoundOffset | null | Refusal> {
    let found: FoundOffset | null = null
    const refusal = await this.#walk(chunk, looker, async batch => {
      if (batch.maxTimestamp < timestamp) return false
      const first = await this.#lookInto(batch, looker, async ({ walk, step }, at) => {
        for (;;) {
          const others = step()
          if (others !== undefined) await others
          if (!walk.next()) return null
          if (walk.timestamp >= timestamp && walk.offset >= this.#state.readableFrom) return at(walk)
        }
      })
      if (isRefusal(first)) return first
      found = first
      return found !== null
    })
    return refusal ?? found
  }

  /**
   * Resolves with the first record that has the largest timestamp of a chunk, or with `known` if no timestamp is
   * larger.
   */
  async #largestOf(chunk: Chunk, known: FoundOffset | null, looker: Looker): Promise<FoundOffset | null | Refusal> {
    let best = known
    const refusal = await this.#walk(chunk, looker, async batch => {
      const above = best?.timestamp ?? -1
      if (batch.maxTimestamp <= above) return false
      const largest = await this.#lookInto(batch, looker, async ({ walk, step }, at) => {
        let top: FoundOffset | null = null
        let topTimestamp = above
        for (;;) {
          const others = step()
          if (others !== undefined) await others
          if (!walk.next()) return top
          if (walk.timestamp <= topTimestamp || walk.offset < this.#state.readableFrom) continue
          topTimestamp = walk.timestamp
          top = at(walk)
        }
      })
      if (isRefusal(largest)) return largest
      best = largest ?? best
      return best !== null && best.timestamp >= chunk.maxTimestamp
    })
    return refusal ?? best
  }

  /** Looks into a batch, but only at the timestamps and offsets of its records. */
  async #lookInto(
    batch: BatchView,
    looker: Looker,
    look: (
      look: Look,
      at: (record: { offset: number; timestamp: number }) => FoundOffset,
    ) => Promise<FoundOffset | null>,
  ): Promise<FoundOffset | null | Refusal> {
    const { leaderEpoch } = batch
    try {
      return await this.#rooms.unpacking.look(batch, looker, opened =>
        look(opened, ({ offset, timestamp }) => ({ offset, timestamp, leaderEpoch })),
      )
    } catch (error) {
      if (!(error instanceof InvalidRecords)) throw error
      // Producers may send batches that do not unpack. The offset of the whole batch makes sure that a reader skips
      // nothing.
      return {
        offset: Math.max(batch.baseOffset, this.#state.readableFrom),
        timestamp: batch.maxTimestamp,
        leaderEpoch,
      }
    }
  }

  /** Visits the visible batches of a chunk in order, until the visitor returns true or a refusal. */
  async #walk(
    chunk: Chunk,
    { patience, turn }: Looker,
    visit: (batch: BatchView) => Promise<boolean | Refusal>,
  ): Promise<Refusal | null> {
    const { next } = chunk
    for (let offset = Math.max(chunk.from, this.#state.readableFrom); offset < next; ) {
      if (patience.isOver) return TIMED_OUT
      const read = await this.#log.read(offset, STEP_BYTES)
      if (isRefusal(read)) {
        // Retention passed this offset: continue at the log start.
        const { readableFrom } = this.#state
        if (read.code !== OFFSET_OUT_OF_RANGE.code || readableFrom <= offset) return read
        offset = readableFrom
        continue
      }
      if (read.batches.length === 0) return null
      for (const bytes of read.batches) {
        const batch = viewBatch(bytes)
        if (batch.baseOffset >= next) return null
        const others = turn()
        if (others !== undefined) await others
        const visited = await visit(batch)
        if (isRefusal(visited)) return visited
        if (visited) return null
        offset = batch.baseOffset + batch.lastOffsetDelta + 1
      }
    }
    return null
  }
}

/** A batch that fails its checksum says only what the store says about it. */
function weighed({ bytes, maxTimestamp, recordCount: records }: Read['batches'][number]): Weighed {
  const unknown = { bytes: bytes.length, maxTimestamp, records, plainBytes: null, minTimestamp: null }
  const stored = viewBatch(bytes)
  if (bytes.length < BATCH_HEADER_BYTES || !stored.isIntact) return unknown
  const encoding = encodingOf(stored.bytes)
  if (typeof encoding === 'string') return unknown
  return { ...unknown, plainBytes: encoding?.plainBytes ?? bytes.length, minTimestamp: firstTimestampOf(stored) }
}

/** Returns the timestamp of the first record if the header of the batch tells it; -1 if the record has none. */
function firstTimestampOf({ timestampType, baseTimestamp, maxTimestamp, deleteHorizonMs }: BatchView): number | null {
  // Of a batch with LogAppendTime, all records have the time of the append.
  if (timestampType === 'LogAppendTime') return maxTimestamp
  // The cleaner has put the delete horizon into baseTimestamp. Only the records tell their timestamps then.
  return deleteHorizonMs === null ? baseTimestamp : null
}
