// Explains the lag of a group: for each partition who reads it, how fast, and when it catches up; and for the group
// since when it lags and whether it will end. The rates of partitions come from two looks at their positions, because
// the history has none of single partitions. The rates of the group come from the history of its lag and of its topics,
// and from the looks while the history is too short.

import type { LagOfGroup } from '../../api/groups.ts'
import { pause } from '../../base/clock.ts'
import { isRefusal, type Refusal } from '../../protocol/errors.ts'
import { type ClusterMetricsRooms, listClusterTopicMetrics } from '../cluster-metrics.ts'
import type { GroupPosition } from '../contract.ts'
import {
  type CatchUp,
  consumedBetween,
  describeLagHistory,
  judgeCatchUp,
  judgeGroup,
  type LagHistory,
  type LagTrend,
  producedBetween,
  type Rate,
  type Rates,
  rateOf,
  rounded,
  type Verdict,
} from './catch-up.ts'
import type { GroupMember } from './groups-contract.ts'
import { lagOf } from './lag.ts'
import { describePositions, keyOf } from './positions.ts'
import { type ShownGroupRooms, shownLag, shownPosition, viewOf } from './shown-groups.ts'

export type ExplainLagRooms = ShownGroupRooms & Pick<ClusterMetricsRooms, 'history' | 'peerMetrics'>

type ShownPosition = LagOfGroup['positions'][number]

export interface ExplainedPartition extends ShownPosition {
  /** The member that reads the partition, by its own client id and the address of its connection. */
  readonly clientId: string | null
  readonly host: string | null
  readonly produce: Rate | null
  readonly consume: Rate | null
  readonly catchUp: CatchUp
}

export interface ExplainedLag extends Pick<LagOfGroup, 'groupId' | 'lag'> {
  readonly state: string
  readonly members: number
  readonly catchUp: CatchUp
  readonly produce: Rate | null
  readonly consume: Rate | null
  readonly history: LagHistory
  /** The time between the looks at positions; null if the group has no lag, so that no second look was needed. */
  readonly lookSeconds: number | null
  /** The number of partitions with each verdict. */
  readonly verdicts: Readonly<Record<Verdict, number>>
  readonly partitions: readonly ExplainedPartition[]
}

export interface ExplainLagRequest {
  /** The time between the two looks. */
  readonly lookMs: number
  /** `lag`: the largest lag comes first, and unknown lags last. */
  readonly sort: 'lag' | 'partition'
}

const REBALANCING: ReadonlySet<string> = new Set(['PreparingRebalance', 'CompletingRebalance'])
/** Beyond these, the rates of a group come from the looks alone. */
const MOST_TOPICS = 100

/**
 * Resolves to the explanation. It takes as long as the look. Throws what the store throws, PeerUnavailable, and the
 * reason of `ended`.
 */
export async function explainLag(
  rooms: ExplainLagRooms,
  groupId: string,
  { lookMs, sort }: ExplainLagRequest,
  ended: AbortSignal,
): Promise<ExplainedLag | Refusal> {
  const { clock } = rooms
  const view = await viewOf(rooms, groupId)
  if (isRefusal(view)) return view
  const look = async () => ({
    positions: (await describePositions(rooms, [groupId])).get(groupId)!,
    atMs: clock.monotonic(),
  })
  const first = await look()
  const needsLook = first.positions.some(({ lag }) => lag !== 0)
  if (needsLook) await pause(clock, lookMs, ended)
  ended.throwIfAborted()
  const second = needsLook ? await look() : first
  const seconds = (second.atMs - first.atMs) / 1_000
  const before = new Map(first.positions.map(each => [keyOf(each.topicId, each.partition), each]))
  const group = {
    members: new Map(view.members.map(member => [member.memberId, member])),
    isRebalancing: REBALANCING.has(view.state),
  }
  const nowMs = clock.now()
  const partitions = second.positions.map(after => {
    const earlier = needsLook ? before.get(keyOf(after.topicId, after.partition)) : undefined
    const looks = earlier === undefined ? null : { before: earlier, after, seconds, nowMs }
    return explainPartition(rooms, after, looks, group)
  })
  const lag = lagOf(groupId, second.positions)
  const history = pastLag(rooms, groupId)
  const rates = (await pastRates(rooms, second.positions, history.trend)) ?? sumRates(partitions, seconds)
  return {
    groupId,
    state: view.state,
    members: view.members.length,
    lag: shownLag(lag),
    catchUp: judgeGroup(lag.totalLag, partitions, rates),
    ...rates,
    history,
    lookSeconds: needsLook ? rounded(seconds) : null,
    verdicts: countVerdicts(partitions),
    partitions: sort === 'lag' ? byLag(partitions) : partitions,
  }
}

function explainPartition(
  { catalogue }: Pick<ExplainLagRooms, 'catalogue'>,
  position: GroupPosition,
  looks: Parameters<typeof producedBetween>[0] | null,
  { members, isRebalancing }: { readonly members: ReadonlyMap<string, GroupMember>; readonly isRebalancing: boolean },
): ExplainedPartition {
  // Offsets that follow the clock do not count records.
  const isCounting = catalogue.current().topicsById.get(position.topicId)?.resolved.offsetSequenceBits === 0
  const produce = looks !== null && isCounting ? producedBetween(looks) : null
  const consume = looks !== null && isCounting ? consumedBetween(looks) : null
  const member = position.memberId === null ? undefined : members.get(position.memberId)
  const { lag, memberId } = position
  return {
    ...shownPosition(position),
    clientId: member?.clientId ?? null,
    host: member?.clientHost ?? null,
    produce,
    consume,
    catchUp: judgeCatchUp({ lag, hasOwner: memberId !== null, isRebalancing, produce, consume }),
  }
}

function pastLag({ history, settings }: ExplainLagRooms, groupId: string): LagHistory {
  const { intervalMs, retentionMs, startedAtMs, steps } = history
  const samples = history.groupSamples(groupId)
  return describeLagHistory(samples, {
    ...{ intervalMs, startedAtMs },
    refreshMs: settings.get('broker.metrics.group-lag-refresh-interval'),
    isFull: samples.length >= Math.min(steps, Math.max(1, Math.floor(retentionMs / intervalMs))),
  })
}

/**
 * Resolves to the rates over the time of the trend: the records of the topics, and those less the growth of the lag.
 * Null if the history cannot tell them: it is too short, or the group does not read all partitions of its topics.
 */
async function pastRates(
  rooms: ExplainLagRooms,
  positions: readonly GroupPosition[],
  trend: LagTrend | null,
): Promise<Rates | null> {
  if (trend === null) return null
  const topics = rooms.catalogue.current().topicsById
  const read = [...Map.groupBy(positions, ({ topicId }) => topicId)]
  const isWhole = ([topicId, its]: (typeof read)[number]) => topics.get(topicId)?.partitions === its.length
  if (read.length === 0 || read.length > MOST_TOPICS || !read.every(isWhole)) return null
  const names = read.map(([topicId]) => topics.get(topicId)!.name)
  const { intervalMs } = rooms.history
  const steps = Math.max(1, Math.round((trend.overSeconds * 1_000) / intervalMs))
  // The steps of several brokers are on a common grid, up to half a step later.
  const isIn = ({ timestamp }: { readonly timestamp: number }) =>
    timestamp > trend.first.timestamp + intervalMs / 4 && timestamp <= trend.last.timestamp + (3 * intervalMs) / 4
  const page = { offset: 0, limit: names.length, names, sort: 'name', order: 'asc', samples: steps + 2 } as const
  const { topics: rows, unavailableBrokers } = await (await listClusterTopicMetrics(rooms, page)).answer()
  if (unavailableBrokers.length > 0) return null
  let records = 0
  for (const { samples, produce } of rows) {
    // The history had no room for the samples of this topic.
    if (samples.length === 0 && produce.recordsPerSecond > 0) return null
    const its = samples.filter(isIn).slice(-steps)
    records += (its.reduce((sum, each) => sum + each.recordsPerSecond, 0) * intervalMs) / 1_000
  }
  const growth = trend.last.lag - trend.first.lag
  const { overSeconds } = trend
  return {
    produce: rateOf(records, 'history', overSeconds),
    consume: rateOf(Math.max(0, records - growth), 'history', overSeconds),
  }
}

/** Adds up the rates of the partitions. A sum is null if one of them is not known. */
function sumRates(partitions: readonly ExplainedPartition[], seconds: number): Rates {
  const sum = (of: (partition: ExplainedPartition) => Rate | null): Rate | null => {
    let total = 0
    for (const each of partitions) {
      const rate = of(each)
      if (rate === null) return null
      total += rate.recordsPerSecond
    }
    return partitions.length === 0 ? null : rateOf(total * seconds, 'positions', seconds)
  }
  return { produce: sum(each => each.produce), consume: sum(each => each.consume) }
}

function countVerdicts(partitions: readonly ExplainedPartition[]): ExplainedLag['verdicts'] {
  const counts = { 'caught-up': 0, 'keeps-up': 0, 'catches-up': 0, never: 0, unknown: 0 }
  for (const { catchUp } of partitions) counts[catchUp.verdict]++
  return counts
}

function byLag(partitions: readonly ExplainedPartition[]): readonly ExplainedPartition[] {
  return partitions.toSorted((one, other) => (other.lag ?? -1) - (one.lag ?? -1))
}
