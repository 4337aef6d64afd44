// Tools about the cluster as a whole: its health.

import { z } from 'zod'
import { reading } from '../tool.ts'

export const clusterTools = [
  reading({
    name: 'cluster_health',
    title: 'Cluster health',
    description:
      'Tells whether the cluster is healthy: the state of each part of the broker that answers with its warnings, the brokers that live, ' +
      'and how many partitions no broker leads.',
    input: z.strictObject({}),
    audited: [],
    async run(_input, { health, cluster, catalogue, nodeId }) {
      const [{ status, components }, checks] = await Promise.all([health.tree(), health.checks()])
      const partitions = [...catalogue.current().topics.values()].flatMap(({ id, partitions: count }) =>
        Array.from({ length: count }, (_, partition) => cluster.leaderOf(id, partition)),
      )
      const brokers = cluster.brokers().map(({ id, rack, version, endpoints }) => ({
        id,
        rack,
        version,
        listeners: endpoints,
        leads: partitions.filter(leader => leader === id).length,
        isServing: endpoints.length > 0,
        isSelf: id === nodeId,
      }))
      const leaderless = partitions.filter(leader => leader < 0).length
      return {
        body: {
          status,
          partitions: partitions.length,
          leaderless,
          brokers,
          components,
          checks: checks.map(({ name, status: of, tookMs }) => ({ name, status: of, tookMs })),
        },
      }
    },
  }),
]
