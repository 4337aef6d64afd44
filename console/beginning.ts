// Begins everything that the page of the address needs, all at once and before React draws anything: who is signed in,
// the code of the page, and its first answer. One after the other they would cost a round trip each. The browser asks
// for most of it before this script runs (index.html, src/http/routes/console.ts).

import type { AuthStatus } from '../src/api/auth.ts'
import { firstReadOf } from '../src/api/first-reads.ts'
import { pageAt } from '../src/api/pages.ts'
import { ask, pause } from './api/client.ts'
import { readAhead } from './api/queries.ts'
import { router } from './routes.tsx'

/** How long the first drawing waits for the rest, in ms: drawing the page twice takes as long on a slow computer. */
const PATIENCE_MS = 150

export interface Beginning {
  readonly status: Promise<AuthStatus>
  /** Resolves when the page can be drawn with its first answer, or after a moment. The status is there if it came. */
  readonly ready: Promise<AuthStatus | undefined>
}

export function begin({ pathname, search }: Location): Beginning {
  const status = ask('describe session', {})
  // The router says later why it cannot load the code.
  const code = router.load().catch(() => {})
  let known: AuthStatus | undefined
  const all = status.then(
    async found => {
      known = found
      // Without a session the broker would refuse them, and perhaps before the user has changed the password.
      const isRefused = found.securityEnabled && (found.user === undefined || found.passwordChangeRequired === true)
      await Promise.all([code, ...(isRefused ? [] : firstReads(pathname, search))])
    },
    () => {
      // The session says why.
    },
  )
  return { status, ready: Promise.race([all, pause(PATIENCE_MS)]).then(() => known) }
}

function firstReads(pathname: string, search: string): readonly Promise<void>[] {
  const page = pageAt(pathname)
  const first = page === undefined ? null : firstReadOf(page, Object.fromEntries(new URLSearchParams(search)))
  return [
    ...(first === null ? [] : [readAhead(first.operation, { query: first.query })]),
    // Every page reads them. If they came after the rows, these would be drawn twice.
    readAhead('show capabilities', {}),
  ]
}
