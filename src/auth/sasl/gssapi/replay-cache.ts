// Remembers the authenticators that clients have used, so that a copy of one is refused (RFC 4120, section 3.2.3). It
// lives in this process: after a restart, a copy is accepted until the time in it is too old. Brokers share nothing
// here, because each has a principal of its own, and a ticket for one broker is of no use to another. Brokers that
// share one principal, behind one name, do accept a copy each.
//
// An authenticator is known by the hash of its ciphertext, which holds a random confounder and cannot be changed
// without the session key. Two clients that share a name and a microsecond are therefore not mistaken for each other.
//
// Authenticators are kept in one set for each minute of their own time. A set goes when all of its times are too old.

import { createHash } from 'node:crypto'
import { Refused } from './refused.ts'

const SLOT_MS = 60_000
/** About 30 MB. With exact clocks they are kept for five to six minutes: 1,400 sign-ins a second, all the time. */
const MOST = 500_000
/** Half of a SHA-256. */
const HASH_BYTES = 16

export interface ReplayCache {
  /**
   * Remembers an authenticator that the session key has proved genuine. Throws Refused if it was used before, or if
   * there is no room to remember it. `nowMs` and `atMs`, the client's time, are on Clock.now().
   */
  use(authenticator: Buffer, atMs: number, nowMs: number): void
}

/** `skewMs` is the age at which no authenticator is accepted any more. */
export function createReplayCache(skewMs: number, most = MOST): ReplayCache {
  const slots = new Map<number, Set<string>>()
  let count = 0
  /** No authenticator of this slot, or of an earlier one, is remembered. */
  let forgotten = Number.NEGATIVE_INFINITY

  function forget(nowMs: number): void {
    const oldest = Math.floor((nowMs - skewMs) / SLOT_MS)
    for (const [slot, used] of slots) {
      if (slot >= oldest) continue
      slots.delete(slot)
      count -= used.size
      forgotten = Math.max(forgotten, slot)
    }
  }

  return {
    use(authenticator, atMs, nowMs) {
      forget(nowMs)
      const slot = Math.floor(atMs / SLOT_MS)
      // It happens only if the broker's clock was set back.
      if (slot <= forgotten) throw new Refused('the authenticator is from a time that the replay cache has forgotten')
      const hash = createHash('sha256').update(authenticator).digest().toString('latin1', 0, HASH_BYTES)
      const used = slots.get(slot)
      if (used?.has(hash)) throw new Refused('replay: this authenticator was used before')
      if (count >= most) throw new Refused(`the replay cache is full (${most} authenticators)`)
      if (used === undefined) slots.set(slot, new Set([hash]))
      else used.add(hash)
      count++
    },
  }
}
