// One partition as the doors see it: append, read, offsets, look-ups by time. It checks what an append must be before it
// enters the lane, serves reads from the tail in memory or from the store, and never shows anything above the high
// watermark. It knows no sessions, no groups, and nothing of who leads.

import { ENDLESS, type Patience } from '../base/patience.ts'
import type { Semaphore } from '../base/semaphore.ts'
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
  REQUEST_TIMED_OUT,
  type Refusal,
  TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
  UNKNOWN_LEADER_EPOCH,
  UNKNOWN_TOPIC_OR_PARTITION,
} from '../protocol/errors.ts'
import { BATCH_HEADER_BYTES, type BatchView, encodeEmptyBatch, InvalidRecords, viewBatch } from '../protocol/records.ts'
import { isStoreFailure, type Read } from '../store/store.ts'
import type { CounterChild, ObservedChild } from '../telemetry/metrics.ts'
import type { Topic } from './catalogue.ts'
import { NotDecoded } from './compression.ts'
import { type Appended, Lane, type LaneRooms } from './lane.ts'
import { PartitionState, type ProducerCount } from './partition-state.ts'
import type { ReadAhead } from './read-ahead.ts'
import { type Encoding, encodingOf } from './stored-batch.ts'
import type { Tail } from './tail-cache.ts'
import type { Chunk } from './time-index.ts'
import type { Look, Looker, Unpacking } from './unpacking.ts'
import type { Waits } from './waiters.ts'

export interface ReadResult {
  readonly kind: 'read'
  /** Whole batches in offset order; the first covers the offset asked for, or is the next one where that lies in a gap. */
  readonly batches: readonly Uint8Array[]
  readonly bytes: number
  readonly highWatermark: number
  readonly lastStableOffset: number
  readonly logStartOffset: number
  /** As Read.release of the store; null where the bytes belong to others too. */
  readonly release: (() => void) | null
}

/** A record found by its time. */
export interface FoundOffset {
  readonly offset: number
  readonly timestamp: number
  readonly leaderEpoch: number
}

export interface PartitionRooms extends LaneRooms {
  readonly producerCount: ProducerCount
  readonly reads: ReadMetrics
  readonly readAhead: ReadAhead<ReadResult>
  readonly unpacking: Unpacking
  /** Places for look-ups by time, LOOK_UPS_AT_ONCE of them. */
  readonly lookUps: Semaphore
}

export interface ReadMetrics {
  readonly done: ObservedChild
  readonly failed: ObservedChild
  readonly messages: ObservedChild
  readonly corrupt: CounterChild
  /** Records whose batch fails its checksum, each once. */
  readonly lossy: CounterChild
}

const UNCONFIRMED = because(
  NOT_LEADER_OR_FOLLOWER,
  'The other brokers may have taken this one for dead; nothing was appended or read.',
)

/** Corrupt batches of a partition that are remembered; beyond, one that is read again is counted again. */
const MAX_NOTED_CORRUPT = 10_000

/** How much a look-up by time reads at once. */
const STEP_BYTES = 1024 * 1024

/** Over all partitions of a broker, each with STEP_BYTES or one batch: a request can ask for thousands. */
export const LOOK_UPS_AT_ONCE = 16

const TIMED_OUT = because(REQUEST_TIMED_OUT, 'To look through the records took too long.')

export class Partition {
  readonly #rooms: PartitionRooms
  readonly #state: PartitionState
  readonly #lane: Lane
  /** Where batches begin that were found corrupt. */
  readonly #corrupt = new Set<number>()
  /** What a read at the end answers. */
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

  /** The store has lost all of it, or some: then it is readable below that. It takes no more records. */
  get isDamaged(): boolean {
    return this.#state.damage !== null || this.#state.isLost
  }

  /** Why everything is refused for good; null while the partition lives. */
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

  /** The topic has changed; what comes from here on is decided by its configs as they are now. */
  reconfigure(topic: Topic): void {
    this.#state.topic = topic
  }

  /** Takes the lead of the stream; until it has that, everything is refused. */
  open(): Promise<void> {
    return this.#lane.open()
  }

  /** The store may have lost some of it: drops what is remembered and takes the lead again. */
  reopen(): void {
    this.#lane.reopen()
  }

  /** Ends the partition: everything is answered with the refusal from here on. Resolves when nothing is under way. */
  close(refusal: Refusal): Promise<void> {
    this.#state.refusal ??= refusal
    this.#state.waits.wake()
    this.#state.tail.reset(this.#state.end)
    this.#state.clearProducers()
    return this.#lane.close()
  }

  /**
   * Appends one batch that checkBatches has passed; its bytes belong to the log from here on. The order of calls is the
   * order in the log: the batch has its place when this returns. Resolves when the batch is in the log, or certainly is not
   * and never will be (any refusal but these two), or with REQUEST_TIMED_OUT after timeoutMs, or when the partition has taken
   * nothing for stallMs (0: no limit; whether it is appended is then unknown, unless the message says that it is not) or
   * NOT_ENOUGH_REPLICAS_AFTER_APPEND (it is in the log, but may be lost).
   */
  append(batch: BatchView, timeoutMs: number, stallMs = 0): Promise<Appended | Refusal> {
    const refusal = this.#checkOpen() ?? this.#state.damage ?? this.#check(batch)
    if (refusal === null) return this.#lane.append(batch, timeoutMs, stallMs)
    this.#rooms.refused.note(this.#state.stream, batch, refusal)
    return Promise.resolve(refusal)
  }

  /**
   * Batches from this offset on, never beyond the high watermark. The answer comes at once when the tail in memory holds it.
   * It stops before the batch that would pass maxBytes; the first batch is exempt when minOneBatch is set.
   */
  read(offset: number, maxBytes: number, minOneBatch: boolean): ReadResult | Refusal | Promise<ReadResult | Refusal> {
    const { start, end, highWatermark, tail, emptyFrom, epoch } = this.#state
    const refusal = this.#checkOpen()
    if (refusal !== null) return refusal
    if (offset > end) return this.#beyondEnd(offset)
    if (!(offset >= start)) return this.#outOfRange(offset)
    if (offset >= highWatermark || (maxBytes <= 0 && !minOneBatch)) return this.#nothing()
    // Until something is appended a consumer would wait here for the end of the log, which lies above.
    if (offset >= emptyFrom) return this.#result([encodeEmptyBatch(offset, highWatermark, epoch)], BATCH_HEADER_BYTES)
    if (offset < tail.coversFrom) return this.#readBehind(offset, maxBytes, minOneBatch)
    const batches: Uint8Array[] = []
    let bytes = 0
    for (let i = tail.position(offset); ; i++) {
      const batch = tail.at(i)
      if (batch === undefined || batch.baseOffset >= highWatermark) break
      const size = batch.bytes.length
      if (bytes + size > maxBytes && !(minOneBatch && batches.length === 0)) break
      batches.push(batch.bytes)
      bytes += size
    }
    return this.#result(batches, bytes)
  }

  /** The most bytes that the batch at this offset can have, as `read` would answer it; 0 where there is nothing to read. */
  mostBytesAt(offset: number): number {
    const { start, highWatermark, tail, topic } = this.#state
    if (offset < start || offset >= highWatermark) return 0
    if (offset >= this.#state.emptyFrom) return BATCH_HEADER_BYTES
    if (offset < tail.coversFrom) return topic.resolved.maxMessageBytes
    return tail.at(tail.position(offset))?.bytes.length ?? 0
  }

  /**
   * Null when the epoch that a client believes in is this leader's, or -1 (not given), and the log may be asked at all. KIP-320.
   */
  checkEpoch(currentLeaderEpoch: number): Refusal | null {
    const refusal = this.#checkOpen()
    if (refusal !== null) return refusal
    const { epoch, name } = this.#state
    if (currentLeaderEpoch === -1 || currentLeaderEpoch === epoch) return null
    const message = `The client believes in leader epoch ${currentLeaderEpoch} of ${name}; it is ${epoch}.`
    return because(currentLeaderEpoch < epoch ? FENCED_LEADER_EPOCH : UNKNOWN_LEADER_EPOCH, message)
  }

  /**
   * The first record whose timestamp is at or after this one, with its own timestamp; null when there is none. REQUEST_TIMED_OUT where
   * the patience ends before.
   */
  offsetForTimestamp(timestamp: number, patience: Patience = ENDLESS): Promise<FoundOffset | null | Refusal> {
    return this.#lookUp(patience, async looker => {
      for (const chunk of [...this.#state.timeIndex.chunks]) {
        if (chunk.isKnown && chunk.maxTimestamp < timestamp) continue
        const found = await this.#search(chunk, timestamp, looker)
        if (found !== null) return found
      }
      return null
    })
  }

  /** The record with the largest timestamp, the first of equals (KIP-734); null when no record has a timestamp. The same for patience. */
  maxTimestampOffset(patience: Patience = ENDLESS): Promise<FoundOffset | null | Refusal> {
    return this.#lookUp(patience, async looker => {
      const refusal = await this.learnChunks(patience)
      if (refusal !== null) return refusal
      let best: FoundOffset | null = null
      const chunks = [...this.#state.timeIndex.chunks].sort((a, b) => b.maxTimestamp - a.maxTimestamp)
      for (const chunk of chunks) {
        if (chunk.maxTimestamp < 0 || (best !== null && best.timestamp >= chunk.maxTimestamp)) break
        const found = await this.#largest(chunk, best, looker)
        if (isRefusal(found)) return found
        best = found
      }
      return best
    })
  }

  /** Looks into the chunks that have no mark; afterwards the time index knows all of them. */
  async learnChunks(patience: Patience = ENDLESS): Promise<Refusal | null> {
    const { timeIndex, pendingRows } = this.#state
    for (const chunk of timeIndex.chunks.filter(candidate => !candidate.isKnown)) {
      const found = await this.#weigh(chunk, patience)
      if (isRefusal(found)) return found
      const mark = timeIndex.learn(chunk, found)
      if (mark !== null) pendingRows.push(mark)
    }
    return null
  }

  /**
   * Deletes the records below an offset (-1: the high watermark) and answers the log start, which is higher where it was so
   * before. Whoever waits for this partition looks again: what it found may be gone. KIP-107. Throws what the store throws;
   * it is safe to try again.
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
      return state.damage ?? because(NOT_LEADER_OR_FOLLOWER, `Others write to ${name}; nothing was deleted.`)
    }
    state.waits.wake()
    return state.start
  }

  /**
   * Where the records of an epoch end, as Kafka's LeaderEpochFileCache.endOffsetFor says it: the largest epoch up to this one
   * that the log has records of, and where the next one begins; the newest ends at the end of the log. Null where the log
   * has never had the epoch. KIP-101.
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
   * Drops what lies wholly below `before`, at most up to the high watermark. Throws what the store throws; it is safe to
   * try again.
   */
  async trim(before: number): Promise<void> {
    const state = this.#state
    const limit = Math.min(before, state.highWatermark)
    if (limit <= state.start || state.refusal !== null) return
    // The open chunk must end where the log is cut, so that what is counted stays what is there. Its mark is not needed.
    if (limit === state.end) state.timeIndex.seal(0)
    const marks = state.timeIndex.marksBefore(limit)
    // A mark that still waits for its append would come back after it is deleted here.
    const late = marks.filter(mark => state.pendingRows.some(row => row.key === mark.key))
    const { epoch } = state
    const outcome = await this.#lane.trim(limit, marks)
    if (outcome.kind === 'fenced') await this.#rooms.leadership.stillLeads(this.topicId, this.index)
    if (outcome.kind !== 'trimmed') return
    // The stream was opened behind the trim, else the trim would have been fenced: what that found is without these bytes.
    if (state.epoch !== epoch) return
    state.dropped(outcome.start, outcome.bytes)
    state.pendingRows.push(...late)
  }

  /** Writes rows that wait for an append, while the lane rests. */
  flushRows(): Promise<void> {
    return this.#lane.flushRows()
  }

  /** Until the stream could be opened nothing is known of the log, nor while another may lead it. */
  #checkOpen(): Refusal | null {
    const { refusal, epoch } = this.#state
    if (refusal !== null) return refusal
    if (!this.#rooms.leadership.isConfirmed) return UNCONFIRMED
    if (epoch > 0) return null
    if (this.#lane.isOpening) return because(NOT_LEADER_OR_FOLLOWER, `${this.#state.name} is about to be led here.`)
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

  /** Reads what memory has let go of: what was read ahead for this reader, or else the store. */
  #readBehind(
    offset: number,
    maxBytes: number,
    minOneBatch: boolean,
  ): ReadResult | Refusal | Promise<ReadResult | Refusal> {
    const ahead = this.#rooms.readAhead.take(this.#placeOf(offset), maxBytes)
    const isExpected = ahead !== undefined
    if (ahead instanceof Promise) {
      return ahead.then(found => {
        const refusal = this.#checkOpen()
        if (refusal !== null) return refusal
        if (offset < this.#state.start) return this.#outOfRange(offset)
        return this.#useAhead(found, maxBytes, minOneBatch) ?? this.#readFor(offset, maxBytes, minOneBatch, true)
      })
    }
    return (
      this.#useAhead(ahead ?? null, maxBytes, minOneBatch) ?? this.#readFor(offset, maxBytes, minOneBatch, isExpected)
    )
  }

  /** What was read ahead, as an answer; null where it is none any more. */
  #useAhead(found: ReadResult | null, maxBytes: number, minOneBatch: boolean): ReadResult | null {
    if (found === null) return null
    const nextOffset = nextOffsetOf(found)
    // The log ended there. Whoever waits for more than that would wait although there is more.
    if (nextOffset >= found.highWatermark && found.highWatermark < this.highWatermark) return null
    this.#readOn(nextOffset, maxBytes)
    if (found.bytes > maxBytes && !minOneBatch) return this.#result([], 0)
    return this.#result(found.batches, found.bytes, found.release)
  }

  /** Reads for a reader who is there, and ahead of it where it was expected. */
  async #readFor(
    offset: number,
    maxBytes: number,
    minOneBatch: boolean,
    isExpected: boolean,
  ): Promise<ReadResult | Refusal> {
    const read = await this.#readStore(offset, maxBytes, minOneBatch)
    if (isRefusal(read) || read.bytes === 0) return read
    const nextOffset = nextOffsetOf(read)
    if (isExpected) this.#readOn(nextOffset, maxBytes)
    else if (nextOffset < read.highWatermark) this.#rooms.readAhead.expect(this.#placeOf(nextOffset), maxBytes)
    return read
  }

  async #readStore(offset: number, maxBytes: number, minOneBatch: boolean): Promise<ReadResult | Refusal> {
    // What comes meanwhile is not in it, so the answer says the end that the store was asked for.
    const { highWatermark, lastStableOffset } = this
    const read = await this.#load(offset, maxBytes)
    if (isRefusal(read)) return read
    const accepted = await this.#accept(read, maxBytes, minOneBatch).catch(unavailable)
    if (this.#state.refusal !== null) return this.#state.refusal
    if (offset < this.#state.start) return this.#outOfRange(offset)
    return isRefusal(accepted) ? accepted : { ...accepted, highWatermark, lastStableOffset }
  }

  /** A reader goes on here: reads ahead of it as long as it lags behind what is in memory. */
  #readOn(offset: number, maxBytes: number): void {
    if (offset >= this.#state.tail.coversFrom || offset >= this.highWatermark) return
    this.#rooms.readAhead.read(this.#placeOf(offset), maxBytes, async () => {
      const read = await this.#readStore(offset, maxBytes, true)
      return isRefusal(read) || read.bytes === 0 ? null : read
    })
  }

  /** Another lead may know another log. */
  #placeOf(offset: number): string {
    return `${this.#state.stream}@${this.#state.epoch}@${offset}`
  }

  /** What the store has from this offset on, unchecked. */
  async #load(offset: number, maxBytes: number): Promise<Read | Refusal> {
    const state = this.#state
    const { store, clock, reads } = this.#rooms
    const startedAtMs = clock.monotonic()
    let read: Awaited<ReturnType<typeof store.read>>
    try {
      read = await store.read(state.stream, offset, { maxBytes, until: state.highWatermark })
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
    // Retention may have passed the offset while the store was reading: what was read then begins too late.
    if (offset < state.start) return this.#outOfRange(offset)
    return read
  }

  /** Takes over batches that come from the store, as clients see them, as far as their bytes are what was written. */
  async #accept(read: Read, maxBytes: number, minOneBatch: boolean): Promise<ReadResult | Refusal> {
    const found = read.batches
    /** Each batch, or why it cannot be read. */
    const opened: (Buffer | string)[] = []
    // Only for those that rest compressed: a promise for each of the others is most of what such a read would cost.
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
        this.#rooms.logger.error('a stored batch cannot be read', {
          partition: name,
          offset: baseOffset,
          because: batch,
        })
        return because(
          CORRUPT_MESSAGE,
          `The batch at offsets ${baseOffset} to ${nextOffset - 1} of ${name} cannot be read: ${batch}.`,
        )
      }
      batches.push(batch)
      bytes += batch.length
      records += found[i]!.recordCount
    }
    this.#rooms.reads.messages.observe(records)
    return this.#result(batches, bytes, read.release ?? null)
  }

  /** Whoever cannot read a batch asks for it again and again: its records are lost once. */
  #noteCorrupt({ baseOffset, recordCount }: Read['batches'][number]): void {
    const { corrupt, lossy } = this.#rooms.reads
    corrupt.inc()
    if (this.#corrupt.has(baseOffset)) return
    if (this.#corrupt.size < MAX_NOTED_CORRUPT) this.#corrupt.add(baseOffset)
    lossy.inc(recordCount)
  }

  /** The batch as clients see it; a string says what is wrong with it. */
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

  /** The same as long as nothing moves: thousands may wait here, and each holds what it found. */
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
   * Beyond the end as far as is known here. Clients take OFFSET_OUT_OF_RANGE as a reason to begin somewhere else, so whoever
   * has been deposed without knowing must not answer it: the store says whether this is still the lead.
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
      return because(KAFKA_STORAGE_ERROR, `The store does not say where ${name} ends: ${error.message}`)
    }
    await leadership.stillLeads(this.topicId, this.index)
    return because(NOT_LEADER_OR_FOLLOWER, `Others write to ${name}; where it ends is not known here.`)
  }

  #outOfRange(offset: number): Refusal {
    const { name, start, end } = this.#state
    return because(OFFSET_OUT_OF_RANGE, `Offset ${offset} of ${name} is out of range; it holds ${start} to ${end}.`)
  }

  /** What a chunk holds, by what the store says of it: a batch that fails its checksum must not keep the log from ageing. */
  async #weigh(
    { from, next }: Chunk,
    patience: Patience,
  ): Promise<readonly { bytes: number; maxTimestamp: number }[] | Refusal> {
    const found: { bytes: number; maxTimestamp: number }[] = []
    for (let offset = from; offset < next; ) {
      if (patience.isOver) return TIMED_OUT
      offset = Math.max(offset, this.#state.start)
      const read = await this.#load(offset, STEP_BYTES)
      if (isRefusal(read)) {
        if (read.code === OFFSET_OUT_OF_RANGE.code && this.#state.start > offset) continue
        return read
      }
      const within = read.batches.filter(batch => batch.baseOffset < next)
      for (const { bytes, maxTimestamp } of within) found.push({ bytes: bytes.length, maxTimestamp })
      read.release?.()
      offset = within.length === 0 ? next : within.at(-1)!.nextOffset
    }
    return found
  }

  /** Work that reads the log and looks into it, in its turn. */
  async #lookUp(
    patience: Patience,
    work: (looker: Looker) => Promise<FoundOffset | null | Refusal>,
  ): Promise<FoundOffset | null | Refusal> {
    const { lookUps, unpacking } = this.#rooms
    if (!(await lookUps.take(1, patience))) return this.#state.refusal ?? TIMED_OUT
    try {
      const found = await work(unpacking.looker(patience))
      return isRefusal(found) ? found : (this.#state.refusal ?? found)
    } finally {
      lookUps.give(1)
    }
  }

  /** The first record of a chunk whose timestamp is at or after this one. */
  async #search(chunk: Chunk, timestamp: number, looker: Looker): Promise<FoundOffset | null | Refusal> {
    let found: FoundOffset | null = null
    const refusal = await this.#walk(chunk, looker, async batch => {
      if (batch.maxTimestamp < timestamp) return false
      const first = await this.#lookInto(batch, looker, async ({ walk, step }, at) => {
        for (;;) {
          const others = step()
          if (others !== undefined) await others
          if (!walk.next()) return null
          if (walk.timestamp >= timestamp && walk.offset >= this.#state.start) return at(walk)
        }
      })
      if (isRefusal(first)) return first
      found = first
      return found !== null
    })
    return refusal ?? found
  }

  /** The largest timestamp of a chunk, the first of equals, where it is larger than what is known already. */
  async #largest(chunk: Chunk, known: FoundOffset | null, looker: Looker): Promise<FoundOffset | null | Refusal> {
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
          if (walk.timestamp <= topTimestamp || walk.offset < this.#state.start) continue
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

  /** Looks into a batch, at timestamps and offsets alone. */
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
      // Producers may send batches that do not unpack. A reader that starts at the whole batch skips nothing.
      return { offset: Math.max(batch.baseOffset, this.#state.start), timestamp: batch.maxTimestamp, leaderEpoch }
    }
  }

  /** Visits the batches of a chunk in order, as far as they may be seen, until the visitor says true or refuses. */
  async #walk(
    chunk: Chunk,
    { patience, turn }: Looker,
    visit: (batch: BatchView) => Promise<boolean | Refusal>,
  ): Promise<Refusal | null> {
    const { next } = chunk
    for (let offset = Math.max(chunk.from, this.#state.start); offset < next; ) {
      if (patience.isOver) return TIMED_OUT
      const read = await this.read(offset, STEP_BYTES, true)
      if (isRefusal(read)) {
        // Retention passed by: go on where the log begins.
        if (read.code !== OFFSET_OUT_OF_RANGE.code || this.#state.start <= offset) return read
        offset = this.#state.start
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

/** What a store that throws is answered with. */
function unavailable(error: unknown): Refusal {
  if (!isStoreFailure(error)) throw error
  return because(KAFKA_STORAGE_ERROR, `The store cannot be read: ${error.message}`)
}

/** Where a read goes on that has found something. */
function nextOffsetOf({ batches }: ReadResult): number {
  return viewBatch(batches.at(-1)!).lastOffset + 1
}
