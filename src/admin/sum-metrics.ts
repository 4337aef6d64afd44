// Adds up the metrics of several brokers. It asks no broker: cluster-metrics.ts does.
//
// The steps of two brokers end at different times. They are joined by their numbers on the common grid of
// telemetry/history.ts: the steps in one sum end at most one interval apart, and the sum itself ends on the grid.
//
//   common grid     |────────|────────|────────|────────|
//   broker 1         ────────|────────|────────|
//   broker 2              |────────|────────|─ ─ ─ ─ ─       its third step is not over
//   sum             |────────|────────|
//
// The sum ends with the newest step that each of the brokers has. Otherwise the last sample would often miss the
// traffic of a broker whose step is not over yet, and a chart would end with a drop.

import {
  ADDITIVE,
  combineSteps,
  type HistorySample,
  type TopicRates,
  type TopicSample,
  type TopicTraffic,
} from '../telemetry/history.ts'
import { highest } from '../telemetry/step-histogram.ts'
import type { Counters, HistoryOfBrokers } from './metrics.ts'

/** The steps of one broker, oldest first; the last one has the number `commonStep` on the common grid. */
export interface Steps<Sample> {
  readonly commonStep: number
  readonly samples: readonly Sample[]
}

/**
 * A broker whose newest step is more steps behind this broker does not hold back the sums: its clock is wrong. Brokers
 * with equal clocks are one step apart, or two while a step is being captured.
 */
export const MOST_STEPS_BEHIND = 2

/** The numbers of brokers that are added up. */
export const COUNTERS = [
  'activeConnections',
  'backpressureConnections',
  'messages',
  'bytes',
  'messagesOut',
  'bytesOut',
  'requests',
  'rebalances',
  'brokerFailures',
  'lossyRecords',
] as const satisfies (keyof Counters)[]

/** Adds up the numbers of at least one broker. The result has the longest uptime and the highest percentiles. */
export function sumCounters(brokers: readonly Counters[]): Counters {
  return {
    ...sumOf(COUNTERS, brokers),
    uptimeMs: Math.max(...brokers.map(({ uptimeMs }) => uptimeMs)),
    requestLatencyMs: highest(brokers.map(({ requestLatencyMs }) => requestLatencyMs)),
  }
}

/** Adds up the rates of a topic on several brokers. The result has the highest percentiles. */
export function sumRates(brokers: readonly TopicRates[]): TopicRates {
  return {
    produce: sumTraffic(brokers.map(({ produce }) => produce)),
    fetch: sumTraffic(brokers.map(({ fetch }) => fetch)),
  }
}

/** Called for thousands of topics at once, so it names its fields. */
function sumTraffic(brokers: readonly TopicTraffic[]): TopicTraffic {
  let [recordsPerSecond, bytesPerSecond, requestsPerSecond] = [0, 0, 0]
  for (const traffic of brokers) {
    recordsPerSecond += traffic.recordsPerSecond
    bytesPerSecond += traffic.bytesPerSecond
    requestsPerSecond += traffic.requestsPerSecond
  }
  const latencyMs = highest(brokers.map(({ latencyMs: each }) => each))
  return { recordsPerSecond, bytesPerSecond, requestsPerSecond, latencyMs }
}

/** Returns the number of the newest step that all brokers have, as far as their clocks agree with this one's. */
export function lastCommonStep(own: number, others: readonly number[]): number {
  return Math.max(own - MOST_STEPS_BEHIND, Math.min(own, ...others))
}

/** The steps that a sum has. */
export interface Range {
  /** The oldest step that this broker may keep. Another one may keep more of them, or have a wrong clock. */
  readonly firstStep: number
  readonly lastStep: number
  readonly intervalMs: number
}

/**
 * Adds up the samples of a topic, and returns the newest `limit` of them. Called for a hundred topics at once, so it
 * names its fields.
 */
export function sumTopicSamples(
  brokers: readonly Steps<Omit<TopicSample, 'timestamp'>>[],
  { firstStep, lastStep, intervalMs, limit }: Range & { readonly limit: number },
): readonly TopicSample[] {
  // A broker whose steps are further apart from the others' has no share in most of the sums.
  const longest = Math.max(...brokers.map(({ samples }) => samples.length))
  const most = Math.min(limit, longest + MOST_STEPS_BEHIND)
  const sums: TopicSample[] = []
  for (let step = Math.max(firstStep, lastStep - most + 1); step <= lastStep; step++) {
    let [recordsPerSecond, bytesPerSecond, isKnown] = [0, 0, false]
    for (const { commonStep, samples } of brokers) {
      const sample = samples[samples.length - 1 - (commonStep - step)]
      if (sample === undefined) continue
      recordsPerSecond += sample.recordsPerSecond
      bytesPerSecond += sample.bytesPerSecond
      isKnown = true
    }
    if (isKnown) sums.push({ timestamp: Math.round(step * intervalMs), recordsPerSecond, bytesPerSecond })
  }
  return sums
}

export interface SumOptions extends Range {
  /** As in HistoryQuery. */
  readonly fromMs: number
  readonly stepMs: number
}

/** Adds up the histories of brokers. The sums have the highest percentiles. */
export function sumHistories(
  brokers: readonly Steps<Omit<HistorySample, 'timestamp'>>[],
  { fromMs, stepMs, ...range }: SumOptions,
): HistoryOfBrokers['samples'] {
  const { intervalMs } = range
  const together = Math.max(1, Math.floor(stepMs / intervalMs))
  const groups = new Map<number, HistoryOfBrokers['samples'][number][]>()
  for (const [step, samples] of join(brokers, range)) {
    const timestamp = Math.round(step * intervalMs)
    if (timestamp < fromMs) continue
    const sample = { ...sumOfStep(samples), timestamp, brokers: samples.length }
    // Groups by the position on the grid, so that a step belongs to the same group in every query.
    const group = Math.floor((step - 1) / together)
    const others = groups.get(group)
    if (others === undefined) groups.set(group, [sample])
    else others.push(sample)
  }
  return Array.from(groups.values(), samples => ({
    ...combineSteps(samples),
    brokers: samples.reduce((fewest, { brokers: each }) => Math.min(fewest, each), brokers.length),
  }))
}

function sumOfStep(samples: readonly Omit<HistorySample, 'timestamp'>[]): Omit<HistorySample, 'timestamp'> {
  // Most clusters have one broker, and an hour has many steps.
  if (samples.length === 1) return samples[0]!
  return {
    ...sumOf(ADDITIVE, samples),
    requestLatencyMs: highest(samples.map(({ requestLatencyMs }) => requestLatencyMs)),
    produceLatencyMs: highest(samples.map(({ produceLatencyMs }) => produceLatencyMs)),
  }
}

/** Returns the samples of each step, in the order of the steps. */
function join<Sample>(
  brokers: readonly Steps<Sample>[],
  { firstStep, lastStep }: Range,
): [step: number, samples: Sample[]][] {
  const joined = new Map<number, Sample[]>()
  for (const { commonStep, samples } of brokers) {
    const oldest = commonStep - (samples.length - 1)
    for (let step = Math.max(oldest, firstStep); step <= Math.min(commonStep, lastStep); step++) {
      const sample = samples[step - oldest]!
      const others = joined.get(step)
      if (others === undefined) joined.set(step, [sample])
      else others.push(sample)
    }
  }
  return [...joined].sort(([one], [other]) => one - other)
}

function sumOf<Field extends string>(
  fields: readonly Field[],
  values: readonly Readonly<Record<Field, number>>[],
): Record<Field, number> {
  // A JSON answer has no larger whole number.
  const sum = (field: Field) =>
    Math.min(
      Number.MAX_SAFE_INTEGER,
      values.reduce((total, { [field]: each }) => total + each, 0),
    )
  return Object.fromEntries(fields.map(field => [field, sum(field)])) as Record<Field, number>
}
