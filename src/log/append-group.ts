// The batches that one append to the store carries. The group decides whether one more batch fits, checks the sequence
// of its producer against the log and the earlier batches of the group, and gives the batch its offsets: it stamps them
// into the bytes. It reads no clock and does no I/O. The lane decides when a group is formed and what happens to it.

import { isRefusal, type Refusal } from '../protocol/errors.ts'
import { type BatchView, stamp, stampAppendTime } from '../protocol/records.ts'
import type { Batch, Row, Append as StoreAppend, StreamId } from '../store/store.ts'
import {
  checkSequence,
  encodeProducer,
  lastSequenceOf,
  type Producer,
  type ProducerBatch,
  producerKey,
  withBatch,
} from './producers.ts'

/** The most bytes that one append carries, unless a single batch is larger. */
const GROUP_BYTES = 4 * 1024 * 1024

/** A batch that waits for its offsets in the log. */
export interface Placeable {
  readonly batch: BatchView
  /** True when the store has these bytes. A second stamp then goes into a copy. */
  isHandedOver: boolean
  /** These three are -1 until the batch has its offsets. */
  baseOffset: number
  nextOffset: number
  /** Also -1 if the topic keeps the producer's timestamps. */
  logAppendTimeMs: number
}

/** The state of the log that a group needs. */
export interface LogEnd {
  readonly stream: StreamId
  readonly epoch: number
  readonly end: number
  readonly producers: ReadonlyMap<number, Producer>
  readonly topic: {
    readonly resolved: {
      readonly messageTimestampType: 'CreateTime' | 'LogAppendTime'
      readonly offsetSequenceBits: number
    }
  }
}

export class AppendGroup<Waiting extends Placeable> {
  readonly #log: LogEnd
  readonly #rows: Row[] = []
  readonly nowMs: number
  /** On Clock.monotonic(). */
  readonly startedAtMs: number
  /** The stamped batches in the form that clients see. */
  readonly batches: Batch[] = []
  /** The callers that wait for the batches, in order. */
  readonly pending: Waiting[] = []
  /** Repeats of a batch of this group: they get the same answer. */
  readonly repeats: Waiting[] = []
  /** The producers of the group, in their state after it. */
  readonly producers = new Map<number, Producer>()
  /** The append for the store. The lane replaces the batches by their encoded form. */
  append: StoreAppend
  /** The number of the partition's pending rows in the append. */
  pendingRows = 0
  /** The end of the log after the group. */
  end: number
  bytes = 0
  records = 0

  constructor(log: LogEnd, attempt: string, nowMs: number, startedAtMs: number) {
    const { stream, epoch, end } = log
    this.#log = log
    this.append = { stream, epoch, at: end, attempt, batches: this.batches, rows: this.#rows }
    this.end = end
    this.nowMs = nowMs
    this.startedAtMs = startedAtMs
  }

  hasRoomFor(batch: BatchView): boolean {
    return this.batches.length === 0 || this.bytes + batch.bytes.length <= GROUP_BYTES
  }

  /** Returns the producer of a batch, or undefined if the batch names no producer or one that the log does not know. */
  producerOf({ producerId }: BatchView): Producer | undefined {
    return producerId < 0 ? undefined : (this.producers.get(producerId) ?? this.#log.producers.get(producerId))
  }

  /**
   * Compares the sequence of a batch with its producer, which `producerOf` has found. Returns null if the batch is
   * next, so that it may be added. Returns the original if the batch repeats it; the batch then gets the offsets of the
   * original. Returns a refusal if its sequence does not follow.
   */
  check(waiting: Waiting, known: Producer | undefined): ProducerBatch | Refusal | null {
    const { producerId, producerEpoch, baseSequence, lastOffsetDelta } = waiting.batch
    if (producerId < 0) return null
    const lastSequence = lastSequenceOf(baseSequence, lastOffsetDelta)
    const verdict = checkSequence(known, producerId, producerEpoch, baseSequence, lastSequence)
    if (verdict === null || isRefusal(verdict)) return verdict
    waiting.baseOffset = verdict.baseOffset
    waiting.nextOffset = verdict.lastOffset + 1
    waiting.logAppendTimeMs = verdict.logAppendTimeMs
    if (verdict.baseOffset >= this.append.at) this.repeats.push(waiting)
    return verdict
  }

  /** Adds a batch that `check` has found to be next: it gets its offsets. */
  add(waiting: Waiting, known: Producer | undefined): void {
    this.#place(waiting)
    const { producerId, producerEpoch, baseSequence, lastOffsetDelta } = waiting.batch
    if (producerId < 0) return
    const lastSequence = lastSequenceOf(baseSequence, lastOffsetDelta)
    const { baseOffset, nextOffset, logAppendTimeMs } = waiting
    const added = { baseSequence, lastSequence, baseOffset, lastOffset: nextOffset - 1, logAppendTimeMs }
    this.producers.set(producerId, withBatch(known, producerEpoch, added, this.nowMs))
  }

  /** Completes the append with these rows of the partition and the rows of the group's producers. */
  carry(pendingRows: readonly Row[]): void {
    for (const row of pendingRows) this.#rows.push(row)
    this.pendingRows = pendingRows.length
    for (const [producerId, producer] of this.producers) {
      this.#rows.push({ key: producerKey(producerId), value: encodeProducer(producer) })
    }
  }

  #place(waiting: Waiting): void {
    const { messageTimestampType, offsetSequenceBits } = this.#log.topic.resolved
    const { epoch } = this.#log
    const { end, nowMs } = this
    const { batch } = waiting
    const baseOffset = offsetSequenceBits > 0 ? Math.max(end, nowMs * 2 ** offsetSequenceBits) : end
    const stamped = stampFor(waiting, baseOffset, epoch, messageTimestampType === 'LogAppendTime' ? nowMs : -1)
    this.end = waiting.nextOffset
    this.bytes += batch.bytes.length
    this.records += batch.recordCount
    this.batches.push(stamped)
    this.pending.push(waiting)
  }
}

/** Stamps its offsets into a batch: in its own bytes, or in a copy if the store already has those bytes. */
function stampFor(waiting: Placeable, baseOffset: number, epoch: number, logAppendTimeMs: number): Batch {
  const { batch } = waiting
  const bytes = waiting.isHandedOver ? Buffer.from(batch.bytes) : batch.bytes
  if (logAppendTimeMs >= 0) stampAppendTime(bytes, logAppendTimeMs)
  stamp(bytes, baseOffset, epoch)
  waiting.isHandedOver = true
  waiting.baseOffset = baseOffset
  waiting.nextOffset = baseOffset + batch.lastOffsetDelta + 1
  waiting.logAppendTimeMs = logAppendTimeMs
  const maxTimestamp = logAppendTimeMs >= 0 ? logAppendTimeMs : batch.maxTimestamp
  return { baseOffset, nextOffset: waiting.nextOffset, recordCount: batch.recordCount, maxTimestamp, bytes }
}
