// One partition as the doors see it: append, read, offsets, searches by time (time-search.ts does those). It checks a
// batch before the batch enters the lane, serves reads from the tail in memory or from the store, and never shows
// anything above the high watermark. It knows no sessions and no groups, and does not know which broker leads.

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
import { isStoreFailure, type Read } from '../store/store.ts'
import type { Scoped } from '../telemetry/logger.ts'
import type { CounterChild, ObservedChild } from '../telemetry/metrics.ts'
import type { Topic } from './catalogue.ts'
import { NotDecoded } from './compression.ts'
import { type Appended, Lane, type LaneRooms } from './lane.ts'
import { PartitionState, type ProducerCount } from './partition-state.ts'
import type { ReadAhead } from './read-ahead.ts'
import { type Encoding, encodingOf } from './stored-batch.ts'
import type { Tail } from './tail-cache.ts'
import { type FoundOffset, type SearchRooms, TimeSearch } from './time-search.ts'
import type { Waits } from './waiters.ts'

/** Which records a reader may see: up to the high watermark, or up to the last stable offset alone. */
export type Isolation = 'READ_UNCOMMITTED' | 'READ_COMMITTED'

export interface ReadResult {
  readonly kind: 'read'
  /**
   * Whole batches in offset order. The first covers the offset asked for, or is the next one if that lies in a gap.
   */
  readonly batches: readonly Uint8Array[]
  readonly bytes: number
  readonly highWatermark: number
  readonly lastStableOffset: number
  readonly logStartOffset: number
  /** As Read.release of the store; null if the bytes are shared with others. */
  readonly release: (() => void) | null
}

export interface PartitionRooms extends LaneRooms, SearchRooms {
  readonly producerCount: ProducerCount
  readonly reads: ReadMetrics
  readonly readAhead: ReadAhead<ReadResult>
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

/** This many corrupt batches of a partition are remembered; further ones are counted again at each read. */
const MAX_NOTED_CORRUPT = 10_000

export class Partition {
  readonly #rooms: PartitionRooms
  readonly #state: PartitionState
  readonly #lane: Lane
  /** The first offsets of corrupt batches. */
  readonly #corrupt = new Set<number>()
  /** The answer to a read at the end. */
  #empty: ReadResult

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

  /** The epoch of the stream: the one that batches are stamped with and every API answers. */
  get leaderEpoch(): number {
    return this.#state.epoch
  }

  get logStartOffset(): number {
    return this.#state.start
  }

  get highWatermark(): number {
    return this.#state.highWatermark
  }

  /** The high watermark, as long as there are no transactions. */
  get lastStableOffset(): number {
    return this.#state.highWatermark
  }

  get endOffset(): number {
    return this.#state.end
  }

  /** Bytes of the live batches as they rest in the store. */
  get sizeBytes(): number {
    return this.#state.bytes
  }

  /** The store has lost the log, or its part from some offset on: it is readable below that, and takes no records. */
  get isDamaged(): boolean {
    return this.#state.damage !== null || this.#state.isLost
  }

  /** Why every request is refused for good; null while the partition lives. */
  get refusal(): Refusal | null {
    return this.#state.refusal
  }

  /** For waiters.ts. */
  get waits(): Waits {
    return this.#state.waits
  }

  /** For retention.ts. */
  get state(): PartitionState {
    return this.#state
  }

  /** The topic has changed; its new configs hold for every later request. */
  reconfigure(topic: Topic): void {
    this.#state.topic = topic
  }

  /** Takes the lead of the stream; until then every request is refused. */
  open(): Promise<void> {
    return this.#lane.open()
  }

  /** The store may have lost a part of it: drops the remembered state and takes the lead again. */
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
   * Appends one batch that checkBatches has passed; its bytes belong to the log from here on. The order of calls is the
   * order in the log: the batch has its place when this returns. Resolves when the batch is in the log, or certainly is
   * not and never will be (any refusal but these two), or with REQUEST_TIMED_OUT after timeoutMs, or when the partition
   * has taken nothing for stallMs (0: no limit; whether it is appended is then unknown, unless the message says that it
   * is not) or NOT_ENOUGH_REPLICAS_AFTER_APPEND (it is in the log, but may be lost).
   */
  append(batch: BatchView, timeoutMs: number, stallMs = 0): Promise<Appended | Refusal> {
    const refusal = this.#checkOpen() ?? this.#state.damage ?? this.#check(batch)
    if (refusal === null) return this.#lane.append(batch, timeoutMs, stallMs)
    this.#rooms.refused.note(this.#state.stream, batch, refusal)
    return Promise.resolve(refusal)
  }

  /**
   * Batches from this offset on, up to the high watermark, or to the last stable offset for READ_COMMITTED. Synchronous
   * if the tail in memory has them. The read stops before the batch that would exceed maxBytes; the first batch is
   * exempt when minOneBatch is set.
   */
  read(
    offset: number,
    maxBytes: number,
    minOneBatch: boolean,
    isolation: Isolation = 'READ_UNCOMMITTED',
  ): ReadResult | Refusal | Promise<ReadResult | Refusal> {
    const { start, end, highWatermark, tail, emptyFrom, epoch } = this.#state
    const until = this.#endFor(isolation)
    const refusal = this.#checkOpen()
    if (refusal !== null) return refusal
    if (offset > end) return this.#beyondEnd(offset)
    if (!(offset >= start)) return this.#outOfRange(offset)
    if (offset >= until || (maxBytes <= 0 && !minOneBatch)) return this.#nothing()
    // Until the next append a consumer would wait here for the end of the log, which lies higher.
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

  /** The most bytes that the batch at this offset can have in an answer of `read`; 0 if there is nothing to read. */
  mostBytesAt(offset: number, isolation: Isolation = 'READ_UNCOMMITTED'): number {
    const { start, tail, topic } = this.#state
    if (offset < start || offset >= this.#endFor(isolation)) return 0
    if (offset >= this.#state.emptyFrom) return BATCH_HEADER_BYTES
    if (offset < tail.coversFrom) return topic.resolved.maxMessageBytes
    return tail.at(tail.position(offset))?.bytes.length ?? 0
  }

  /**
   * Null when the epoch that a client believes in is this leader's, or -1 (not given), and the log may be asked at all.
   * KIP-320.
   */
  checkEpoch(currentLeaderEpoch: number): Refusal | null {
    const refusal = this.#checkOpen()
    if (refusal !== null) return refusal
    const { epoch, name } = this.#state
    if (currentLeaderEpoch === -1 || currentLeaderEpoch === epoch) return null
    const message = `The client believes in leader epoch ${currentLeaderEpoch} of ${name}; it is ${epoch}.`
    return because(currentLeaderEpoch < epoch ? FENCED_LEADER_EPOCH : UNKNOWN_LEADER_EPOCH, message)
  }

  /** As TimeSearch.first. */
  offsetForTimestamp(timestamp: number, patience: Patience = ENDLESS): Promise<FoundOffset | null | Refusal> {
    return this.#byTime().first(timestamp, patience)
  }

  /** As TimeSearch.largest. */
  maxTimestampOffset(patience: Patience = ENDLESS): Promise<FoundOffset | null | Refusal> {
    return this.#byTime().largest(patience)
  }

  /** As TimeSearch.learn. */
  learnChunks(patience: Patience = ENDLESS): Promise<Refusal | null> {
    return this.#byTime().learn(patience)
  }

  /** Made for each search: most partitions are never searched. */
  #byTime(): TimeSearch {
    return new TimeSearch(this.#rooms, {
      state: this.#state,
      read: (offset, maxBytes) => this.read(offset, maxBytes, true),
      load: (offset, maxBytes) => this.#load(offset, maxBytes),
    })
  }

  /**
   * Deletes the records below an offset (-1: the high watermark) and answers the log start, which is higher if it was
   * higher before. Readers that wait for this partition look again: the records that they found may be gone. KIP-107.
   * Throws what the store throws; it is safe to try again.
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
    if (offset <= state.start) return state.start
    await this.trim(offset)
    if (state.refusal !== null) return state.refusal
    if (state.start < offset) {
      return state.damage ?? because(NOT_LEADER_OR_FOLLOWER, `Another broker writes to ${name}; nothing was deleted.`)
    }
    state.waits.wake()
    return state.start
  }

  /**
   * Where the records of an epoch end, as Kafka's LeaderEpochFileCache.endOffsetFor says it: the largest epoch up to
   * this one that the log has records of, and where the next one begins; the newest ends at the end of the log. Null
   * where the log has never had the epoch. KIP-101.
   */
  endOfEpoch(epoch: number): { readonly epoch: number; readonly endOffset: number } | null {
    const { epochs, end, start } = this.#state
    if (epoch < 0) return null
    if (epoch === epochs.at(-1)?.epoch) return { epoch, endOffset: end }
    const next = epochs.find(each => each.epoch > epoch)
    if (next === undefined) return null
    const own = epochs.findLast(each => each.epoch <= epoch)
    return { epoch: own?.epoch ?? epoch, endOffset: Math.max(next.startOffset, start) }
  }

  /**
   * Drops the batches that lie wholly below `before`, at most up to the high watermark. Throws what the store throws;
   * it is safe to try again.
   */
  async trim(before: number): Promise<void> {
    const state = this.#state
    const limit = Math.min(before, state.highWatermark)
    if (limit <= state.start || state.refusal !== null) return
    // The open chunk must end where the log is cut, so that its counts stay right. Its mark is not needed.
    if (limit === state.end) state.timeIndex.seal(0)
    const marks = state.timeIndex.marksBefore(limit)
    // A mark that still waits for its append would otherwise be written after its deletion here.
    const late = marks.filter(mark => state.pendingRows.some(row => row.key === mark.key))
    const { epoch } = state
    const outcome = await this.#lane.trim(limit, marks)
    if (outcome.kind === 'fenced') await this.#rooms.leadership.stillLeads(this.topicId, this.index)
    if (outcome.kind !== 'trimmed') return
    // The stream was opened again after the trim, else the trim would have been fenced. So its size no longer includes
    // these bytes.
    if (state.epoch !== epoch) return
    state.dropped(outcome.start, outcome.bytes)
    state.pendingRows.push(...late)
  }

  /** Writes rows that wait for an append, while the lane rests. */
  flushRows(): Promise<void> {
    return this.#lane.flushRows()
  }

  /** Until the stream is open the log is unknown, and also while another broker may lead it. */
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
    // -1 is no time at all; what is below it lies before 1970.
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
        if (offset < this.#state.start) return this.#outOfRange(offset)
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

  /** The read-ahead bytes as an answer; null if they no longer form one. */
  #useAhead(found: ReadResult | null, maxBytes: number, minOneBatch: boolean, isolation: Isolation): ReadResult | null {
    if (found === null) return null
    const nextOffset = nextOffsetOf(found)
    // The log ended there. A reader that waits for more bytes than that would wait although there are more.
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

  /** `request`: the request that needs the read; null for reading ahead. */
  async #readStore(
    offset: number,
    maxBytes: number,
    minOneBatch: boolean,
    isolation: Isolation,
    request: Scoped | null,
  ): Promise<ReadResult | Refusal> {
    // Batches that arrive meanwhile are not in the read, so the answer names the end at the time of the call.
    const { highWatermark, lastStableOffset } = this
    const read = await this.#load(offset, maxBytes, isolation)
    if (isRefusal(read)) return read
    const accepted = await this.#accept(read, maxBytes, minOneBatch, request).catch(unavailable)
    if (this.#state.refusal !== null) return this.#state.refusal
    if (offset < this.#state.start) return this.#outOfRange(offset)
    return isRefusal(accepted) ? accepted : { ...accepted, highWatermark, lastStableOffset }
  }

  /** A reader will continue here: reads ahead for it while it lags behind the batches in memory. */
  #readOn(offset: number, maxBytes: number, isolation: Isolation): void {
    if (offset >= this.#state.tail.coversFrom || offset >= this.#endFor(isolation)) return
    this.#rooms.readAhead.read(this.#placeOf(offset, isolation), maxBytes, async () => {
      const read = await this.#readStore(offset, maxBytes, true, isolation, null)
      return isRefusal(read) || read.bytes === 0 ? null : read
    })
  }

  /** Under another lead the log may differ, and readers of committed records may see less of it. */
  #placeOf(offset: number, isolation: Isolation): string {
    return `${this.#state.stream}@${this.#state.epoch}@${offset}@${isolation}`
  }

  /** The offset that such a reader may not reach. */
  #endFor(isolation: Isolation): number {
    return isolation === 'READ_COMMITTED' ? this.lastStableOffset : this.#state.highWatermark
  }

  /** The batches that the store has from this offset on, unchecked. */
  async #load(offset: number, maxBytes: number, isolation: Isolation = 'READ_UNCOMMITTED'): Promise<Read | Refusal> {
    const state = this.#state
    const { store, clock, reads } = this.#rooms
    const startedAtMs = clock.monotonic()
    let read: Awaited<ReturnType<typeof store.read>>
    try {
      read = await store.read(state.stream, offset, { maxBytes, until: this.#endFor(isolation) })
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
    // Retention may have passed the offset during the read: then the bytes begin too late.
    if (offset < state.start) return this.#outOfRange(offset)
    return read
  }

  /** Converts batches of the store to the form that clients see, as long as their bytes are intact. */
  async #accept(
    read: Read,
    maxBytes: number,
    minOneBatch: boolean,
    request: Scoped | null,
  ): Promise<ReadResult | Refusal> {
    const found = read.batches
    /** Each batch, or why it cannot be read. */
    const opened: (Buffer | string)[] = []
    // Only for batches that are stored compressed: one promise for each of the others would be most of the cost of such
    // a read.
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

  /** A reader that cannot read a batch asks for it again and again, so its records are counted as lost only once. */
  #noteCorrupt({ baseOffset, recordCount }: Read['batches'][number]): void {
    const { corrupt, lossy } = this.#rooms.reads
    corrupt.inc()
    if (this.#corrupt.has(baseOffset)) return
    if (this.#corrupt.size < MAX_NOTED_CORRUPT) this.#corrupt.add(baseOffset)
    lossy.inc(recordCount)
  }

  /** The batch as clients see it; a string says why it cannot be read. */
  async #decode(stored: Buffer, encoding: Encoding): Promise<Buffer | string> {
    try {
      return await this.#rooms.compression.decode(this.topicId, stored, encoding)
    } catch (error) {
      if (error instanceof NotDecoded) return error.message
      throw error
    }
  }

  #result(batches: readonly Uint8Array[], bytes: number, release: (() => void) | null = null): ReadResult {
    const { highWatermark, start } = this.#state
    const { lastStableOffset } = this
    return { kind: 'read', batches, bytes, highWatermark, lastStableOffset, logStartOffset: start, release }
  }

  /** The same object until the partition changes: thousands may wait here, and each holds its result. */
  #nothing(): ReadResult {
    const { highWatermark, start } = this.#state
    const { lastStableOffset } = this
    const known = this.#empty
    if (
      known.highWatermark !== highWatermark ||
      known.logStartOffset !== start ||
      known.lastStableOffset !== lastStableOffset
    ) {
      this.#empty = this.#result([], 0)
    }
    return this.#empty
  }

  /**
   * Beyond the end as far as is known here. Clients take OFFSET_OUT_OF_RANGE as a reason to begin somewhere else, so a
   * deposed leader that does not know it must not answer it. The store says whether this broker still has the lead.
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
    const { name, start, end } = this.#state
    return because(OFFSET_OUT_OF_RANGE, `Offset ${offset} of ${name} is out of range; it holds ${start} to ${end}.`)
  }
}

/** The refusal for an error of the store. */
function unavailable(error: unknown): Refusal {
  if (!isStoreFailure(error)) throw error
  return because(KAFKA_STORAGE_ERROR, `The store cannot be read: ${error.message}`)
}

/** Where the next read continues after this result. */
function nextOffsetOf({ batches }: ReadResult): number {
  return viewBatch(batches.at(-1)!).lastOffset + 1
}
