// The health tree for the console, with details that only a user with a session may read: addresses, versions, reasons,
// and the durability of an acknowledgement on this store.

import { healthShape } from '../../api/health.ts'
import { reply, route } from '../route.ts'
import { shownTree } from '../shown-health.ts'

export const healthRoutes = [
  route({
    method: 'GET',
    path: '/api/v1/health',
    needs: 'viewer',
    isForBadTimes: true,
    isProbe: true,
    verb: 'show health in full',
    tag: 'health',
    doc: 'The health tree with its details, and one check for each connection to the store. The answer is 200, and the status is in the body. While the store is away the broker cannot identify a caller, and answers only the statuses.',
    answers: { 200: healthShape },
    async answer({ identity }, { health }) {
      const [tree, checks] = await Promise.all([health.tree(), health.checks()])
      const { status } = tree
      if (identity !== null) return reply(200, { status, details: { components: tree.components }, checks })
      const { components } = shownTree(tree, false)
      return reply(200, { status, details: { components }, checks: checks.map(check => ({ ...check, details: {} })) })
    },
  }),
]
