// The first question of the page Topics. It is not in the page's own file, because the console asks before that file is
// loaded (console/beginning.ts).

import type { SearchOf } from '../../../src/api/pages.ts'
import { TOPIC_SORTS } from '../../../src/api/words.ts'

export const TOPICS_AT_ONCE = 100

type Sort = SearchOf<'topics'>['sort']

/** Returns whether the list of topics knows this order; else the metrics do. */
export function isListed(sort: Sort): boolean {
  return TOPIC_SORTS.some(each => each === sort)
}

/** Returns the query for the rows of a page. */
export function pageOfTopics({ q, sort, order, internal, offset }: SearchOf<'topics'>) {
  return { q, sort, order, internal, offset: offset ?? 0, limit: TOPICS_AT_ONCE }
}
