// Runs work for each of many items, for requests of which many may arrive together. a-few.ts gives each of its callers
// turns of its own, so that a hundred callers hold the event loop a hundred times as long as one. Here all callers
// share the turns, and the items wait in one line, first come, first served.

import { type Clock, takingTurns } from './clock.ts'

/** The function that aFewInSharedTurns returns. Results are in the order of the items. */
export type AFew = <T, R>(items: readonly T[], work: (item: T) => Promise<R>) => Promise<readonly R[]>

/** In ms: all callers together hold the event loop for this long. */
const TURN_MS = 5
/** The first items of each call wait for no turn, so that a small request never waits. */
const WITHOUT_TURN = 16

/**
 * Returns a function that calls `work` for each item. Of each of its calls at most `atOnce` items are in progress, and
 * an item that takes long does not stop the others. If a call of `work` rejects, it rejects with the same error and
 * does not start the remaining items.
 */
export function aFewInSharedTurns(clock: Clock, atOnce: number): AFew {
  const waitInLine = lineOf(clock)
  return async <T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<readonly R[]> => {
    const results = new Array<R>(items.length)
    let next = 0
    let hasFailed = false
    const oneByOne = async () => {
      while (next < items.length && !hasFailed) {
        const at = next++
        const others = at < WITHOUT_TURN ? undefined : waitInLine()
        if (others !== undefined) await others
        if (hasFailed) return
        try {
          results[at] = await work(items[at]!)
        } catch (error) {
          hasFailed = true
          throw error
        }
      }
    }
    await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, oneByOne))
    return results
  }
}

/** Returns a function that returns undefined if the turn has room, or else resolves when it is the caller's turn. */
function lineOf(clock: Clock): () => Promise<void> | undefined {
  const turn = takingTurns(clock, TURN_MS)
  const line: (() => void)[] = []

  let isServed = false

  async function serve(): Promise<void> {
    isServed = true
    while (line.length > 0) {
      const others = turn()
      if (others !== undefined) await others
      line.shift()!()
      // The caller works as soon as this function waits, and has used its part of the turn afterwards.
      await Promise.resolve()
    }
    isServed = false
  }

  return () => {
    if (!isServed && turn() === undefined) return undefined
    return new Promise(resolve => {
      line.push(resolve)
      if (!isServed) void serve()
    })
  }
}
