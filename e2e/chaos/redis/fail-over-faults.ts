// Fail-overs of a primary to its replica, with and without the last writes, and other faults around them. The
// brokers' proxies then connect to the promoted server.

import { startAnyway } from './kill-faults.ts'
import type { Fault, RoundContext } from './round.ts'
import { EXPIRY_MS, follow, inStep, type ReplicatedScene, WAIT_MS } from './scene.ts'

/**
 * Makes the replica the primary and connects the brokers to it. The old primary keeps its data and is not a replica.
 */
async function promote(scene: ReplicatedScene, except?: number): Promise<void> {
  const { primary, replica } = scene
  await replica.ask('REPLICAOF', 'NO', 'ONE')
  scene.primary = replica
  scene.replica = primary
  for (const { id, toRedis } of scene.nodes) {
    if (id === except) continue
    toRedis.retarget(replica.port)
    toRedis.reset()
  }
}

/** Makes the old primary a replica of the new one. It drops the data that only it has. */
async function takeBack(scene: ReplicatedScene): Promise<void> {
  await follow(scene.primary, scene.replica, scene.replication)
}

function holdTail({ replication }: ReplicatedScene): void {
  replication.freeze('to-client')
  replication.freeze('to-server')
}

/**
 * The replica has every acknowledged write. If the brokers do not wait for it, it lacks the writes that were on their
 * way.
 */
export const failOver: Fault<ReplicatedScene> = {
  name: 'a fail-over',
  raisesEpoch: true,
  async act(context) {
    const { scene, run, random } = context
    const ms = random.below(1_500)
    await inStep(scene.primary)
    context.lossMayBegin()
    await scene.primary.stop('SIGKILL')
    await run.pause(ms)
    await promote(scene)
    context.lossEnds()
    await scene.replica.start()
    await scene.replica.loaded()
    await takeBack(scene)
    return `a fail-over after ${ms} ms`
  },
}

/** The replica lacks the last writes. If the brokers wait for a replica, they have not acknowledged them. */
export const failOverWithoutTail: Fault<ReplicatedScene> = {
  name: 'a fail-over that loses the tail',
  raisesEpoch: true,
  async act(context) {
    const { scene, run, random } = context
    // Long enough for an append to wait for the replica and to be in the log without it.
    const ms = 2 * WAIT_MS + random.below(1_000)
    // Otherwise the topic itself could be lost, which was created a moment ago.
    await inStep(scene.primary)
    holdTail(scene)
    context.lossMayBegin()
    await run.pause(ms)
    await scene.primary.stop('SIGKILL')
    await promote(scene)
    context.lossEnds()
    await scene.replica.start()
    await scene.replica.loaded()
    await takeBack(scene)
    return `a fail-over that loses the last ${ms} ms`
  },
}

/** One broker stays connected to the old primary, which may be restarted, while the other brokers have left it. */
const isolatedPrimary: Fault<ReplicatedScene> = {
  name: 'an old primary that one broker stays with',
  raisesEpoch: true,
  async act(context) {
    const { scene, run, random } = context
    const { id, toRedis } = scene.nodes[random.below(scene.nodes.length)]!
    const restarts = random.below(2) === 0
    holdTail(scene)
    context.lossMayBegin()
    await promote(scene, id)
    if (restarts) {
      await scene.replica.stop('SIGKILL')
      await scene.replica.start()
      await scene.replica.loaded()
    }
    await run.pause(1_000 + random.below(4_000))
    toRedis.retarget(scene.primary.port)
    toRedis.reset()
    context.lossEnds()
    await takeBack(scene)
    return `broker ${id} stays with the old primary${restarts ? ', which is restarted' : ''}`
  },
}

/** The primary is back before the replica is promoted. */
const restartPrimary: Fault<ReplicatedScene> = {
  name: 'a primary that is back before a fail-over',
  raisesEpoch: true,
  async act({ scene }) {
    await scene.primary.stop('SIGKILL')
    await scene.primary.start()
    await scene.primary.loaded()
    await takeBack(scene)
    return 'a primary killed and started again at once'
  },
}

/** There is no fail-over. Appends that the replica does not confirm are not acknowledged. */
const pauseReplica: Fault<ReplicatedScene> = {
  name: 'a pause of the replica',
  async act({ scene, run, random }) {
    const ms = 300 + random.below(2_500)
    scene.replica.pause()
    await run.pause(ms)
    scene.replica.resume()
    return `the replica paused for ${ms} ms`
  },
}

/** A broker dies during a fail-over. The next leader must not show records that no replica has. */
const killBrokerWithoutReplica: Fault<ReplicatedScene> = {
  name: 'kill -9 of a broker while the replica is away',
  raisesEpoch: true,
  // The replication history is a new one, and the broker that led is gone and cannot confirm the ends: the next
  // leader skips offsets.
  leavesGaps: true,
  async act(context: RoundContext<ReplicatedScene>) {
    const { scene, run, random } = context
    const { id, broker } = scene.nodes[random.below(scene.nodes.length)]!
    holdTail(scene)
    context.lossMayBegin()
    await run.pause(random.below(500))
    await broker.kill('SIGKILL')
    await run.pause(random.below(2 * EXPIRY_MS))
    await scene.primary.stop('SIGKILL')
    await promote(scene)
    context.lossEnds()
    await scene.replica.start()
    await scene.replica.loaded()
    await takeBack(scene)
    await startAnyway(broker)
    return `kill -9 of broker ${id} and a fail-over that loses the tail`
  },
}

export const REPLICATED_FAULTS: readonly Fault<ReplicatedScene>[] = [
  failOverWithoutTail,
  failOver,
  isolatedPrimary,
  restartPrimary,
  killBrokerWithoutReplica,
  pauseReplica,
]

/**
 * The faults if the brokers wait for no replica: a fail-over then loses acknowledged records. The fault in which a
 * broker stays with the old primary is not among them: both sides would assign the same offsets, and only waiting
 * prevents that.
 */
export const UNCONFIRMED_FAULTS: readonly Fault<ReplicatedScene>[] = [failOverWithoutTail, failOver]
