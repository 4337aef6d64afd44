// Work for each of many items, of which a client chooses the number: all at once they would take the store, the memory
// and the event loop from everyone else.

import { type Clock, takingTurns } from './clock.ts'

const AT_ONCE = 100
const TURN_MS = 10

/**
 * The results in the order of the items. At most 100 are under way together, and other work has its turn in between.
 * Rejects as the first `work` that rejects; the items behind it are left out.
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
