// What this broker is set to.

import { z } from 'zod'
import { type EffectiveSetting, listSettings } from '../../admin/effective-settings.ts'
import { pageOf, pagingQuery, searchFor } from '../paging.ts'
import { reply, route } from '../route.ts'

const settingShape = z
  .object({
    key: z.string(),
    value: z.string().nullable().meta({
      description:
        'As it would be written in one line, without passwords, so that an empty list or map is an empty text; of a list of entries only how many there are. Null for none, and always for secrets.',
    }),
    source: z.string().meta({ description: 'default, or where it was written.' }),
    isSet: z.boolean(),
    isSecret: z.boolean(),
    default: z.string().nullable().meta({ description: 'In the same way.' }),
    type: z.string(),
    documentation: z.string(),
    notYet: z
      .string()
      .nullable()
      .meta({ description: 'What this version does not have, so that the setting does nothing.' }),
  })
  .meta({ id: 'Setting' })

export const settingRoutes = [
  route({
    method: 'GET',
    path: '/api/v1/settings',
    needs: 'viewer',
    verb: 'list settings',
    tag: 'brokers',
    doc: 'What this broker is set to, where each value was written, and what it means. Secrets are not shown.',
    query: pagingQuery(['key', 'source']).extend({
      set: z.enum(['true', 'false']).optional().meta({ description: 'Only what somebody set, or what nobody did.' }),
    }),
    answers: { 200: z.object({ settings: z.array(settingShape), total: z.int() }) },
    answer({ query }, { settings }) {
      const isWanted = searchFor(query.q)
      const wanted = listSettings(settings).filter(({ key, isSet }) => {
        return isWanted(key) && (query.set === undefined || isSet === (query.set === 'true'))
      })
      const by = { key: ({ key }: EffectiveSetting) => key, source: ({ source }: EffectiveSetting) => source }
      return reply(200, { settings: pageOf(wanted, query, by[query.sort], by.key), total: wanted.length })
    },
  }),
]
