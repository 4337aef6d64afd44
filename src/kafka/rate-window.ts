// Measures a rate over the last ten seconds and the current one, as Apache Kafka's quotas do (metrics.stats.Rate over
// SampledStat with quota.window.num=11 and quota.window.size.seconds=1). It also computes how long to wait until the
// rate is within a limit again (QuotaUtils). It has no clock: callers pass the time, in milliseconds that do not go
// back.

const SAMPLE_MS = 1000
const SAMPLES = 11

/** The length of the window in milliseconds. A window is empty after this time without a record. */
export const WINDOW_MS = SAMPLES * SAMPLE_MS

/** One slot more than samples, for the sample that began before the window and reaches into it. */
const SLOTS = SAMPLES + 1

export class RateWindow {
  readonly #values = new Float64Array(SLOTS)
  readonly #startedMs = new Float64Array(SLOTS)
  readonly #recordedMs = new Float64Array(SLOTS)
  #used = 1
  #current = 0
  lastRecordedMs: number

  constructor(nowMs: number) {
    this.#startedMs[0] = nowMs
    this.#recordedMs[0] = nowMs
    this.lastRecordedMs = nowMs
  }

  record(value: number, nowMs: number): void {
    if (nowMs - this.#startedMs[this.#current]! >= SAMPLE_MS) {
      this.#current = (this.#current + 1) % SLOTS
      this.#used = Math.max(this.#used, this.#current + 1)
      this.#reset(this.#current, nowMs)
    }
    this.#values[this.#current]! += value
    this.#recordedMs[this.#current] = nowMs
    this.lastRecordedMs = nowMs
  }

  /** Returns the sum of the values that were recorded within the window. */
  sum(nowMs: number): number {
    let sum = 0
    for (let slot = 0; slot < this.#used; slot++) {
      if (nowMs - this.#recordedMs[slot]! >= WINDOW_MS) this.#reset(slot, nowMs)
      sum += this.#values[slot]!
    }
    return sum
  }

  /** Returns the milliseconds until the rate is at most `perSecond`, if nothing is added; 0 if it already is. */
  excessMs(perSecond: number, nowMs: number): number {
    const sum = this.sum(nowMs)
    const spanMs = this.#spanMs(nowMs)
    const rate = sum / (spanMs / 1000)
    return rate <= perSecond ? 0 : Math.round(((rate - perSecond) / perSecond) * spanMs)
  }

  /**
   * Returns the time over which the rate is computed. It is at least ten whole samples, so that a first burst is not
   * a high rate.
   */
  #spanMs(nowMs: number): number {
    let oldestMs = this.#startedMs[0]!
    for (let slot = 1; slot < this.#used; slot++) oldestMs = Math.min(oldestMs, this.#startedMs[slot]!)
    const elapsedMs = nowMs - oldestMs
    const missing = SAMPLES - 1 - Math.floor(elapsedMs / SAMPLE_MS)
    return Math.max(1, elapsedMs + Math.max(0, missing) * SAMPLE_MS)
  }

  #reset(slot: number, nowMs: number): void {
    this.#values[slot] = 0
    this.#startedMs[slot] = nowMs
    this.#recordedMs[slot] = nowMs
  }
}

/** Returns the largest value that an empty window can record at once without exceeding `perSecond`. */
export function burstOf(perSecond: number): number {
  return perSecond * (SAMPLES - 1) * (SAMPLE_MS / 1000)
}
