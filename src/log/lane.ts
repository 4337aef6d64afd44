// The one way into a partition's log. One append to the store is in flight; what arrives meanwhile waits in order and goes
// together with the next. Sequences are checked and offsets given when a group is formed, against what is committed and
// the earlier batches of the group. While an outcome is unknown the lane stays closed: the stream is opened again, which
// fences any straggler, and its last attempt tells whether the group landed. It reads nothing and checks no sizes or times.
//
//   idle --append--> due --turn ends--> in flight --appended--> idle, or in flight with what waited
//                                          |--unavailable--> refused, then the same
//                                          '--unknown, fenced, misplaced--> settling --landed--> the same
//                                                                               '--not landed--> formed again

import { type Clock, sleep, type Timer } from '../base/clock.ts'
import {
  because,
  isRefusal,
  KAFKA_STORAGE_ERROR,
  NOT_ENOUGH_REPLICAS_AFTER_APPEND,
  NOT_LEADER_OR_FOLLOWER,
  REQUEST_TIMED_OUT,
  type Refusal,
  UNKNOWN_TOPIC_OR_PARTITION,
} from '../protocol/errors.ts'
import { type BatchView, stamp, stampAppendTime, viewBatch } from '../protocol/records.ts'
import {
  type Batch,
  isStoreFailure,
  type Opened,
  OutcomeUnknown,
  type Row,
  type Store,
  type Append as StoreAppend,
  type Appended as StoreAppended,
  StoreUnavailable,
} from '../store/store.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { ObservedChild } from '../telemetry/metrics.ts'
import type { Compression } from './compression.ts'
import { Fifo } from './fifo.ts'
import type { Leadership } from './leadership.ts'
import { damaged, type PartitionState } from './partition-state.ts'
import {
  checkSequence,
  encodeProducer,
  lastSequenceOf,
  type Producer,
  type ProducerBatch,
  producerIdOf,
  producerKey,
  withBatch,
} from './producers.ts'
import type { RefusedBatches } from './refused-batches.ts'
import { type EncodedRecords, sealBatch } from './stored-batch.ts'
import { CHUNK_BYTES } from './time-index.ts'

/** What a successful append answers. */
export interface Appended {
  readonly baseOffset: number
  /** The broker's stamp where the topic asks for it (LogAppendTime), else -1. */
  readonly logAppendTimeMs: number
  readonly logStartOffset: number
}

/** What all lanes of a broker share. */
export interface LaneRooms {
  readonly store: Store
  readonly clock: Clock
  readonly logger: Logger
  readonly compression: Compression
  readonly leadership: Leadership
  readonly refused: RefusedBatches
  /** The store has no such stream: its topic was removed, or the store has lost it. */
  gone(state: PartitionState): void
  /** A word that no other append has. */
  nextAttempt(): string
  /** Calls lane.form() once this turn has handled its input, so that what came together goes together. */
  due(lane: Lane): void
  readonly writes: WriteMetrics
}

export interface WriteMetrics {
  readonly done: ObservedChild
  readonly failed: ObservedChild
  readonly acknowledged: ObservedChild
  readonly unacknowledged: ObservedChild
  readonly messages: ObservedChild
  refused(reason: 'fenced' | 'misplaced' | 'gone' | 'damaged'): void
}

/** Most bytes that one append carries, unless a single batch is larger. */
const GROUP_BYTES = 4 * 1024 * 1024
/** How often a group is formed again after another writer was met, before its callers are refused. */
const ATTEMPTS = 4
const FIRST_BACKOFF_MS = 50
const LONGEST_BACKOFF_MS = 5_000

/** One batch on its way. */
interface Pending {
  readonly batch: BatchView
  /** Its records as they shall rest; null: as they are. */
  readonly encoding: Promise<EncodedRecords | null> | null
  /** On Clock.monotonic(), as is the deadline, which is the caller's own. */
  readonly arrivedAtMs: number
  readonly deadlineMs: number
  /** For how long the lane may get nowhere meanwhile. */
  readonly stallMs: number
  /** Null once the caller has its answer. */
  answer: ((answer: Appended | Refusal) => void) | null
  /** Its bytes belong to the store: whoever must stamp them again copies. */
  isHandedOver: boolean
  baseOffset: number
  nextOffset: number
  logAppendTimeMs: number
}

/** What one append to the store carries. */
interface Group {
  /** Its batches are those of the group, some of them encoded, once it is with the store. */
  append: StoreAppend
  /** As clients see them. */
  readonly batches: readonly Batch[]
  readonly end: number
  readonly pending: readonly Pending[]
  /** Repeats of a batch of this group: answered as that one is. */
  readonly repeats: readonly Pending[]
  readonly producers: ReadonlyMap<number, Producer>
  readonly pendingRows: number
  readonly bytes: number
  readonly records: number
  readonly nowMs: number
  readonly startedAtMs: number
}

export class Lane {
  readonly #rooms: LaneRooms
  readonly #state: PartitionState
  readonly #queue = new Fifo<Pending>()
  readonly #onOutcome = (outcome: Awaited<ReturnType<Store['append']>>) => this.#conclude(outcome)
  readonly #onFailure = (error: unknown) => this.#fail(error)
  #group: Group | null = null
  /** An append, a flush of rows or a settlement is under way. */
  #isBusy = false
  #isDue = false
  /** The store may have gone back: the stream is opened again before anything else. */
  #mustReopen = false
  #isConfirming = false
  #isFirstTry = true
  /** How often what waits first has met another writer. */
  #displaced = 0
  #deadlineTimer: Timer | null = null
  /** Never later than the first that is due. */
  #deadlineMs = Number.POSITIVE_INFINITY
  /** When the last group was done. */
  #movedAtMs = Number.NEGATIVE_INFINITY
  #idle: (() => void)[] = []
  /** Ends the pause of a settlement. */
  #tryAgain: (() => void) | null = null

  constructor(rooms: LaneRooms, state: PartitionState) {
    this.#rooms = rooms
    this.#state = state
  }

  /** Takes its place in the lane before it returns. The limits are those of Partition.append. */
  append(batch: BatchView, timeoutMs: number, stallMs: number): Promise<Appended | Refusal> {
    const arrivedAtMs = this.#rooms.clock.monotonic()
    const limits = { arrivedAtMs, deadlineMs: arrivedAtMs + orForever(timeoutMs), stallMs: orForever(stallMs) }
    const dueMs = this.#dueMs(limits)
    if (dueMs < this.#deadlineMs) this.#arm(dueMs)
    const { refused, compression } = this.#rooms
    const { stream, topic } = this.#state
    return new Promise(resolve => {
      this.#queue.push({
        batch,
        encoding: compression.encode(topic, batch),
        arrivedAtMs,
        deadlineMs: limits.deadlineMs,
        stallMs: limits.stallMs,
        answer(value) {
          // At once: what waits behind it may be formed in this very turn.
          if (isRefusal(value)) refused.note(stream, batch, value)
          resolve(value)
        },
        isHandedOver: false,
        baseOffset: -1,
        nextOffset: -1,
        logAppendTimeMs: -1,
      })
      if (!this.#isBusy && !this.#isDue) {
        this.#isDue = true
        this.#rooms.due(this)
      }
    })
  }

  /** Hands the next group to the store, unless one is on its way or nothing waits. */
  form(): void {
    this.#isDue = false
    if (this.#isBusy) return
    const group = this.#formGroup()
    if (group === null) {
      this.#rest()
      return
    }
    this.#isBusy = true
    this.#group = group
    if (group.pending.every(({ encoding }) => encoding === null)) this.#send(group)
    else void this.#encode(group).then(() => this.#send(group))
  }

  #send(group: Group): void {
    this.#rooms.store.append(group.append).then(this.#onOutcome, this.#onFailure)
  }

  /** Waits for the batches that are being compressed; their places in the log are taken. */
  async #encode(group: Group): Promise<void> {
    const batches: Batch[] = []
    for (const [i, { encoding }] of group.pending.entries()) batches.push(sealed(group.batches[i]!, await encoding))
    group.append = { ...group.append, batches }
  }

  /** The stream has not been opened yet, and nothing has gone wrong with it. */
  get isOpening(): boolean {
    return this.#state.epoch === 0 && this.#isFirstTry
  }

  /** Opens the stream. When the store does not answer, the lane stays closed and goes on trying. */
  async open(): Promise<void> {
    this.#isBusy = true
    const state = this.#state
    try {
      const { store, leadership } = this.#rooms
      const opened = leadership.isConfirmed ? await store.open(state.stream, 0, 0) : null
      if (opened === null) {
        void this.#settle(0)
        return
      }
      if (opened.kind === 'opened') {
        this.#adopt(opened)
        this.#confirm()
      } else {
        state.refusal ??= because(KAFKA_STORAGE_ERROR, `The store has no stream for ${state.name}.`)
        this.#rooms.gone(state)
      }
      this.#release()
      return
    } catch (error) {
      this.#rooms.logger
        .limited('open', 10_000)
        .warn('a partition could not be opened and is tried again', { partition: state.name, error })
    }
    this.#isFirstTry = false
    void this.#settle(0)
  }

  #adopt(opened: Opened): void {
    const { topic, index } = this.#state
    this.#state.adopt(opened, this.#rooms.clock.now())
    this.#rooms.leadership.led(topic.id, index, opened.epoch)
  }

  /** What is remembered may be of another history: nothing of it counts until the stream has been opened again. */
  reopen(): void {
    const { epoch, refusal, tail, end } = this.#state
    if (epoch === 0 || refusal !== null) return
    tail.reset(end)
    this.#mustReopen = true
    if (!this.#isBusy) this.#release()
  }

  /**
   * Trims the stream; what that means for the state is the caller's. Where the outcome is unknown the stream is opened again: that
   * alone says where the log begins and how many bytes it has, and it fences what may still come of the trim.
   */
  async trim(before: number, rows: readonly Row[]): ReturnType<Store['trim']> {
    const { stream, epoch } = this.#state
    try {
      return await this.#rooms.store.trim(stream, epoch, before, rows)
    } catch (error) {
      if (error instanceof OutcomeUnknown) this.reopen()
      throw error
    }
  }

  /** Writes rows that wait for an append when none is likely to come. Does nothing while the lane works. */
  async flushRows(): Promise<void> {
    const { start, pendingRows, refusal, damage } = this.#state
    if (this.#isBusy || this.#queue.length > 0 || pendingRows.length === 0 || refusal !== null || damage !== null)
      return
    this.#isBusy = true
    const rows = [...pendingRows]
    try {
      const outcome = await this.trim(start, rows)
      if (outcome.kind === 'trimmed') pendingRows.splice(0, rows.length)
    } finally {
      this.#release()
    }
  }

  /**
   * Ends the lane after `state.refusal` was set: what waits is refused with it. What is with the store is answered by its
   * outcome. Resolves when nothing is under way any more.
   */
  async close(): Promise<void> {
    const refusal = this.#state.refusal!
    for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) answer(next, refusal)
    this.#tryAgain?.()
    if (this.#isBusy) await new Promise<void>(resolve => this.#idle.push(resolve))
    this.#deadlineTimer?.cancel()
  }

  #formGroup(): Group | null {
    const state = this.#state
    const { clock, refused } = this.#rooms
    const { messageTimestampType, offsetSequenceBits } = state.topic.resolved
    const nowMs = clock.now()
    const startedAtMs = clock.monotonic()
    const batches: Batch[] = []
    const pending: Pending[] = []
    const repeats: Pending[] = []
    const producers = new Map<number, Producer>()
    let end = state.end
    let bytes = 0
    let records = 0

    for (let next = this.#queue.at(0); next !== undefined; next = this.#queue.at(0)) {
      const { batch } = next
      const size = batch.bytes.length
      if (batches.length > 0 && bytes + size > GROUP_BYTES) break
      this.#queue.shift()
      // It was told that it is not appended.
      if (next.answer === null) continue
      if (this.#dueMs(next) <= startedAtMs) {
        answer(next, because(REQUEST_TIMED_OUT, tooLate(next, startedAtMs)))
        continue
      }
      const refusal = state.refusal ?? state.damage
      if (refusal !== null) {
        answer(next, refusal)
        continue
      }

      const { producerId, lastOffsetDelta } = batch
      let known: Producer | undefined
      if (producerId >= 0) {
        known = producers.get(producerId) ?? state.producers.get(producerId)
        const { producerEpoch, baseSequence } = batch
        const lastSequence = lastSequenceOf(baseSequence, lastOffsetDelta)
        const verdict =
          (known === undefined ? refused.check(state, batch) : null) ??
          checkSequence(known, producerId, producerEpoch, baseSequence, lastSequence)
        if (isRefusal(verdict)) {
          void this.#refuseSequence(next, verdict)
          continue
        }
        if (verdict !== null) {
          next.baseOffset = verdict.baseOffset
          next.nextOffset = verdict.lastOffset + 1
          next.logAppendTimeMs = verdict.logAppendTimeMs
          // An original that is committed but not covered yet is refused by #acknowledge, one of this group waits for it.
          if (verdict.baseOffset >= state.end) repeats.push(next)
          else this.#acknowledge(next)
          continue
        }
      }

      const baseOffset = offsetSequenceBits > 0 ? Math.max(end, nowMs * 2 ** offsetSequenceBits) : end
      const stamped = stampFor(next, baseOffset, state.epoch, messageTimestampType === 'LogAppendTime' ? nowMs : -1)
      end = next.nextOffset
      bytes += size
      records += batch.recordCount
      batches.push(stamped)
      pending.push(next)
      if (producerId >= 0) {
        const added: ProducerBatch = {
          baseSequence: batch.baseSequence,
          lastSequence: lastSequenceOf(batch.baseSequence, lastOffsetDelta),
          baseOffset,
          lastOffset: end - 1,
          logAppendTimeMs: next.logAppendTimeMs,
        }
        producers.set(producerId, withBatch(known, batch.producerEpoch, added, nowMs))
        refused.taken(state, batch)
      }
    }

    if (batches.length === 0) return null
    const mark = state.timeIndex.seal(CHUNK_BYTES)
    if (mark !== null) state.pendingRows.push(mark)
    const rows: Row[] = [...state.pendingRows]
    for (const [producerId, producer] of producers) {
      rows.push({ key: producerKey(producerId), value: encodeProducer(producer) })
    }
    const attempt = this.#rooms.nextAttempt()
    return {
      append: { stream: state.stream, epoch: state.epoch, at: state.end, attempt, batches, rows },
      batches,
      end,
      pending,
      repeats,
      producers,
      pendingRows: state.pendingRows.length,
      bytes,
      records,
      nowMs,
      startedAtMs,
    }
  }

  /**
   * Producers take such a refusal as the end. What does not follow here may follow what another broker has written
   * meanwhile, so only who leads by the word of the store says it.
   */
  async #refuseSequence(pending: Pending, verdict: Refusal): Promise<void> {
    const state = this.#state
    const { epoch, stream, name } = state
    try {
      const outcome = await this.#rooms.store.confirm(stream, epoch)
      if (outcome.kind === 'confirmed' && epoch === state.epoch) {
        answer(pending, verdict)
        return
      }
      answer(
        pending,
        state.refusal ?? because(NOT_LEADER_OR_FOLLOWER, `Others write to ${name}; nothing was appended.`),
      )
      if (outcome.kind === 'fenced' && epoch === state.epoch && (await this.#stillLeads())) this.reopen()
    } catch (error) {
      const refusal = because(KAFKA_STORAGE_ERROR, `The store does not say whether ${name} is led here.`)
      answer(pending, error instanceof StoreUnavailable ? away(error) : refusal)
      if (!isStoreFailure(error)) throw error
    }
  }

  #conclude(outcome: Awaited<ReturnType<Store['append']>>): void {
    const group = this.#group!
    if (outcome.kind !== 'appended') this.#noteRefusal(outcome.kind)
    switch (outcome.kind) {
      case 'appended':
        this.#commit(group, outcome)
        this.#release()
        return
      case 'damaged':
        this.#state.damage = damaged(this.#state, outcome.message)
        this.#refuse(group, this.#state.damage)
        this.#release()
        return
      case 'gone':
        this.#vanish(group)
        return
      case 'fenced':
      case 'misplaced':
        // Certain: nothing of the group is in the log. Somebody else has been there.
        this.#group = null
        this.#requeue(group)
        if (outcome.kind === 'fenced') void this.#settle(outcome.epoch, this.#stillLeads())
        else void this.#settle(this.#state.epoch)
    }
  }

  #noteRefusal(reason: 'fenced' | 'misplaced' | 'gone' | 'damaged'): void {
    const { logger, writes } = this.#rooms
    writes.refused(reason)
    logger
      .limited(`append-${reason}`, 10_000)
      .warn('the store refused an append, and nothing of it was written', { partition: this.#state.name, reason })
  }

  #fail(error: unknown): void {
    const group = this.#group!
    const { logger, writes, clock } = this.#rooms
    writes.failed.observe(clock.monotonic() - group.startedAtMs)
    if (error instanceof StoreUnavailable) {
      logger
        .limited('append-unavailable', 10_000)
        .warn('the store refused an append', { partition: this.#state.name, error })
      this.#refuse(group, away(error))
      this.#release()
      return
    }
    logger
      .limited('append-unknown', 10_000)
      .warn('the outcome of an append is unknown; its partition is opened again', {
        partition: this.#state.name,
        error,
      })
    void this.#settle(this.#state.epoch)
  }

  /** The group is in the log. */
  #commit(group: Group, { end, highWatermark }: Pick<StoreAppended, 'end' | 'highWatermark'>): void {
    const state = this.#state
    const learned = this.#learn(group)
    state.end = end
    state.emptyFrom = end
    const covered = highWatermark > state.highWatermark
    if (covered) state.highWatermark = highWatermark
    for (const [i, batch] of group.batches.entries()) {
      // Nobody reads a partition that has ended, and nobody would give its memory back.
      if (state.refusal === null) state.tail.add(batch)
      const storedBytes = group.append.batches[i]!.bytes.length
      state.bytes += storedBytes
      state.timeIndex.add(batch.nextOffset, storedBytes, batch.maxTimestamp, group.nowMs)
    }
    state.pendingRows.splice(0, group.pendingRows)
    this.#keepRows(group)
    state.forgetOldestProducers(learned)
    this.#finish(group)
    if (covered) state.waits.appended(group.bytes)
    this.#confirm()
  }

  /** What is in the log and not to be seen yet is asked for again until it is, unless an append is faster. */
  #confirm(): void {
    const { highWatermark, end } = this.#state
    if (highWatermark >= end || this.#isConfirming) return
    this.#isConfirming = true
    const { logger } = this.#rooms
    void this.#confirmed()
      .catch(error =>
        logger.warn('the high watermark of a partition stays back', { partition: this.#state.name, error }),
      )
      .finally(() => {
        this.#isConfirming = false
      })
  }

  async #confirmed(): Promise<void> {
    const state = this.#state
    const { store, clock } = this.#rooms
    for (let backoffMs = FIRST_BACKOFF_MS; ; backoffMs = Math.min(2 * backoffMs, LONGEST_BACKOFF_MS)) {
      await sleep(clock, backoffMs)
      const { epoch, end, highWatermark, refusal } = state
      if (refusal !== null || highWatermark >= end) return
      try {
        const outcome = await store.confirm(state.stream, epoch)
        // Opened again meanwhile: this was asked about the lead before.
        if (epoch !== state.epoch) continue
        // Whoever has the lead goes on from here.
        if (outcome.kind !== 'confirmed') return
        // What an append that is under way has added is covered by its own answer, which wakes those who wait for it.
        const covered = Math.min(outcome.highWatermark, state.end)
        if (covered <= state.highWatermark) continue
        state.highWatermark = covered
        state.waits.wake()
      } catch (error) {
        if (!isStoreFailure(error)) throw error
      }
    }
  }

  /** How many of its producers were not known. */
  #learn(group: Group): number {
    const state = this.#state
    const before = state.producers.size
    for (const [producerId, producer] of group.producers) state.learnProducer(producerId, producer)
    return state.producers.size - before
  }

  /** A producer that retention forgot while its batch was with the store is back: its row must stay. */
  #keepRows(group: Group): void {
    const { pendingRows } = this.#state
    if (pendingRows.length === 0 || group.producers.size === 0) return
    const kept = pendingRows.filter(({ key }) => !group.producers.has(producerIdOf(key) ?? -1))
    pendingRows.splice(0, pendingRows.length, ...kept)
  }

  #finish(group: Group): void {
    const { writes, clock } = this.#rooms
    const tookMs = clock.monotonic() - group.startedAtMs
    writes.done.observe(tookMs)
    // Where replicas are waited for and too few have it, it is in the log and no promise.
    const isDurable = group.end <= this.#state.highWatermark
    ;(isDurable ? writes.acknowledged : writes.unacknowledged).observe(tookMs)
    writes.messages.observe(group.records)
    this.#movedAtMs = group.startedAtMs + tookMs
    this.#displaced = 0
    this.#group = null
    for (const pending of group.pending) this.#acknowledge(pending)
    for (const repeat of group.repeats) this.#acknowledge(repeat)
  }

  /** Answers a batch that is in the log, as far as readers may see it. */
  #acknowledge(pending: Pending): void {
    const { highWatermark, start } = this.#state
    if (pending.nextOffset <= highWatermark) {
      const { baseOffset, logAppendTimeMs } = pending
      answer(pending, { baseOffset, logAppendTimeMs, logStartOffset: start })
    } else {
      answer(
        pending,
        because(NOT_ENOUGH_REPLICAS_AFTER_APPEND, 'The batch is in the log, but not yet on enough replicas.'),
      )
    }
  }

  #refuse(group: Group, refusal: Refusal): void {
    const { writes, clock } = this.#rooms
    writes.unacknowledged.observe(clock.monotonic() - group.startedAtMs)
    this.#group = null
    for (const pending of group.pending) answer(pending, refusal)
    for (const repeat of group.repeats) answer(repeat, refusal)
  }

  /** The stream is gone from the store: the topic was removed. */
  #vanish(group: Group | null): void {
    const state = this.#state
    if (state.refusal === null) {
      this.#rooms.logger
        .limited('partition-gone', 10_000)
        .warn('a partition is gone from the store', { partition: state.name })
      state.refusal = because(UNKNOWN_TOPIC_OR_PARTITION, `${state.name} is gone from the store.`)
      this.#rooms.gone(state)
    }
    if (group !== null) this.#refuse(group, state.refusal)
    state.waits.wake()
    this.#release()
  }

  /** Puts what was not written back to the front; callers that have gone away are left out. */
  #requeue(group: Group): void {
    this.#displaced++
    const waiting = [...group.pending, ...group.repeats].filter(pending => pending.answer !== null)
    if (this.#displaced < ATTEMPTS) {
      this.#queue.unshift(waiting)
      return
    }
    this.#displaced = 0
    for (const pending of waiting) {
      answer(pending, because(NOT_LEADER_OR_FOLLOWER, `Others write to ${this.#state.name}; nothing was appended.`))
    }
  }

  /** Another has the lead; whether it is this broker's by right. */
  #stillLeads(): Promise<boolean> {
    const { topic, index } = this.#state
    return this.#rooms.leadership.stillLeads(topic.id, index)
  }

  /**
   * Opens the stream until it is known what the group in flight came to. The lane is closed meanwhile. The lead is taken back
   * from another only where it is this broker's (`mayLead`), and not while another may lead with good reason.
   */
  async #settle(knownEpoch: number, mayLead = Promise.resolve(true)): Promise<void> {
    const state = this.#state
    const { store, clock, logger, leadership } = this.#rooms
    let known = knownEpoch
    let isOurs = await mayLead
    for (let backoffMs = FIRST_BACKOFF_MS; ; backoffMs = Math.min(2 * backoffMs, LONGEST_BACKOFF_MS)) {
      if (state.refusal !== null) {
        if (this.#group !== null) this.#refuse(this.#group, because(REQUEST_TIMED_OUT, UNKNOWN_OUTCOME))
        this.#release()
        return
      }
      try {
        const opened =
          isOurs && leadership.isConfirmed ? await store.open(state.stream, known, state.highWatermark) : null
        if (opened?.kind === 'gone') {
          this.#vanish(this.#group)
          return
        }
        if (opened?.kind === 'opened') {
          const landed = await this.#hasLanded(opened)
          this.#resume(opened, landed)
          this.#release()
          return
        }
        known = opened?.epoch ?? known
        isOurs = await this.#stillLeads()
      } catch (error) {
        if (error instanceof StoreUnavailable) this.#refuseWaiting(error)
        logger
          .limited('open-again', 10_000)
          .warn('a partition cannot be opened; it takes no records until it can', { partition: state.name, error })
      }
      await new Promise<void>(resolve => {
        const timer = clock.timer(backoffMs, resolve)
        this.#tryAgain = () => {
          timer.cancel()
          resolve()
        }
      })
      this.#tryAgain = null
    }
  }

  /** The store is away: what it has never been given is refused, instead of being held until it is too late. */
  #refuseWaiting(error: StoreUnavailable): void {
    const refusal = away(error)
    for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) answer(next, refusal)
  }

  /**
   * Whether the group in flight is in the log. The last attempt tells, unless others have led and appended between the two:
   * then the place does that it was meant for. An epoch is the lead of one broker, which has one append in flight and opens the stream
   * after each whose outcome is unknown, so what stands there under the group's epoch is the group. Null: that place cannot be seen.
   */
  async #hasLanded(opened: Opened): Promise<boolean | null> {
    if (this.#group === null) return false
    const { attempt, at, stream, epoch, batches } = this.#group.append
    if (opened.lastAttempt === attempt) return true
    if (opened.end <= at) return false
    const { baseOffset } = batches[0]!
    const until = opened.highWatermark
    const found = await this.#rooms.store.read(stream, baseOffset, { maxBytes: 1, until })
    if (found.kind !== 'read') return null
    const [first] = found.batches
    if (first === undefined) return until >= opened.end ? false : null
    return first.baseOffset === baseOffset && viewBatch(first.bytes).leaderEpoch === epoch
  }

  #resume(opened: Opened, hasLanded: boolean | null): void {
    const state = this.#state
    const group = this.#group
    const before = state.highWatermark
    if (group !== null && hasLanded) {
      if (state.refusal === null) for (const batch of group.batches) state.tail.add(batch)
      state.end = group.end
      this.#adopt(opened)
      this.#finish(group)
    } else if (group !== null && hasLanded === null) {
      this.#adopt(opened)
      this.#refuse(group, because(REQUEST_TIMED_OUT, UNKNOWN_OUTCOME))
    } else {
      this.#adopt(opened)
      this.#group = null
      if (group !== null) this.#requeue(group)
    }
    // Whose bytes these are, and how many, is not known here.
    if (state.highWatermark > before) state.waits.wake()
    this.#confirm()
  }

  /** The lane is free: what waits goes next. */
  #release(): void {
    if (this.#mustReopen && this.#state.refusal === null) {
      this.#mustReopen = false
      this.#isBusy = true
      void this.#settle(this.#state.epoch)
      return
    }
    this.#isBusy = false
    this.form()
  }

  #rest(): void {
    for (const resolve of this.#idle) resolve()
    this.#idle = []
  }

  /**
   * When the caller is told that it takes too long. What stands behind others in a lane that moves has only its own deadline:
   * refused, it would come again, behind what was sent after it, and perhaps twice.
   */
  #dueMs({ arrivedAtMs, deadlineMs, stallMs }: Pick<Pending, 'arrivedAtMs' | 'deadlineMs' | 'stallMs'>): number {
    return Math.min(deadlineMs, Math.max(arrivedAtMs, this.#movedAtMs) + stallMs)
  }

  #arm(deadlineMs: number): void {
    this.#deadlineTimer?.cancel()
    this.#deadlineMs = deadlineMs
    const delayMs = Math.max(1, deadlineMs - this.#rooms.clock.monotonic())
    this.#deadlineTimer = this.#rooms.clock.timer(delayMs, () => this.#expire())
  }

  /** Answers whoever has waited too long. One timer serves all: most batches are long answered when it fires. */
  #expire(): void {
    const nowMs = this.#rooms.clock.monotonic()
    let next = Number.POSITIVE_INFINITY
    const look = (pending: Pending, message: string) => {
      if (pending.answer === null) return
      const dueMs = this.#dueMs(pending)
      if (dueMs <= nowMs) answer(pending, because(REQUEST_TIMED_OUT, message))
      else next = Math.min(next, dueMs)
    }
    for (const pending of this.#group?.pending ?? []) look(pending, UNKNOWN_OUTCOME)
    for (const pending of this.#group?.repeats ?? []) look(pending, UNKNOWN_OUTCOME)
    for (let i = 0; i < this.#queue.length; i++) look(this.#queue.at(i)!, tooLate(this.#queue.at(i)!, nowMs))
    this.#deadlineTimer = null
    this.#deadlineMs = Number.POSITIVE_INFINITY
    if (next < Number.POSITIVE_INFINITY) this.#arm(next)
  }
}

const UNKNOWN_OUTCOME = 'The store has not answered in time; the batch may or may not be appended.'

function away(error: StoreUnavailable): Refusal {
  return because(KAFKA_STORAGE_ERROR, `The store is not available, nothing was written: ${error.message}`)
}

function tooLate({ arrivedAtMs }: Pending, nowMs: number): string {
  return `The batch waited ${Math.round(nowMs - arrivedAtMs)} ms behind others and was not appended.`
}

const orForever = (limitMs: number) => (limitMs > 0 ? limitMs : Number.POSITIVE_INFINITY)

function answer(pending: Pending, value: Appended | Refusal): void {
  pending.answer?.(value)
  pending.answer = null
}

function sealed(batch: Batch, encoding: EncodedRecords | null): Batch {
  return encoding === null ? batch : { ...batch, bytes: sealBatch(viewBatch(batch.bytes).bytes, encoding) }
}

/** Gives a batch its place, in its own bytes, or in a copy when the store has those already. */
function stampFor(pending: Pending, baseOffset: number, epoch: number, logAppendTimeMs: number): Batch {
  const { batch } = pending
  const bytes = pending.isHandedOver ? Buffer.from(batch.bytes) : batch.bytes
  if (logAppendTimeMs >= 0) stampAppendTime(bytes, logAppendTimeMs)
  stamp(bytes, baseOffset, epoch)
  pending.isHandedOver = true
  pending.baseOffset = baseOffset
  pending.nextOffset = baseOffset + batch.lastOffsetDelta + 1
  pending.logAppendTimeMs = logAppendTimeMs
  const maxTimestamp = logAppendTimeMs >= 0 ? logAppendTimeMs : batch.maxTimestamp
  return { baseOffset, nextOffset: pending.nextOffset, recordCount: batch.recordCount, maxTimestamp, bytes }
}
