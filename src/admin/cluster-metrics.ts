// Returns the metrics of the whole cluster: the numbers of this broker and of the others that answer, added up. A
// broker that does not answer is left out and named. peer-metrics.ts asks the brokers, sum-metrics.ts adds up.

import type { SilentBroker } from '../api/groups.ts'
import type { BrokerInfo } from '../cluster/broker-record.ts'
import type { describeBrokerMetrics } from '../protocol/messages/describe-broker-metrics.ts'
import type { ResponseOf } from '../protocol/schema.ts'
import { fullKey } from '../settings/settings.ts'
import type { History, HistoryQuery, TopicRates, TopicSample } from '../telemetry/history.ts'
import { listGroupsOfCluster } from './groups/cluster-groups.ts'
import {
  type BrokerMetrics,
  countersOf,
  findTopics,
  type HistoryOfBrokers,
  type MetricsRooms,
  type MetricsSnapshot,
  measureBroker,
  rowsOf,
  type Stepwise,
  type TopicMetricsPage,
  type TopicMetricsQuery,
} from './metrics.ts'
import type { Asked, PeerMetrics } from './peer-metrics.ts'
import {
  lastCommonStep,
  MOST_STEPS_BEHIND,
  type Range,
  sumCounters,
  sumHistories,
  sumRates,
  sumTopicSamples,
} from './sum-metrics.ts'

export interface ClusterMetricsRooms extends MetricsRooms {
  readonly peerMetrics: PeerMetrics
}

/** Resolves to the numbers of each living broker by its id, or to the reason why it did not answer. */
export async function measureBrokers(
  rooms: Pick<ClusterMetricsRooms, 'cluster' | 'metrics' | 'history' | 'peerMetrics'>,
): Promise<ReadonlyMap<number, BrokerMetrics | string>> {
  const { answers, silent } = await rooms.peerMetrics.measure()
  return new Map<number, BrokerMetrics | string>([
    [rooms.cluster.brokerId, measureBroker(rooms)],
    ...Array.from(answers, ([{ id }, { metrics }]) => [id, metrics] as const),
    ...silent.map(({ brokerId, reason }) => [brokerId, reason] as const),
  ])
}

export async function snapshotClusterMetrics(rooms: ClusterMetricsRooms): Promise<MetricsSnapshot> {
  const { cluster, groups, catalogue, peerMetrics } = rooms
  const [{ answers, silent }, listed] = await Promise.all([
    peerMetrics.measure(),
    listGroupsOfCluster({ cluster, groups, catalogue, peers: peerMetrics.peers }, { states: [], types: [] }),
  ])
  const brokers = [measureBroker(rooms), ...Array.from(answers.values(), ({ metrics }) => metrics)]
  return {
    topicCount: catalogue.current().topics.size,
    groupCount: listed.groups.length,
    ...sumCounters(brokers.map(countersOf)),
    unavailableBrokers: eachOnce([...silent, ...listed.silent]),
  }
}

/** Resolves to the sums of each step; without samples if this broker serves no history. */
export async function readClusterHistory(
  { history, peerMetrics }: Pick<ClusterMetricsRooms, 'history' | 'peerMetrics'>,
  { fromMs = Number.NEGATIVE_INFINITY, stepMs = 0 }: HistoryQuery,
): Promise<Stepwise<HistoryOfBrokers>> {
  if (!history.isServed) return { changes: '', answer: () => ({ samples: [], unavailableBrokers: [] }) }
  const asked = withEqualSteps(history, await peerMetrics.history())
  const others = [...asked.answers.values()]
  return {
    changes: changesOf(asked),
    answer() {
      const own = { commonStep: history.commonStep, samples: history.samples() }
      const told = others.map(({ commonStep, history: samples }) => ({ commonStep, samples }))
      const samples = sumHistories([own, ...told], { ...rangeOf(history, told), fromMs, stepMs })
      return { samples, unavailableBrokers: asked.silent }
    },
  }
}

/** Resolves to a page of topics with the sums of their rates; the order is that of the sums. */
export async function listClusterTopicMetrics(
  rooms: Pick<ClusterMetricsRooms, 'catalogue' | 'history' | 'peerMetrics' | 'clock'>,
  query: TopicMetricsQuery,
): Promise<Stepwise<TopicMetricsPage>> {
  const { history, peerMetrics } = rooms
  const asked = await peerMetrics.busyTopics()
  return {
    changes: changesOf(asked),
    async answer() {
      const known = rooms.catalogue.current().topics
      const told = Map.groupBy(
        [...asked.answers.values()].flatMap(({ topics }) => topics.filter(({ name }) => known.has(name))),
        ({ name }) => name,
      )
      const ratesOf = (name: string): TopicRates => {
        const others = told.get(name)
        return others === undefined ? history.topic(name) : sumRates([history.topic(name), ...others])
      }
      const { total, names } = await findTopics(rooms, ratesOf, query)
      const { samplesOf, silent } = await askSamples(rooms, [...asked.answers.keys()], names, query.samples)
      const unavailableBrokers = eachOnce([...asked.silent, ...silent])
      return { total, topics: rowsOf(names, ratesOf, samplesOf), unavailableBrokers }
    },
  }
}

/** The number of topics that one request asks samples of. An hour of them takes a few milliseconds of each broker. */
const NAMES_AT_ONCE = 100

const LONGEST = 2 ** 31 - 1

/** Resolves to the sums of samples by topic, and to the brokers whose samples are missing. */
async function askSamples(
  { history, peerMetrics }: Pick<ClusterMetricsRooms, 'history' | 'peerMetrics'>,
  brokers: readonly BrokerInfo[],
  names: readonly string[],
  limit: number,
) {
  const silent: SilentBroker[] = []
  /** Adds up when a row is written: all sums at once would hold up other requests. */
  const sums = new Map<string, () => readonly TopicSample[]>()
  const samplesOf = (name: string) => sums.get(name)?.() ?? []
  if (limit === 0 || !history.isServed) return { samplesOf, silent }
  // The newest steps may be cut off: another broker does not have them yet, or one ends while the rows are written.
  const most = Math.min(limit + MOST_STEPS_BEHIND + 1, LONGEST)
  for (let from = 0; from < names.length; from += NAMES_AT_ONCE) {
    const some = names.slice(from, from + NAMES_AT_ONCE)
    const asked = withEqualSteps(history, await peerMetrics.topicSamples(brokers, some, most))
    silent.push(...asked.silent)
    const told = Array.from(asked.answers.values(), ({ commonStep, topics }) => ({
      commonStep,
      topics: new Map(topics.map(({ name, samples }) => [name, samples])),
    }))
    const range = rangeOf(history, told)
    for (const name of some)
      sums.set(name, () => {
        // A step may have ended since.
        const own = { commonStep: history.commonStep, samples: history.topicSamples(name, most) }
        const others = told.map(({ commonStep, topics }) => ({ commonStep, samples: topics.get(name) ?? [] }))
        return sumTopicSamples([own, ...others], { ...range, limit })
      })
  }
  return { samplesOf, silent }
}

/** Returns the steps that the sums with these brokers have. */
function rangeOf(
  { commonStep, intervalMs, retentionMs }: History,
  others: readonly { readonly commonStep: number }[],
): Range {
  const lastSteps = others.map(({ commonStep: last }) => last)
  return {
    firstStep: commonStep - Math.max(1, Math.floor(retentionMs / intervalMs)) + 1,
    lastStep: lastCommonStep(commonStep, lastSteps),
    intervalMs,
  }
}

type AnyStepwise = Pick<ResponseOf<typeof describeBrokerMetrics>, 'steps' | 'intervalMs' | 'isHistoryServed'>

/** Leaves out brokers whose steps cannot be added to the steps of this broker, and names them as silent. */
function withEqualSteps<Answer extends AnyStepwise>(
  { intervalMs }: Pick<History, 'intervalMs'>,
  { answers, silent }: Asked<Answer>,
): Asked<Answer> {
  const equal = new Map<BrokerInfo, Answer>()
  const others: SilentBroker[] = []
  for (const [broker, answer] of answers) {
    const leaveOut = (why: string) => others.push({ brokerId: broker.id, reason: `broker ${broker.id} ${why}` })
    if (!answer.isHistoryServed) leaveOut(`serves no history: ${fullKey('admin.metrics-history.enabled')} is false`)
    else if (answer.intervalMs !== intervalMs)
      leaveOut(
        `has steps of ${answer.intervalMs} ms and this broker steps of ${intervalMs} ms (${fullKey('admin.metrics-history.interval')})`,
      )
    else equal.set(broker, answer)
  }
  return { answers: equal, silent: eachOnce([...silent, ...others]) }
}

/** Returns a text that differs when another broker has completed a step, has answered again, or has fallen silent. */
function changesOf({ answers, silent }: Asked<AnyStepwise>): string {
  const steps = Array.from(answers, ([{ id, incarnation }, { steps: completed }]) => [id, incarnation, completed])
  return JSON.stringify([steps, silent])
}

function eachOnce(silent: readonly SilentBroker[]): SilentBroker[] {
  const byId = new Map(silent.toReversed().map(each => [each.brokerId, each]))
  return [...byId.values()].sort((one, other) => one.brokerId - other.brokerId)
}
