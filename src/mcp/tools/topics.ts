// Tools about topics: list, delete. The rules are in admin/.

import { z } from 'zod'
import { listTopics } from '../../admin/topic-listing.ts'
import { ORDERS, TOPIC_SORTS } from '../../api/words.ts'
import { offsetOf, offsetRows } from '../cursor.ts'
import { cursorArgument, reading } from '../tool.ts'

const MOST_TOPICS = 200

export const topicTools = [
  reading({
    name: 'list_topics',
    title: 'List topics',
    description:
      'Lists topics with their partitions, their number of records, their stored bytes, their retention and the time of the last write.',
    input: z.strictObject({
      q: z.string().max(249).default('').meta({ description: 'A part of the name, upper and lower case alike.' }),
      internal: z
        .boolean()
        .default(true)
        .meta({ description: 'false leaves out the topics whose names begin with two underscores.' }),
      sort: z.enum(TOPIC_SORTS).default('name'),
      order: z.enum(ORDERS).default('asc'),
      limit: z.int().min(1).max(MOST_TOPICS).default(50).meta({ description: 'The most topics of one answer.' }),
      cursor: cursorArgument,
    }),
    audited: ['q', 'sort', 'order', 'limit'],
    async run({ q, internal, sort, order, limit, cursor }, rooms) {
      const offset = offsetOf(cursor)
      if (typeof offset === 'object') return offset
      const { topics, total } = await listTopics(rooms, { q, hasInternal: internal, sort, order, offset, limit })
      return { body: { topics, total }, rows: offsetRows('topics', offset, total) }
    },
  }),
]
