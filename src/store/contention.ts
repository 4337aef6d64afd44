// Changes by compare-and-set that several brokers make to one document at once: the slower broker reads the new version
// and tries again. The waits between attempts are random and grow, so that a broker with slow reads does not always
// lose.

import { type Clock, sleep } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import { StoreContended } from './store.ts'

export interface ContentionRooms {
  readonly clock: Clock
  readonly random: Random
}

/** The result of an attempt that lost the race: another writer changed the document first. */
export const LOST = Symbol('lost')

/**
 * The upper limit of the wait after the second lost race. It doubles with each lost race, up to LAST_WAIT_MS. The
 * first retry is immediate.
 */
const FIRST_WAIT_MS = 5
const LAST_WAIT_MS = 320
const GIVE_UP_MS = 15_000

/**
 * Calls `once` until it resolves to something other than LOST. Throws StoreContended if that takes more than
 * GIVE_UP_MS. `what` names the changed thing at the beginning of the message, for example `the catalogue`.
 */
export async function contend<T>(
  { clock, random }: ContentionRooms,
  what: string,
  once: () => Promise<T | typeof LOST>,
): Promise<T> {
  const fromMs = clock.monotonic()
  let waitMs = FIRST_WAIT_MS
  for (let lost = 1; ; lost++) {
    const result = await once()
    if (result !== LOST) return result
    const tookMs = clock.monotonic() - fromMs
    if (tookMs >= GIVE_UP_MS) {
      throw new StoreContended(
        `${what} was changed by others ${lost} times within ${Math.round(tookMs / 1000)} s, each time before this change; the change was not made, and the request may be repeated`,
      )
    }
    if (lost === 1) continue
    await sleep(clock, 1 + random.below(waitMs))
    waitMs = Math.min(2 * waitMs, LAST_WAIT_MS)
  }
}
