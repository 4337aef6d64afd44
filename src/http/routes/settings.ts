// The settings of this broker.

import { listSettingPage } from '../../admin/effective-settings.ts'
import { settingListQuery, settingListShape } from '../../api/settings.ts'
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
      return reply(200, listSettingPage(settings, query))
    },
  }),
]
