// Sessions that were ended before their time, by `jti`: one document each. On Redis it expires with the remaining life
// of the token, as the specification says. A store that deletes nothing by itself keeps it for as long as the token
// could live by any clock, and it is deleted here. On a store that others use each question goes to the store, so that
// no broker accepts a session that another one has ended; elsewhere the answer is in memory. Without an answer of the
// store no session holds: its error is thrown on.

import { cut } from '../../base/cut.ts'
import { changeDocument, type DocumentRooms } from '../../store/document-keeper.ts'
import type { DocumentKind } from '../../store/document-kinds.ts'
import { isStoreFailure } from '../../store/store.ts'
import { type NameUnreadable, UNNAMED } from '../../store/unreadable.ts'
import { MOST_CLOCK_SKEW_MS } from './clock-skew.ts'

export interface Denylist {
  isDenied(jti: string): Promise<boolean>
  /**
   * Resolves when the session is certainly over on every broker. Idempotent. False: the session was on the list
   * already, or that is unknown.
   */
  deny(jti: string, expiresAtMs: number): Promise<boolean>
}

export interface DenylistRooms extends DocumentRooms {
  readonly isShared: boolean
  readonly unreadable?: NameUnreadable | undefined
}

const KIND: DocumentKind = 'ended-session'
const UNTIL = 'until'
/** How often expired entries are looked for, on brokers that end sessions. */
const PRUNE_MS = 10 * 60_000

/** Since 1970. */
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
        unreadable({ kind: KIND, what: `until when the session ${cut(name)} is ended`, why: 'it is no time', result })
        continue
      }
      // A broker whose clock is behind accepts the token for that much longer.
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
