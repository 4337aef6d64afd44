// The cleaner of a broker. It says which partitions are due, and cleans one at a time, with one map and one thread. It
// has no timer: the round of the storage worker asks for the candidates and has them cleaned. A batch that cannot be
// cleaned ends the cleaning of its partition; reading and retention go on. While the store takes no writes, the
// cleaner waits for the next round.

import { workInTurn } from '../../base/in-turn.ts'
import { StoreUnavailable } from '../../store/store.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import type { Partition } from '../partition.ts'
import { type Dirtiness, dirtinessOf } from './choose.ts'
import { cleanPass, type PassCounts, type PassResult, type PassRooms } from './pass.ts'
import { isInterrupted } from './place.ts'

export interface CleanerRooms extends Omit<PassRooms, 'isStopped'> {
  readonly logger: Logger
  readonly metrics: Metrics
  /** Returns the offset below which no append changes the log: the end of its last sealed segment. */
  cleanableUpTo(partition: Partition): number
  /** Ends the thread. */
  stop(): Promise<void>
}

export interface Candidate extends Dirtiness {
  readonly partition: Partition
}

export interface CleanLimits {
  /** The offset up to which the log is cleaned; by default as far as it may be. */
  readonly upTo?: number
  isOver?(): boolean
}

export interface CleanReport extends PassCounts {
  /** `waits`: the store takes no writes now. The other words are those of PassResult. */
  readonly outcome: PassResult['outcome'] | 'waits'
  readonly passes: number
}

export class Cleaner {
  readonly #rooms: CleanerRooms
  readonly #inTurn = workInTurn()
  #isStopped = false

  constructor(rooms: CleanerRooms) {
    this.#rooms = rooms
  }

  /**
   * Returns the partitions that are due, the dirtiest first. The gauges of the dirtiest partition and the oldest dirty
   * record show the state of this moment, over all partitions that can be cleaned.
   */
  candidates(partitions: Iterable<Partition>, nowMs: number): readonly Candidate[] {
    const { metrics } = this.#rooms
    const due: Candidate[] = []
    let maxRatio = 0
    let oldestMs = 0
    for (const partition of partitions) {
      const candidate = this.#look(partition, nowMs)
      if (candidate === null) continue
      maxRatio = Math.max(maxRatio, candidate.ratio)
      oldestMs = Math.max(oldestMs, candidate.oldestMs)
      if (candidate.isDue) due.push(candidate)
    }
    metrics.child('svc.storage.cleaner.max_dirty_ratio', {}).set(maxRatio)
    metrics.child('svc.storage.cleaner.oldest_dirty_age_seconds', {}).set(oldestMs / 1_000)
    return due.sort((one, other) => other.ratio - one.ratio)
  }

  /**
   * Cleans a partition after all earlier calls. Makes passes until all keys of its dirty part have been mapped, or
   * `isOver` returns true: then the pass in progress ends with its current piece. `now` returns the time by which data
   * ages. Throws OutcomeUnknown of the store; a later call finishes the pass.
   */
  clean(
    partition: Partition,
    now: () => number,
    { upTo = this.#look(partition, now())?.upTo ?? 0, isOver = () => false }: CleanLimits = {},
  ): Promise<CleanReport> {
    return this.#inTurn(() => this.#clean(partition, now, upTo, () => this.#isStopped || isOver()))
  }

  /** Ends the pass in progress with its current piece, and the thread. */
  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#inTurn(() => this.#rooms.stop())
  }

  #look(partition: Partition, nowMs: number): Candidate | null {
    const { state, uncleanable } = partition
    const { refusal, damage, epoch, topic, cleaned, start, timeIndex } = state
    if (!topic.resolved.cleanupPolicy.includes('compact') || uncleanable !== null) return null
    if (refusal !== null || damage !== null || epoch === 0) return null
    const sealedTo = Math.min(this.#rooms.cleanableUpTo(partition), partition.lastStableOffset)
    const cleanedTo = Math.max(cleaned.cleanedTo, start)
    const place = { cleanedTo, sealedTo, isInterrupted: isInterrupted(state) }
    return { partition, ...dirtinessOf(timeIndex.chunks, place, topic.resolved, nowMs) }
  }

  async #clean(partition: Partition, now: () => number, upTo: number, isStopped: () => boolean): Promise<CleanReport> {
    const rooms = { ...this.#rooms, isStopped }
    const sum: { -readonly [K in keyof CleanReport]: CleanReport[K] } = {
      outcome: 'ended',
      passes: 0,
      bytesKept: 0,
      bytesDropped: 0,
      recordsKept: 0,
      recordsDropped: 0,
      keylessDropped: 0,
    }
    // A call that waited for its turn must not start the thread again.
    if (isStopped()) return sum
    do {
      const isResumed = isInterrupted(partition.state)
      // A tombstone stays for delete.retention.ms after the pass that found it, and not after the first of these.
      const result = await this.#pass(rooms, partition, upTo, now())
      if (result === null) return { ...sum, outcome: 'waits' }
      sum.outcome = result.outcome
      sum.passes++
      for (const name of NUMBERS) sum[name] += result[name]
      if (result.outcome === 'done' && isResumed && partition.state.cleaned.cleanedTo < upTo) sum.outcome = 'partly'
    } while (sum.outcome === 'partly')
    return sum
  }

  /** Makes one pass and counts it. Resolves with null if the store takes no writes. */
  async #pass(rooms: PassRooms, partition: Partition, upTo: number, nowMs: number): Promise<PassResult | null> {
    const { metrics, logger } = this.#rooms
    const { name } = partition.state
    try {
      const result = await cleanPass(rooms, partition, upTo, nowMs)
      metrics.count('svc.storage.cleaner.passes', { result: result.outcome })
      metrics.count('svc.storage.cleaner.bytes', { result: 'kept' }, result.bytesKept)
      metrics.count('svc.storage.cleaner.bytes', { result: 'dropped' }, result.bytesDropped)
      metrics.count('svc.storage.cleaner.records', { result: 'kept' }, result.recordsKept)
      metrics.count('svc.storage.cleaner.records', { result: 'dropped' }, result.recordsDropped)
      metrics.count('svc.storage.cleaner.keyless_records', {}, result.keylessDropped)
      if (result.outcome === 'uncleanable') {
        metrics.count('svc.storage.worker.failures', { phase: 'cleaning', error_type: 'UncleanableBatch' })
        logger.error(
          'a partition is no longer cleaned, because one of its batches cannot be read; reading and retention go on. The cleaner tries again when the partition is opened again, as after a restart, or when a config of the topic changes',
          { partition: name, offset: partition.uncleanable?.offset, because: partition.uncleanable?.why },
        )
      }
      return result
    } catch (error) {
      metrics.count('svc.storage.cleaner.passes', { result: 'failed' })
      if (!(error instanceof StoreUnavailable)) throw error
      metrics.count('svc.storage.worker.failures', { phase: 'cleaning', error_type: error.name })
      logger
        .limited('cleaner-waits', 60_000)
        .warn('the store takes no writes; the cleaner waits until the next round', { partition: name, error })
      return null
    }
  }
}

const NUMBERS = ['bytesKept', 'bytesDropped', 'recordsKept', 'recordsDropped', 'keylessDropped'] as const
