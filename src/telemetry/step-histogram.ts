// A histogram of durations since the last `clear`. It is fine enough for percentiles; the buckets of a scrape are too
// wide. It is log-linear like HdrHistogram, with sixteen buckets for each doubling. A percentile is within 3.2 % of the
// observed duration, or within 8 µs below half a millisecond. It takes milliseconds up to 524 s and counts a longer
// duration as 524 s.
//
//   units of 1/64 ms:  0 1 2 ... 31 │ 32 34 ... 62 │ 64 68 ... 124 │ 128 136 ...
//   bucket:            0 1 2 ... 31 │ 32 33 ... 47 │ 48 49 ...  63 │  64  65 ...

const UNITS_PER_MS = 64
/** Each number of units below this has a bucket of its own. */
const LINEAR = 32
const LINEAR_BITS = 5
const STEP_BITS = 4
const STEPS = 2 ** STEP_BITS
const MAX_BITS = 25
const MAX_UNITS = 2 ** MAX_BITS - 1
const BUCKETS = LINEAR + (MAX_BITS - LINEAR_BITS) * STEPS

/** In milliseconds; NaN if there was no observation. */
export interface Percentiles {
  readonly p50: number
  readonly p95: number
  readonly p99: number
}

export const NO_PERCENTILES: Percentiles = Object.freeze({ p50: Number.NaN, p95: Number.NaN, p99: Number.NaN })

/**
 * Returns the highest of each percentile; NaN if none is known. If the observations behind them were taken together,
 * their percentile would be at most that.
 */
export function highest(all: readonly Percentiles[]): Percentiles {
  let { p50, p95, p99 } = NO_PERCENTILES
  for (const each of all) {
    p50 = larger(p50, each.p50)
    p95 = larger(p95, each.p95)
    p99 = larger(p99, each.p99)
  }
  return { p50, p95, p99 }
}

/** Returns the larger number; the other one if one of them is NaN. */
function larger(one: number, other: number): number {
  return one >= other || Number.isNaN(other) ? one : other
}

export class StepHistogram {
  /** Null until the first observation, because most topics are idle. */
  #counts: Uint32Array | null = null
  #total = 0
  /** The range of the buckets in use. `clear` and `add` visit only this range. */
  #low = BUCKETS
  #high = -1

  get total(): number {
    return this.#total
  }

  record(ms: number): void {
    const units = ms > 0 ? Math.min(ms * UNITS_PER_MS, MAX_UNITS) | 0 : 0
    const bucket = bucketOf(units)
    this.#counts ??= new Uint32Array(BUCKETS)
    this.#counts[bucket]!++
    this.#total++
    if (bucket < this.#low) this.#low = bucket
    if (bucket > this.#high) this.#high = bucket
  }

  /** Adds all observations of another histogram. */
  add(other: StepHistogram): void {
    if (other.#counts === null || other.#total === 0) return
    this.#counts ??= new Uint32Array(BUCKETS)
    for (let bucket = other.#low; bucket <= other.#high; bucket++) this.#counts[bucket]! += other.#counts[bucket]!
    this.#total += other.#total
    this.#low = Math.min(this.#low, other.#low)
    this.#high = Math.max(this.#high, other.#high)
  }

  clear(): void {
    if (this.#total === 0) return
    this.#counts!.fill(0, this.#low, this.#high + 1)
    this.#total = 0
    this.#low = BUCKETS
    this.#high = -1
  }

  percentiles(): Percentiles {
    if (this.#total === 0) return NO_PERCENTILES
    return { p50: this.#percentile(0.5), p95: this.#percentile(0.95), p99: this.#percentile(0.99) }
  }

  /** Returns the middle of the bucket that has the observation of this rank, in milliseconds. */
  #percentile(share: number): number {
    const rank = Math.max(1, Math.ceil(share * this.#total))
    let passed = 0
    let bucket = this.#low
    for (; bucket < this.#high; bucket++) {
      passed += this.#counts![bucket]!
      if (passed >= rank) break
    }
    return middleOf(bucket) / UNITS_PER_MS
  }
}

function bucketOf(units: number): number {
  if (units < LINEAR) return units
  const bits = 31 - Math.clz32(units)
  return LINEAR + (bits - LINEAR_BITS) * STEPS + ((units >> (bits - STEP_BITS)) & (STEPS - 1))
}

function middleOf(bucket: number): number {
  if (bucket < LINEAR) return bucket + 0.5
  const width = 2 ** (Math.floor((bucket - LINEAR) / STEPS) + LINEAR_BITS - STEP_BITS)
  return (STEPS + ((bucket - LINEAR) % STEPS)) * width + width / 2
}
