// The settings of this broker.

import { listSettings } from '../../admin/effective-settings.ts'
import { pageOf, searchFor } from '../../admin/paging.ts'
import { type EffectiveSetting, settingListQuery, settingListShape } from '../../api/settings.ts'
import { reply, route } from '../route.ts'

export const settingRoutes = [
  route({
    method: 'GET',
    path: '/api/v1/settings',
    needs: 'viewer',
    verb: 'list settings',
    tag: 'brokers',
    doc: 'The settings of this broker, the place where each value is written, and its meaning. Secrets are not shown.',
    query: settingListQuery,
    answers: { 200: settingListShape },
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
