// The health tree for the console, with what only somebody who signed in may read: addresses, versions, reasons, and what an
// acknowledgement promises on this store.

import { z } from 'zod'
import type { Component, HealthTree } from '../../admin/health.ts'
import { reply, route } from '../route.ts'

export const statusShape = z.enum(['UP', 'DOWN', 'OUT_OF_SERVICE'])

export const componentShape = z
  .object({
    status: statusShape,
    details: z.record(z.string(), z.unknown()).optional(),
  })
  .meta({ id: 'HealthComponent' })

/** What a caller may see: without being somebody, no address, no version and no reason. */
export function shownTree({ status, components }: HealthTree, isKnown: boolean) {
  const visible = ([name, { status, details }]: [string, Component]) => [
    name,
    isKnown && Object.keys(details).length > 0 ? { status, details } : { status },
  ]
  return { status, components: Object.fromEntries(Object.entries(components).map(visible)) }
}

const checkShape = z
  .object({
    name: z.enum(['redis-connectivity', 'storage-redis-connectivity', 'store-connectivity']),
    status: statusShape,
    tookMs: z.int(),
    details: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'HealthCheck' })

export const healthRoutes = [
  route({
    method: 'GET',
    path: '/api/v1/health',
    needs: 'viewer',
    isForBadTimes: true,
    isProbe: true,
    verb: 'show health in full',
    tag: 'health',
    doc: 'The health tree with its details, and one check for each connection to the store. The status is in the body; the answer is 200 whenever there is one. While the store is away nobody can be told from anybody: then it is the statuses alone.',
    answers: {
      200: z
        .object({
          status: statusShape,
          details: z.object({ components: z.record(z.string(), componentShape) }),
          checks: z.array(checkShape),
        })
        .meta({ id: 'Health' }),
    },
    async answer({ identity }, { health }) {
      const [tree, checks] = await Promise.all([health.tree(), health.checks()])
      const { status } = tree
      if (identity !== null) return reply(200, { status, details: { components: tree.components }, checks })
      const { components } = shownTree(tree, false)
      return reply(200, { status, details: { components }, checks: checks.map(check => ({ ...check, details: {} })) })
    },
  }),
]
