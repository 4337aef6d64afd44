// The course of the broker's numbers over the chosen range: its history on an even grid of times, with a gap wherever
// the broker has no sample, so that a break is seen as a break.

import type { z } from 'zod'
import type { metricsHistoryShape } from '../../../src/api/metrics.ts'
import type { RANGES } from '../../../src/api/pages.ts'
import { duration } from '../../text/format.ts'
import { timeOfDay, type Zone } from '../../text/zone.ts'

export type History = z.output<typeof metricsHistoryShape>
export type Sample = History['samples'][number]
export type Range = (typeof RANGES)[number]

const MINUTE_MS = 60_000

interface RangeRow {
  readonly label: string
  readonly lengthMs: number
  /** The wanted time between two points. The broker combines its own steps; it splits none. */
  readonly stepMs: number
}

/** Both ranges have about sixty points: as many as a chart can show, and a small answer. */
export const RANGE_ROWS: Readonly<Record<Range, RangeRow>> = {
  '15m': { label: '15 min', lengthMs: 15 * MINUTE_MS, stepMs: 15_000 },
  '1h': { label: '1 h', lengthMs: 60 * MINUTE_MS, stepMs: MINUTE_MS },
}

/** The start of the query moves in jumps, so that two polls ask for the same address. */
const FROM_STEP_MS = 5 * MINUTE_MS

/** Returns the query of a range at this time, in ms since 1970. */
export function historyQuery(range: Range, nowMs: number) {
  const { lengthMs, stepMs } = RANGE_ROWS[range]
  const from = Math.floor((nowMs - lengthMs) / FROM_STEP_MS) * FROM_STEP_MS
  return { scope: 'cluster', from, step: stepMs } as const
}

export interface Course {
  /** The ends of the steps, in ms since 1970, oldest first: evenly over the whole range. */
  readonly times: readonly number[]
  /** The sample of each time; null where the broker has none. */
  readonly samples: readonly (Sample | null)[]
  readonly latest: Sample | null
  /** The start of the first sample, if the history is shorter than the range; else null. */
  readonly startsAtMs: number | null
  /** The number of failed requests, and of lossy records, in the range. */
  readonly failures: number
  readonly lossyRecords: number
}

/** Returns the history on the grid of a range. The grid ends with the newest sample. */
export function courseOf({ samples, intervalMs }: Pick<History, 'samples' | 'intervalMs'>, range: Range): Course {
  const { lengthMs, stepMs: wantedMs } = RANGE_ROWS[range]
  const stepMs = Math.max(1, Math.floor(wantedMs / intervalMs)) * intervalMs
  const points = Math.max(2, Math.floor(lengthMs / stepMs))
  const latest = samples.at(-1) ?? null
  if (latest === null) return { times: [], samples: [], latest, startsAtMs: null, failures: 0, lossyRecords: 0 }

  const startMs = latest.timestamp - (points - 1) * stepMs
  const grid: (Sample | null)[] = Array(points).fill(null)
  for (const sample of samples) {
    const at = Math.round((sample.timestamp - startMs) / stepMs)
    if (at >= 0) grid[at] = sample
  }
  const shown = grid.filter(sample => sample !== null)
  const count = (rateOf: (sample: Sample) => number) =>
    Math.round(shown.reduce((sum, sample) => sum + (rateOf(sample) * stepMs) / 1000, 0))
  return {
    times: grid.map((sample, at) => sample?.timestamp ?? startMs + at * stepMs),
    samples: grid,
    latest,
    // The first point alone may be missing because the grid begins between two steps.
    startsAtMs: grid[0] === null && grid[1] === null ? shown[0]!.timestamp - stepMs : null,
    failures: count(sample => sample.brokerFailuresPerSecond),
    lossyRecords: count(sample => sample.lossyRecordsPerSecond),
  }
}

/** Returns a sentence if the history is shorter than the range, else null. The broker is the one that answers. */
export function shortHistory(
  { startsAtMs, latest }: Course,
  { intervalMs, retentionMs }: Pick<History, 'intervalMs' | 'retentionMs'>,
  brokerStartedAtMs: number | null,
  zone: Zone,
): string | null {
  if (startsAtMs === null || latest === null) return null
  const start = `History starts at ${timeOfDay(startsAtMs, zone).slice(0, 5)}`
  if (latest.timestamp - startsAtMs >= retentionMs - intervalMs)
    return `${start}: the broker keeps ${duration(retentionMs)}.`
  const isStart = brokerStartedAtMs !== null && brokerStartedAtMs >= startsAtMs - MINUTE_MS
  return isStart ? `${start}, when this broker started.` : `${start}.`
}
