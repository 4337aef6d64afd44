// The tool for the store: its state and the partitions in it, the segments of one partition, and the offload jobs.

import { z } from 'zod'
import { declined, isDeclined } from '../../admin/declined.ts'
import { listJobPage } from '../../admin/shown-jobs.ts'
import { listSegmentPage } from '../../admin/shown-segments.ts'
import { showStorage } from '../../admin/storage.ts'
import { JOB_STATUSES } from '../../api/words.ts'
import { isRefusal } from '../../protocol/errors.ts'
import { limitArgument, orderArgument, partitionArgument, searchArgument, topicArgument } from '../arguments.ts'
import { offsetOf, offsetRows } from '../cursor.ts'
import { cursorArgument, reading } from '../tool.ts'

const MOST_ROWS = 1_000

export const storageTools = [
  reading({
    name: 'storage',
    title: 'Show the storage',
    description:
      'Shows the store. With `show` partitions: its place, its free room, its state, and the bytes of each partition. With `show` segments: the segments of one partition, ' +
      'with their tier. With `show` jobs: the offload jobs to the remote tier, and how many are in each state.',
    input: z.strictObject({
      show: z.enum(['partitions', 'segments', 'jobs']).default('partitions'),
      topic: topicArgument.optional().meta({ description: 'For segments, needed; for jobs, only jobs of this topic.' }),
      partition: partitionArgument.optional().meta({ description: 'For segments, needed.' }),
      status: z.enum(JOB_STATUSES).optional().meta({ description: 'For jobs, only those with this status.' }),
      q: searchArgument.meta({ description: 'For partitions, a part of the name of the topic.' }),
      sort: z.enum(['topic', 'sizeBytes']).default('topic').meta({ description: 'For partitions.' }),
      order: orderArgument.meta({ description: 'For partitions and jobs. Segments come the oldest first.' }),
      limit: limitArgument(100, MOST_ROWS),
      cursor: cursorArgument,
    }),
    audited: ['show', 'topic', 'partition', 'status', 'q', 'sort', 'order', 'limit'],
    async run({ show, topic, partition, status, q, sort, order, limit, cursor }, rooms) {
      const offset = offsetOf(cursor)
      if (typeof offset === 'object') return offset
      if (show === 'partitions') {
        const body = await showStorage(rooms, { q, sort, order, offset, limit })
        return { body, rows: offsetRows('streams', offset, body.total) }
      }
      if (show === 'jobs') {
        const body = await listJobPage(rooms, { status, topic, sort: 'topic', order, offset, limit })
        if (isRefusal(body) || isDeclined(body)) return body
        return { body, rows: offsetRows('jobs', offset, body.total) }
      }
      if (topic === undefined || partition === undefined) return PLACE_NEEDED
      const body = await listSegmentPage(rooms, { topic, partition }, { offset, limit })
      return isRefusal(body) ? body : { body, rows: offsetRows('segments', offset, body.total) }
    },
  }),
]

const PLACE_NEEDED = declined('INVALID_ARGUMENTS', 'Segments are those of one partition.', {
  topic: 'is needed for segments',
  partition: 'is needed for segments',
})
