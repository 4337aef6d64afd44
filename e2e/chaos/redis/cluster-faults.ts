// The faults of a Redis Cluster under brokers: slots that move, primaries that fail over.

import { eventually } from '../../../testing/eventually.ts'
import type { RedisServer } from '../../../testing/redis.ts'
import type { Fault } from './round.ts'
import { type ClusterScene, isInStep } from './scene.ts'

/** The slot of a partition that the clients write to. */
const moveSlot: Fault<ClusterScene> = {
  name: 'a slot that moves',
  async act({ scene, run, random, topicId }) {
    const key = `svc:stream:{${topicId}:${random.below(run.partitions)}}:meta`
    const [any] = scene.servers
    const slot = Number(await any!.ask('CLUSTER', 'KEYSLOT', key))
    const primaries = await scene.primaries()
    const holding = await Promise.all(primaries.map(server => server.ask('CLUSTER', 'COUNTKEYSINSLOT', slot)))
    const from = primaries[holding.findIndex(count => Number(count) > 0)]!
    const others = primaries.filter(server => server !== from)
    const to = others[random.below(others.length)]!
    await scene.cluster.move(slot, from, to, () => run.pause(200 + random.below(800)))
    return `slot ${slot} of ${key} moved`
  },
}

async function becomesPrimary(replica: RedisServer): Promise<void> {
  await eventually(
    'a replica that has taken over',
    async () => ((await replica.ask('ROLE')) as readonly unknown[])[0] === 'master',
    60_000,
  )
}

/** Resolves when each replica follows its primary again, so that the next fail-over has a replica. */
async function isWhole(scene: ClusterScene): Promise<void> {
  await eventually(
    'a cluster whose replicas are in step',
    async () => {
      const primaries = await scene.primaries()
      if (primaries.length !== scene.cluster.primaries.length) return false
      for (const primary of primaries) if (!(await isInStep(primary))) return false
      return true
    },
    60_000,
  )
}

async function replicaOf(scene: ClusterScene, primary: RedisServer): Promise<RedisServer> {
  for (const server of scene.servers) {
    const [role, , port] = (await server.ask('ROLE')) as readonly unknown[]
    if (role === 'slave' && Number(port) === primary.port) return server
  }
  throw new Error(`the primary on port ${primary.port} has no replica`)
}

const failOverByHand: Fault<ClusterScene> = {
  name: 'CLUSTER FAILOVER',
  async act({ scene, random }) {
    const primaries = await scene.primaries()
    const replica = await replicaOf(scene, primaries[random.below(primaries.length)]!)
    const how = ['', 'FORCE', 'TAKEOVER'][random.below(3)]!
    await replica.ask('CLUSTER', 'FAILOVER', ...(how === '' ? [] : [how]))
    await becomesPrimary(replica)
    await isWhole(scene)
    return `CLUSTER FAILOVER ${how}`
  },
}

/** The cluster detects the death of the primary by itself. */
const killPrimary: Fault<ClusterScene> = {
  name: 'kill -9 of a primary of the cluster',
  async act({ scene, random }) {
    const primaries = await scene.primaries()
    const primary = primaries[random.below(primaries.length)]!
    const replica = await replicaOf(scene, primary)
    await primary.stop('SIGKILL')
    await becomesPrimary(replica)
    await primary.start()
    await primary.loaded()
    await isWhole(scene)
    return 'kill -9 of a primary, whose replica takes over'
  },
}

export const CLUSTER_FAULTS: readonly Fault<ClusterScene>[] = [moveSlot, killPrimary, failOverByHand]
