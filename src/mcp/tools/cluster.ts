// Tools about the cluster as a whole: its health.

import { z } from 'zod'
import { listBrokers } from '../../admin/brokers.ts'
import { reading } from '../tool.ts'

export const clusterTools = [
  reading({
    name: 'cluster_health',
    title: 'Cluster health',
    description:
      'Tells whether the cluster is healthy: the state of each part of the broker that answers with its warnings, the brokers that live ' +
      'with what each measures of itself, and how many partitions no broker leads.',
    input: z.strictObject({}),
    audited: [],
    async run(_input, rooms) {
      const { health } = rooms
      const [{ status, components }, checks, { brokers, partitions, leaderless }] = await Promise.all([
        health.tree(),
        health.checks(),
        listBrokers(rooms),
      ])
      const shownChecks = checks.map(({ details: _, ...check }) => check)
      return { body: { status, partitions, leaderless, brokers, components, checks: shownChecks } }
    },
  }),
]
