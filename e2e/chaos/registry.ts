// The long form of kills under registrations of schemas: `npm run chaos -- registry`. Twenty kills of each kind of
// broker, or --kills.

import { noRedis } from '../../testing/redis.ts'
import { KILL_ROUNDS, type KillOptions } from '../registry/kill-rounds.ts'

/** Prints a line for each round. Resolves to false if one failed or could not run. */
export async function runRegistry(options: KillOptions): Promise<boolean> {
  let isWell = true
  for (const { name, onRedis, run } of KILL_ROUNDS) {
    const ends: (() => Promise<void>)[] = []
    try {
      if (onRedis && noRedis !== false) throw new Error(noRedis)
      const done = await run({ after: (fn: () => Promise<void>) => void ends.push(fn) }, options)
      console.log(`✔ registry, ${name}, seed ${options.seed}: ${done}`)
    } catch (error) {
      isWell = false
      console.log(`✖ registry, ${name}, seed ${options.seed}: ${(error as Error).message}`)
    } finally {
      for (const end of ends.reverse()) await end()
    }
  }
  return isWell
}
