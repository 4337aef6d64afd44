// The kinds of operations with their frequency, and the list of operations that a seed makes. Each operation draws
// its values from a seed of its own, so that any part of a list can run alone.

import { type Random, seededRandom } from '../../src/base/random.ts'
import { breakLink, disturbRedis, kill, restart } from './fault-operations.ts'
import { commitOffset, deleteGroup, deleteOffset, expireOffsets, fetchOffsets } from './group-operations.ts'
import { joinMember, leaveMember, stayMembers } from './member-operations.ts'
import { askForEpochs, fetchMany, fetchSome, listByTime, listEnds, readAll } from './read-operations.ts'
import { resetOffset } from './reset-operations.ts'
import type { Plan, Scene, StoreName } from './scene.ts'
import { followSession } from './session-operations.ts'
import {
  addPartitions,
  askForGone,
  changeConfigs,
  createTopic,
  deleteTopic,
  expireRecords,
  limitBytes,
} from './topic-operations.ts'
import { deleteSome, produceBeyondLimits, produceInSequence, produceSome, produceWrongly } from './write-operations.ts'

type Perform = (scene: Scene, random: Random) => Promise<void>

export interface Operation {
  /** The index in the list of the seed. */
  readonly index: number
  readonly kind: string
  readonly seed: number
}

/** The relative frequency of each kind. */
const KINDS: Readonly<Record<string, { readonly weight: number; readonly perform: Perform }>> = {
  produce: { weight: 24, perform: produceSome },
  'produce-in-sequence': { weight: 14, perform: produceInSequence },
  'produce-wrongly': { weight: 2, perform: produceWrongly },
  'produce-beyond-limits': { weight: 2, perform: produceBeyondLimits },
  fetch: { weight: 16, perform: fetchSome },
  'fetch-many': { weight: 6, perform: fetchMany },
  'follow-session': { weight: 5, perform: followSession },
  'read-all': { weight: 5, perform: readAll },
  'delete-records': { weight: 10, perform: deleteSome },
  'list-ends': { weight: 4, perform: listEnds },
  'list-by-time': { weight: 12, perform: listByTime },
  epochs: { weight: 3, perform: askForEpochs },
  'create-topic': { weight: 6, perform: createTopic },
  'delete-topic': { weight: 2, perform: deleteTopic },
  'ask-for-gone': { weight: 3, perform: askForGone },
  'add-partitions': { weight: 2, perform: addPartitions },
  'change-configs': { weight: 2, perform: changeConfigs },
  'expire-records': { weight: 1, perform: expireRecords },
  'limit-bytes': { weight: 2, perform: limitBytes },
  commit: { weight: 10, perform: commitOffset },
  'fetch-offsets': { weight: 5, perform: fetchOffsets },
  'delete-offset': { weight: 2, perform: deleteOffset },
  'reset-offset': { weight: 4, perform: resetOffset },
  'expire-offsets': { weight: 1, perform: expireOffsets },
  'delete-group': { weight: 2, perform: deleteGroup },
  join: { weight: 3, perform: joinMember },
  leave: { weight: 3, perform: leaveMember },
  stay: { weight: 2, perform: stayMembers },
  restart: { weight: 4, perform: restart },
  kill: { weight: 4, perform: kill },
  'break-link': { weight: 4, perform: breakLink },
  'disturb-redis': { weight: 2, perform: disturbRedis },
}

/** The first two operations always create a topic, because all others need one. */
const FIRST = 'create-topic'
const NEEDS_REDIS = ['break-link', 'disturb-redis']

export const operationKinds: readonly string[] = Object.keys(KINDS)

/** Returns the operations of a seed. `only` names the allowed kinds; if it is empty, all kinds are allowed. */
export function operationsOf(seed: number, plan: Plan, count: number, only: readonly string[]): readonly Operation[] {
  const random = seededRandom(seed)
  const isPossible = (kind: string) =>
    (only.length === 0 || only.includes(kind)) &&
    (plan.store === 'redis' || !NEEDS_REDIS.includes(kind)) &&
    (plan.areProcesses || kind !== 'kill') &&
    (plan.hasHttp || kind !== 'reset-offset')
  const bag = Object.entries(KINDS).flatMap(([kind, { weight }]) => (isPossible(kind) ? Array(weight).fill(kind) : []))
  return Array.from({ length: count }, (_, index) => {
    const kind = index < 2 ? FIRST : (bag[random.below(bag.length)] as string)
    return { index, kind, seed: 1 + random.below(2 ** 31) }
  })
}

export function perform(scene: Scene, { kind, seed }: Operation): Promise<void> {
  return KINDS[kind]!.perform(scene, seededRandom(seed))
}

/**
 * Returns the plan of a seed. Runs on Redis have one to three brokers. Every tenth run has its brokers as processes
 * that can be killed.
 */
export function planOf(store: StoreName, seed: number): Plan {
  const areProcesses = seed % 10 === 0
  const brokers = store === 'embedded' ? 1 : areProcesses ? 1 + (seed % 20 === 0 ? 1 : 0) : 1 + (seed % 3)
  return {
    store,
    brokers,
    areProcesses,
    hasHttp: areProcesses || seed % 4 === 1,
    fsync: seed % 2 === 0 ? 'always' : 'interval',
  }
}
