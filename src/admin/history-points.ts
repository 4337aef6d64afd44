// The history of the metrics in a few points, for readers that have no room for every step.

import type { MetricsHistoryBody, MetricsHistoryQuery } from '../api/metrics.ts'
import type { Clock } from '../base/clock.ts'
import { type ShownMetricsRooms, showHistory } from './shown-metrics.ts'

export interface PointsRequest extends Pick<MetricsHistoryQuery, 'scope'> {
  /** Milliseconds since 1970; undefined for the start of this broker's history. */
  readonly from: number | undefined
  /** Undefined for the smallest step that gives at most `points`. */
  readonly step: number | undefined
  readonly points: number
}

export interface HistoryPoints extends MetricsHistoryBody {
  /** The question that gives these samples: `from` and `step` of /api/v1/metrics/history. */
  readonly from: number
  readonly stepMs: number
  /** At most as many as were asked for, the oldest first. */
  readonly samples: MetricsHistoryBody['samples']
  /** The number of samples in all. */
  readonly total: number
}

/** Resolves to the samples from a time on, combined to steps. */
export async function readPoints(
  rooms: ShownMetricsRooms & { readonly clock: Clock },
  { scope, points, ...asked }: PointsRequest,
): Promise<HistoryPoints> {
  const { intervalMs, retentionMs, startedAtMs } = rooms.history
  const nowMs = Math.round(rooms.clock.now())
  const from = asked.from ?? Math.max(startedAtMs, nowMs - retentionMs)
  const spanMs = Math.max(0, nowMs - Math.max(from, nowMs - retentionMs))
  const fitting = Math.ceil(spanMs / Math.max(1, points - 1) / intervalMs) * intervalMs
  const stepMs = asked.step ?? Math.max(intervalMs, fitting)
  const found = await (await showHistory(rooms, { scope, from, step: stepMs })).answer()
  return { ...found, from, stepMs, samples: found.samples.slice(0, points), total: found.samples.length }
}
