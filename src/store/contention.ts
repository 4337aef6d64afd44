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

/** Another writer was faster, and its change has been read. */
export const LOST = Symbol('lost')

/** The longest wait after the second lost race; it doubles with each, up to the last. The first retry is immediate. */
const FIRST_WAIT_MS = 5
const LAST_WAIT_MS = 320
const GIVE_UP_MS = 15_000

/**
 * Calls `once` until it resolves to something other than LOST. Throws StoreContended when that takes too long. `what`
 * begins the message: `the catalogue`.
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
        `${what} was changed by others ${lost} times within ${Math.round(tookMs / 1000)} s, each time before this change, which was not made; it may be asked for again`,
      )
    }
    if (lost === 1) continue
    await sleep(clock, 1 + random.below(waitMs))
    waitMs = Math.min(2 * waitMs, LAST_WAIT_MS)
  }
}
