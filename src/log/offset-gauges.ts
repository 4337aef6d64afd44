// The gauges of the end and the start of each partition that this broker leads. They are refreshed at an interval and
// not at every scrape, because there may be ten thousand partitions. Above the cap nothing is refreshed: existing
// gauges keep their values, and no gauges are added. The gauges of a partition that goes away are removed in any case.

import { afterOthers, type Clock, type Timer } from '../base/clock.ts'
import { fullKey, type Settings } from '../settings/settings.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { GaugeChild, Metrics } from '../telemetry/metrics.ts'
import type { Partition } from './partition.ts'

interface OffsetGaugesRooms {
  partitions(): Iterable<Partition>
  /** The number of partitions. */
  count(): number
  readonly settings: Settings
  readonly clock: Clock
  readonly logger: Logger
  readonly metrics: Metrics
}

interface OffsetGauges {
  /** Gives newly opened partitions their gauges, as far as the cap allows. */
  show(partitions: readonly Partition[]): void
  /** Removes the gauges of a partition that this broker no longer leads. */
  drop(partition: Partition): void
  stop(): void
}

/** Partitions that are read before other work gets its turn. */
const AT_ONCE = 1000

export function startOffsetGauges({
  partitions,
  count,
  settings,
  clock,
  logger,
  metrics,
}: OffsetGaugesRooms): OffsetGauges {
  const cap = settings.get('broker.metrics.offset-cardinality-cap')
  const intervalMs = settings.get('broker.metrics.offset-refresh-interval')
  let gauges = new WeakMap<Partition, readonly [end: GaugeChild, start: GaugeChild]>()
  let isStopped = false
  /** True if the last refresh was skipped. A log line reports this once, until a refresh succeeds. */
  let isOver = false

  function read(partition: Partition): void {
    if (partition.refusal !== null) return
    let own = gauges.get(partition)
    if (own === undefined) {
      const labels = labelsOf(partition)
      own = [metrics.child('svc.broker.max_offset', labels), metrics.child('svc.broker.log_start_offset', labels)]
      gauges.set(partition, own)
    }
    own[0].set(partition.highWatermark)
    own[1].set(partition.logStartOffset)
  }

  function isWithinCap(count: number): boolean {
    if (count <= cap) {
      isOver = false
      return true
    }
    if (!isOver) {
      isOver = true
      logger.warn(
        `the offset gauges are not refreshed: this broker leads ${count} partitions, and ` +
          `${fullKey('broker.metrics.offset-cardinality-cap')} is ${cap}`,
      )
    }
    return false
  }

  async function refresh(): Promise<void> {
    const all = [...partitions()]
    if (isWithinCap(all.length)) {
      for (let from = 0; from < all.length && !isStopped; from += AT_ONCE) {
        for (const partition of all.slice(from, from + AT_ONCE)) read(partition)
        if (from + AT_ONCE < all.length) await afterOthers(clock)
      }
    }
    if (!isStopped) timer = later()
  }

  const later = (): Timer => clock.timer(intervalMs, () => void refresh())
  let timer = later()

  return {
    show(made) {
      if (made.length === 0 || isStopped) return
      if (isWithinCap(count())) for (const partition of made) read(partition)
    },
    drop(partition) {
      gauges.delete(partition)
      metrics.remove('svc.broker.max_offset', labelsOf(partition))
      metrics.remove('svc.broker.log_start_offset', labelsOf(partition))
    },
    stop() {
      isStopped = true
      gauges = new WeakMap()
      timer.cancel()
    },
  }
}

function labelsOf({ topicName, index }: Partition) {
  return { topic: topicName, partition: String(index) }
}
