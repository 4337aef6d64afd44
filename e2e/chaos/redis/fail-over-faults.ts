// Fail-overs of a primary to its replica, with and without what was written last, and what happens around them. The
// proxies of the brokers are pointed at the server that was promoted.

import type { Fault, RoundContext } from './round.ts'
import { EXPIRY_MS, follow, inStep, type ReplicatedScene, WAIT_MS } from './scene.ts'

/** Makes the replica the primary and sends the brokers there; the old one stays as it is, and is no replica. */
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

/** The server that was the primary comes back empty-handed: what only it has is dropped. */
async function takeBack(scene: ReplicatedScene): Promise<void> {
  await follow(scene.primary, scene.replica, scene.replication)
}

function holdTail({ replication }: ReplicatedScene): void {
  replication.freeze('to-client')
  replication.freeze('to-server')
}

/**
 * The replica has everything that was acknowledged, or, where it is not waited for, all but what was on its
 * way.
 */
const failOver: Fault<ReplicatedScene> = {
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

/** The replica lacks the tail. With a replica to wait for, nothing of that was acknowledged. */
const failOverWithoutTail: Fault<ReplicatedScene> = {
  name: 'a fail-over that loses the tail',
  raisesEpoch: true,
  async act(context) {
    const { scene, run, random } = context
    // Long enough for an append to have waited for the replica, and to stand in the log without it.
    const ms = 2 * WAIT_MS + random.below(1_000)
    // Else it is the topic that is lost, which was made a moment ago.
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

/**
 * A broker that goes on with the old primary, which may have been restarted, while the others have left it.
 */
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

/** Back before anybody is promoted. */
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

/** No fail-over: appends that the replicas do not confirm are not acknowledged. */
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

/** A broker dies in the midst of a fail-over: its successor must not show records that no replica has. */
const killBrokerWithoutReplica: Fault<ReplicatedScene> = {
  name: 'kill -9 of a broker while the replica is away',
  raisesEpoch: true,
  // The history is another one, and the broker that led is not there to vouch for the ends: they leap.
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
    await broker.start()
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
 * Where no replica is waited for: what a fail-over then takes is acknowledged. Not with a primary that some broker
 * stays with: both sides then give the same offsets away, which only waiting prevents.
 */
export const UNCONFIRMED_FAULTS: readonly Fault<ReplicatedScene>[] = [failOverWithoutTail, failOver]
