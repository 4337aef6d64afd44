// The first read of a page, for pages whose answer takes longest. The broker names its address together with the page
// (http/routes/console.ts), so that the browser asks while it still loads the scripts. The console asks the same before
// it draws anything (console/beginning.ts). Both must name the same address: a browser does not use any other answer.

import { type PageId, readSearch, type SearchOf } from './pages.ts'
import { TOPIC_SORTS } from './words.ts'

export const TOPICS_AT_ONCE = 100

type Sort = SearchOf<'topics'>['sort']
type Query = Readonly<Record<string, unknown>>

/** Returns whether the list of topics knows this order; else the metrics do. */
export function isListed(sort: Sort): boolean {
  return TOPIC_SORTS.some(each => each === sort)
}

/** Returns the query for the rows of a page of topics. */
export function pageOfTopics({ q, sort, order, internal, offset }: SearchOf<'topics'>) {
  return { q, sort, order, internal, offset: offset ?? 0, limit: TOPICS_AT_ONCE }
}

interface FirstRead {
  readonly operation: 'list topics'
  readonly path: string
  /** Returns the query for the search of the page's address; null if this read is not the first one of the page. */
  query(search: Readonly<Record<string, string>>): Query | null
}

export const FIRST_READS: Readonly<Partial<Record<PageId, FirstRead>>> = {
  topics: {
    operation: 'list topics',
    path: '/api/v1/topics',
    query(texts) {
      const search = readSearch('topics', texts)
      return isListed(search.sort) ? pageOfTopics(search) : null
    },
  },
}

/** Returns the address with the query; values that are empty or missing are left out. */
export function withQuery(path: string, query: Query): string {
  const search = new URLSearchParams()
  for (const [key, value] of Object.entries(query))
    for (const one of Array.isArray(value) ? value : [value])
      if (one !== undefined && one !== null && one !== '') search.append(key, String(one))
  return search.size === 0 ? path : `${path}?${search}`
}
