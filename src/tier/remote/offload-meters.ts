// Counts what the holder has done: the metrics of the offload, the counts of its reports, and the speed of the last
// minute.

import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import { jobId, type OffloadJob } from '../offload/jobs.ts'

export type TierPhase = 'offload' | 'remote-retention' | 'upkeep'

const MINUTE_MS = 60_000
const COMPLAIN_EVERY_MS = 60_000

export interface OffloadCounts {
  readonly segments: number
  readonly bytes: number
  readonly failures: number
}

const NOTHING: OffloadCounts = Object.freeze({ segments: 0, bytes: 0, failures: 0 })

export class OffloadMeters {
  readonly #clock: Clock
  readonly #metrics: Metrics
  readonly #logger: Logger
  #counts = NOTHING
  /** The offloads of the last minute. */
  #recent: { readonly atMs: number; readonly bytes: number }[] = []

  constructor({ clock, metrics, logger }: { clock: Clock; metrics: Metrics; logger: Logger }) {
    this.#clock = clock
    this.#metrics = metrics
    this.#logger = logger
  }

  /** A segment is in the table; `tookMs` is the time of its attempt. */
  done({ bytes }: OffloadJob, tookMs: number): void {
    const { segments, bytes: before, failures } = this.#counts
    this.#counts = { segments: segments + 1, bytes: before + bytes, failures }
    this.#recent.push({ atMs: this.#clock.monotonic(), bytes })
    this.#metrics.count('svc.storage.archive.segments', {})
    this.#metrics.count('svc.storage.archive.bytes', {}, bytes)
    this.#metrics.observe('svc.storage.archive', { result: 'success' }, tookMs)
  }

  /** A file with this many records was committed. */
  wrote(records: number): void {
    this.#metrics.observe('svc.storage.write.messages', { tier: 'remote' }, records)
  }

  /** An attempt is spent. */
  failed(job: OffloadJob, why: string, offset: number | null, tookMs: number): void {
    this.#counts = { ...this.#counts, failures: this.#counts.failures + 1 }
    const type = offset === null ? 'failed' : 'damaged_batch'
    this.#metrics.count('svc.storage.archive.failures', { error_type: type })
    this.#metrics.observe('svc.storage.archive', { result: 'error' }, tookMs)
    const { topicName: topic, partition, attempts, maxAttempts } = job
    this.#logger.warn('a segment was not offloaded', {
      ...{ job: jobId(job), topic, partition, attempt: `${attempts} of ${maxAttempts}`, reason: why },
      ...(offset !== null && { offset }),
    })
  }

  /** A step for a table failed. */
  phaseFailed(phase: TierPhase, topic: string, error: unknown): void {
    this.#counts = { ...this.#counts, failures: this.#counts.failures + 1 }
    const name = error instanceof Error ? error.name : 'unknown'
    this.#metrics.count('svc.storage.worker.failures', { phase, error_type: name })
    this.#logger
      .limited(`${phase} ${name}`, COMPLAIN_EVERY_MS)
      .warn(`the phase ${phase} of the storage worker failed; the next round tries again`, { topic, error })
  }

  /** Returns the counts since the last call. */
  take(): OffloadCounts {
    const counts = this.#counts
    this.#counts = NOTHING
    return counts
  }

  perMinute(): { readonly segmentsPerMin: number; readonly bytesPerMin: number } {
    const fromMs = this.#clock.monotonic() - MINUTE_MS
    this.#recent = this.#recent.filter(({ atMs }) => atMs > fromMs)
    const bytesPerMin = this.#recent.reduce((sum, { bytes }) => sum + bytes, 0)
    return { segmentsPerMin: this.#recent.length, bytesPerMin }
  }
}
