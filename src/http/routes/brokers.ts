// The brokers that live on the store, as this one sees them.

import { z } from 'zod'
import { describeBrokerConfigs } from '../../admin/broker-configs.ts'
import { isRefusal } from '../../protocol/errors.ts'
import { integer } from '../query.ts'
import { reply, route } from '../route.ts'

const brokerShape = z
  .object({
    id: z.int(),
    rack: z.string().nullable(),
    version: z.string().nullable().meta({ description: 'Of Ketch; null for a release that does not say it.' }),
    listeners: z.array(z.object({ name: z.string(), host: z.string(), port: z.int() })),
    leads: z.int().meta({ description: 'Partitions that it leads.' }),
    isServing: z.boolean().meta({ description: 'False while it starts: it leads and coordinates nothing yet.' }),
    isSelf: z.boolean().meta({ description: 'It is the one that was asked.' }),
    isConfirmed: z
      .boolean()
      .nullable()
      .meta({ description: 'The others certainly know that it lives; null where only it could say.' }),
  })
  .meta({ id: 'Broker' })

export const brokerRoutes = [
  route({
    method: 'GET',
    path: '/api/v1/brokers',
    needs: 'viewer',
    verb: 'list brokers',
    tag: 'brokers',
    doc: 'The brokers that live on this store, with their listeners and how many partitions each leads.',
    answers: { 200: z.object({ brokers: z.array(brokerShape), partitions: z.int(), leaderless: z.int() }) },
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
    doc: 'What a broker of the cluster is set to. Secrets are not shown.',
    params: z.object({ broker: integer(0, 2 ** 31 - 1) }),
    answers: {
      200: z.object({
        configs: z.array(
          z
            .object({
              name: z.string(),
              value: z.string().nullable(),
              isSet: z.boolean(),
              isSensitive: z.boolean(),
              documentation: z.string(),
            })
            .meta({ id: 'BrokerConfig' }),
        ),
      }),
    },
    problems: { 404: 'RESOURCE_NOT_FOUND', 503: 'BROKER_UNAVAILABLE' },
    async answer({ params: { broker } }, rooms) {
      const configs = await describeBrokerConfigs(rooms, broker)
      return isRefusal(configs) ? configs : reply(200, { configs })
    },
  }),
]
