// The brokers that live on the store, as this one sees them: their listeners, the partitions that each leads, and what
// each measures of itself.

import type { BrokerList, MeasuredBroker } from '../api/brokers.ts'
import type { Cluster } from '../cluster/cluster.ts'
import { type ClusterMetricsRooms, measureBrokers } from './cluster-metrics.ts'
import { latencyBody } from './latency.ts'
import type { BrokerMetrics } from './metrics.ts'

export interface BrokerRooms extends Pick<ClusterMetricsRooms, 'catalogue' | 'metrics' | 'history' | 'peerMetrics'> {
  readonly cluster: Cluster
  /** The broker that answers. */
  readonly nodeId: number
}

export async function listBrokers(rooms: BrokerRooms): Promise<BrokerList> {
  const { cluster, catalogue, nodeId } = rooms
  const living = cluster.brokers()
  const measured = await measureBrokers(rooms)
  const leads = new Map<number, number>()
  let all = 0
  for (const { id, partitions } of catalogue.current().topics.values()) {
    all += partitions
    for (let partition = 0; partition < partitions; partition++) {
      const leader = cluster.leaderOf(id, partition)
      leads.set(leader, (leads.get(leader) ?? 0) + 1)
    }
  }
  const brokers = living.map(({ id, rack, version, endpoints }) => ({
    id,
    rack,
    version,
    listeners: [...endpoints],
    leads: leads.get(id) ?? 0,
    isServing: endpoints.length > 0,
    isSelf: id === nodeId,
    isConfirmed: id === nodeId ? cluster.isConfirmed : null,
    ...measuredBody(measured.get(id) ?? `broker ${id} is starting`),
  }))
  return { brokers, partitions: all, leaderless: leads.get(-1) ?? 0 }
}

const NOT_MEASURED: MeasuredBroker = Object.freeze({
  uptimeMs: null,
  activeConnections: null,
  backpressureConnections: null,
  pendingBytes: null,
  requestsPerSecond: null,
  requestLatencyMs: null,
  cpuUsage: null,
  memoryBytes: null,
})

/** Takes the numbers of a broker, or the reason why it did not answer. */
function measuredBody(told: BrokerMetrics | string): MeasuredBroker & { readonly silentReason: string | null } {
  if (typeof told === 'string') return { ...NOT_MEASURED, silentReason: told }
  const { uptimeMs, activeConnections, backpressureConnections, pendingBytes, requestsPerSecond } = told
  return {
    ...{ uptimeMs, activeConnections, backpressureConnections, pendingBytes, requestsPerSecond },
    requestLatencyMs: latencyBody(told.requestLatencyMs),
    cpuUsage: told.cpuUsage,
    memoryBytes: told.memoryBytes,
    silentReason: null,
  }
}
