// The tool for the settings of this broker.

import { z } from 'zod'
import { listSettingPage } from '../../admin/effective-settings.ts'
import { limitArgument, orderArgument, searchArgument } from '../arguments.ts'
import { offsetOf, offsetRows } from '../cursor.ts'
import { cursorArgument, reading } from '../tool.ts'

const MOST_SETTINGS = 1_000

export const settingsTools = [
  reading({
    name: 'list_settings',
    title: 'List settings',
    description:
      'Lists the settings of the broker that answers, with their values, their defaults, and where each value is written. Secrets are not shown.',
    input: z.strictObject({
      q: searchArgument.meta({ description: 'A part of the key, upper and lower case alike.' }),
      set: z
        .boolean()
        .optional()
        .meta({ description: 'true: only settings that are set. false: only settings at their default.' }),
      sort: z.enum(['key', 'source']).default('key'),
      order: orderArgument,
      limit: limitArgument(100, MOST_SETTINGS),
      cursor: cursorArgument,
    }),
    audited: ['q', 'set', 'sort', 'order', 'limit'],
    async run({ set, cursor, ...query }, { settings }) {
      const offset = offsetOf(cursor)
      if (typeof offset === 'object') return offset
      const body = listSettingPage(settings, { ...query, set: set === undefined ? undefined : `${set}`, offset })
      return { body, rows: offsetRows('settings', offset, body.total) }
    },
  }),
]
