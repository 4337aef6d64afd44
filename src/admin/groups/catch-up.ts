// Tells whether a group catches up with the end of a log, from rates and from the history of its lag. This file reads
// nothing: its numbers come from explain-lag.ts. Each rate says where it comes from and over which time.
//
//   lag 0                                             caught-up
//   no member owns the partition, nothing moves       never, no-owner; unknown while the group rebalances
//   nothing moves for a while                         never, not-moving
//   it consumes more than is produced                 catches-up, in lag / (consumed - produced) seconds
//   it consumes as much, and is seconds behind        keeps-up
//   it consumes less                                  never, slower

import type { GroupSample } from '../../telemetry/history.ts'
import type { GroupPosition } from '../contract.ts'

/** `history`: the metrics of past steps. `positions`: two looks at offsets. `commits`: the times of two commits. */
export type RateOrigin = 'history' | 'positions' | 'commits'

export interface Rate {
  readonly recordsPerSecond: number
  readonly from: RateOrigin
  readonly overSeconds: number
}

export type Verdict = 'caught-up' | 'keeps-up' | 'catches-up' | 'never' | 'unknown'
export type Reason =
  | 'no-owner'
  | 'slower'
  | 'not-moving'
  | 'unknown-lag'
  | 'unknown-rates'
  | 'just-moved'
  | 'rebalancing'
  | 'no-positions'

export interface CatchUp {
  readonly verdict: Verdict
  /** Null unless it never catches up, or that is unknown. */
  readonly reason: Reason | null
  /** The time to catch up at these rates; null if it never does, or if that is unknown. */
  readonly seconds: number | null
  /** A sentence with the numbers. It names nothing. */
  readonly why: string
}

/** A consumer with the usual settings commits every 5 s. Only after a longer silence nothing moves. */
const QUIET_SECONDS = 10
/** A group that is at most this many seconds of production behind, and does not fall back, keeps up. */
const KEEPS_UP_SECONDS = 10
/** The part of the produced records by which a rate may be wrong. */
const TOLERANCE = 0.05

export function judgeCatchUp({
  lag,
  hasOwner,
  isRebalancing = false,
  produce,
  consume,
}: {
  readonly lag: number | null
  readonly hasOwner: boolean
  /** True while the members agree anew who owns which partition. */
  readonly isRebalancing?: boolean
  readonly produce: Rate | null
  readonly consume: Rate | null
}): CatchUp {
  if (lag === null) return unknown('unknown-lag', 'The lag is not known.')
  if (lag === 0) return { verdict: 'caught-up', reason: null, seconds: 0, why: 'No record is left to deliver.' }
  const consumed = consume?.recordsPerSecond ?? 0
  if (!hasOwner && consumed === 0)
    return isRebalancing
      ? unknown('rebalancing', `${lag} records wait, and the members are sharing the partitions out.`)
      : never('no-owner', `${lag} records wait, and no member owns them.`)
  if (produce === null || consume === null)
    return unknown('unknown-rates', `${lag} records wait, and the rates are not known.`)
  if (consumed === 0) {
    const seconds = inWords(consume.overSeconds)
    if (consume.overSeconds < QUIET_SECONDS)
      return unknown('just-moved', `${lag} records wait. Nothing moved for ${seconds} s, which is too short to judge.`)
    return never('not-moving', `${lag} records wait, and nothing moved for at least ${seconds} s.`)
  }
  const produced = produce.recordsPerSecond
  const rates = `${inWords(consumed)} records a second are consumed and ${inWords(produced)} are produced`
  const surplus = consumed - produced
  if (lag <= KEEPS_UP_SECONDS * produced && Math.abs(surplus) <= TOLERANCE * produced) {
    const seconds = rounded(lag / consumed)
    return { verdict: 'keeps-up', reason: null, seconds, why: `It is ${inWords(lag / produced)} s behind: ${rates}.` }
  }
  if (surplus <= 0) return never('slower', `${lag} records wait: ${rates}.`)
  const seconds = rounded(lag / surplus)
  return { verdict: 'catches-up', reason: null, seconds, why: `${lag} records wait: ${rates}.` }
}

export interface Rates {
  readonly produce: Rate | null
  readonly consume: Rate | null
}

/** A partition of a group with its own verdict. */
export interface JudgedPartition {
  readonly lag: number | null
  readonly catchUp: CatchUp
}

/**
 * Judges a group by its partitions and its own rates. One partition that never catches up is enough for the group. Only
 * a long time shows whether a partition is too slow, so there the history counts, if it has the rates.
 */
export function judgeGroup(
  totalLag: number | null,
  partitions: readonly JudgedPartition[],
  { produce, consume }: Rates,
): CatchUp {
  if (partitions.length === 0) return unknown('no-positions', 'The group has no position in any partition.')
  const lagging = partitions.filter(({ lag }) => lag !== 0)
  const stuck = (reason: CatchUp['reason']) =>
    lagging.filter(({ catchUp }) => catchUp.verdict === 'never' && catchUp.reason === reason)
  const told = (its: readonly JudgedPartition[], why: string): CatchUp => {
    const records = its.reduce((sum, { lag }) => sum + lag!, 0)
    return { ...its[0]!.catchUp, why: `${records} records wait in ${its.length} partitions ${why}.` }
  }
  const [unowned, still, slow] = [stuck('no-owner'), stuck('not-moving'), stuck('slower')]
  if (unowned.length > 0) return told(unowned, 'that no member owns')
  if (still.length > 0) return told(still, 'in which nothing moves')
  if (lagging.some(({ lag }) => lag === null)) return unknown('unknown-lag', 'The lag of some partitions is not known.')
  if (consume?.from === 'history') return judgeCatchUp({ lag: totalLag, hasOwner: true, produce, consume })
  if (slow.length > 0) return told(slow, 'in which less is consumed than is produced')
  const unsure = lagging.find(({ catchUp }) => catchUp.verdict === 'unknown')
  if (unsure !== undefined) return unsure.catchUp
  // The group has caught up when its last partition has.
  const [last] = lagging.toSorted((one, other) => other.catchUp.seconds! - one.catchUp.seconds!)
  return last?.catchUp ?? judgeCatchUp({ lag: 0, hasOwner: true, produce, consume })
}

function never(reason: Reason, why: string): CatchUp {
  return { verdict: 'never', reason, seconds: null, why }
}

function unknown(reason: Reason, why: string): CatchUp {
  return { verdict: 'unknown', reason, seconds: null, why }
}

/** Rates and times have at most three digits behind the point. */
export function rounded(value: number): number {
  return Math.round(value * 1_000) / 1_000
}

function inWords(value: number): string {
  return String(value >= 10 ? Math.round(value) : Math.round(value * 100) / 100)
}

/** Two looks at the position of a group in one partition. */
export interface TwoLooks {
  readonly before: GroupPosition
  readonly after: GroupPosition
  /** The time between the looks. */
  readonly seconds: number
  /** The wall clock at the second look. */
  readonly nowMs: number
}

/** Returns the records a second that were written between the looks; null if the ends are not known. */
export function producedBetween({ before, after, seconds }: TwoLooks): Rate | null {
  if (before.endOffset === null || after.endOffset === null || after.endOffset < before.endOffset) return null
  return rateOf(after.endOffset - before.endOffset, 'positions', seconds)
}

/**
 * Returns the records a second that the group consumed; null if it is not known. A group that commits seldom moves in
 * jumps, so a commit is counted over the time since the commit before it.
 */
export function consumedBetween({ before, after, seconds, nowMs }: TwoLooks): Rate | null {
  const delivered = stepOf(before.deliveredOffset, after.deliveredOffset)
  const committed = stepOf(before.committed?.offset ?? null, after.committed?.offset ?? null)
  // An operator moved the group back.
  if ((delivered ?? 0) < 0 || (committed ?? 0) < 0) return null
  if (delivered !== null && delivered > 0) return rateOf(delivered, 'positions', seconds)
  const atMs = after.committed?.commitTimestampMs ?? null
  if (committed !== null && committed > 0) {
    const tookMs = atMs! - before.committed!.commitTimestampMs
    return tookMs > 0 ? rateOf(committed, 'commits', tookMs / 1_000) : rateOf(committed, 'positions', seconds)
  }
  // The first commit, or the first fetch, was between the looks.
  if (committed === null && after.committed !== null) return null
  if (committed === null && delivered === null) return null
  const silentSeconds = atMs === null ? 0 : (nowMs - atMs) / 1_000
  return silentSeconds > seconds ? rateOf(0, 'commits', silentSeconds) : rateOf(0, 'positions', seconds)
}

function stepOf(before: number | null, after: number | null): number | null {
  return before === null || after === null ? null : after - before
}

export function rateOf(records: number, from: RateOrigin, overSeconds: number): Rate {
  return { recordsPerSecond: rounded(records / overSeconds), from, overSeconds: rounded(overSeconds) }
}

export interface LagPoint {
  /** Milliseconds since 1970. */
  readonly timestamp: number
  readonly lag: number
}

/** The past lag of a group, as one broker keeps it from its start. */
export interface LagHistory {
  /** The number of steps in which the lag was known. */
  readonly samples: number
  readonly intervalMs: number
  /** The first and the last of these steps. */
  readonly from: number | null
  readonly to: number | null
  /**
   * Since when the lag was never 0; null if it is 0, or if no step has it. With `isAtLeast` it may have begun earlier:
   * before the history did, or while the lag was not known.
   */
  readonly lagsSince: { readonly timestamp: number; readonly isAtLeast: boolean } | null
  /** The smallest and the largest lag since then, or of all steps if the group does not lag. */
  readonly lowest: LagPoint | null
  readonly highest: LagPoint | null
  /** How the lag moved of late; null while too few steps have it. */
  readonly trend: LagTrend | null
}

export interface LagTrend {
  readonly first: LagPoint
  readonly last: LagPoint
  readonly overSeconds: number
  /** Negative if the group catches up. */
  readonly lagPerSecond: number
}

/**
 * Describes the samples of a group's lag, oldest first. `refreshMs` is the time between two measurements of the lag,
 * which is not that between two steps; `startedAtMs` is when the history began.
 */
export function describeLagHistory(
  samples: readonly GroupSample[],
  {
    intervalMs,
    refreshMs,
    startedAtMs,
    isFull,
  }: {
    readonly intervalMs: number
    readonly refreshMs: number
    readonly startedAtMs: number
    /** True if the samples reach back as far as the history does. */
    readonly isFull: boolean
  },
): LagHistory {
  const known = samples.filter(({ lag }) => !Number.isNaN(lag))
  // Steps at the end without a lag are no end of a run: the newest known step tells the most.
  const end = samples.findLastIndex(({ lag }) => !Number.isNaN(lag))
  let begin = end + 1
  while (begin > 0 && samples[begin - 1]!.lag > 0) begin--
  const run = samples.slice(begin, end + 1)
  // Right after its start, a broker has not measured a lag that was there before.
  const isFirst = begin === 0 && (isFull || startedAtMs + refreshMs + 2 * intervalMs >= (run[0]?.timestamp ?? 0))
  const isAfterGap = begin > 0 && Number.isNaN(samples[begin - 1]!.lag)
  const about = run.length > 0 ? run : known
  const by = (isBetter: (one: number, other: number) => boolean) =>
    about.reduce<LagPoint | null>((best, each) => (best === null || isBetter(each.lag, best.lag) ? each : best), null)
  return {
    samples: known.length,
    intervalMs,
    from: known[0]?.timestamp ?? null,
    to: known.at(-1)?.timestamp ?? null,
    lagsSince: run.length === 0 ? null : { timestamp: run[0]!.timestamp, isAtLeast: isFirst || isAfterGap },
    lowest: by((one, other) => one < other),
    highest: by((one, other) => one > other),
    trend: trendOf(known, intervalMs, refreshMs),
  }
}

function trendOf(known: readonly LagPoint[], intervalMs: number, refreshMs: number): LagTrend | null {
  const last = known.at(-1)
  // Two steps may have seen the same measurement, so a shorter time would show no movement. A longer one would not show
  // that a consumer has just come back.
  const leastMs = 2 * (intervalMs + refreshMs)
  const mostMs = leastMs + 2 * intervalMs
  const first = last && known.find(({ timestamp }) => timestamp >= last.timestamp - mostMs)
  if (last === undefined || first === undefined || last.timestamp - first.timestamp < leastMs) return null
  const overSeconds = (last.timestamp - first.timestamp) / 1_000
  return {
    first: { timestamp: first.timestamp, lag: first.lag },
    last: { timestamp: last.timestamp, lag: last.lag },
    overSeconds: rounded(overSeconds),
    lagPerSecond: rounded((last.lag - first.lag) / overSeconds),
  }
}
