// The long form of chaos on Redis: `npm run chaos -- --store redis`. The rounds use the faults in turn. Every choice
// of a round follows from the seed and the round's number, so that one round can be repeated alone.

import { systemClock, within } from '../../../src/base/clock.ts'
import { noRedis } from '../../../testing/redis.ts'
import type { CompactedTopics } from '../compaction/topics.ts'
import { CLUSTER_FAULTS } from './cluster-faults.ts'
import { REPLICATED_FAULTS, UNCONFIRMED_FAULTS } from './fail-over-faults.ts'
import { ALONE_FAULTS, BROKER_FAULTS } from './faults.ts'
import { killsOfRedis } from './kill-faults.ts'
import { UNSYNCED, unsyncedPrimary, unsyncedTail } from './lost-tail-faults.ts'
import { type Fault, runRound } from './round.ts'
import {
  type ClusterScene,
  openAlone,
  openCluster,
  openReplicated,
  type RedisScene,
  type ReplicatedScene,
  type SceneOptions,
} from './scene.ts'

/** The longest time for the cleanup of one part of a scene. */
const END_MS = 30_000

type CleanUp = Parameters<typeof openAlone>[0]

export interface Stage<S extends RedisScene> {
  readonly name: string
  /** Its share of all rounds. */
  readonly share: number
  readonly faults: readonly Fault<S>[]
  /** The topics of its rounds; by default they are not compacted. */
  readonly compacted?: CompactedTopics
  open(cleanUp: CleanUp, options: SceneOptions): Promise<S>
}

const alone: Stage<RedisScene> = { name: 'one Redis', share: 0.45, faults: ALONE_FAULTS, open: openAlone }
const confirmed: Stage<ReplicatedScene> = {
  name: 'a replica that is waited for',
  share: 0.2,
  faults: [...REPLICATED_FAULTS, ...BROKER_FAULTS],
  open: (cleanUp, options) => openReplicated(cleanUp, { ...options, waitReplicas: 1 }),
}
const unconfirmed: Stage<ReplicatedScene> = {
  name: 'a replica that is not waited for',
  share: 0.1,
  faults: UNCONFIRMED_FAULTS,
  open: (cleanUp, options) => openReplicated(cleanUp, { ...options, waitReplicas: 0 }),
}
const unsynced: Stage<RedisScene> = {
  name: 'one Redis that syncs every second',
  share: 0.05,
  faults: [unsyncedTail],
  open: (cleanUp, options) => openAlone(cleanUp, { ...options, ...UNSYNCED }),
}
const unsyncedReplicated: Stage<ReplicatedScene> = {
  name: 'a primary that syncs every second and a replica that is waited for',
  share: 0.05,
  faults: [unsyncedPrimary],
  open: (cleanUp, options) => openReplicated(cleanUp, { ...options, ...UNSYNCED, waitReplicas: 1 }),
}
const cluster: Stage<ClusterScene> = {
  name: 'a Redis Cluster',
  share: 0.15,
  faults: [...CLUSTER_FAULTS, ...BROKER_FAULTS],
  open: openCluster,
}

/** The most kills of Redis in one round. KILLED has the kinds of Redis, each with the same share of all kills. */
const KILLS_IN_A_ROUND = 10
const KILLED: readonly (readonly [name: string, scene: Partial<SceneOptions>, withBrokers: boolean])[] = [
  ['one Redis', {}, false],
  ['one Redis and its brokers', {}, true],
  ['one Redis that syncs every second', UNSYNCED, false],
  ['one Redis that syncs every second and its brokers', UNSYNCED, true],
]

/**
 * Runs `npm run chaos -- --store redis --kills N`: N kills -9 of Redis, a quarter for each kind. Resolves to false if
 * a round failed.
 */
export async function runKills({ kills, seed }: { kills: number; seed: number }): Promise<boolean> {
  const rounds = Math.ceil(kills / KILLED.length / KILLS_IN_A_ROUND)
  const inARound = Math.ceil(kills / KILLED.length / rounds)
  let next = 1
  let isWell = true
  for (const [name, options, withBrokers] of KILLED) {
    const faults = [killsOfRedis({ kills: inARound, withBrokers })]
    const numbers = Array.from({ length: rounds }, () => next++)
    const open = (cleanUp: CleanUp, common: SceneOptions) => openAlone(cleanUp, { ...common, ...options })
    const failure = await playStage({ name, faults, open }, numbers, seed)
    if (failure !== null) console.log(`to repeat it: npm run chaos -- --store redis --seed ${seed} --kills ${kills}`)
    isWell &&= failure === null
  }
  return isWell
}

/**
 * Prints a line for each round. Resolves to false if one failed. `first` and `last` are numbers of rounds, so that a
 * failed round can be repeated alone.
 */
export async function runLong(options: {
  rounds: number
  seed: number
  first: number
  last: number
}): Promise<boolean> {
  const { rounds, seed } = options
  if (noRedis !== false) {
    console.log(noRedis)
    return false
  }
  let next = 1
  let isWell = true
  const runStage = async <S extends RedisScene>({ name, share, faults, open }: Stage<S>) => {
    const numbers = Array.from({ length: Math.round(rounds * share) }, (_, at) => next + at)
    next += numbers.length
    const wanted = numbers.filter(number => options.first <= number && number <= options.last)
    const failed = await playStage({ name, faults, open }, wanted, seed, numbers[0])
    if (failed === null) return
    const again = `npm run chaos -- --store redis --seed ${seed} --rounds ${rounds} --first ${failed} --last ${failed}`
    console.log(`to repeat it: ${again}`)
    isWell = false
  }
  await runStage(alone)
  await runStage(confirmed)
  await runStage(unconfirmed)
  await runStage(unsynced)
  await runStage(unsyncedReplicated)
  await runStage(cluster)
  return isWell
}

/** Prints a line for each round. Resolves to the number of the round that failed, or null. */
export async function playStage<S extends RedisScene>(
  { name, faults, compacted, open }: Omit<Stage<S>, 'share'>,
  numbers: readonly number[],
  seed: number,
  first = numbers[0] ?? 0,
): Promise<number | null> {
  if (numbers.length === 0) return null
  const ends: (() => Promise<void>)[] = []
  let at = 0
  try {
    const scene = await open({ after: fn => void ends.push(fn) }, { seed })
    for (const number of numbers) {
      at = number
      const fault = faults[(number - first) % faults.length]!
      const { fault: what, acknowledged, entries, seconds } = await runRound(scene, number, fault, compacted)
      console.log(
        `✔ ${name}, round ${number}, seed ${seed}: ${what}; ${acknowledged} acknowledged, ${entries} entries audited, ${seconds} s`,
      )
    }
    return null
  } catch (error) {
    console.log(`✖ ${name}: ${(error as Error).message}`)
    return at
  } finally {
    // A failed round must end the run, even if some of its work does not end.
    for (const end of ends.reverse()) {
      await within(systemClock, END_MS, end(), () => console.log(`✖ ${name}: something did not end with the scene`))
    }
  }
}
