// One topic as a whole: its partitions, its rates on all brokers, and its configs with their sources.

import type { TopicMetricsRow } from '../api/metrics.ts'
import type { ShownConfig, TopicDescription } from '../api/topics.ts'
import { isRefusal, type Refusal } from '../protocol/errors.ts'
import { type ShownMetricsRooms, showTopicMetrics } from './shown-metrics.ts'
import { describeTopic, showTopicConfigs } from './topic-listing.ts'

export interface TopicOverview extends Omit<TopicDescription, 'configs'> {
  readonly configs: readonly ShownConfig[]
  readonly rates: TopicRatesNow
}

/** The rates of the last step of the history, of all brokers that answered. */
export interface TopicRatesNow extends Pick<TopicMetricsRow, 'produce' | 'fetch'> {
  readonly overSeconds: number
  readonly unavailableBrokers: readonly { readonly brokerId: number; readonly reason: string }[]
}

type OverviewRooms = Parameters<typeof describeTopic>[0] & ShownMetricsRooms

/** Resolves to the topic with this name. Throws what the store throws. */
export async function overviewTopic(rooms: OverviewRooms, name: string): Promise<TopicOverview | Refusal> {
  const [topic, configs, rates] = await Promise.all([
    describeTopic(rooms, name),
    showTopicConfigs(rooms, name),
    ratesOf(rooms, name),
  ])
  if (isRefusal(topic)) return topic
  return isRefusal(configs) ? configs : { ...topic, ...configs, rates }
}

async function ratesOf(rooms: ShownMetricsRooms, name: string): Promise<TopicRatesNow> {
  const asked = { offset: 0, limit: 1, names: name, internal: 'true', sort: 'name', samples: 'false' } as const
  const page = await (await showTopicMetrics(rooms, { ...asked, scope: 'cluster' })).answer()
  const [row] = page.topics
  const { produce, fetch } = row ?? NO_ROW
  return { produce, fetch, overSeconds: page.intervalMs / 1_000, unavailableBrokers: page.unavailableBrokers }
}

const NO_TRAFFIC = {
  ...{ recordsPerSecond: 0, bytesPerSecond: 0, requestsPerSecond: 0 },
  latencyMs: { p50: null, p95: null, p99: null },
}
/** A topic that was just created on another broker has no row yet. */
const NO_ROW = Object.freeze({ produce: NO_TRAFFIC, fetch: NO_TRAFFIC })
