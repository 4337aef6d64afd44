// The brokers that live on the store, as this one sees them.

import { describeBrokerConfigs } from '../../admin/broker-configs.ts'
import { listBrokers } from '../../admin/brokers.ts'
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
    doc: 'The brokers that live on this store, with their listeners, the number of partitions that each leads, and what each measures of itself.',
    answers: { 200: brokerListShape },
    async answer(_request, rooms) {
      return reply(200, await listBrokers(rooms))
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
