// What a leader knows of one partition. All of it is derived from the stream and its rows and can be rebuilt by opening
// the stream again: the stream is the truth. The lane changes it with each append, partition.ts reads it, retention trims it.

import { because, KAFKA_STORAGE_ERROR, type Refusal } from '../protocol/errors.ts'
import { type EpochStart, type Opened, type Row, type StreamId, streamId } from '../store/store.ts'
import type { Topic } from './catalogue.ts'
import { decodeProducer, type Producer, producerIdOf } from './producers.ts'
import type { Tail } from './tail-cache.ts'
import { TimeIndex } from './time-index.ts'
import { Waits } from './waiters.ts'

export class PartitionState {
  /** As the catalogue has it now. */
  topic: Topic
  readonly index: number
  readonly stream: StreamId
  readonly tail: Tail
  readonly waits = new Waits()
  readonly timeIndex = new TimeIndex()
  readonly producers = new Map<number, Producer>()
  epoch = 0
  epochs: readonly EpochStart[] = []
  start = 0
  end = 0
  highWatermark = 0
  /** Live bytes of batches. */
  bytes = 0
  /** Rows that the next append carries, oldest first. Losing them costs nothing that cannot be learned again. */
  readonly pendingRows: Row[] = []
  /** Set for good when the topic is removed or the broker closes: the answer to everything. */
  refusal: Refusal | null = null
  /** Set while appends are refused because of damage. */
  damage: Refusal | null = null

  constructor(topic: Topic, index: number, tail: Tail) {
    this.topic = topic
    this.index = index
    this.stream = streamId(topic.id, index)
    this.tail = tail
  }

  /** For people. */
  get name(): string {
    return `${this.topic.name}-${this.index}`
  }

  /**
   * Takes over what opening the stream found. The tail is kept when the end is where it was left and nobody else has led
   * meanwhile: a floor brings back the end of a log that a store has lost, not its batches.
   */
  adopt(opened: Opened, nowMs: number): void {
    if (opened.end !== this.end || opened.epoch !== this.epoch + 1) this.tail.reset(opened.end)
    // Who believes in another epoch is refused, and waits for nothing.
    if (opened.epoch !== this.epoch) this.waits.wake()
    this.epoch = opened.epoch
    this.epochs = opened.epochs
    this.start = opened.start
    this.end = opened.end
    this.highWatermark = Math.max(this.highWatermark, opened.highWatermark)
    this.bytes = opened.bytes
    this.pendingRows.length = 0
    this.producers.clear()
    for (const [key, value] of opened.rows) {
      const producerId = producerIdOf(key)
      if (producerId !== null) this.producers.set(producerId, decodeProducer(value))
    }
    const { rows, start, end, bytes } = opened
    this.pendingRows.push(...this.timeIndex.adopt(rows, start, end, bytes, nowMs))
    this.damage = opened.damage === null ? null : damaged(this, opened.damage.message)
  }

  /** The store has dropped batches of so many bytes, and the log begins here. */
  dropped(start: number, bytes: number): void {
    this.bytes -= bytes
    this.timeIndex.drop(start, bytes)
    this.raiseStart(start)
  }

  /** The log start has moved up: nothing below it is answered any more. */
  raiseStart(start: number): void {
    if (start <= this.start) return
    this.start = start
    this.epochs = this.epochs.filter((_, i) => (this.epochs[i + 1]?.startOffset ?? Number.POSITIVE_INFINITY) > start)
    this.waits.changed()
  }
}

export function damaged(state: PartitionState, message: string): Refusal {
  return because(KAFKA_STORAGE_ERROR, `${state.name} is damaged and takes no more records: ${message}`)
}
