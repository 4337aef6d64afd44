// Idempotent producers.

import { pageOf, searchFor } from '../../admin/paging.ts'
import { listProducers, type ProducerView } from '../../admin/producers.ts'
import { producerListQuery, producerListShape } from '../../api/producers.ts'
import { reply, route } from '../route.ts'

export const producerRoutes = [
  route({
    method: 'GET',
    path: '/api/v1/producers',
    needs: 'viewer',
    verb: 'list producers',
    tag: 'brokers',
    doc: 'The idempotent producers that the partitions of this broker remember, in the order of topic names.',
    query: producerListQuery,
    answers: { 200: producerListShape },
    answer({ query }, rooms) {
      const all = listProducers(rooms, searchFor(query.q))
      const by = {
        topic: ({ topic }: ProducerView) => topic,
        producerId: ({ producerId }: ProducerView) => producerId,
        lastAppendAt: ({ lastAppendMs }: ProducerView) => lastAppendMs,
      }
      const page = pageOf(all, query, by[query.sort], by.topic, ({ partition }) => partition, by.producerId)
      const producers = page.map(({ lastAppendMs, ...producer }) => ({
        ...producer,
        lastAppendAt: new Date(lastAppendMs).toISOString(),
      }))
      return reply(200, { brokerId: rooms.nodeId, producers, total: all.length })
    },
  }),
]
