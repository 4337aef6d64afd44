// Runs work for each of many items, with a limit on how much runs at once. A client chooses the number of items.
// Without the limit one request could take the store, the memory and the event loop from all others.

import { type Clock, takingTurns } from './clock.ts'

const AT_ONCE = 100
const TURN_MS = 10

/**
 * Calls `work` for each item and resolves with the results in the order of the items. At most 100 calls are in progress
 * together, and other work gets its turn between them. If a call rejects, rejects with the same error and does not
 * start the remaining items.
 */
export async function aFewAtATime<T, R>(
  clock: Clock,
  items: readonly T[],
  work: (item: T) => Promise<R>,
): Promise<readonly R[]> {
  const turn = takingTurns(clock, TURN_MS)
  const results: R[] = []
  for (let from = 0; from < items.length; from += AT_ONCE) {
    const others = turn()
    if (others !== undefined) await others
    results.push(...(await Promise.all(items.slice(from, from + AT_ONCE).map(work))))
  }
  return results
}
