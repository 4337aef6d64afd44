// The first read of a page, for pages whose answer takes longest. The broker names its address together with the page
// (http/routes/console.ts), so that the browser asks while it still loads the scripts. The console asks the same before
// it draws anything (console/beginning.ts). Both must name the same address: a browser does not use any other answer.

import { type PageId, readSearch, type SearchOf } from './pages.ts'
import { TOPIC_SORTS } from './words.ts'

export const TOPICS_AT_ONCE = 100

type Sort = SearchOf<'topics'>['sort']

/** Returns whether the list of topics knows this order; else the metrics do. */
export function isListed(sort: Sort): boolean {
  return TOPIC_SORTS.some(each => each === sort)
}

/** Returns the query for the rows of a page of topics. */
export function pageOfTopics({ q, sort, order, internal, offset }: SearchOf<'topics'>) {
  return { q, sort, order, internal, offset: offset ?? 0, limit: TOPICS_AT_ONCE }
}

/** Returns the first read of a page for the texts of its search; null if the page has none that takes long. */
export function firstReadOf(page: PageId, texts: Readonly<Record<string, string>>) {
  if (page !== 'topics') return null
  const search = readSearch(page, texts)
  if (!isListed(search.sort)) return null
  return { operation: 'list topics', path: '/api/v1/topics', query: pageOfTopics(search) } as const
}

/** Returns the address with the query; values that are empty or missing are left out. */
export function withQuery(path: string, query: Readonly<Record<string, unknown>>): string {
  const search = new URLSearchParams()
  for (const [key, value] of Object.entries(query))
    for (const one of Array.isArray(value) ? value : [value])
      if (one !== undefined && one !== null && one !== '') search.append(key, String(one))
  return search.size === 0 ? path : `${path}?${search}`
}
