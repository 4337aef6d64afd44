// Everything that the overview asks the broker, and how often. The heartbeat of the shell takes twenty requests a
// minute and sees an outage within seconds; these take nineteen more. On an empty broker the page asks only for topics
// and health, so that a first topic is seen soon.

import { useRef } from 'react'
import type { SilentBroker } from '../../../src/api/groups.ts'
import { type Read, useRead } from '../../api/queries.ts'
import { useCapabilities, useCapability } from '../../shell/capabilities.ts'
import { useConnection } from '../../shell/connection.ts'
import { useSession } from '../../shell/session.tsx'
import { GROWING_SAMPLES, needsAttention } from './attention.ts'
import { courseOf, historyQuery, type Range } from './course.ts'

const STEP_MS = 15_000
const SLOW_MS = 30_000
const RARE_MS = 60_000
const EMPTY_MS = 5_000

const TOP = 5
/** With the highest lags first, a group that needs attention is among these. */
const LISTED_GROUPS = 100

/** Kafka's internal topics, and those that tools make for themselves, have such names. */
const isInternal = (name: string) => name.startsWith('__')

/** Reads the topics with the most traffic, and whether the broker has topics at all. */
export function useTopTopics(isWatched: boolean) {
  const read = useRead(
    'read topic metrics',
    { query: { scope: 'cluster', sort: 'produce.bytesPerSecond', limit: TOP, samples: 'false' } },
    { everyMs: isWatched ? EMPTY_MS : SLOW_MS },
  )
  const { data } = read
  const own = data?.topics.find(({ name }) => !isInternal(name))?.name ?? null
  return {
    read,
    /** The name of a topic that is not internal; null if all are internal. */
    own,
    isEmpty: data !== undefined && own === null && data.total <= data.topics.length,
  }
}

export function useHealth() {
  return useRead('show health in full', {}, { everyMs: STEP_MS })
}

/** Reads the history of a range. */
function useHistory(range: Range, isPolled: boolean) {
  const { answeredAtMs } = useConnection()
  const read = useRead(
    'read metrics history',
    { query: historyQuery(range, answeredAtMs) },
    { everyMs: isPolled ? STEP_MS : 0 },
  )
  // Every few minutes the query has another start. If its first answer fails, the one before still stands.
  const kept = useRef(read.data)
  kept.current = read.data ?? kept.current
  return { ...read, data: kept.current }
}

/** Reads what a broker with topics shows. Each operation is asked by one component alone, or its polls would double. */
export function useOverview(range: Range, health: ReturnType<typeof useHealth>) {
  const { status } = useSession()
  const slow = { everyMs: SLOW_MS }
  const isHistoryOff = useCapabilities()?.limits.metricsHistory === null
  const history = useHistory(range, !isHistoryOff)
  const brokers = useRead('list brokers', {}, slow)
  const groups = useRead('list groups', { query: { sort: 'lag.totalLag', order: 'desc', limit: LISTED_GROUPS } }, slow)
  const lags = useRead('read consumer lag', { query: { samples: String(GROWING_SAMPLES) } }, slow)
  const storage = useRead('show storage', { query: { limit: 1 } }, slow)
  const isTiered = useCapability('remote-tier')?.state === 'on'
  const jobs = useRead('list offload jobs', { query: { limit: 1 } }, { isWanted: isTiered, everyMs: RARE_MS })
  // Without the history, the counters since the start are all that there is.
  const snapshot = useRead('read metrics', { query: { scope: 'cluster' } }, { isWanted: isHistoryOff })

  const course = history.data === undefined ? null : courseOf(history.data, range)
  const latest = course?.latest ?? null
  const counters = snapshot.data
  const silent: SilentBroker[] = [
    ...(history.data?.unavailableBrokers ?? []),
    ...(groups.data?.unavailableBrokers ?? []),
    ...(counters?.unavailableBrokers ?? []),
  ]
  const found = needsAttention({
    health: health.data,
    brokers: brokers.data,
    groups: groups.data?.groups,
    hasMoreGroups: (groups.data?.total ?? 0) > LISTED_GROUPS,
    lags: lags.data?.groups,
    store: storage.data?.store,
    jobs: jobs.data?.counts,
    silent,
    backpressured: latest?.backpressureConnections ?? counters?.backpressureConnections ?? 0,
    failures: isHistoryOff ? (counters?.brokerFailures ?? 0) : (course?.failures ?? 0),
    lossyRecords: isHistoryOff ? (counters?.lossyRecords ?? 0) : (course?.lossyRecords ?? 0),
    range: isHistoryOff ? null : range,
    hasShippedPassword: status?.passwordChangeRequired === true,
  })
  const checked: Readonly<Record<string, Read<unknown>>> = {
    'the health': health,
    'the history': isHistoryOff ? snapshot : history,
    'the brokers': brokers,
    'the consumer groups': groups,
    'the lag': lags,
    'the store': storage,
    ...(isTiered ? { 'the offload jobs': jobs } : {}),
  }
  return { history, brokers, groups, snapshot, jobs, course, found, checked }
}

export type OverviewReads = ReturnType<typeof useOverview>
