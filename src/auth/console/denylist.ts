// Sessions that were ended before they expired: one document for each `jti`. On Redis the document expires with the
// token, as the specification requires. On a store without expiry, this file keeps the document for as long as the
// token could be valid by any broker's clock, and then deletes it. On a shared store each check asks the store, so
// that no broker accepts a session that another broker has ended. On other stores the entries are in memory. If the
// store does not answer, no session is valid: its error is thrown.

import { cut } from '../../base/cut.ts'
import { changeDocument, type DocumentRooms } from '../../store/document-keeper.ts'
import type { DocumentKind } from '../../store/document-kinds.ts'
import { isStoreFailure } from '../../store/store.ts'
import { type NameUnreadable, UNNAMED } from '../../store/unreadable.ts'
import { MOST_CLOCK_SKEW_MS } from './clock-skew.ts'

export interface Denylist {
  isDenied(jti: string): Promise<boolean>
  /**
   * Ends the session. Resolves when it is certainly over on every broker; with false if it was on the list already,
   * or if that is unknown. Idempotent.
   */
  deny(jti: string, expiresAtMs: number): Promise<boolean>
}

export interface DenylistRooms extends DocumentRooms {
  readonly isShared: boolean
  readonly unreadable?: NameUnreadable | undefined
}

const KIND: DocumentKind = 'ended-session'
const UNTIL = 'until'
/** The time in ms between two searches for expired entries, on brokers that end sessions. */
const PRUNE_MS = 10 * 60_000

/** Milliseconds since 1970, in digits. */
const MILLISECONDS = /^\d{1,16}$/

export async function openDenylist({
  store,
  clock,
  random,
  isShared,
  unreadable = UNNAMED,
}: DenylistRooms): Promise<Denylist> {
  /** All entries, if no other broker can add one; null if others can. */
  const known = isShared ? null : new Set<string>()
  let prunedAtMs = clock.monotonic()
  await prune()

  async function prune(): Promise<void> {
    const nowMs = clock.now()
    for (const { name, version, fields } of await store.list(KIND)) {
      known?.add(name)
      const until = Buffer.from(fields.get(UNTIL) ?? []).toString()
      if (!MILLISECONDS.test(until)) {
        const result = 'the session stays ended, and its document stays until an operator deletes it'
        unreadable({
          kind: KIND,
          what: `the time until which session ${cut(name)} stays ended`,
          why: 'it is not a time',
          result,
        })
        continue
      }
      // A broker whose clock is behind accepts the token for longer, by as much as its clock is behind.
      if (Number(until) + MOST_CLOCK_SKEW_MS > nowMs) continue
      // A conflict means that another broker wrote the entry.
      await store.commit({ kind: KIND, name, expect: version, changes: [], remove: true })
      known?.delete(name)
    }
  }

  return {
    async isDenied(jti) {
      return known === null ? (await store.version(KIND, jti)) > 0 : known.has(jti)
    },

    async deny(jti, expiresAtMs) {
      const place = { kind: KIND, name: jti, what: 'the list of ended sessions' }
      const changes = [{ key: UNTIL, value: Buffer.from(String(expiresAtMs)) }]
      const isFirst = await changeDocument({ store, clock, random }, place, now => {
        if (now !== null) return { answer: false }
        const keepMs = Math.max(1, expiresAtMs - clock.now())
        return { answer: true, write: { changes, keepMs, mayOverfill: true } }
      })
      known?.add(jti)
      if (clock.monotonic() - prunedAtMs < PRUNE_MS) return isFirst
      const before = prunedAtMs
      prunedAtMs = clock.monotonic()
      try {
        await prune()
      } catch (error) {
        // The session is over even if this clean-up fails; the next session that ends tries again.
        if (!isStoreFailure(error)) throw error
        prunedAtMs = before
      }
      return isFirst
    },
  }
}
