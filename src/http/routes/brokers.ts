// The brokers that live on the store, as this one sees them.

import { describeBrokerConfigs } from '../../admin/broker-configs.ts'
import { measureBrokers } from '../../admin/cluster-metrics.ts'
import { latencyBody } from '../../admin/latency.ts'
import type { BrokerMetrics } from '../../admin/metrics.ts'
import { brokerConfigsShape, brokerListShape, brokerParams, type MeasuredBroker } from '../../api/brokers.ts'
import { isRefusal } from '../../protocol/errors.ts'
import { reply, route } from '../route.ts'

export const brokerRoutes = [
  route({
    method: 'GET',
    path: '/api/v1/brokers',
    needs: 'viewer',
    verb: 'list brokers',
    tag: 'brokers',
    doc: 'The brokers that live on this store, with their listeners, the number of partitions that each leads, and what each measures of itself.',
    answers: { 200: brokerListShape },
    async answer(_request, rooms) {
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
        listeners: endpoints,
        leads: leads.get(id) ?? 0,
        isServing: endpoints.length > 0,
        isSelf: id === nodeId,
        isConfirmed: id === nodeId ? cluster.isConfirmed : null,
        ...measuredBody(measured.get(id) ?? `broker ${id} is starting`),
      }))
      return reply(200, { brokers, partitions: all, leaderless: leads.get(-1) ?? 0 })
    },
  }),

  route({
    method: 'GET',
    path: '/api/v1/brokers/:broker/configs',
    needs: 'viewer',
    verb: 'list configs of broker',
    tag: 'brokers',
    doc: 'The settings of one broker of the cluster. Secrets are not shown.',
    params: brokerParams,
    answers: { 200: brokerConfigsShape },
    problems: { 404: 'RESOURCE_NOT_FOUND', 503: 'BROKER_UNAVAILABLE' },
    async answer({ params: { broker } }, rooms) {
      const configs = await describeBrokerConfigs(rooms, broker)
      return isRefusal(configs) ? configs : reply(200, { configs })
    },
  }),
]

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
