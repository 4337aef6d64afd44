// The last hour of a topic in as many steps as a sparkline has room for.

const HOUR_MS = 3_600_000
/** One step a minute. */
const STEPS = 60
const STEP_MS = HOUR_MS / STEPS

interface Sample {
  /** The end of its step in ms since 1970. */
  readonly timestamp: number
  readonly recordsPerSecond: number
}

/** Returns the newest time of all samples; 0 without samples. Sparklines that end with it are comparable. */
export function newestOf(topics: readonly { readonly samples: readonly Sample[] }[]): number {
  return Math.max(0, ...topics.map(({ samples }) => samples.at(-1)?.timestamp ?? 0))
}

/** Returns the mean rate of each step of the hour before a time, oldest first; null where no sample is. */
export function lastHour(samples: readonly Sample[], endMs: number): readonly (number | null)[] {
  const sums = Array.from({ length: STEPS }, () => ({ total: 0, count: 0 }))
  for (const { timestamp, recordsPerSecond } of samples) {
    const sum = sums[STEPS - 1 - Math.floor((endMs - timestamp) / STEP_MS)]
    if (sum === undefined) continue
    sum.total += recordsPerSecond
    sum.count++
  }
  return sums.map(({ total, count }) => (count === 0 ? null : total / count))
}
