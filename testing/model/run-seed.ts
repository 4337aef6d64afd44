// One run: performs the operations of a seed on a new store until they are done or an answer differs from the model.
// shrink() repeats a failed run with fewer operations as long as it still fails, so that the report is short.

import { stayAlive, systemClock } from '../../src/base/clock.ts'
import type { RedisServer } from '../redis.ts'
import { type Operation, operationsOf, perform, planOf } from './operations.ts'
import { readLog } from './read-operations.ts'
import { type Plan, Scene, type StoreName } from './scene.ts'

export interface RunOptions {
  readonly store: StoreName
  readonly seed: number
  /** The number of operations. */
  readonly count: number
  /** The allowed kinds of operations; empty for all. */
  readonly only: readonly string[]
  /** The indexes of the operations that run; null for all. */
  readonly keep: readonly number[] | null
  /** Null on the embedded store. */
  readonly redis: RedisServer | null
}

export interface Outcome {
  readonly performed: readonly Operation[]
  /** One line for each operation, in their order. */
  readonly trace: readonly string[]
  readonly error: Error | null
}

export async function runSeed(options: RunOptions): Promise<Outcome> {
  const { store, seed, count, only, keep } = options
  const plan = planOf(store, seed)
  const operations = operationsOf(seed, plan, count, only).filter(({ index }) => keep?.includes(index) ?? true)
  return runOperations(operations, plan, options)
}

async function runOperations(
  operations: readonly Operation[],
  plan: Plan,
  { seed, redis }: RunOptions,
): Promise<Outcome> {
  const performed: Operation[] = []
  let scene: Scene | null = null
  let error: Error | null = null
  // A closing broker waits for timers, and these timers do not keep the process alive.
  const awake = stayAlive()
  try {
    scene = await Scene.open(plan, seed, redis, `model-${seed}`)
    for (const operation of operations) {
      performed.push(operation)
      scene.note(`${operation.index} ${operation.kind}`)
      await perform(scene, operation)
    }
    for (const topic of scene.topics.values()) {
      for (const [partition, log] of topic.logs.entries()) await readLog(scene, { topic, partition, log })
    }
  } catch (cause) {
    error = cause as Error
  }
  await scene?.close()
  await redis?.ask('FLUSHALL')
  awake.cancel()
  return { performed, trace: scene?.trace ?? [], error }
}

/** Looks for fewer operations of the seed that also fail, for at most `withinMs` milliseconds. */
export async function shrink(options: RunOptions, failed: Outcome, withinMs: number): Promise<Outcome> {
  const plan = planOf(options.store, options.seed)
  const endMs = systemClock.monotonic() + withinMs
  let shortest = failed
  for (let parts = 2; systemClock.monotonic() < endMs; ) {
    const { performed } = shortest
    const size = Math.ceil(performed.length / parts)
    let hasShrunk = false
    for (let from = 0; from < performed.length && systemClock.monotonic() < endMs; from += size) {
      const rest = performed.filter((_, i) => i < from || i >= from + size)
      const outcome = await runOperations(rest, plan, options)
      if (outcome.error === null) continue
      shortest = outcome
      hasShrunk = true
      break
    }
    if (!hasShrunk && size <= 1) break
    parts = hasShrunk ? Math.max(2, parts - 1) : Math.min(parts * 2, performed.length)
  }
  return shortest
}
