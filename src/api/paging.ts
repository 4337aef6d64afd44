// The query that every list of the API takes: how it is searched, sorted and cut into pages.

import { z } from 'zod'
import { integer } from './query.ts'
import { ORDERS } from './words.ts'

const MAX_LIMIT = 1_000
const DEFAULT_LIMIT = 100
const MAX_SEARCH_CHARACTERS = 1_000

/**
 * The query of a list that can be sorted by these, by default by the first. A sort is the name of a member of a row,
 * with a dot where one member lies in another.
 */
export function pagingQuery<const S extends string>(sorts: readonly [S, ...S[]]) {
  return z.object({
    q: z.string().max(MAX_SEARCH_CHARACTERS).default('').meta({ description: 'Part of the name, in any case.' }),
    sort: z.enum(sorts).default(sorts[0] as never),
    order: z.enum(ORDERS).default('asc'),
    offset: integer(0).default(0),
    limit: integer(1, MAX_LIMIT).default(DEFAULT_LIMIT),
  })
}
