// The API schemas of the settings of one broker.

import { z } from 'zod'
import { valueFields } from './config.ts'
import { pagingQuery } from './paging.ts'

export const settingShape = z
  .object({
    key: z.string(),
    value: z.string().nullable().meta({
      description:
        'The value in one line, without passwords. An empty list or map gives an empty text. A list of entries gives the number of its entries. Null if there is no value, and always for secrets.',
    }),
    source: z.string().meta({ description: 'default, or the place where the value is written.' }),
    isSet: z.boolean(),
    isSecret: z.boolean(),
    default: z.string().nullable().meta({ description: 'The default, written in the same way.' }),
    type: z.string(),
    ...valueFields,
    documentation: z.string(),
    notYet: z.string().nullable().meta({
      description:
        'If the setting has no effect in this version, the capability that this version lacks; null if it has an effect.',
    }),
  })
  .meta({ id: 'Setting' })

/** One setting. The source is `default`, `environment variable SVC_…`, `command line` or file:line:column. */
export type EffectiveSetting = z.infer<typeof settingShape>

export const settingListQuery = pagingQuery(['key', 'source']).extend({
  set: z
    .enum(['true', 'false'])
    .optional()
    .meta({ description: 'true: only settings that are set. false: only settings at their default.' }),
})

export type SettingListQuery = z.output<typeof settingListQuery>

export const settingListShape = z.object({ settings: z.array(settingShape), total: z.int() })

export type SettingList = z.infer<typeof settingListShape>
