// Publishes `svc.group.lag`: the lag of every group of the cluster as this broker sees it. A timer computes the lag,
// not the scrape. The gauge is NaN if the lag is unknown. If there are more groups than the cap, every gauge is NaN,
// and only as many gauges exist as the cap allows.

import type { Clock } from '../../base/clock.ts'
import { fullKey, type Settings } from '../../settings/settings.ts'
import { isStoreFailure } from '../../store/store.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import { type ClusterGroupRooms, listGroupsOfCluster } from './cluster-groups.ts'
import { groupLags } from './lag.ts'
import type { PositionRooms } from './positions.ts'

export interface LagGaugesRooms extends PositionRooms, ClusterGroupRooms {
  readonly cluster: PositionRooms['cluster'] & ClusterGroupRooms['cluster']
  readonly settings: Settings
  readonly clock: Clock
  readonly metrics: Metrics
  readonly logger: Logger
}

/** The lag is first computed after this time, so that the first gauges do not wait for a whole interval. */
const FIRST_AFTER_MS = 1_000

const EVERYTHING = Object.freeze({ states: [], types: [] })

export function publishLag(rooms: LagGaugesRooms): { close(): Promise<void> } {
  const { settings, clock, metrics } = rooms
  const logger = rooms.logger.named('admin.lag')
  const cap = settings.get('broker.metrics.group-lag-cardinality-cap')
  const intervalMs = settings.get('broker.metrics.group-lag-refresh-interval')
  let published = new Set<string>()
  let isClosed = false
  /**
   * True after the warning about too many groups. It is written again only after the number was back within the cap.
   */
  let isOver = false

  function publish(lags: ReadonlyMap<string, number>): void {
    if (isClosed) return
    for (const group of published) if (!lags.has(group)) metrics.remove('svc.group.lag', { group })
    for (const [group, lag] of lags) metrics.set('svc.group.lag', { group }, lag)
    published = new Set(lags.keys())
  }

  async function refresh(): Promise<void> {
    const { groups, silent } = await listGroupsOfCluster(rooms, EVERYTHING)
    const listed = groups.map(({ groupId }) => groupId)
    // The groups of a broker that does not answer may still be there.
    const names = silent.length === 0 ? listed : [...new Set([...listed, ...published])].sort()
    if (names.length > cap) {
      if (!isOver) {
        isOver = true
        logger.warn(
          `svc.group.lag reads NaN for all groups: there are ${names.length}, and ` +
            `${fullKey('broker.metrics.group-lag-cardinality-cap')} is ${cap}`,
        )
      }
      return publish(new Map(names.slice(0, cap).map(name => [name, Number.NaN])))
    }
    isOver = false
    const lags = new Map(names.map(name => [name, Number.NaN]))
    for await (const { lag } of groupLags(rooms, listed)) {
      if (isClosed) return
      lags.set(lag.groupId, lag.totalLag ?? Number.NaN)
    }
    publish(lags)
  }

  async function run(): Promise<void> {
    try {
      await refresh()
    } catch (error) {
      if (!isStoreFailure(error)) throw error
      logger.limited('lag', 30_000).warn('the broker cannot compute the lag of groups', { error })
      publish(new Map([...published].map(name => [name, Number.NaN])))
    }
    if (!isClosed) timer = after(intervalMs)
  }

  let running = Promise.resolve()
  const begin = () => {
    running = run()
  }
  const after = (delayMs: number) => clock.timer(delayMs, begin)
  let timer = after(Math.min(FIRST_AFTER_MS, intervalMs))

  return {
    async close() {
      isClosed = true
      timer.cancel()
      await running
    },
  }
}
