// One partition for the request handlers: append, read, offsets and searches by time (in time-search.ts). It checks a
// batch before the batch enters the lane, serves reads from the tail in memory or from the store, and never shows
// anything above the high watermark. It knows no sessions and no groups, and does not know which broker leads.

import { sleep } from '../base/clock.ts'
import { workInTurn } from '../base/in-turn.ts'
import { ENDLESS, type Patience } from '../base/patience.ts'
import {
  because,
  CORRUPT_MESSAGE,
  FENCED_LEADER_EPOCH,
  INVALID_RECORD,
  INVALID_TIMESTAMP,
  isRefusal,
  KAFKA_STORAGE_ERROR,
  MESSAGE_TOO_LARGE,
  NOT_LEADER_OR_FOLLOWER,
  OFFSET_OUT_OF_RANGE,
  type Refusal,
  TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
  UNKNOWN_LEADER_EPOCH,
  UNKNOWN_TOPIC_OR_PARTITION,
} from '../protocol/errors.ts'
import { BATCH_HEADER_BYTES, type BatchView, encodeEmptyBatch, viewBatch } from '../protocol/records.ts'
import { type Batch, isStoreFailure, type Read } from '../store/store.ts'
import type { Scoped } from '../telemetry/logger.ts'
import type { CounterChild, ObservedChild } from '../telemetry/metrics.ts'
import type { Topic } from './catalogue.ts'
import { encodePlace, type Place } from './cleaner/place.ts'
import { betterOf, type ColdBatches, type ColdReads, earlier, larger } from './cold-reads.ts'
import { NotDecoded } from './compression.ts'
import { type BatchJudge, bothOf, type Judge } from './judge.ts'
import type { JudgedPlace, Judgings } from './judging.ts'
import { KeyCheck } from './keyed-batches.ts'
import { type Appended, Lane, type LaneRooms } from './lane.ts'
import { PartitionState, type ProducerCount } from './partition-state.ts'
import type { ReadAhead } from './read-ahead.ts'
import { beforeTrim, withLogStart } from './remote-document.ts'
import { nextSpan, spanWith } from './remote-log.ts'
import { type SealedSegments, type Segment, segmentOf } from './segments.ts'
import { type Encoding, encodingOf } from './stored-batch.ts'
import type { Tail } from './tail-cache.ts'
import type { Remains } from './time-index.ts'
import { type FoundOffset, type SearchRooms, TimeSearch } from './time-search.ts'
import type { Waits } from './waiters.ts'

/** The records that a reader may see: up to the high watermark, or only up to the last stable offset. */
export type Isolation = 'READ_UNCOMMITTED' | 'READ_COMMITTED'

export interface ReadResult {
  readonly kind: 'read'
  /**
   * Whole batches in offset order. The first one contains the requested offset, or is the next batch if the offset lies
   * in a gap.
   */
  readonly batches: readonly Uint8Array[]
  readonly bytes: number
  readonly highWatermark: number
  readonly lastStableOffset: number
  readonly logStartOffset: number
  /** Like Read.release of the store; null if the bytes are shared with others. */
  readonly release: (() => void) | null
}

/** A segment in a list for people. Null: unknown. */
export interface ListedSegment extends Omit<Segment, 'sealedAtMs' | 'bytes' | 'maxTimestamp'> {
  /** Null: it is active. */
  readonly sealedAtMs: number | null
  readonly bytes: number | null
  readonly maxTimestamp: number | null
  readonly isActive: boolean
}

export interface ListedSegments {
  readonly areReadable: boolean
  readonly segments: readonly ListedSegment[]
}

/** One piece of a pass of the cleaner: the batches that replace those of [from, to). */
export interface Piece {
  /** The epoch and the log start under which the batches were read. */
  readonly epoch: number
  readonly logStart: number
  readonly from: number
  readonly to: number
  /** In their stored form. */
  readonly batches: readonly Batch[]
  /** The stored bytes of the batches that they replace. */
  readonly bytesBefore: number
  readonly remains: Remains
  /** How far the log is cleaned after the piece. */
  readonly place: Place
}

/** The reason why the cleaner leaves a partition alone. */
export interface Uncleanable {
  /** The first offset of the batch. */
  readonly offset: number
  /** A sentence. */
  readonly why: string
}

export interface PartitionRooms extends LaneRooms, SearchRooms {
  /** Null if no records are judged. */
  readonly judge: Judge | null
  readonly judgings: Judgings
  readonly producerCount: ProducerCount
  readonly reads: ReadMetrics
  readonly readAhead: ReadAhead<ReadResult>
  readonly cold: ColdReads
  /** SegmentDocuments.change. */
  changeSegments(state: PartitionState, decide: (sealed: SealedSegments) => SealedSegments | null): Promise<boolean>
}

export interface ReadMetrics {
  readonly done: ObservedChild
  readonly failed: ObservedChild
  readonly records: ObservedChild
  readonly corrupt: CounterChild
  /** Records whose batch fails its checksum, each counted once. */
  readonly lossy: CounterChild
}

const UNCONFIRMED = because(
  NOT_LEADER_OR_FOLLOWER,
  'The other brokers may consider this broker dead; nothing was appended or read.',
)

const NOT_DELETED = because(
  KAFKA_STORAGE_ERROR,
  'The table of the topic in the remote tier was not read yet; nothing was deleted.',
)

/** The most corrupt batches that a partition remembers. Further ones are counted again at each read. */
const MAX_NOTED_CORRUPT = 10_000

export class Partition {
  readonly #rooms: PartitionRooms
  readonly #state: PartitionState
  readonly #lane: Lane
  /** The first offsets of corrupt batches. */
  readonly #corrupt = new Set<number>()
  /** Trims and rewrites, one after the other: a rewrite begins at the log start or where the last one ended. */
  readonly #inTurn = workInTurn()
  /** Null until a batch has been judged. */
  #judgedPlace: JudgedPlace | null = null
  /** The result of a read at the end. */
  #empty: ReadResult
  /** The leader epoch under which the cleaner read the batch, and the reason. */
  #uncleanable: { readonly epoch: number; readonly reason: Uncleanable } | null = null

  constructor(rooms: PartitionRooms, topic: Topic, index: number, tail: Tail) {
    this.#rooms = rooms
    this.#state = new PartitionState(topic, index, tail, rooms.producerCount)
    this.#lane = new Lane(rooms, this.#state)
    this.#empty = this.#result([], 0)
  }

  get topicId(): string {
    return this.#state.topic.id
  }

  get topicName(): string {
    return this.#state.topic.name
  }

  get index(): number {
    return this.#state.index
  }

  /** The epoch of the stream. Batches are stamped with it, and every API returns it. */
  get leaderEpoch(): number {
    return this.#state.epoch
  }

  /** The lowest offset that clients may read, in either tier. */
  get logStartOffset(): number {
    return this.#state.logStart
  }

  /** The lowest offset that the store has; above the log start if the batches below it are in the archive only. */
  get localStartOffset(): number {
    return this.#state.readableFrom
  }

  /** True if the topic uses the remote tier. */
  get isRemote(): boolean {
    return this.#state.isRemote
  }

  /** The highest offset that is archived; -1 if none is. */
  get highestArchived(): number {
    return (this.#state.remote?.ranges.at(-1)?.[1] ?? 0) - 1
  }

  /** Returns true if only the archive has the offset, so that a read of it may have to wait for the object store. */
  isCold(offset: number): boolean {
    return this.#state.coldSpan(offset) !== null
  }

  get highWatermark(): number {
    return this.#state.highWatermark
  }

  /** The same as the high watermark while there are no transactions. */
  get lastStableOffset(): number {
    return this.#state.highWatermark
  }

  get endOffset(): number {
    return this.#state.end
  }

  /** The bytes of the live batches in their stored form. */
  get sizeBytes(): number {
    return this.#state.bytes
  }

  /**
   * True if the store has lost the log, or its part from some offset on. The log is readable below that offset and
   * takes no records.
   */
  get isDamaged(): boolean {
    return this.#state.damage !== null || this.#state.isLost
  }

  /** The reason why every request is refused for good; null while the partition is in use. */
  get refusal(): Refusal | null {
    return this.#state.refusal
  }

  /** Used by waiters.ts. */
  get waits(): Waits {
    return this.#state.waits
  }

  /** Used by round.ts and upkeep.ts. */
  get state(): PartitionState {
    return this.#state
  }

  /**
   * The batch that the cleaner cannot clean; null if it can clean all. It is forgotten when the topic changes, and when
   * the stream is opened again: a store that has lost a part of the log may have caused it.
   */
  get uncleanable(): Uncleanable | null {
    return this.#uncleanable?.epoch === this.#state.epoch ? this.#uncleanable.reason : null
  }

  /** Notes that the cleaner cannot clean a batch that it has read under this leader epoch. */
  leaveUncleaned(epoch: number, reason: Uncleanable): void {
    this.#uncleanable = { epoch, reason }
  }

  /** Applies a change of the topic. Its new configs hold for every later request. */
  reconfigure(topic: Topic): void {
    this.#uncleanable = null
    this.#state.reconfigure(topic)
  }

  /** Takes the lead of the stream. Until then every request is refused. */
  open(): Promise<void> {
    return this.#lane.open()
  }

  /** Drops the remembered state and takes the lead again, because the store may have lost a part of the stream. */
  reopen(): void {
    this.#lane.reopen()
  }

  /** Ends the partition: from now on every request gets the refusal. Resolves when no work is in progress. */
  close(refusal: Refusal): Promise<void> {
    this.#state.refusal ??= refusal
    this.#state.waits.wake()
    this.#state.tail.reset(this.#state.end)
    this.#state.clearProducers()
    return this.#lane.close()
  }

  /**
   * Appends one batch that checkBatches has passed. From here on its bytes belong to the log. Batches enter the log in
   * the order of the calls. A batch whose records must be judged waits for the verdict, and later batches wait behind
   * it. If it repeats a stored batch, it gets the answer of the original and needs no verdict. Resolves when the batch
   * is in the log, or with a refusal. After a refusal the batch is not in the log and never will be, except after these
   * two:
   * - REQUEST_TIMED_OUT, after timeoutMs, or when the partition has appended nothing for stallMs (0: no limit). The
   *   time in which it waits for a verdict does not count as a part of stallMs. It is then unknown whether the batch is
   *   appended, unless the message says that it was not.
   * - NOT_ENOUGH_REPLICAS_AFTER_APPEND. The batch is in the log, but may be lost.
   */
  append(batch: BatchView, timeoutMs: number, stallMs = 0): Promise<Appended | Refusal> {
    const refusal = this.#checkOpen() ?? this.#state.damage ?? this.#state.firmHold ?? this.#check(batch)
    if (refusal !== null) return this.#refused(batch, refusal)
    const judge = this.#judgeOf(batch)
    if (judge === null) return this.#lane.append(batch, timeoutMs, stallMs, null)
    this.#judgedPlace ??= this.#rooms.judgings.place(this.#state.name, this.#state.topic.id)
    const judging = this.#rooms.judgings.start(judge, batch, this.#judgedPlace, timeoutMs)
    const answer = this.#lane.append(batch, timeoutMs, stallMs, judging)
    return judging === null ? answer : this.#held(answer, timeoutMs)
  }

  /** Holds back a refusal of a judge that asks for it (Refusal.holdMs), and no other batch. */
  async #held(answer: Promise<Appended | Refusal>, timeoutMs: number): Promise<Appended | Refusal> {
    const given = await answer
    const holdMs = isRefusal(given) ? (given.holdMs ?? 0) : 0
    if (holdMs > 0) await sleep(this.#rooms.clock, timeoutMs > 0 ? Math.min(holdMs, timeoutMs) : holdMs)
    return given
  }

  #refused(batch: BatchView, refusal: Refusal): Promise<Refusal> {
    this.#rooms.refused.note(this.#state.stream, batch, refusal)
    return Promise.resolve(refusal)
  }

  /** Returns what has to look at the records before they get offsets; null if nothing has to. */
  #judgeOf(batch: BatchView): BatchJudge | null {
    const { topic, name } = this.#state
    const judge = this.#rooms.judge?.of(topic, batch) ?? null
    if (!topic.resolved.cleanupPolicy.includes('compact')) return judge
    const keys = new KeyCheck(name)
    return judge === null ? keys : bothOf(keys, judge)
  }

  /**
   * Returns the batches from this offset on, up to the high watermark, or to the last stable offset for READ_COMMITTED.
   * Synchronous if the tail in memory has them. The read stops before the batch that would exceed maxBytes. With
   * minOneBatch the first batch may exceed it.
   */
  read(
    offset: number,
    maxBytes: number,
    minOneBatch: boolean,
    isolation: Isolation = 'READ_UNCOMMITTED',
  ): ReadResult | Refusal | Promise<ReadResult | Refusal> {
    const { readableFrom, end, highWatermark, tail, emptyFrom, epoch, lost } = this.#state
    const until = this.#endFor(isolation)
    const refusal = this.#checkOpen()
    if (refusal !== null) return refusal
    if (offset > end) return this.#beyondEnd(offset)
    if (!(offset >= readableFrom) || (lost.length > 0 && spanWith(lost, offset) !== null)) {
      return this.#readCold(offset, maxBytes, minOneBatch, isolation)
    }
    if (offset >= until || (maxBytes <= 0 && !minOneBatch)) return this.#nothing()
    // Without this empty batch a consumer would wait here until the next append, although the end of the log is higher.
    if (offset >= emptyFrom) return this.#result([encodeEmptyBatch(offset, highWatermark, epoch)], BATCH_HEADER_BYTES)
    if (offset < tail.coversFrom) return this.#readBehind(offset, maxBytes, minOneBatch, isolation)
    const batches: Uint8Array[] = []
    let bytes = 0
    for (let i = tail.position(offset); ; i++) {
      const batch = tail.at(i)
      if (batch === undefined || batch.baseOffset >= until) break
      const size = batch.bytes.length
      if (bytes + size > maxBytes && !(minOneBatch && batches.length === 0)) break
      batches.push(batch.bytes)
      bytes += size
    }
    return this.#result(batches, bytes)
  }

  /**
   * Returns the most bytes that the batch at this offset can have in a result of `read`; 0 if there is nothing to read.
   */
  mostBytesAt(offset: number, isolation: Isolation = 'READ_UNCOMMITTED'): number {
    const { logStart, tail, topic } = this.#state
    if (offset < logStart || offset >= this.#endFor(isolation)) return 0
    if (this.isCold(offset)) return topic.resolved.maxMessageBytes
    if (offset >= this.#state.emptyFrom) return BATCH_HEADER_BYTES
    if (offset < tail.coversFrom) return topic.resolved.maxMessageBytes
    return tail.at(tail.position(offset))?.bytes.length ?? 0
  }

  /**
   * Checks the leader epoch that a client has sent. Returns null if it is the epoch of this leader, or -1 (not given),
   * and the log may be used at all. KIP-320.
   */
  checkEpoch(currentLeaderEpoch: number): Refusal | null {
    const refusal = this.#checkOpen()
    if (refusal !== null) return refusal
    const { epoch, name } = this.#state
    if (currentLeaderEpoch === -1 || currentLeaderEpoch === epoch) return null
    const message = `The client believes in leader epoch ${currentLeaderEpoch} of ${name}; it is ${epoch}.`
    return because(currentLeaderEpoch < epoch ? FENCED_LEADER_EPOCH : UNKNOWN_LEADER_EPOCH, message)
  }

  /** See TimeSearch.first. It searches both tiers. */
  async offsetForTimestamp(timestamp: number, patience: Patience = ENDLESS): Promise<FoundOffset | null | Refusal> {
    for (;;) {
      const { start, remote } = this.#state
      if (remote === null) return await this.#byTime().first(timestamp, patience)
      const cold = await this.#rooms.cold.firstSince(this.#state, timestamp, patience)
      if (isRefusal(cold) || (cold !== null && cold.offset < start)) return cold
      const found = betterOf(cold, await this.#byTime().first(timestamp, patience), earlier)
      // Neither search has seen the records that a trim has moved to the archive meanwhile.
      if (isRefusal(found) || this.#state.start === start) return found
    }
  }

  /** See TimeSearch.largest. It searches both tiers. */
  async maxTimestampOffset(patience: Patience = ENDLESS): Promise<FoundOffset | null | Refusal> {
    if (this.#state.remote === null) return await this.#byTime().largest(patience)
    const local = await this.#byTime().largest(patience)
    return isRefusal(local) ? local : betterOf(local, await this.#rooms.cold.largest(this.#state, patience), larger)
  }

  /** See TimeSearch.learn. */
  learnChunks(patience: Patience = ENDLESS): Promise<Refusal | null> {
    return this.#byTime().learn(patience)
  }

  /** Created for each search, because most partitions are never searched. */
  #byTime(): TimeSearch {
    return new TimeSearch(this.#rooms, {
      state: this.#state,
      read: (offset, maxBytes) => this.read(offset, maxBytes, true),
      load: (offset, maxBytes) => this.#load(offset, maxBytes, this.#state.highWatermark),
    })
  }

  /**
   * Deletes the records below an offset (-1: the high watermark). Resolves with the log start, which is higher than the
   * offset if it was higher before. Readers that wait for this partition look again, because the records that they
   * found may be gone. KIP-107. Throws what the store throws; it is safe to try again.
   */
  async deleteRecords(before: number): Promise<number | Refusal> {
    const state = this.#state
    const { name, highWatermark } = state
    const refusal = this.#checkOpen()
    if (refusal !== null) return refusal
    const offset = before === -1 ? highWatermark : before
    if (offset < 0 || offset > highWatermark) {
      return because(OFFSET_OUT_OF_RANGE, `Records of ${name} can be deleted up to ${highWatermark}, not ${offset}.`)
    }
    if (offset <= state.logStart) return state.logStart
    if (state.isRemote) {
      if (state.remote === null) return state.hold ?? NOT_DELETED
      await this.raiseLogStart(offset)
    }
    if (!state.isRemote || state.logStart >= offset) await this.trim(offset)
    if (state.refusal !== null) return state.refusal
    if (state.logStart < offset) {
      return state.damage ?? because(NOT_LEADER_OR_FOLLOWER, `Another broker writes to ${name}; nothing was deleted.`)
    }
    state.waits.wake()
    return state.logStart
  }

  /**
   * Raises the log start of a partition of the remote tier; a trim of the stream follows it. Resolves with whether it
   * is raised and durable. Throws what the store throws; it is safe to try again.
   */
  async raiseLogStart(logStart: number): Promise<boolean> {
    const state = this.#state
    await this.#rooms.changeSegments(state, sealed => withLogStart(sealed, logStart))
    state.waits.changed()
    return state.logStart >= logStart
  }

  /**
   * Returns where the records of an epoch end, like Kafka's LeaderEpochFileCache.endOffsetFor. It returns the largest
   * epoch up to this one that has records in the log, and the offset at which the next epoch begins. The newest epoch
   * ends at the end of the log. Null if the log has never had the epoch. KIP-101.
   */
  endOfEpoch(epoch: number): { readonly epoch: number; readonly endOffset: number } | null {
    const { allEpochs: epochs, end, logStart } = this.#state
    if (epoch < 0) return null
    if (epoch === epochs.at(-1)?.epoch) return { epoch, endOffset: end }
    const next = epochs.find(each => each.epoch > epoch)
    if (next === undefined) return null
    const own = epochs.findLast(each => each.epoch <= epoch)
    return { epoch: own?.epoch ?? epoch, endOffset: Math.max(next.startOffset, logStart) }
  }

  /** Returns the leader epoch that owns an offset of the log; -1 if it is not known. */
  epochAt(offset: number): number {
    return this.#state.allEpochs.findLast(({ startOffset }) => startOffset <= offset)?.epoch ?? -1
  }

  /** The sealed segments, oldest first, without those that the store has dropped. */
  get segments(): readonly Segment[] {
    const { sealed, start } = this.#state
    return sealed.segments.filter(({ next }) => next > start)
  }

  /** The beginning of the active segment: the end of the last sealed one, or the log start. */
  get activeFrom(): number {
    return this.#state.activeFrom
  }

  /**
   * Returns all segments for people, the active one last, even if it is empty. Sealed ones have the numbers of their
   * sealing or their last cleaning. The numbers of the active one are null while a chunk of it is not learned.
   * `areReadable` is false if the document of the sealed ones cannot be read: then the active one is the whole log.
   */
  listSegments(): ListedSegments {
    const { sealed, end, epochs, timeIndex, highWatermark } = this.#state
    const { activeFrom } = this
    const log = { activeFrom, highWatermark, epochs, chunks: timeIndex.chunks }
    const isLearned = timeIndex.chunks.every(({ isKnown, next }) => isKnown || next <= activeFrom)
    const active: ListedSegment = {
      ...segmentOf(log, activeFrom, Math.max(end, activeFrom), 0),
      ...(!isLearned && { bytes: null, maxTimestamp: null }),
      sealedAtMs: null,
      isActive: true,
    }
    return {
      areReadable: sealed.isReadable,
      segments: [...this.segments.map(segment => ({ ...segment, isActive: false })), active],
    }
  }

  /**
   * Drops the batches that lie wholly below `before`, at most up to the high watermark. Resolves with the number of
   * bytes that were dropped. Throws what the store throws; it is safe to try again.
   */
  trim(before: number): Promise<number> {
    return this.#inTurn(() => this.#trim(before))
  }

  /**
   * Rewrites a part of the log for the cleaner. Resolves with `moved` if the log start has changed since the batches
   * were read: the caller reads again. Resolves with `ended` if this broker no longer leads the log as it did then, and
   * with `damaged` if the store finds damage. Throws what the store throws.
   */
  rewrite(piece: Piece): Promise<'rewritten' | 'moved' | 'ended' | 'damaged'> {
    return this.#inTurn(() => this.#rewrite(piece))
  }

  async #rewrite(piece: Piece): Promise<'rewritten' | 'moved' | 'ended' | 'damaged'> {
    const state = this.#state
    const { epoch, logStart, from, to, batches, remains, place } = piece
    if (state.refusal !== null || state.damage !== null || state.epoch !== epoch || this.#lane.isVague) return 'ended'
    if (state.start !== logStart) return 'moved'
    const rows = [encodePlace(place), ...state.timeIndex.rewritten(from, to, remains)]
    const outcome = await this.#lane.rewrite({ from, to, batches, rows })
    if (outcome.kind === 'fenced') await this.#fenced()
    if (outcome.kind === 'damaged') return 'damaged'
    // If the stream was opened again, that happened after the rewrite, and the state already includes it.
    if (outcome.kind !== 'rewritten' || state.epoch !== epoch) return 'ended'
    // A mark that still waits for its append would be written after the rows of this rewrite. So they are written
    // again.
    const late = state.timeIndex.rewritten(from, to, remains)
    state.pendingRows.push(...late.filter(({ key }) => state.pendingRows.some(row => row.key === key)))
    state.rewritten(from, outcome, place, piece.bytesBefore, remains)
    const { stream } = state
    this.#rooms.readAhead.forget(key => key.startsWith(`${stream}@`) && offsetOf(key) < to)
    return 'rewritten'
  }

  async #trim(before: number): Promise<number> {
    const state = this.#state
    const limit = Math.min(before, state.highWatermark)
    if (limit <= state.start || state.refusal !== null) return 0
    if (!(await this.#keepEpochs(limit))) return 0
    // The open chunk must end where the log is cut, so that its counts stay right. Its mark is not needed.
    if (limit === state.end) state.timeIndex.seal(0)
    const marks = state.timeIndex.marksBefore(limit)
    // A mark that still waits for its append would be written after its deletion here. So it is deleted once more.
    const late = marks.filter(mark => state.pendingRows.some(row => row.key === mark.key))
    const { epoch } = state
    const outcome = await this.#lane.trim(limit, marks)
    if (outcome.kind === 'fenced') await this.#fenced()
    if (outcome.kind !== 'trimmed') return 0
    // If the stream was opened again, that happened after the trim; otherwise the trim would have been fenced. So the
    // size no longer includes these bytes.
    if (state.epoch === epoch) {
      state.dropped(outcome.start, outcome.bytes)
      state.pendingRows.push(...late)
    }
    return outcome.bytes
  }

  /**
   * Keeps the epochs of a log of the remote tier that the stream forgets with a trim. Resolves with false if another
   * broker leads.
   */
  async #keepEpochs(before: number): Promise<boolean> {
    const state = this.#state
    const keep = (sealed: SealedSegments) => beforeTrim(sealed, state.epochs, before)
    if (state.remote === null || keep(state.sealed) === null) return true
    await this.#rooms.changeSegments(state, keep)
    return keep(state.sealed) === null
  }

  async #fenced(): Promise<void> {
    this.#rooms.writes.workRefused()
    await this.#rooms.leadership.stillLeads(this.topicId, this.index)
  }

  /** Writes the rows that wait for an append, if the lane is idle. */
  flushRows(): Promise<void> {
    return this.#lane.flushRows()
  }

  /** Returns a refusal until the stream is open, and while another broker may lead it; else null. */
  #checkOpen(): Refusal | null {
    const { refusal, epoch } = this.#state
    if (refusal !== null) return refusal
    if (!this.#rooms.leadership.isConfirmed) return UNCONFIRMED
    if (epoch > 0) return null
    if (this.#lane.isOpening)
      return because(NOT_LEADER_OR_FOLLOWER, `This broker is about to lead ${this.#state.name}.`)
    return because(KAFKA_STORAGE_ERROR, `${this.#state.name} could not be opened yet; the broker goes on trying.`)
  }

  #check(batch: BatchView): Refusal | null {
    const { maxMessageBytes, messageTimestampType, messageTimestampBeforeMaxMs, messageTimestampAfterMaxMs } =
      this.#state.topic.resolved
    if (batch.bytes.length > maxMessageBytes) {
      return because(
        MESSAGE_TOO_LARGE,
        `The batch has ${batch.bytes.length} bytes; max.message.bytes of ${this.topicName} is ${maxMessageBytes}.`,
      )
    }
    if (batch.isControl) return because(INVALID_RECORD, 'Clients may not write control batches.')
    if (batch.isTransactional) {
      return because(TRANSACTIONAL_ID_AUTHORIZATION_FAILED, 'This broker has no transactions yet.')
    }
    if (messageTimestampType === 'LogAppendTime') return null
    const nowMs = this.#rooms.clock.now()
    const { baseTimestamp, maxTimestamp } = batch
    // -1 means no timestamp. A value below -1 is a time before 1970.
    const isTooOld = baseTimestamp !== -1 && baseTimestamp < nowMs - messageTimestampBeforeMaxMs
    if (!isTooOld && maxTimestamp <= nowMs + messageTimestampAfterMaxMs) return null
    return because(
      INVALID_TIMESTAMP,
      `Timestamp ${isTooOld ? baseTimestamp : maxTimestamp} is out of range; ${this.topicName} takes ${nowMs - messageTimestampBeforeMaxMs} to ${nowMs + messageTimestampAfterMaxMs}.`,
    )
  }

  /** Reads batches that are no longer in memory: from the read-ahead for this reader, or else from the store. */
  #readBehind(
    offset: number,
    maxBytes: number,
    minOneBatch: boolean,
    isolation: Isolation,
  ): ReadResult | Refusal | Promise<ReadResult | Refusal> {
    const ahead = this.#rooms.readAhead.take(this.#placeOf(offset, isolation), maxBytes)
    const isExpected = ahead !== undefined
    if (ahead instanceof Promise) {
      return ahead.then(found => {
        const refusal = this.#checkOpen()
        if (refusal !== null) return refusal
        if (offset < this.#state.readableFrom) return this.#readCold(offset, maxBytes, minOneBatch, isolation)
        return (
          this.#useAhead(found, maxBytes, minOneBatch, isolation) ??
          this.#readFor(offset, maxBytes, minOneBatch, isolation, true)
        )
      })
    }
    return (
      this.#useAhead(ahead ?? null, maxBytes, minOneBatch, isolation) ??
      this.#readFor(offset, maxBytes, minOneBatch, isolation, isExpected)
    )
  }

  /** Returns the read-ahead batches as a result; null if they no longer form one. */
  #useAhead(found: ReadResult | null, maxBytes: number, minOneBatch: boolean, isolation: Isolation): ReadResult | null {
    if (found === null) return null
    const nextOffset = nextOffsetOf(found)
    // The log ended there and has grown since. A reader that waits for more bytes must see the new ones.
    if (nextOffset >= found.highWatermark && found.highWatermark < this.highWatermark) return null
    this.#readOn(nextOffset, maxBytes, isolation)
    if (found.bytes > maxBytes && !minOneBatch) return this.#result([], 0)
    return this.#result(found.batches, found.bytes, found.release)
  }

  /** Reads for a reader, and reads ahead for it if it was expected here. */
  async #readFor(
    offset: number,
    maxBytes: number,
    minOneBatch: boolean,
    isolation: Isolation,
    isExpected: boolean,
  ): Promise<ReadResult | Refusal> {
    const read = await this.#readStore(offset, maxBytes, minOneBatch, isolation, this.#rooms.logger.current)
    if (isRefusal(read) || read.bytes === 0) return read
    const nextOffset = nextOffsetOf(read)
    if (isExpected) this.#readOn(nextOffset, maxBytes, isolation)
    else if (nextOffset < read.highWatermark) {
      this.#rooms.readAhead.expect(this.#placeOf(nextOffset, isolation), maxBytes)
    }
    return read
  }

  /** Reads from the store. `request` is the request that needs the read; null for reading ahead. */
  async #readStore(
    offset: number,
    maxBytes: number,
    minOneBatch: boolean,
    isolation: Isolation,
    request: Scoped | null,
  ): Promise<ReadResult | Refusal> {
    // Batches that arrive meanwhile are not in the read, so the answer names the end at the time of the call.
    const { highWatermark, lastStableOffset } = this
    const { lost } = this.#state
    const nextLost = lost.length === 0 ? Number.POSITIVE_INFINITY : nextSpan(lost, offset)
    const read = await this.#load(offset, maxBytes, Math.min(this.#endFor(isolation), nextLost))
    if (isRefusal(read)) {
      // A trim has overtaken the read: it goes on in the archive.
      const isCold = read.code === OFFSET_OUT_OF_RANGE.code && this.isCold(offset)
      return isCold ? this.#readCold(offset, maxBytes, minOneBatch, isolation) : read
    }
    if (read.batches.length === 0 && nextLost < highWatermark) {
      return this.#readCold(nextLost, maxBytes, minOneBatch, isolation)
    }
    const accepted = await this.#accept(read, maxBytes, minOneBatch, request).catch(unavailable)
    if (this.#state.refusal !== null) return this.#state.refusal
    if (offset < this.#state.logStart) return this.#outOfRange(offset)
    return isRefusal(accepted) ? accepted : { ...accepted, highWatermark, lastStableOffset }
  }

  /** Reads ahead for a reader that will continue here, while the reader lags behind the batches in memory. */
  #readOn(offset: number, maxBytes: number, isolation: Isolation): void {
    if (offset >= this.#state.tail.coversFrom || offset >= this.#endFor(isolation) || this.isCold(offset)) return
    this.#rooms.readAhead.read(this.#placeOf(offset, isolation), maxBytes, async () => {
      const read = await this.#readStore(offset, maxBytes, true, isolation, null)
      return isRefusal(read) || read.bytes === 0 ? null : read
    })
  }

  /**
   * Returns the key of a reader's position. Under another lead the log may differ, and READ_COMMITTED may show less of
   * it.
   */
  #placeOf(offset: number, isolation: Isolation): string {
    return `${this.#state.stream}@${this.#state.epoch}@${offset}@${isolation}`
  }

  /** Returns the offset that a reader with this isolation may not reach. */
  #endFor(isolation: Isolation): number {
    return isolation === 'READ_COMMITTED' ? this.lastStableOffset : this.#state.highWatermark
  }

  /**
   * Reads batches that only the archive has, below the local start or in a span that the stream has lost. If the
   * archive has none, the read goes on behind the span. The archive reads ahead by itself.
   */
  #readCold(
    offset: number,
    maxBytes: number,
    minOneBatch: boolean,
    isolation: Isolation,
  ): ReadResult | Refusal | Promise<ReadResult | Refusal> {
    const span = this.#state.coldSpan(offset)
    if (span === null) return this.#outOfRange(offset)
    const until = Math.min(span[1], this.#endFor(isolation))
    if (offset >= until || (maxBytes <= 0 && !minOneBatch)) return this.#nothing()
    const { highWatermark, lastStableOffset } = this
    const use = (found: ColdBatches | null | Refusal): ReadResult | Refusal | Promise<ReadResult | Refusal> => {
      const refusal = this.#checkOpen()
      if (refusal !== null) return refusal
      if (isRefusal(found)) return found
      if (offset < this.#state.logStart) return this.#outOfRange(offset)
      if (found === null) return this.read(until, maxBytes, minOneBatch, isolation)
      // As in #readStore, the answer names the end at the time of the call.
      return { ...this.#result(found.batches, found.bytes, found.release), highWatermark, lastStableOffset }
    }
    const found = this.#rooms.cold.read(this.#state, offset, maxBytes, minOneBatch, until)
    return found instanceof Promise ? found.then(use) : use(found)
  }

  /** Resolves with the batches below `until` that the store has from this offset on, unchecked. */
  async #load(offset: number, maxBytes: number, until: number): Promise<Read | Refusal> {
    const state = this.#state
    const { store, clock, reads } = this.#rooms
    const startedAtMs = clock.monotonic()
    let read: Awaited<ReturnType<typeof store.read>>
    try {
      read = await store.read(state.stream, offset, { maxBytes, until })
    } catch (error) {
      reads.failed.observe(clock.monotonic() - startedAtMs)
      return unavailable(error)
    }
    reads.done.observe(clock.monotonic() - startedAtMs)
    if (state.refusal !== null) return state.refusal
    switch (read.kind) {
      case 'gone':
        this.#rooms.gone(state)
        return because(UNKNOWN_TOPIC_OR_PARTITION, `${state.name} is gone from the store.`)
      case 'damaged':
        return because(KAFKA_STORAGE_ERROR, `${state.name} cannot be read at offset ${offset}: ${read.message}`)
      case 'trimmed':
        state.raiseStart(read.start)
        return this.#outOfRange(offset)
    }
    // Retention may have passed the offset during the read. Then the bytes begin too late.
    if (offset < state.start) return this.#outOfRange(offset)
    return read
  }

  /** Converts batches of the store to the form that clients see. It stops at the first batch that cannot be read. */
  async #accept(
    read: Read,
    maxBytes: number,
    minOneBatch: boolean,
    request: Scoped | null,
  ): Promise<ReadResult | Refusal> {
    const found = read.batches
    /** Each batch, or the reason why it cannot be read. */
    const opened: (Buffer | string)[] = []
    // Only for batches that are stored compressed. A promise for each of the others would be most of the cost of such a
    // read.
    const decoding: Promise<void>[] = []
    let bytes = 0
    for (const batch of found) {
      const stored = viewBatch(batch.bytes).bytes
      const encoding = viewBatch(stored).isIntact ? encodingOf(stored) : 'it fails its checksum'
      bytes += encoding === null || typeof encoding === 'string' ? stored.length : encoding.plainBytes
      if (bytes > maxBytes && !(minOneBatch && opened.length === 0)) break
      if (encoding === null) opened.push(stored)
      else if (typeof encoding === 'string') opened.push(encoding)
      else {
        const at = opened.push(stored) - 1
        decoding.push(this.#decode(stored, encoding).then(decoded => void opened.splice(at, 1, decoded)))
      }
    }
    if (decoding.length > 0) await Promise.all(decoding)
    const batches: Buffer[] = []
    let records = 0
    bytes = 0
    for (const [i, batch] of opened.entries()) {
      if (typeof batch === 'string') {
        this.#noteCorrupt(found[i]!)
        if (batches.length > 0) break
        const { name } = this.#state
        const { baseOffset, nextOffset } = found[i]!
        const { logger } = this.#rooms
        const line = { partition: name, offset: baseOffset, because: batch }
        logger.during(request, () => logger.error('a stored batch cannot be read', line))
        return because(
          CORRUPT_MESSAGE,
          `The batch at offsets ${baseOffset} to ${nextOffset - 1} of ${name} cannot be read: ${batch}.`,
        )
      }
      batches.push(batch)
      bytes += batch.length
      records += found[i]!.recordCount
    }
    this.#rooms.reads.records.observe(records)
    return this.#result(batches, bytes, read.release ?? null)
  }

  /**
   * Counts a corrupt batch. A reader asks for an unreadable batch again and again, so its records count as lost only
   * once.
   */
  #noteCorrupt({ baseOffset, recordCount }: Read['batches'][number]): void {
    const { corrupt, lossy } = this.#rooms.reads
    corrupt.inc()
    if (this.#corrupt.has(baseOffset)) return
    if (this.#corrupt.size < MAX_NOTED_CORRUPT) this.#corrupt.add(baseOffset)
    lossy.inc(recordCount)
  }

  /** Resolves with the batch as clients see it, or with a string that says why it cannot be read. */
  async #decode(stored: Buffer, encoding: Encoding): Promise<Buffer | string> {
    try {
      return await this.#rooms.compression.decode(this.topicId, stored, encoding)
    } catch (error) {
      if (error instanceof NotDecoded) return error.message
      throw error
    }
  }

  #result(batches: readonly Uint8Array[], bytes: number, release: (() => void) | null = null): ReadResult {
    const { highWatermark, logStart } = this.#state
    const { lastStableOffset } = this
    return { kind: 'read', batches, bytes, highWatermark, lastStableOffset, logStartOffset: logStart, release }
  }

  /**
   * Returns an empty result. It is the same object until the partition changes, because thousands of readers may wait
   * here and each keeps its result.
   */
  #nothing(): ReadResult {
    const { highWatermark, logStart } = this.#state
    const { lastStableOffset } = this
    const known = this.#empty
    if (
      known.highWatermark !== highWatermark ||
      known.logStartOffset !== logStart ||
      known.lastStableOffset !== lastStableOffset
    ) {
      this.#empty = this.#result([], 0)
    }
    return this.#empty
  }

  /**
   * Returns the refusal of an offset beyond the known end. Clients begin somewhere else after OFFSET_OUT_OF_RANGE, so a
   * leader that was deposed without knowing it must not return it. The store knows whether this broker still has the
   * lead.
   */
  async #beyondEnd(offset: number): Promise<Refusal> {
    const { stream, epoch, name } = this.#state
    const { store, leadership } = this.#rooms
    try {
      const outcome = await store.confirm(stream, epoch)
      if (this.#state.refusal !== null) return this.#state.refusal
      if (outcome.kind === 'confirmed') return this.#outOfRange(offset)
      if (outcome.kind === 'gone') return because(UNKNOWN_TOPIC_OR_PARTITION, `${name} has been removed.`)
    } catch (error) {
      if (!isStoreFailure(error)) throw error
      return because(KAFKA_STORAGE_ERROR, `The store does not answer where ${name} ends: ${error.message}`)
    }
    await leadership.stillLeads(this.topicId, this.index)
    return because(NOT_LEADER_OR_FOLLOWER, `Another broker writes to ${name}; this broker does not know its end.`)
  }

  #outOfRange(offset: number): Refusal {
    const { name, start, logStart, end, isRemote, remote, hold } = this.#state
    // It is not known yet whether the archive has the offset.
    if (isRemote && remote === null && hold !== null && offset < start) return hold
    return because(OFFSET_OUT_OF_RANGE, `Offset ${offset} of ${name} is out of range; it holds ${logStart} to ${end}.`)
  }
}

/** Returns the offset in the key of a reader's position. */
function offsetOf(place: string): number {
  return Number(place.split('@')[2])
}

/** Returns the refusal for an error of the store. */
function unavailable(error: unknown): Refusal {
  if (!isStoreFailure(error)) throw error
  return because(KAFKA_STORAGE_ERROR, `The store cannot be read: ${error.message}`)
}

/** Returns the offset at which the next read continues. */
function nextOffsetOf({ batches }: ReadResult): number {
  return viewBatch(batches.at(-1)!).lastOffset + 1
}
