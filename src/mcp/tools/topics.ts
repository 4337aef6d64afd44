// Tools that show topics: list and describe. The rules are in admin/.

import { z } from 'zod'
import { listTopics } from '../../admin/topic-listing.ts'
import { overviewTopic } from '../../admin/topic-overview.ts'
import { ORDERS, TOPIC_SORTS } from '../../api/words.ts'
import { isRefusal } from '../../protocol/errors.ts'
import { topicArgument } from '../arguments.ts'
import { offsetOf, offsetRows } from '../cursor.ts'
import { cursorArgument, reading } from '../tool.ts'

const MOST_TOPICS = 200
const MOST_PARTITIONS = 1_000

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

  reading({
    name: 'describe_topic',
    title: 'Describe a topic',
    description:
      'Shows one topic: its size, its records, its produce and fetch rates on all brokers, its configs with the place where each value comes from, ' +
      'and its partitions (`leaders`) with their leader, their replicas, their offsets and their size.',
    input: z.strictObject({
      topic: topicArgument,
      configs: z
        .enum(['set', 'all'])
        .default('set')
        .meta({ description: 'set: only the configs whose value is not the default.' }),
      limit: z.int().min(1).max(MOST_PARTITIONS).default(MOST_PARTITIONS).meta({
        description: 'The most partitions of one answer.',
      }),
      cursor: cursorArgument,
    }),
    audited: ['topic', 'configs', 'limit'],
    async run({ topic: name, configs: which, limit, cursor }, rooms) {
      const offset = offsetOf(cursor)
      if (typeof offset === 'object') return offset
      const topic = await overviewTopic(rooms, name)
      if (isRefusal(topic)) return topic
      const { leaders, configs, ...facts } = topic
      const shown = configs
        .filter(({ source }) => which === 'all' || source !== 'default')
        .map(({ name, value, source, origin, pattern, unit, default: fallback, because }) => ({
          ...{ name, value, source, origin, pattern, unit, default: fallback, because },
        }))
      const page = leaders.slice(offset, offset + limit)
      return {
        body: { ...facts, configs: shown, leaders: page },
        rows: offsetRows('leaders', offset, leaders.length),
      }
    },
  }),
]
