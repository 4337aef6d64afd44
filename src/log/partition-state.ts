// The leader's knowledge of one partition. All of it comes from the stream and its rows, and opening the stream again
// rebuilds it: the stream is the truth. Only the segments come from a document of their own. The lane changes the state
// with each append, partition.ts reads it and round.ts trims it.

import { because, KAFKA_STORAGE_ERROR, type Refusal } from '../protocol/errors.ts'
import { type EpochStart, type Opened, type Pass, type Row, type StreamId, streamId } from '../store/store.ts'
import type { Topic } from './catalogue.ts'
import { NOT_CLEANED, type Place, placeOf } from './cleaner/place.ts'
import type { ColdSums } from './droppable.ts'
import { decodeProducer, type Producer, producerIdOf, producerKey } from './producers.ts'
import { partitionName } from './refused-batches.ts'
import { archivedEndOf, joinedEpochs, type RemoteLog, type Span, spanWith } from './remote-log.ts'
import { NO_SEGMENTS, type SealedSegments } from './segments.ts'
import type { Tail } from './tail-cache.ts'
import { type Remains, TimeIndex } from './time-index.ts'
import { Waits } from './waiters.ts'

/**
 * The most producers of one partition: about 7 MB. Beyond it the partition forgets the producers that have not appended
 * for the longest time, like idle ones.
 */
export const MOST_PRODUCERS = 10_000
/** Each partition keeps this many producers while all partitions together have too many. */
export const FEW_PRODUCERS = 16
/** The most producers of all partitions together: about 260 MB, or 700 MB if each producer has five batches. */
const MOST_PRODUCERS_OF_ALL = 1_000_000

/** Counts the producers that the partitions of a broker know together. */
export class ProducerCount {
  readonly #most: number
  value = 0

  constructor(most = MOST_PRODUCERS_OF_ALL) {
    this.#most = most
  }

  /** The number of producers above the limit. */
  get excess(): number {
    return Math.max(this.value - this.#most, 0)
  }
}

const NO_SPANS: readonly Span[] = Object.freeze([])

export class PartitionState {
  /** The topic in its current form in the catalogue. */
  topic: Topic
  readonly index: number
  readonly stream: StreamId
  readonly tail: Tail
  readonly waits = new Waits()
  readonly timeIndex = new TimeIndex()
  /** The producers in the order of their last appends; the newest append comes last. */
  readonly producers = new Map<number, Producer>()
  epoch = 0
  epochs: readonly EpochStart[] = []
  start = 0
  end = 0
  highWatermark = 0
  /**
   * No batch was ever kept from this offset up to the end. Equal to the end if there is no such part, and after the
   * next append.
   */
  emptyFrom = 0
  /** Live bytes of batches. */
  bytes = 0
  #sealed: SealedSegments = NO_SEGMENTS
  /** The part of the log that the remote tier has; null if the topic does not use it, or its table was never read. */
  remote: RemoteLog | null = null
  /** The spans above the local start that the archive has and the stream has not; mostly empty. */
  lost: readonly Span[] = NO_SPANS
  /**
   * The refusal of appends to a topic of the remote tier while its table has to be read, else null. Until then it is
   * not known which offsets are in use.
   */
  hold: Refusal | null = null
  /** True from when the topic gave up its part in the remote tier until its document says so. */
  mustLeave = false
  /** Why the table could not be read at the last attempt; null if there was none. */
  whyUnread: string | null = null
  /**
   * Called when the hold is lifted, and when the batches that wait for it have to be refused. Null if none waits.
   */
  holdNews: (() => void) | null = null
  /** The newest version of the table that the leader has seen. It may have changed nothing in this partition. */
  seenVersion = 0
  /** When its document last changed, by the count of remote-news.ts; 0 for a topic that has never been remote. */
  newsAt = 0
  /** The sums that the last round has found below the local start; null if none has looked (remote-round.ts). */
  coldSums: ColdSums | null = null
  /** The incarnation of the store under which the stream was opened (Opened). */
  incarnation = ''
  /** How far the log is cleaned. */
  cleaned: Place = NOT_CLEANED
  /** How far the last pass of rewrites has come. */
  pass: Pass = { to: 0, until: 0 }
  /** Rows that the next append carries, oldest first. If they are lost, the broker learns their content again. */
  readonly pendingRows: Row[] = []
  /** Set for good when the topic is removed or the broker closes. Then it is the answer to every request. */
  refusal: Refusal | null = null
  /** True if the store has lost the stream of an existing topic. `refusal` says so. */
  isLost = false
  readonly #producerCount: ProducerCount
  /** The refusal of appends while the partition is damaged, else null. */
  damage: Refusal | null = null

  constructor(topic: Topic, index: number, tail: Tail, producerCount: ProducerCount) {
    this.#producerCount = producerCount
    this.topic = topic
    this.index = index
    this.stream = streamId(topic.id, index)
    this.tail = tail
  }

  /** The sealed segments. They are loaded before the stream is opened. */
  get sealed(): SealedSegments {
    return this.#sealed
  }

  set sealed(sealed: SealedSegments) {
    this.#sealed = sealed
    this.#lookAtRemote()
  }

  /** Applies a change of the topic. */
  reconfigure(topic: Topic): void {
    this.topic = topic
    this.#lookAtRemote()
  }

  /**
   * True if the topic uses the remote tier. A topic of which the table has records goes on using it until its configs
   * say that they may be deleted: an edited topic pattern must not hide them.
   */
  get isRemote(): boolean {
    const { remoteStorageEnable, remoteLogDeleteOnDisable } = this.topic.resolved
    return remoteStorageEnable || (this.#sealed.remote !== null && !remoteLogDeleteOnDisable)
  }

  /** The lowest offset that clients may read. `start` is the local start; cold offsets lie between them. */
  get logStart(): number {
    return this.remote === null ? this.start : this.remote.logStart
  }

  /** The lowest offset that may be read here; the log start may have passed the local start. */
  get readableFrom(): number {
    return this.remote === null ? this.start : Math.max(this.start, this.remote.logStart)
  }

  /** The end of the offsets that were ever archived; 0 if none were. */
  get archivedEnd(): number {
    return this.remote === null ? 0 : archivedEndOf(this.remote)
  }

  /** The epochs that own offsets at or above the log start, ascending. */
  get allEpochs(): readonly EpochStart[] {
    return this.remote === null ? this.epochs : joinedEpochs(this.remote.epochs, this.epochs)
  }

  /** Returns the span of offsets around this one that only the archive has; null if the stream has the offset. */
  coldSpan(offset: number): Span | null {
    const { remote, start, lost } = this
    if (remote === null || !(offset >= remote.logStart)) return null
    return offset < start ? [remote.logStart, start] : spanWith(lost, offset)
  }

  /**
   * The refusal of appends that do not wait for the end of the hold. During the first attempt to read the table they
   * wait in the lane.
   */
  get firmHold(): Refusal | null {
    return this.whyUnread === null ? null : this.hold
  }

  /** Notes why the table could not be read. */
  failedToRead(why: string): void {
    this.whyUnread = why
    this.#lookAtRemote()
  }

  #lookAtRemote(): void {
    // A topic that is switched on again before the document says that it has left must not get back what it gave up.
    this.mustLeave = this.#sealed.remote !== null && (this.mustLeave || !this.isRemote)
    const remote = this.isRemote && !this.mustLeave ? this.#sealed.remote : null
    this.remote = remote
    this.lost = remote === null ? NO_SPANS : remote.lost
    this.hold = this.isRemote && this.epoch > 0 ? this.#holdOf(remote) : null
    if (this.hold === null) this.whyUnread = null
    if (this.hold === null || this.whyUnread !== null) this.holdNews?.()
  }

  #holdOf(remote: RemoteLog | null): Refusal | null {
    const isRead = remote !== null && remote.readUnder === this.incarnation && archivedEndOf(remote) <= this.end
    if (isRead) return null
    const why = this.whyUnread === null ? 'it is being read' : this.whyUnread
    return because(
      KAFKA_STORAGE_ERROR,
      `${this.name} takes no records until the table of its topic in the remote tier was read: ${why}.`,
    )
  }

  /** The beginning of the active segment: the end of the last sealed one, or the local start if that is higher. */
  get activeFrom(): number {
    return Math.max(this.#sealed.end, this.start)
  }

  /** The name of the partition, for messages. */
  get name(): string {
    return partitionName(this.topic.name, this.index)
  }

  /**
   * Takes over the result of opening the stream. The tail is kept if the end is unchanged and no other broker has led
   * meanwhile. If a store has lost a log, the floor of the opening brings back its end but not its batches. Returns why
   * the row with the place of the cleaner cannot be read; null if it can. Then the cleaner begins anew.
   */
  adopt(opened: Opened, nowMs: number): string | null {
    if (opened.end !== this.end || opened.epoch !== this.epoch + 1) this.tail.reset(opened.end)
    // A client with another epoch is refused, so it must not wait any longer.
    if (opened.epoch !== this.epoch) this.waits.wake()
    this.epoch = opened.epoch
    this.epochs = opened.epochs
    this.start = opened.start
    this.end = opened.end
    this.emptyFrom = opened.emptyFrom
    this.highWatermark = Math.max(this.highWatermark, opened.highWatermark)
    this.bytes = opened.bytes
    const { place, why } = placeOf(opened)
    this.cleaned = place
    this.pass = opened.pass
    this.pendingRows.length = 0
    this.clearProducers()
    const producers: [id: number, Producer][] = []
    for (const [key, value] of opened.rows) {
      const producerId = producerIdOf(key)
      if (producerId !== null) producers.push([producerId, decodeProducer(value)])
    }
    producers.sort(([, one], [, other]) => one.lastAppendMs - other.lastAppendMs)
    for (const [producerId, producer] of producers) this.learnProducer(producerId, producer)
    this.forgetOldestProducers(producers.length)
    this.pendingRows.push(...this.timeIndex.adopt(opened.rows, { ...opened, activeFrom: this.activeFrom }, nowMs))
    this.damage = opened.damage === null ? null : damaged(this, opened.damage.message)
    this.incarnation = opened.incarnation
    this.#lookAtRemote()
    return why
  }

  /** Remembers a producer that has a batch in the log. */
  learnProducer(producerId: number, producer: Producer): void {
    // A partition that has ended must not remember producers, because it would not give the memory back.
    if (this.refusal !== null) return
    const before = this.producers.size
    // A single producer is already the last one.
    if (before > 1) this.producers.delete(producerId)
    this.producers.set(producerId, producer)
    this.#producerCount.value += this.producers.size - before
  }

  /** Forgets all producers; their stored rows stay. */
  clearProducers(): void {
    this.#producerCount.value -= this.producers.size
    this.producers.clear()
  }

  /**
   * Forgets the oldest producers until only as many are left as the limits allow. `learned` is the number of producers
   * that are new here since the last call. The next write removes the rows of the forgotten producers.
   */
  forgetOldestProducers(learned: number): void {
    const { size } = this.producers
    const tooMany = Math.min(learned, this.#producerCount.excess)
    const most = Math.min(MOST_PRODUCERS, Math.max(size - tooMany, FEW_PRODUCERS))
    if (size <= most) return
    for (const producerId of this.producers.keys()) {
      this.forgetProducer(producerId)
      if (this.producers.size <= most) return
    }
  }

  /** Forgets a producer. The next write removes its row. */
  forgetProducer(producerId: number): void {
    if (this.producers.delete(producerId)) this.#producerCount.value--
    this.pendingRows.push({ key: producerKey(producerId), value: null })
  }

  /** Marks the partition as lost. Every request is refused until the partition is created again. */
  lose(): void {
    this.isLost = true
    this.clearProducers()
    this.refusal = because(
      KAFKA_STORAGE_ERROR,
      `The store has lost ${this.name}; it begins again, empty, once all of its records are deleted (DeleteRecords to -1).`,
    )
    this.waits.wake()
    this.holdNews?.()
  }

  /** Updates the state after the store has dropped this many bytes of batches. The log begins at `start`. */
  dropped(start: number, bytes: number): void {
    this.bytes -= bytes
    this.timeIndex.drop(start, bytes)
    this.raiseStart(start)
  }

  /**
   * Updates the state after the store has rewritten the range from `from` to `pass.to`, whose batches had
   * `bytesBefore`.
   */
  rewritten(from: number, pass: Pass, place: Place, bytesBefore: number, remains: Remains): void {
    this.pass = { to: pass.to, until: pass.until }
    this.cleaned = place
    this.bytes += remains.bytes - bytesBefore
    this.timeIndex.commitRewritten(from, pass.to, remains)
    this.tail.dropBelow(pass.to)
  }

  /** Moves the local start up. From now on the stream answers no offset below it. */
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
