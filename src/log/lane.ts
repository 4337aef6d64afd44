// All appends to a partition's log go through its lane. One append to the store is in flight. Batches that arrive
// meanwhile wait in order and go together with the next append; append-group.ts checks their sequences and gives them
// their offsets. While an outcome is unknown the lane stays closed. It opens the stream again, which fences an append
// that may still arrive. Then the last attempt of the stream tells whether the group is in the log. The lane serves no
// reads and checks no sizes or times.
//
//   idle --append--> due --turn ends--> in flight --appended--> idle, or in flight with the batches that waited
//                                          |--unavailable--> refused, then the same
//                                          '--unknown, fenced, misplaced--> settling --landed--> the same
//                                                                               '--not landed--> formed again
//
// While the table of a topic is read for the first time, the lane is idle and its batches wait (table-wait.ts). The
// lane is idle too while the first waiting batch is judged (judging.ts): a group ends before a batch that is not
// decided, so that batches keep their order.

import { type Clock, sleep, type Timer } from '../base/clock.ts'
import {
  because,
  isRefusal,
  KAFKA_STORAGE_ERROR,
  NOT_ENOUGH_REPLICAS,
  NOT_ENOUGH_REPLICAS_AFTER_APPEND,
  NOT_LEADER_OR_FOLLOWER,
  REQUEST_TIMED_OUT,
  type Refusal,
  UNKNOWN_TOPIC_OR_PARTITION,
} from '../protocol/errors.ts'
import { type BatchView, viewBatch } from '../protocol/records.ts'
import {
  type Batch,
  isStoreFailure,
  type Opened,
  OutcomeUnknown,
  ReplicasMissing,
  type Rewrite,
  type Row,
  type Store,
  type Appended as StoreAppended,
  StoreUnavailable,
} from '../store/store.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { ObservedChild } from '../telemetry/metrics.ts'
import { AppendGroup, type Placeable } from './append-group.ts'
import type { Compression } from './compression.ts'
import { Fifo } from './fifo.ts'
import type { Judging } from './judging.ts'
import type { Leadership } from './leadership.ts'
import { damaged, type PartitionState } from './partition-state.ts'
import { producerIdOf } from './producers.ts'
import type { RefusedBatches } from './refused-batches.ts'
import { type EncodedRecords, sealBatch } from './stored-batch.ts'
import { TableWait } from './table-wait.ts'
import { CHUNK_BYTES } from './time-index.ts'

/** The answer to a successful append. */
export interface Appended {
  readonly baseOffset: number
  /** The broker's timestamp if the topic uses LogAppendTime, else -1. */
  readonly logAppendTimeMs: number
  readonly logStartOffset: number
}

/** Shared by all lanes of a broker. */
export interface LaneRooms {
  readonly store: Store
  readonly clock: Clock
  readonly logger: Logger
  readonly compression: Compression
  readonly leadership: Leadership
  readonly refused: RefusedBatches
  /** Loads the sealed segments of a partition into its state. Throws what the store throws. */
  loadSegments(state: PartitionState): Promise<void>
  /** Called if the partition takes no records until the table of its topic was read (hold of PartitionState). */
  held(state: PartitionState): void
  /** Called if the store has no such stream, because its topic was removed or the store has lost it. */
  gone(state: PartitionState): void
  /** Returns an id that no other append uses. */
  nextAttempt(): string
  /** The time by which rounds let data age: the clock without a jump that is not trusted yet. */
  trustedNow(): number
  /** Calls lane.form() after this turn has handled its input, so that batches of one turn go together. */
  due(lane: Lane): void
  readonly writes: WriteMetrics
}

export interface WriteMetrics {
  readonly done: ObservedChild
  readonly failed: ObservedChild
  readonly acknowledged: ObservedChild
  readonly unacknowledged: ObservedChild
  readonly records: ObservedChild
  refused(reason: 'fenced' | 'misplaced' | 'gone' | 'damaged'): void
  /** Counts a trim or a rewrite that the store refused, because another broker leads. */
  workRefused(): void
}

/** After a group has met another writer this many times, its callers are refused. */
const ATTEMPTS = 4
const FIRST_BACKOFF_MS = 50
const LONGEST_BACKOFF_MS = 5_000

/** One batch in the lane. */
interface Pending extends Placeable {
  /** Null if the batch needs no verdict. */
  readonly judging: Judging | null
  /** Its records in their stored form; null if they are stored unchanged. */
  readonly encoding: Promise<EncodedRecords | null> | null
  /** Both times are on Clock.monotonic(). The deadline is the caller's own. */
  readonly arrivedAtMs: number
  readonly deadlineMs: number
  /** How long the lane may make no progress while the batch waits (stallMs of Partition.append). */
  readonly stallMs: number
  /** Null once the caller has its answer. */
  answer: ((answer: Appended | Refusal) => void) | null
}

type Group = AppendGroup<Pending>

export class Lane {
  readonly #rooms: LaneRooms
  readonly #state: PartitionState
  readonly #queue = new Fifo<Pending>()
  readonly #onOutcome = (outcome: Awaited<ReturnType<Store['append']>>) => this.#conclude(outcome)
  readonly #onFailure = (error: unknown) => this.#fail(error)
  #group: Group | null = null
  /** True while an append, a write of rows or a settlement is in progress. */
  #isBusy = false
  #isDue = false
  /** True if the store may have gone back in time. The stream is then opened again before anything else. */
  #mustReopen = false
  /** True from `reopen` until the stream is open again. */
  #isVague = false
  #isConfirming = false
  #isFirstTry = true
  /** How many times the first waiting batch has met another writer. */
  #displaced = 0
  #deadlineTimer: Timer | null = null
  /** The time at which the deadline timer fires; never later than the first deadline. */
  #deadlineMs = Number.POSITIVE_INFINITY
  /** The time at which the last group was finished. */
  #movedAtMs = Number.NEGATIVE_INFINITY
  #idle: (() => void)[] = []
  /** Ends the pause of a settlement. */
  #tryAgain: (() => void) | null = null
  /** True while the lane is idle because the first waiting batch is not decided yet. */
  #isJudging = false
  /** The wait for the table of the topic; null unless a batch has waited for it since the hold began. */
  #tableWait: TableWait | null = null

  constructor(rooms: LaneRooms, state: PartitionState) {
    this.#rooms = rooms
    this.#state = state
  }

  /**
   * Puts the batch into the lane before it returns. The limits are those of Partition.append. `judging` is null if the
   * batch needs no verdict.
   */
  append(
    batch: BatchView,
    timeoutMs: number,
    stallMs: number,
    judging: Judging | null = null,
  ): Promise<Appended | Refusal> {
    const arrivedAtMs = this.#rooms.clock.monotonic()
    const limits = { arrivedAtMs, deadlineMs: arrivedAtMs + orForever(timeoutMs), stallMs: orForever(stallMs) }
    const dueMs = this.#dueMs(limits)
    if (dueMs < this.#deadlineMs) this.#arm(dueMs)
    const { refused, compression } = this.#rooms
    const { stream, topic } = this.#state
    if (judging !== null) judging.decided = () => this.#goOn()
    return new Promise(resolve => {
      this.#queue.push({
        batch,
        judging,
        encoding: compression.encode(topic, batch),
        arrivedAtMs,
        deadlineMs: limits.deadlineMs,
        stallMs: limits.stallMs,
        answer(value) {
          // This is synchronous, because batches behind it may be formed in this very turn.
          if (isRefusal(value)) refused.note(stream, batch, value)
          judging?.end()
          resolve(value)
        },
        isHandedOver: false,
        baseOffset: -1,
        nextOffset: -1,
        logAppendTimeMs: -1,
      })
      // The batch cannot pass the first one, which is not decided yet.
      if (!this.#isJudging) this.#wake()
    })
  }

  /** Forms a group after this turn if the lane is idle. */
  #wake(): void {
    if (this.#isBusy || this.#isDue) return
    this.#isDue = true
    this.#rooms.due(this)
  }

  /** The lane no longer waits for a verdict. From here on a stall counts again. */
  #endJudging(nowMs: number): void {
    if (!this.#isJudging) return
    this.#isJudging = false
    this.#movedAtMs = nowMs
  }

  /** Forms a group after this turn if the lane waits for a verdict that is no longer missing. */
  #goOn(): void {
    const first = this.#isJudging ? this.#queue.at(0) : undefined
    if (first !== undefined && (first.answer === null || first.judging?.verdict !== undefined)) this.#wake()
  }

  /** Sends the next group to the store, unless an append is in flight or no batch waits. */
  form(): void {
    this.#isDue = false
    if (this.#isBusy || this.#waitsForTable()) return
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

  /** Returns true if the batches of the lane wait for the first read of the topic's table. */
  #waitsForTable(): boolean {
    const state = this.#state
    const { hold, firmHold, refusal, damage } = state
    // In each of these cases they are refused, or go.
    if (hold === null || (firmHold ?? refusal ?? damage) !== null || this.#queue.length === 0) return false
    this.#tableWait ??= new TableWait(this.#rooms.clock, () => this.#wake())
    state.holdNews ??= () => {
      if (state.hold === null) this.#endTableWait()
      // Not at once: the state is about to change further.
      this.#wake()
    }
    return !this.#tableWait.isOver
  }

  #endTableWait(): void {
    this.#tableWait?.end()
    this.#tableWait = null
    this.#state.holdNews = null
  }

  #send(group: Group): void {
    this.#rooms.store.append(group.append).then(this.#onOutcome, this.#onFailure)
  }

  /** Waits until the batches are compressed. Their offsets are already fixed. */
  async #encode(group: Group): Promise<void> {
    const batches: Batch[] = []
    for (const [i, { encoding }] of group.pending.entries()) batches.push(sealed(group.batches[i]!, await encoding))
    group.append = { ...group.append, batches }
  }

  /** True while the stream has never been opened and no attempt has failed. */
  get isOpening(): boolean {
    return this.#state.epoch === 0 && this.#isFirstTry
  }

  /** Opens the stream. While the store does not answer, the lane stays closed and tries again. */
  async open(): Promise<void> {
    this.#isBusy = true
    const state = this.#state
    try {
      const opened = this.#rooms.leadership.isConfirmed ? await this.#openAbove(0) : null
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
        .warn('a partition could not be opened; the broker tries again', { partition: state.name, error })
    }
    this.#isFirstTry = false
    void this.#settle(0)
  }

  /**
   * Opens the stream with the end of its last sealed segment, or of its archived offsets, as floor. A store that has
   * lost its tail then does not give those offsets again. `known` is as for Store.open.
   */
  async #openAbove(known: number): ReturnType<Store['open']> {
    const { store, loadSegments } = this.#rooms
    const state = this.#state
    await loadSegments(state)
    return await store.open(state.stream, known, Math.max(state.highWatermark, state.sealed.end, state.archivedEnd))
  }

  #adopt(opened: Opened): void {
    const { topic, index, name } = this.#state
    this.#isVague = false
    const why = this.#state.adopt(opened, this.#rooms.clock.now())
    if (why !== null) {
      const line = `the place of the cleaner (row c of the stream) cannot be read: ${why}; the cleaner begins anew`
      this.#rooms.logger.warn(line, { partition: name })
    }
    this.#rooms.leadership.led(topic.id, index, opened.epoch)
    if (this.#state.hold !== null) this.#rooms.held(this.#state)
  }

  /**
   * Opens the stream again. Until then the remembered state does not count, because the store may have another history.
   */
  reopen(): void {
    const { epoch, refusal, tail, end } = this.#state
    if (epoch === 0 || refusal !== null) return
    tail.reset(end)
    this.#mustReopen = true
    this.#isVague = true
    if (!this.#isBusy) this.#release()
  }

  /**
   * Trims the stream; the caller updates the state. If the outcome is unknown, it opens the stream again. Only that
   * shows where the log begins and how many bytes it has, and it fences a trim that may still arrive.
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

  /** True while the stream has to be opened again, and it is not known how far its last pass of rewrites has come. */
  get isVague(): boolean {
    return this.#isVague
  }

  /** Rewrites a part of the stream. The caller and an unknown outcome have the same rules as in `trim`. */
  async rewrite(rewrite: Omit<Rewrite, 'stream' | 'epoch'>): ReturnType<Store['rewrite']> {
    const { stream, epoch } = this.#state
    try {
      return await this.#rooms.store.rewrite({ stream, epoch, ...rewrite })
    } catch (error) {
      if (error instanceof OutcomeUnknown) this.reopen()
      throw error
    }
  }

  /** Writes the rows that wait for an append if no append is likely to come. Does nothing while the lane is busy. */
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
   * Ends the lane after `state.refusal` was set. Waiting batches are refused with it. A batch that is with the store
   * gets its outcome. Resolves when no work is in progress.
   */
  async close(): Promise<void> {
    const refusal = this.#state.refusal!
    for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) answer(next, refusal)
    this.#endTableWait()
    this.#tryAgain?.()
    if (this.#isBusy) await new Promise<void>(resolve => this.#idle.push(resolve))
    this.#deadlineTimer?.cancel()
  }

  #formGroup(): Group | null {
    if (this.#queue.length === 0) return null
    const state = this.#state
    const { clock, refused } = this.#rooms
    const group: Group = new AppendGroup(state, this.#rooms.nextAttempt(), clock.now(), clock.monotonic())
    this.#endJudging(group.startedAtMs)
    for (let next = this.#queue.at(0); next !== undefined; next = this.#queue.at(0)) {
      const { batch, judging } = next
      if (!group.hasRoomFor(batch)) break
      // The caller already knows that the batch is not appended.
      if (next.answer === null) {
        this.#queue.shift()
        continue
      }
      const refusal =
        this.#dueMs(next) <= group.startedAtMs
          ? because(REQUEST_TIMED_OUT, tooLate(next, group.startedAtMs))
          : (state.refusal ?? state.damage ?? state.hold)
      if (refusal !== null) {
        this.#queue.shift()
        answer(next, refusal)
        continue
      }
      const known = group.producerOf(batch)
      const isNew = batch.producerId >= 0 && known === undefined
      const found = (isNew ? refused.check(state, batch) : null) ?? group.check(next, known)
      if (found !== null) {
        this.#queue.shift()
        if (isRefusal(found)) void this.#refuseSequence(next, found)
        // If the original is in the log but not on enough replicas yet, #acknowledge refuses the repeat. If the
        // original is in this group, the repeat waits for it.
        else if (found.baseOffset < state.end) this.#acknowledge(next)
        continue
      }
      if (judging !== null) {
        // Not decided yet. The batches behind it may not pass it.
        if (judging.verdict === undefined) break
        if (judging.verdict !== null) {
          this.#queue.shift()
          if (batch.producerId >= 0 && !judging.verdict.retriable) refused.givenUp(state, batch)
          answer(next, judging.verdict)
          continue
        }
      }
      this.#queue.shift()
      group.add(next, known)
      if (batch.producerId >= 0) refused.taken(state, batch)
    }

    if (group.batches.length === 0) {
      this.#isJudging = this.#queue.length > 0
      return null
    }
    const mark = state.timeIndex.seal(CHUNK_BYTES)
    if (mark !== null) state.pendingRows.push(mark)
    group.carry(state.pendingRows)
    return group
  }

  /**
   * Answers with the refusal only if the store confirms that this broker has the lead. Producers take such a refusal as
   * final. But a sequence that does not follow here may follow a batch that another broker has written meanwhile.
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
        state.refusal ?? because(NOT_LEADER_OR_FOLLOWER, `Another broker writes to ${name}; nothing was appended.`),
      )
      if (outcome.kind === 'fenced' && epoch === state.epoch && (await this.#stillLeads())) this.reopen()
    } catch (error) {
      const refusal = because(KAFKA_STORAGE_ERROR, `The store does not answer whether this broker leads ${name}.`)
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
        // It is certain that no batch of the group is in the log. Another broker has led meanwhile.
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

  /** Updates the state: the group is in the log. */
  #commit(group: Group, { end, highWatermark }: Pick<StoreAppended, 'end' | 'highWatermark'>): void {
    const state = this.#state
    const learned = this.#learn(group)
    const appendedAtMs = this.#rooms.trustedNow()
    state.end = end
    state.emptyFrom = end
    const covered = highWatermark > state.highWatermark
    if (covered) state.highWatermark = highWatermark
    let opening: Row | null = null
    for (const [i, batch] of group.batches.entries()) {
      // A partition that has ended has no readers, and its memory would never be given back.
      if (state.refusal === null) state.tail.add(batch)
      const storedBytes = group.append.batches[i]!.bytes.length
      state.bytes += storedBytes
      const { logAppendTimeMs, batch: sent } = group.pending[i]!
      const minTimestamp = logAppendTimeMs >= 0 ? logAppendTimeMs : sent.baseTimestamp
      opening = state.timeIndex.add(batch, storedBytes, minTimestamp, group.nowMs, appendedAtMs) ?? opening
    }
    state.pendingRows.splice(0, group.pendingRows)
    if (opening !== null) state.pendingRows.push(opening)
    this.#keepRows(group)
    state.forgetOldestProducers(learned)
    this.#finish(group)
    if (covered) state.waits.appended(group.bytes)
    this.#confirm()
  }

  /** Asks the store again for the high watermark while some batches are not visible yet, unless an append is faster. */
  #confirm(): void {
    const { highWatermark, end } = this.#state
    if (highWatermark >= end || this.#isConfirming) return
    this.#isConfirming = true
    const { logger } = this.#rooms
    void this.#confirmed()
      .catch(error =>
        logger.warn('the high watermark of a partition does not advance', { partition: this.#state.name, error }),
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
        // The stream was opened again meanwhile, so the answer is about the previous lead.
        if (epoch !== state.epoch) continue
        // The broker that has the lead continues from here.
        if (outcome.kind !== 'confirmed') return
        // The answer of an append in flight covers its own batches, and wakes their readers.
        const covered = Math.min(outcome.highWatermark, state.end)
        if (covered <= state.highWatermark) continue
        state.highWatermark = covered
        state.waits.wake()
      } catch (error) {
        if (!isStoreFailure(error)) throw error
      }
    }
  }

  /** Remembers the producers of the group. Returns how many of them were unknown. */
  #learn(group: Group): number {
    const state = this.#state
    const before = state.producers.size
    for (const [producerId, producer] of group.producers) state.learnProducer(producerId, producer)
    return state.producers.size - before
  }

  /**
   * Drops pending rows for producers of the group. Retention forgot such a producer while its batch was with the store.
   * The producer is back, so its row must stay.
   */
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
    // If replicas are required and too few have the batch, the batch is in the log but may be lost.
    const isDurable = group.end <= this.#state.highWatermark
    ;(isDurable ? writes.acknowledged : writes.unacknowledged).observe(tookMs)
    writes.records.observe(group.records)
    this.#movedAtMs = group.startedAtMs + tookMs
    this.#displaced = 0
    this.#group = null
    for (const pending of group.pending) this.#acknowledge(pending)
    for (const repeat of group.repeats) this.#acknowledge(repeat)
  }

  /** Answers a batch that is in the log. The answer depends on whether readers may see the batch. */
  #acknowledge(pending: Pending): void {
    const { highWatermark, logStart } = this.#state
    if (pending.nextOffset <= highWatermark) {
      const { baseOffset, logAppendTimeMs } = pending
      answer(pending, { baseOffset, logAppendTimeMs, logStartOffset: logStart })
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

  /** Refuses everything from now on, because the stream is gone from the store. */
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

  /**
   * Puts the unwritten batches back to the front, without those whose callers have gone away. After ATTEMPTS it refuses
   * them.
   */
  #requeue(group: Group): void {
    this.#displaced++
    const waiting = [...group.pending, ...group.repeats].filter(pending => pending.answer !== null)
    if (this.#displaced < ATTEMPTS) {
      this.#queue.unshift(waiting)
      return
    }
    this.#displaced = 0
    for (const pending of waiting) {
      answer(
        pending,
        because(NOT_LEADER_OR_FOLLOWER, `Another broker writes to ${this.#state.name}; nothing was appended.`),
      )
    }
  }

  /** Called when another broker has the lead. Asks whether this broker should have it. */
  #stillLeads(): Promise<boolean> {
    const { topic, index } = this.#state
    return this.#rooms.leadership.stillLeads(topic.id, index)
  }

  /**
   * Opens the stream again and again until the outcome of the group in flight is known. Meanwhile the lane is closed.
   * This broker takes the lead back only if it should have it (`mayLead`), and not while another broker may lead with
   * good reason.
   */
  async #settle(knownEpoch: number, mayLead = Promise.resolve(true)): Promise<void> {
    const state = this.#state
    const { clock, logger, leadership } = this.#rooms
    let known = knownEpoch
    let isOurs = await mayLead
    for (let backoffMs = FIRST_BACKOFF_MS; ; backoffMs = Math.min(2 * backoffMs, LONGEST_BACKOFF_MS)) {
      if (state.refusal !== null) {
        if (this.#group !== null) this.#refuse(this.#group, because(REQUEST_TIMED_OUT, UNKNOWN_OUTCOME))
        this.#release()
        return
      }
      try {
        const opened = isOurs && leadership.isConfirmed ? await this.#openAbove(known) : null
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
          .warn('a partition cannot be opened; until it is open it takes no records', { partition: state.name, error })
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

  /**
   * Refuses waiting batches at once when the store is away. The store has never received them, so they need not wait.
   */
  #refuseWaiting(error: StoreUnavailable): void {
    const refusal = away(error)
    for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) answer(next, refusal)
  }

  /**
   * Resolves with whether the group in flight is in the log; null if that cannot be seen. The last attempt of the
   * stream tells, unless other brokers have led and appended since. Then the batch at the group's first offset tells.
   * An epoch belongs to one broker. That broker has one append in flight and opens the stream again after each unknown
   * outcome. So a batch at this offset with the group's epoch belongs to the group.
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
    // It is unknown here which readers want these bytes, and how many bytes there are. So all readers look again.
    if (state.highWatermark > before) state.waits.wake()
    this.#confirm()
  }

  /** Frees the lane: the stream is opened again if that is due, or the next waiting batches go. */
  #release(): void {
    if (this.#mustReopen && this.#state.refusal === null) {
      this.#mustReopen = false
      this.#isBusy = true
      this.#endJudging(this.#rooms.clock.monotonic())
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
   * Returns the time at which the caller is told that its batch takes too long. A batch behind others in a lane that
   * makes progress has only its own deadline. If it were refused earlier, the producer would send it again behind later
   * batches, perhaps twice. The wait for a verdict is no stall: it is the judge's, not the store's.
   */
  #dueMs({ arrivedAtMs, deadlineMs, stallMs }: Pick<Pending, 'arrivedAtMs' | 'deadlineMs' | 'stallMs'>): number {
    const movedAtMs = this.#isJudging ? this.#rooms.clock.monotonic() : this.#movedAtMs
    return Math.min(deadlineMs, Math.max(arrivedAtMs, movedAtMs) + stallMs)
  }

  #arm(deadlineMs: number): void {
    this.#deadlineTimer?.cancel()
    this.#deadlineMs = deadlineMs
    const delayMs = Math.max(1, deadlineMs - this.#rooms.clock.monotonic())
    this.#deadlineTimer = this.#rooms.clock.timer(delayMs, () => this.#expire())
  }

  /**
   * Answers the callers that have waited too long. One timer serves all, because most batches are answered before it
   * fires.
   */
  #expire(): void {
    const nowMs = this.#rooms.clock.monotonic()
    let next = Number.POSITIVE_INFINITY
    const look = (pending: Pending, late: () => Refusal) => {
      if (pending.answer === null) return
      const dueMs = this.#dueMs(pending)
      if (dueMs <= nowMs) answer(pending, late())
      else next = Math.min(next, dueMs)
    }
    const unknown = () => because(REQUEST_TIMED_OUT, UNKNOWN_OUTCOME)
    for (const pending of this.#group?.pending ?? []) look(pending, unknown)
    for (const pending of this.#group?.repeats ?? []) look(pending, unknown)
    for (let i = 0; i < this.#queue.length; i++) {
      const pending = this.#queue.at(i)!
      look(pending, () => this.#state.hold ?? because(REQUEST_TIMED_OUT, tooLate(pending, nowMs)))
    }
    this.#deadlineTimer = null
    this.#deadlineMs = Number.POSITIVE_INFINITY
    if (next < Number.POSITIVE_INFINITY) this.#arm(next)
    this.#goOn()
  }
}

const UNKNOWN_OUTCOME = 'The store has not answered in time; the batch may or may not be appended.'

function away(error: StoreUnavailable): Refusal {
  if (error instanceof ReplicasMissing) return because(NOT_ENOUGH_REPLICAS, `Nothing was written: ${error.message}`)
  return because(KAFKA_STORAGE_ERROR, `The store is not available, nothing was written: ${error.message}`)
}

function tooLate({ arrivedAtMs, judging }: Pending, nowMs: number): string {
  if (judging !== null && judging.verdict === undefined) {
    return `The records of the batch were not checked within ${Math.round(nowMs - arrivedAtMs)} ms, and the batch was not appended.`
  }
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
