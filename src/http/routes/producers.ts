// Idempotent producers.

import { z } from 'zod'
import { listProducers, type ProducerView } from '../../admin/producers.ts'
import { timeShape } from '../../admin/time-shape.ts'
import { pageOf, pagingQuery, searchFor } from '../paging.ts'
import { reply, route } from '../route.ts'

const producerShape = z
  .object({
    topic: z.string(),
    partition: z.int(),
    producerId: z.int(),
    epoch: z.int(),
    lastSequence: z.int(),
    lastOffset: z.int(),
    lastAppendAt: timeShape,
  })
  .meta({ id: 'Producer' })

export const producerRoutes = [
  route({
    method: 'GET',
    path: '/api/v1/producers',
    needs: 'viewer',
    verb: 'list producers',
    tag: 'brokers',
    doc: 'What the partitions that this broker leads remember of idempotent producers, by the names of topics.',
    query: pagingQuery(['topic', 'producerId', 'lastAppendAt']),
    answers: { 200: z.object({ brokerId: z.int(), producers: z.array(producerShape), total: z.int() }) },
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
