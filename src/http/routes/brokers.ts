// The brokers that live on the store, as this one sees them.

import { describeBrokerConfigs } from '../../admin/broker-configs.ts'
import { brokerConfigsShape, brokerListShape, brokerParams } from '../../api/brokers.ts'
import { isRefusal } from '../../protocol/errors.ts'
import { reply, route } from '../route.ts'

export const brokerRoutes = [
  route({
    method: 'GET',
    path: '/api/v1/brokers',
    needs: 'viewer',
    verb: 'list brokers',
    tag: 'brokers',
    doc: 'The brokers that live on this store, with their listeners and the number of partitions that each leads.',
    answers: { 200: brokerListShape },
    answer(_request, { cluster, catalogue, nodeId }) {
      const leads = new Map<number, number>()
      let all = 0
      for (const { id, partitions } of catalogue.current().topics.values()) {
        all += partitions
        for (let partition = 0; partition < partitions; partition++) {
          const leader = cluster.leaderOf(id, partition)
          leads.set(leader, (leads.get(leader) ?? 0) + 1)
        }
      }
      const brokers = cluster.brokers().map(({ id, rack, version, endpoints }) => ({
        id,
        rack,
        version,
        listeners: endpoints,
        leads: leads.get(id) ?? 0,
        isServing: endpoints.length > 0,
        isSelf: id === nodeId,
        isConfirmed: id === nodeId ? cluster.isConfirmed : null,
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
