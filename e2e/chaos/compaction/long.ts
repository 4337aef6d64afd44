// The long form of the faults beside the cleaner: `npm run chaos -- compaction`. Half of the rounds are on the embedded
// store, half on Redis. The rounds of a stage use its faults in turn. Every choice of a round follows from the seed
// and the round's number, so that one round can be repeated alone.

import { systemClock } from '../../../src/base/clock.ts'
import { noRedis } from '../../../testing/redis.ts'
import { smallDiskAbsence } from '../../../testing/small-disk.ts'
import { type Orders, openOrders } from '../orders.ts'
import { REPLICATED_FAULTS, UNCONFIRMED_FAULTS } from '../redis/fail-over-faults.ts'
import { playStage, type Stage } from '../redis/long.ts'
import { UNSYNCED, unsyncedTail } from '../redis/lost-tail-faults.ts'
import { openAlone, openReplicated, type RedisScene, type ReplicatedScene, type SceneOptions } from '../redis/scene.ts'
import { EMBEDDED_FAULTS } from './embedded-faults.ts'
import { runEmbeddedRound, seedOf } from './embedded-round.ts'
import { lateRewrite, PATIENT } from './late-rewrite.ts'
import { killFaults, otherFaults, storeFaults } from './redis-faults.ts'
import { STEPS } from './steps.ts'
import { CLEANING, COMPACTED } from './topics.ts'

export interface LongOptions {
  readonly rounds: number
  readonly seed: number
  readonly first: number
  readonly last: number
}

/** Prints a line for each round. Resolves to false if one failed. */
export async function runCompaction(options: LongOptions): Promise<boolean> {
  const { rounds, seed, first, last } = options
  let isWell = true
  const failed = (round: number) => {
    isWell = false
    const again = `npm run chaos -- compaction --seed ${seed} --rounds ${rounds} --first ${round} --last ${round}`
    console.log(`to repeat it: ${again}`)
  }
  const isWanted = (round: number) => first <= round && round <= last
  const onEmbedded = Math.ceil(rounds / 2)
  const numbers = Array.from({ length: rounds }, (_, at) => at + 1)
  for (const round of numbers.slice(0, onEmbedded).filter(isWanted)) {
    if (!(await playEmbedded(seed, round))) failed(round)
  }
  if (noRedis !== false) {
    console.log(noRedis)
    return false
  }
  let next = onEmbedded + 1
  const runStage = async <S extends RedisScene>(stage: Stage<S>) => {
    const end = Math.min(rounds + 1, next + Math.ceil((rounds - onEmbedded) * stage.share))
    const of = numbers.slice(next - 1, end - 1)
    next = end
    // A failed round ends its scene. The rounds behind it have a new one.
    for (let left = of.filter(isWanted); left.length > 0; ) {
      const round = await playStage(stage, left, seed, of[0])
      if (round === null) return
      failed(round)
      left = left.filter(number => number > round)
    }
  }
  await withOrders(async orders => {
    for (const stage of stagesOf(orders)) await runStage(stage)
    await runStage(confirmed(orders))
    await runStage(unconfirmed(orders))
  })
  return isWell
}

async function playEmbedded(seed: number, round: number): Promise<boolean> {
  const fault = EMBEDDED_FAULTS[(round - 1) % EMBEDDED_FAULTS.length]!
  const absence = fault.diskMiB === undefined ? null : smallDiskAbsence()
  if (absence !== null) {
    console.log(`- embedded store, round ${round}: ${absence}`)
    return true
  }
  const begunAt = systemClock.monotonic()
  const ends: (() => Promise<void>)[] = []
  try {
    const report = await runEmbeddedRound({ after: fn => void ends.push(fn) }, seedOf(seed, round), [fault])
    const seconds = Math.round((systemClock.monotonic() - begunAt) / 100) / 10
    const { what, acknowledged } = report
    console.log(
      `✔ embedded store, round ${round}, seed ${seed}: ${what[0]}; ${acknowledged} acknowledged, ${seconds} s`,
    )
    return true
  } catch (error) {
    console.log(`✖ embedded store, round ${round} (${fault.name}): ${(error as Error).message}`)
    return false
  } finally {
    for (const end of ends.reverse()) await end()
  }
}

async function withOrders(work: (orders: Orders) => Promise<void>): Promise<void> {
  const ends: (() => Promise<void>)[] = []
  const orders = await openOrders({ after: fn => void ends.push(fn) }, STEPS)
  try {
    await work(orders)
  } finally {
    for (const end of ends) await end()
  }
}

function optionsOf({ seed }: SceneOptions, { nodeFlags }: Orders): SceneOptions {
  return { seed, nodeFlags, settings: CLEANING }
}

function stagesOf(orders: Orders): readonly Stage<RedisScene>[] {
  return [
    {
      name: 'one Redis',
      share: 0.66,
      faults: [...killFaults(orders), ...otherFaults(orders), ...storeFaults],
      compacted: COMPACTED,
      open: (cleanUp, options) => openAlone(cleanUp, optionsOf(options, orders)),
    },
    {
      name: 'one Redis that syncs every second',
      share: 0.06,
      faults: [unsyncedTail],
      compacted: COMPACTED,
      open: (cleanUp, options) => openAlone(cleanUp, { ...optionsOf(options, orders), ...UNSYNCED }),
    },
    {
      name: 'one Redis with a long timeout',
      share: 0.04,
      faults: [lateRewrite(orders)],
      compacted: COMPACTED,
      open: (cleanUp, options) =>
        openAlone(cleanUp, { ...optionsOf(options, orders), settings: { ...CLEANING, ...PATIENT } }),
    },
  ]
}

const confirmed = (orders: Orders): Stage<ReplicatedScene> => ({
  name: 'a replica that is waited for',
  share: 0.18,
  faults: REPLICATED_FAULTS,
  compacted: COMPACTED,
  open: (cleanUp, options) => openReplicated(cleanUp, { ...optionsOf(options, orders), waitReplicas: 1 }),
})

const unconfirmed = (orders: Orders): Stage<ReplicatedScene> => ({
  name: 'a replica that is not waited for',
  share: 0.06,
  faults: UNCONFIRMED_FAULTS,
  compacted: COMPACTED,
  open: (cleanUp, options) => openReplicated(cleanUp, { ...optionsOf(options, orders), waitReplicas: 0 }),
})
