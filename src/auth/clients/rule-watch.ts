// Reads the rules of all principals again and again, for the clients of listeners without SASL: those get their policy
// when they connect, without a request to the store (policies.ts).

import type { Clock, Timer } from '../../base/clock.ts'
import { isStoreFailure } from '../../store/store.ts'
import type { AclKeeper } from './acl-keeper.ts'

/** A rule of another broker counts after this time at the latest. */
const LOOK_MS = 1000

/** Ends when it is closed. While the store does not answer, the last rules count. */
export function watchRules(acls: Pick<AclKeeper, 'catchUp'>, clock: Clock): { close(): void } {
  let timer: Timer | null = null
  let isClosed = false
  const look = async (): Promise<void> => {
    try {
      await acls.catchUp()
    } catch (error) {
      if (!isStoreFailure(error)) throw error
    }
    if (!isClosed) lookLater()
  }
  const lookLater = () => {
    timer = clock.timer(LOOK_MS, () => void look())
  }
  lookLater()
  return {
    close() {
      isClosed = true
      timer?.cancel()
    },
  }
}
