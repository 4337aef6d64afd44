// Remembers the authenticators that clients have used, so that a copy of one is refused (RFC 4120, section 3.2.3). It
// lives in this process: after a restart, a copy is accepted until the time in it is too old. Brokers share nothing
// here, because each has a principal of its own, and a ticket for one broker is of no use to another. Brokers that
// share one principal, behind one name, do accept a copy each.
//
// An authenticator is known by the hash of its ciphertext, which holds a random confounder and cannot be changed
// without the session key. Two clients that share a name and a microsecond are therefore not mistaken for each other.
//
// Authenticators are kept in sets, one for each client and minute of their own time. The sets of a minute go when all
// of its times are too old. One client may fill a tenth of the room, so that it cannot keep the others out.

import { createHash } from 'node:crypto'
import { AuthenticationBusy } from '../mechanism.ts'
import { Refused } from './refused.ts'

const SLOT_MS = 60_000
/** About 30 MB. With exact clocks they are kept for five to six minutes: 1,400 sign-ins a second, all the time. */
const MOST = 500_000
/** The part of the room that one client may fill: 140 sign-ins a second, all the time. */
const PART_OF_CLIENT = 1 / 10
/** Half of a SHA-256. */
const HASH_BYTES = 16

export interface ReplayCache {
  /**
   * Remembers an authenticator that the session key has proved genuine. `client` is its principal. Throws Refused if
   * it was used before, and AuthenticationBusy if there is no room to remember it. `nowMs` and `atMs`, the client's
   * time, are on Clock.now().
   */
  use(authenticator: Buffer, client: string, atMs: number, nowMs: number): void
}

/** `skewMs` is the age at which no authenticator is accepted any more. */
export function createReplayCache(skewMs: number, most = MOST): ReplayCache {
  /** By minute, then by client. */
  const slots = new Map<number, Map<string, Set<string>>>()
  /** By client. */
  const counts = new Map<string, number>()
  let count = 0
  /** No authenticator of this slot, or of an earlier one, is remembered. */
  let forgotten = Number.NEGATIVE_INFINITY

  function add(client: string, change: number): void {
    count += change
    const left = (counts.get(client) ?? 0) + change
    if (left === 0) counts.delete(client)
    else counts.set(client, left)
  }

  function forget(nowMs: number): void {
    const oldest = Math.floor((nowMs - skewMs) / SLOT_MS)
    for (const [slot, used] of slots) {
      if (slot >= oldest) continue
      slots.delete(slot)
      for (const [client, { size }] of used) add(client, -size)
      forgotten = Math.max(forgotten, slot)
    }
  }

  return {
    use(authenticator, client, atMs, nowMs) {
      forget(nowMs)
      const slot = Math.floor(atMs / SLOT_MS)
      // It happens only if the broker's clock was set back.
      if (slot <= forgotten) throw new Refused('the authenticator is from a time that the replay cache has forgotten')
      const hash = createHash('sha256').update(authenticator).digest().toString('latin1', 0, HASH_BYTES)
      const clients = slots.get(slot) ?? new Map<string, Set<string>>()
      const used = clients.get(client) ?? new Set()
      if (used.has(hash)) throw new Refused('replay: this authenticator was used before')
      if (count >= most) throw new AuthenticationBusy(`the replay cache is full (${most} authenticators)`)
      if ((counts.get(client) ?? 0) >= most * PART_OF_CLIENT)
        throw new AuthenticationBusy(`the replay cache holds ${most * PART_OF_CLIENT} authenticators of the client`)
      slots.set(slot, clients.set(client, used.add(hash)))
      add(client, 1)
    },
  }
}
