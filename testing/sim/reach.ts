// The verbs on records over the log room in memory, with nobody else in the cluster.

import type { ReachRooms } from '../../src/admin/reach.ts'
import { aloneInCluster } from '../../src/cluster/cluster.ts'
import type { LogWorld } from './logs.ts'

export function reachIn(world: LogWorld): ReachRooms {
  const peers = {
    ask(brokerId: number): never {
      throw new Error(`broker ${brokerId} is asked, and there is none`)
    },
  }
  const { catalogue, logs, settings, clock } = world
  return { catalogue, logs, settings, clock, peers, cluster: aloneInCluster(0, null) }
}
