// Begins everything that the page of the address needs, all at once and before React draws anything: who is signed in,
// the code of the page, and its first answer. One after the other they would cost a round trip each.

import type { AuthStatus } from '../src/api/auth.ts'
import { type PageId, pages, readSearch } from '../src/api/pages.ts'
import { ask } from './api/client.ts'
import { readAhead } from './api/queries.ts'
import { isListed, pageOfTopics } from './pages/topics/first-read.ts'
import { loadScreen } from './routes.tsx'

type Texts = Readonly<Record<string, string>>

/** The first answer of the pages whose answer takes longest. */
const FIRST_READS: Readonly<Partial<Record<PageId, (search: Texts) => void>>> = {
  topics(texts) {
    const search = readSearch('topics', texts)
    if (isListed(search.sort)) readAhead('list topics', { query: pageOfTopics(search) })
  },
}

/** Resolves to who is signed in. */
export function begin({ pathname, search }: Location): Promise<AuthStatus> {
  const status = ask('describe session', {})
  const page = (Object.keys(pages) as PageId[]).find(id => pages[id].path === pathname)
  if (page !== undefined) loadScreen(page)
  status.then(
    ({ securityEnabled, user }) => {
      // Without a session the broker would refuse the others.
      if (securityEnabled && user === undefined) return
      if (page !== undefined) FIRST_READS[page]?.(Object.fromEntries(new URLSearchParams(search)))
      // Every page reads them. If they came after the rows, these would be drawn twice.
      readAhead('show capabilities', {})
    },
    () => {
      // The session says why.
    },
  )
  return status
}
