// The form of percentiles in a JSON answer, which has no NaN.

import type { Percentiles } from '../telemetry/step-histogram.ts'

/** Returns null for a percentile without a measurement. */
export function latencyBody({ p50, p95, p99 }: Percentiles) {
  const orNull = (value: number) => (Number.isNaN(value) ? null : value)
  return { p50: orNull(p50), p95: orNull(p95), p99: orNull(p99) }
}
