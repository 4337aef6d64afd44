// Sessions that were ended before their time, by `jti`: one document each, kept for as long as the token could have lived by
// the clock of any broker. On a store that others use every question is asked of the store, so that what one broker ended no
// other accepts; elsewhere the answer is in memory. No answer is no "no": what the store throws is thrown on.

import type { Clock } from '../base/clock.ts'
import { cut } from '../base/cut.ts'
import type { DocumentKind } from '../store/document-kinds.ts'
import { isStoreFailure, OutcomeUnknown, type Store } from '../store/store.ts'
import { type NameUnreadable, UNNAMED } from '../store/unreadable.ts'
import { MOST_CLOCK_SKEW_MS } from './clock-skew.ts'

export interface Denylist {
  isDenied(jti: string): Promise<boolean>
  /**
   * Resolves when the session is certainly over, on every broker. Idempotent. False: it was denied before, or that is not known.
   */
  deny(jti: string, expiresAtMs: number): Promise<boolean>
}

export interface DenylistRooms {
  readonly store: Store
  readonly clock: Clock
  readonly isShared: boolean
  readonly unreadable?: NameUnreadable | undefined
}

const KIND: DocumentKind = 'ended-session'
const UNTIL = 'until'
const ATTEMPTS = 4
/** How often what has expired is looked for, where sessions are ended at all. */
const PRUNE_MS = 10 * 60_000

/** Since 1970. */
const MILLISECONDS = /^\d{1,16}$/

export async function openDenylist({ store, clock, isShared, unreadable = UNNAMED }: DenylistRooms): Promise<Denylist> {
  /** Everything that is denied, where nobody else can add to it; null where others can. */
  const known = isShared ? null : new Set<string>()
  let prunedAtMs = clock.monotonic()
  await prune()

  async function prune(): Promise<void> {
    const nowMs = clock.now()
    for (const { name, version, fields } of await store.list(KIND)) {
      known?.add(name)
      const until = Buffer.from(fields.get(UNTIL) ?? []).toString()
      if (!MILLISECONDS.test(until)) {
        const result = 'the session stays ended, and its document stays until somebody deletes it'
        unreadable({ kind: KIND, what: `until when the session ${cut(name)} is ended`, why: 'it is no time', result })
        continue
      }
      // By the clock of another broker the token may live for as long as that is behind this one.
      if (Number(until) + MOST_CLOCK_SKEW_MS > nowMs) continue
      // A conflict says that another broker did it.
      await store.commit({ kind: KIND, name, expect: version, changes: [], remove: true })
      known?.delete(name)
    }
  }

  return {
    async isDenied(jti) {
      return known === null ? (await store.version(KIND, jti)) > 0 : known.has(jti)
    },

    async deny(jti, expiresAtMs) {
      let isFirst = false
      for (let attempt = 1; ; attempt++) {
        try {
          const changes = [{ key: UNTIL, value: Buffer.from(String(expiresAtMs)) }]
          // A conflict says that it is denied already.
          const outcome = await store.commit({ kind: KIND, name: jti, expect: 0, changes, mayOverfill: true })
          isFirst = outcome.kind === 'committed'
          break
        } catch (error) {
          if (!(error instanceof OutcomeUnknown) || attempt === ATTEMPTS) throw error
        }
      }
      known?.add(jti)
      if (clock.monotonic() - prunedAtMs < PRUNE_MS) return isFirst
      const before = prunedAtMs
      prunedAtMs = clock.monotonic()
      try {
        await prune()
      } catch (error) {
        // The session is over whatever becomes of the others; the next one that ends tries again.
        if (!isStoreFailure(error)) throw error
        prunedAtMs = before
      }
      return isFirst
    },
  }
}
