// Tools about consumer groups: list, one group, and the explanation of its lag.

import { z } from 'zod'
import { isDeclined } from '../../admin/declined.ts'
import { explainLag } from '../../admin/groups/explain-lag.ts'
import { listGroupPage, showGroup } from '../../admin/groups/shown-groups.ts'
import { isRefusal } from '../../protocol/errors.ts'
import { groupArgument, limitArgument, orderArgument, searchArgument, topicArgument } from '../arguments.ts'
import { offsetOf, offsetRows } from '../cursor.ts'
import { cursorArgument, reading, type ToolAnswer } from '../tool.ts'

const MOST_GROUPS = 200
const MOST_ROWS = 1_000

/** Returns an answer with a page of a list that the verb returned as a whole. */
function pageOf<B extends object>(body: B, member: keyof B & string, offset: number, limit: number): ToolAnswer {
  const all = body[member] as readonly unknown[]
  const page = all.slice(offset, offset + limit)
  return { body: { ...body, [member]: page }, rows: offsetRows(member, offset, all.length) }
}

export const groupTools = [
  reading({
    name: 'list_groups',
    title: 'List consumer groups',
    description:
      'Lists consumer groups with their state, their members, their topics and their lag. ' +
      'Sort by lag.totalLag and order desc to see which group lags most. With `topic` only the groups that read it, each with its lag there.',
    input: z.strictObject({
      q: searchArgument,
      state: z
        .string()
        .max(1_000)
        .default('')
        .meta({ description: 'The wanted states, separated by commas: Stable, Empty, PreparingRebalance.' }),
      topic: topicArgument.optional(),
      sort: z
        .enum(['groupId', 'state', 'lag.totalLag', 'topicLag.totalLag'])
        .default('groupId')
        .meta({ description: 'topicLag.totalLag needs topic.' }),
      order: orderArgument,
      limit: limitArgument(50, MOST_GROUPS),
      cursor: cursorArgument,
    }),
    audited: ['q', 'state', 'topic', 'sort', 'order', 'limit'],
    async run({ cursor, ...query }, rooms) {
      const offset = offsetOf(cursor)
      if (typeof offset === 'object') return offset
      const found = await listGroupPage(rooms, { ...query, offset })
      if (isRefusal(found) || isDeclined(found)) return found
      return { body: found, rows: offsetRows('groups', offset, found.total) }
    },
  }),

  reading({
    name: 'describe_group',
    title: 'Describe a group',
    description:
      'Shows one consumer group: its state, its coordinator, its lag, and a list: with `list` positions its committed, delivered and end offset in each partition, ' +
      'with `list` members its members with their addresses and their partitions.',
    input: z.strictObject({
      group: groupArgument,
      list: z.enum(['positions', 'members']).default('positions'),
      limit: limitArgument(MOST_ROWS, MOST_ROWS),
      cursor: cursorArgument,
    }),
    audited: ['group', 'list', 'limit'],
    async run({ group, list, limit, cursor }, rooms) {
      const offset = offsetOf(cursor)
      if (typeof offset === 'object') return offset
      const found = await showGroup(rooms, group)
      if (isRefusal(found)) return found
      const { members, positions, ...facts } = found
      const body = { ...facts, memberCount: members.length, [list]: list === 'members' ? members : positions }
      return pageOf(body as typeof body & Record<string, unknown>, list, offset, limit)
    },
  }),

  reading({
    name: 'explain_lag',
    title: 'Explain lag',
    description:
      'Explains the lag of one group: since when it lags, whether it catches up and in how many seconds, or that it never will and why ' +
      '(no-owner: no member owns the partition; slower: it consumes less than is produced; not-moving: its position does not move). ' +
      'The same for each partition, with the member that owns it and its produce and consume rate. Each rate has its origin ' +
      '(history: the metrics of past steps; positions: two looks at offsets; commits: the times of two commits) and its time in seconds.',
    input: z.strictObject({
      group: groupArgument,
      lookSeconds: z.number().min(0.1).max(15).default(2).meta({
        description: 'The time between two looks at the positions. A longer one gives better rates of partitions.',
      }),
      sort: z.enum(['lag', 'partition']).default('lag').meta({ description: 'lag: the largest lag comes first.' }),
      limit: limitArgument(MOST_ROWS, MOST_ROWS),
      cursor: cursorArgument,
    }),
    audited: ['group', 'lookSeconds', 'sort', 'limit'],
    async run({ group, lookSeconds, sort, limit, cursor }, rooms, { ended }) {
      const offset = offsetOf(cursor)
      if (typeof offset === 'object') return offset
      const found = await explainLag(rooms, group, { lookMs: lookSeconds * 1_000, sort }, ended)
      return isRefusal(found) ? found : pageOf(found, 'partitions', offset, limit)
    },
  }),
]
