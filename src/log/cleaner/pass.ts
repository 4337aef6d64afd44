// One pass of the cleaner over one partition. It maps the keys of the dirty part to their newest offsets, as far as
// they fit the map, and then rewrites the log piece by piece from its start to the end of the mapped part. Each piece
// is durable with the place of the cleaner, so that a pass that was interrupted is finished later, with the same map.
//
//   log start       cleanedTo                 mapTo          high watermark
//   |     clean     |  dirty, in the map      |  dirty       |
//   |--------- rewritten, in pieces ----------|
//
// A pass copies the clean part too, even batches that do not change, as Kafka's cleaner copies all segments: the port
// rewrites a log only as a whole, from its start, because Redis keeps the rewritten log as a stream of its own. The
// dirty ratio limits this cost: with the ratio of 0.5 a pass copies at most as many clean bytes as there are dirty
// ones. This file decides nothing about single batches, and not when a partition is cleaned.

import { ahead, twoAtOnce } from '../../base/ahead.ts'
import { BATCH_HEADER_BYTES, viewBatch } from '../../protocol/records.ts'
import type { Batch, Store } from '../../store/store.ts'
import { type Compression, NotDecoded } from '../compression.ts'
import type { Partition } from '../partition.ts'
import { encodingOf, sealBatch } from '../stored-batch.ts'
import type { Cleaned } from './clean-batch.ts'
import type { Mapped, Unreadable, Work } from './cleaner-work.ts'
import { isInterrupted } from './place.ts'

export interface PassRooms {
  readonly store: Store
  readonly compression: Compression
  readonly work: Work
  readonly mapBytes: number
  /** True when the broker closes, or may clean no more: the pass ends with the current piece. */
  isStopped(): boolean
}

/** The numbers of one pass; bytes as the store has them. */
export interface PassCounts {
  bytesKept: number
  bytesDropped: number
  recordsKept: number
  recordsDropped: number
  /** Those of the dropped records that have no key. */
  keylessDropped: number
}

export interface PassResult extends PassCounts {
  /**
   * `partly`: the keys did not fit, and the next pass goes on. `ended`: the broker closes, may clean no more, no longer
   * leads the partition or does not know its high watermark yet, or its topic is no longer compacted.
   */
  readonly outcome: 'done' | 'partly' | 'ended' | 'uncleanable'
}

/** The most stored bytes of one piece, unless it is a single batch: an append waits for a piece. */
const PIECE_BYTES = 1024 * 1024
/** No further batch of a piece is opened when the opened ones have this many bytes as clients see them. */
const OPENED_BYTES = 4 * PIECE_BYTES

/**
 * Finishes the interrupted pass of a partition, or makes a new one that cleans up to `upTo`: the beginning of a batch
 * below the high watermark. Throws what the store throws, and then the next pass goes on from there.
 */
export async function cleanPass(
  rooms: PassRooms,
  partition: Partition,
  upTo: number,
  nowMs: number,
): Promise<PassResult> {
  const pass = new Pass(rooms, partition, upTo, nowMs)
  try {
    return await pass.run()
  } finally {
    await rooms.work.end()
  }
}

/** A batch as the store has it, and as clients see it. */
interface Opened {
  readonly stored: Batch
  readonly plain: Buffer
}

/** Batches that were read together. */
interface Reading {
  readonly kind: 'read'
  readonly opened: readonly Opened[]
  /** Lets the store use the memory of the batches again. */
  release(): void
}

/** Batches that were read together. `logStart` is the log start when they were cleaned. */
interface CleanedRead {
  readonly kind: 'cleaned'
  readonly read: Reading
  readonly batches: readonly Cleaned[]
  readonly logStart: number
}

/** The reason why a pass ends early. */
type Stop = { readonly kind: 'ended' } | Unreadable

const ENDED: Stop = Object.freeze({ kind: 'ended' })

/** The batches of a piece before and after the cleaning. */
interface Draft {
  to: number
  readonly batches: Batch[]
  bytesBefore: number
  bytes: number
  plainBytes: number
  records: number
  minTimestamp: number
  maxTimestamp: number
  dropped: number
  keyless: number
}

class Pass {
  readonly #rooms: PassRooms
  readonly #partition: Partition
  readonly #nowMs: number
  readonly #epoch: number
  /** The part of the log to map. */
  readonly #mapFrom: number
  readonly #mapEnd: number
  readonly #isResumed: boolean
  readonly #counts: PassCounts = {
    bytesKept: 0,
    bytesDropped: 0,
    recordsKept: 0,
    recordsDropped: 0,
    keylessDropped: 0,
  }

  constructor(rooms: PassRooms, partition: Partition, upTo: number, nowMs: number) {
    this.#rooms = rooms
    this.#partition = partition
    this.#nowMs = nowMs
    const { epoch, start, cleaned } = partition.state
    this.#epoch = epoch
    this.#isResumed = isInterrupted(partition.state)
    this.#mapFrom = this.#isResumed ? cleaned.passFrom : Math.max(start, cleaned.cleanedTo)
    this.#mapEnd = this.#isResumed ? cleaned.passTo : upTo
  }

  async run(): Promise<PassResult> {
    const { state } = this.#partition
    const { start, cleaned, pass } = state
    if (this.#isOver()) return this.#result('ended')
    if (!this.#isResumed && this.#mapFrom >= this.#mapEnd) return this.#result('done')
    // The port lets a new pass begin only when the last one has reached its end.
    const leastEnd = Math.max(pass.until, this.#isResumed ? cleaned.passTo : pass.to)
    // A new leader may not know yet that the replicas have all that the pass of its predecessor had mapped.
    if (leastEnd > this.#partition.highWatermark) return this.#result('ended')
    await this.#rooms.work.begin(this.#rooms.mapBytes, this.#mapFrom)
    const mapTo = await this.#map()
    if (typeof mapTo !== 'number') return this.#result(mapTo)
    const end = Math.max(mapTo, leastEnd)
    let from = this.#isResumed ? Math.max(start, pass.to) : start
    while (from < end) {
      const next = await this.#rewrite(from, mapTo, end)
      if (typeof next !== 'number') return this.#result(next)
      from = next
    }
    return this.#result(mapTo < this.#mapEnd ? 'partly' : 'done')
  }

  /** Maps the dirty part. Resolves with the offset up to which the keys fit, or with the reason why the pass ends. */
  async #map(): Promise<number | 'ended' | 'uncleanable'> {
    const reads = ahead(this.#reads(this.#mapFrom, this.#mapEnd))
    for await (const mapped of twoAtOnce(reads, read => this.#mapped(read))) {
      if (mapped.kind !== 'mapped') return this.#stopped(mapped)
      if (mapped.fullAt !== null) return mapped.fullAt
    }
    return this.#mapEnd
  }

  async #mapped(read: Reading | Stop): Promise<Mapped | Stop> {
    if (read.kind !== 'read') return read
    const plain = read.opened.map(batch => batch.plain)
    const mapped = await this.#rooms.work.map(plain, this.#mapFrom, this.#mapEnd)
    read.release()
    return mapped
  }

  /**
   * Rewrites the log from an offset on. While the store rewrites a piece, the next one is cleaned, and the one after it
   * is read. Resolves with the end. If a trim moves the log start, resolves with the offset from which to go on.
   */
  async #rewrite(from: number, mapTo: number, end: number): Promise<number | 'ended' | 'uncleanable'> {
    const { state } = this.#partition
    let at = from
    const reads = ahead(this.#reads(from, end))
    for await (const cleaned of ahead(twoAtOnce(reads, read => this.#cleaned(read, mapTo)))) {
      if (cleaned.kind !== 'cleaned') return this.#stopped(cleaned)
      const { logStart } = cleaned
      const { opened: read, release } = cleaned.read
      // A trim has passed the place meanwhile.
      if (logStart > at) return logStart
      // Between the last batch and the end there may be a gap. It must be one for the time index too: a store that
      // wrongly found no batch must not make the cleaner remove them.
      const missing = read.length === 0 ? this.#bytesWithin(at, end) : 0
      if (missing > 0)
        return this.#giveUp({ offset: at, why: `the store has not returned the ${missing} bytes up to ${end}` })
      const drafts = read.length === 0 ? [{ ...emptyDraft(), to: end }] : await this.#draft(read, cleaned.batches)
      for (const draft of drafts) {
        const { to, bytes, plainBytes, records, minTimestamp, maxTimestamp, batches, bytesBefore } = draft
        const place =
          to >= end
            ? { cleanedTo: mapTo, passFrom: mapTo, passTo: -1 }
            : { cleanedTo: state.cleaned.cleanedTo, passFrom: this.#mapFrom, passTo: mapTo }
        const remains = { bytes, plainBytes, batches: batches.length, records, minTimestamp, maxTimestamp }
        const piece = { epoch: this.#epoch, logStart, from: at, to, batches, bytesBefore, remains, place }
        const outcome = await this.#partition.rewrite(piece)
        if (outcome === 'moved') return Math.max(at, state.start)
        if (outcome === 'ended') return outcome
        if (outcome === 'damaged') return this.#giveUp({ offset: at, why: 'the store has found damage there' })
        this.#count(draft)
        at = to
      }
      // The batches that stay as they are have been written by now.
      release()
    }
    return at
  }

  /** Returns the bytes of the known chunks that lie in [from, to). */
  #bytesWithin(from: number, to: number): number {
    let sum = 0
    for (const chunk of this.#partition.state.timeIndex.chunks) {
      if (chunk.isKnown && chunk.from >= from && chunk.next <= to) sum += chunk.bytes
    }
    return sum
  }

  /** Cleans batches that were read together. */
  async #cleaned(read: Reading | Stop, mapTo: number): Promise<CleanedRead | Stop> {
    if (read.kind !== 'read') return read
    const { start: logStart, highWatermark, emptyFrom, topic } = this.#partition.state
    const { deleteRetentionMs } = topic.resolved
    const newestFrom = Math.min(emptyFrom, highWatermark)
    const terms = { mapTo, nowMs: this.#nowMs, deleteRetentionMs, newestFrom }
    const plain = read.opened.map(batch => batch.plain)
    const cleaned = await this.#rooms.work.clean(plain, terms)
    return cleaned.kind === 'unreadable' ? cleaned : { ...cleaned, read, logStart }
  }

  /** Divides cleaned batches into pieces that are not too large. Cleaning may make a batch a little larger. */
  async #draft(read: readonly Opened[], cleaned: readonly Cleaned[]): Promise<Draft[]> {
    const drafts: Draft[] = []
    const encoded = await Promise.all(cleaned.map((each, i) => this.#encoded(read[i]!, each)))
    for (const [i, { stored }] of read.entries()) {
      const { kept, dropped, keyless, firstTimestamp, maxTimestamp } = cleaned[i]!
      const { batch, plainBytes } = encoded[i]!
      const bytes = batch?.bytes.length ?? 0
      let draft = drafts.at(-1)
      if (draft === undefined || (draft.bytes + bytes > PIECE_BYTES && draft.batches.length > 0)) {
        draft = emptyDraft()
        drafts.push(draft)
      }
      draft.to = stored.nextOffset
      draft.bytesBefore += stored.bytes.length
      draft.dropped += dropped
      draft.keyless += keyless
      if (batch === null) continue
      draft.batches.push(batch)
      draft.bytes += bytes
      draft.plainBytes += plainBytes
      draft.records += kept
      draft.maxTimestamp = Math.max(draft.maxTimestamp, maxTimestamp)
      if (draft.minTimestamp === -1 || (firstTimestamp !== -1 && firstTimestamp < draft.minTimestamp))
        draft.minTimestamp = firstTimestamp
    }
    return drafts
  }

  /** Resolves with the batch that stays, in its stored form, and its size as clients see it. */
  async #encoded(
    { stored, plain }: Opened,
    { bytes, kept, maxTimestamp }: Cleaned,
  ): Promise<{ readonly batch: Batch | null; readonly plainBytes: number }> {
    if (bytes === null) return { batch: null, plainBytes: 0 }
    if (bytes === 'same') return { batch: stored, plainBytes: plain.length }
    const view = viewBatch(bytes)
    const encoding = kept === 0 ? null : await this.#rooms.compression.encode(this.#partition.state.topic, view)
    const sealed = encoding === null ? view.bytes : sealBatch(view.bytes, encoding)
    return { batch: { ...stored, recordCount: kept, maxTimestamp, bytes: sealed }, plainBytes: bytes.length }
  }

  /** Yields the batches from an offset on that begin below `until`, some at a time. The last item may be a Stop. */
  async *#reads(from: number, until: number): AsyncGenerator<Reading | Stop, void> {
    for (let offset = from; offset < until; ) {
      const read = await this.#read(offset, until)
      yield read
      if (read.kind !== 'read' || read.opened.length === 0) return
      offset = read.opened.at(-1)!.stored.nextOffset
    }
  }

  /** Reads about PIECE_BYTES. Resolves with no batches if there are none in this part of the log. */
  async #read(from: number, until: number): Promise<Reading | Stop> {
    const { state } = this.#partition
    for (;;) {
      if (this.#isOver()) return ENDED
      const offset = Math.max(from, state.start)
      if (offset >= until) return { kind: 'read', opened: [], release() {} }
      const read = await this.#rooms.store.read(state.stream, offset, { maxBytes: PIECE_BYTES, until })
      if (this.#isOver() || read.kind === 'gone') return ENDED
      if (read.kind === 'damaged') return { kind: 'unreadable', offset, why: read.message }
      if (read.kind === 'read') {
        const opened = await this.#opened(read.batches)
        return 'kind' in opened ? opened : { kind: 'read', opened, release: read.release ?? (() => {}) }
      }
      // A trim of this broker is about to raise the start. One of another broker has ended the lead of this one.
      if (read.start > state.start) return ENDED
    }
  }

  /** Opens batches that the store keeps compressed. */
  async #opened(batches: readonly Batch[]): Promise<readonly Opened[] | Stop> {
    const opened: Opened[] = []
    let openedBytes = 0
    for (const stored of batches) {
      if (openedBytes >= OPENED_BYTES) break
      const { bytes } = viewBatch(stored.bytes)
      const isEncoded = bytes.length >= BATCH_HEADER_BYTES && encodingOf(bytes) !== null
      const plain = isEncoded ? await this.#decoded(bytes) : bytes
      if (typeof plain === 'string') return { kind: 'unreadable', offset: stored.baseOffset, why: plain }
      opened.push({ stored, plain })
      openedBytes += plain.length
    }
    return opened
  }

  async #decoded(stored: Buffer): Promise<Buffer | string> {
    if (!viewBatch(stored).isIntact) return 'it fails its checksum'
    const encoding = encodingOf(stored)!
    if (typeof encoding === 'string') return encoding
    try {
      return await this.#rooms.compression.decode(this.#partition.topicId, stored, encoding)
    } catch (error) {
      if (error instanceof NotDecoded) return error.message
      throw error
    }
  }

  #isOver(): boolean {
    const { refusal, damage, epoch, topic } = this.#partition.state
    const isCompacted = topic.resolved.cleanupPolicy.includes('compact')
    return this.#rooms.isStopped() || refusal !== null || damage !== null || epoch !== this.#epoch || !isCompacted
  }

  #stopped(stop: Stop): 'ended' | 'uncleanable' {
    return stop.kind === 'ended' ? 'ended' : this.#giveUp(stop)
  }

  #giveUp({ offset, why }: Pick<Unreadable, 'offset' | 'why'>): 'uncleanable' {
    const { name } = this.#partition.state
    const reason = { offset, why: `The batch at offset ${offset} of ${name} cannot be cleaned: ${why}.` }
    this.#partition.leaveUncleaned(this.#epoch, reason)
    return 'uncleanable'
  }

  #count({ bytes, bytesBefore, records, dropped, keyless }: Draft): void {
    const counts = this.#counts
    counts.bytesKept += bytes
    // Another base of timestamps can make a batch a little larger.
    counts.bytesDropped += Math.max(0, bytesBefore - bytes)
    counts.recordsKept += records
    counts.recordsDropped += dropped
    counts.keylessDropped += keyless
  }

  #result(outcome: PassResult['outcome']): PassResult {
    return { outcome, ...this.#counts }
  }
}

function emptyDraft(): Draft {
  return {
    to: 0,
    batches: [],
    bytesBefore: 0,
    bytes: 0,
    plainBytes: 0,
    records: 0,
    minTimestamp: -1,
    maxTimestamp: -1,
    dropped: 0,
    keyless: 0,
  }
}
