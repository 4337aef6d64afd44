// The tool for past metrics.

import { z } from 'zod'
import { readPoints } from '../../admin/history-points.ts'
import { METRIC_SCOPES } from '../../api/words.ts'
import { cursorOf, readCursor } from '../cursor.ts'
import { cursorArgument, reading, type ToolDeclined } from '../tool.ts'

const MOST_POINTS = 120

const placeShape = z.strictObject({ from: z.int().min(0), step: z.int().min(1) })

export const metricsTools = [
  reading({
    name: 'metrics_history',
    title: 'Metrics over time',
    description:
      'Shows records, bytes, requests, failures, connections and latencies over time, the oldest first: of all brokers together, or of the one that answers. ' +
      `At most ${MOST_POINTS} points; steps are combined to fit.`,
    input: z.strictObject({
      scope: z.enum(METRIC_SCOPES).default('cluster'),
      from: z
        .int()
        .min(0)
        .optional()
        .meta({ description: 'Milliseconds since 1970; by default the start of the history.' }),
      step: z
        .int()
        .min(1)
        .optional()
        .meta({ description: 'The time of one point in milliseconds. By default the smallest one that fits.' }),
      points: z.int().min(1).max(MOST_POINTS).default(30).meta({ description: 'The most points of one answer.' }),
      cursor: cursorArgument,
    }),
    audited: ['scope', 'from', 'step', 'points'],
    async run({ cursor, ...asked }, rooms) {
      const place = cursor === undefined ? asked : readCursor(placeShape, cursor)
      if ('kind' in place) return place as ToolDeclined
      const { from, step } = place
      const { total, ...body } = await readPoints(rooms, { ...asked, from, step })
      const { samples, from: begin, stepMs } = body
      const cursorAfter = (kept: number) => {
        if (kept >= total) return null
        const last = samples[kept - 1]
        return cursorOf({ from: last === undefined ? begin : last.timestamp + 1, step: stepMs })
      }
      return { body, rows: { member: 'samples', total, cursorAfter } }
    },
  }),
]
