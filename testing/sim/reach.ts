// The operations on records, over the log room in memory. A test can make some partitions belong to another broker,
// which does not answer.

import type { ReachRooms } from '../../src/admin/reach.ts'
import type { SchemaRooms } from '../../src/admin/records/schema-value.ts'
import { aloneInCluster } from '../../src/cluster/cluster.ts'
import { PeerUnavailable } from '../../src/cluster/peers.ts'
import type { LogWorld } from './logs.ts'

export function reachIn(
  world: LogWorld,
  isAway: (partition: number) => boolean = () => false,
): ReachRooms & SchemaRooms {
  const peers = {
    ask(brokerId: number): never {
      throw new PeerUnavailable(brokerId, 'does not answer', true)
    },
  }
  const { catalogue, settings, clock } = world
  const logs: ReachRooms['logs'] = Object.assign(Object.create(world.logs), {
    partition: (topicId: string, index: number) => (isAway(index) ? null : world.logs.partition(topicId, index)),
  })
  const cluster = { ...aloneInCluster(0, null), leaderOf: (_: string, index: number) => (isAway(index) ? 1 : 0) }
  return { catalogue, logs, settings, clock, peers, cluster, registry: null }
}
