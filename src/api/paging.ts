// The query parameters of every list of the API: search, sort order and page.

import { z } from 'zod'
import { integer } from './query.ts'
import { ORDERS } from './words.ts'

const MAX_LIMIT = 1_000
const DEFAULT_LIMIT = 100
const MAX_SEARCH_CHARACTERS = 1_000

/**
 * Returns the query schema of a list. The rows can be sorted by these names; the first one is the default. A name is a
 * member of a row, with a dot for a member inside another member. `most` and `usual` are the largest limit and its
 * default.
 */
export function pagingQuery<const S extends string>(
  sorts: readonly [S, ...S[]],
  { most, usual } = { most: MAX_LIMIT, usual: DEFAULT_LIMIT },
) {
  return z.object({
    q: z
      .string()
      .max(MAX_SEARCH_CHARACTERS)
      .default('')
      .meta({ description: 'Part of the name. Upper and lower case are equal.' }),
    sort: z.enum(sorts).default(sorts[0] as never),
    order: z.enum(ORDERS).default('asc'),
    offset: integer(0).default(0),
    limit: integer(1, most).default(usual),
  })
}
