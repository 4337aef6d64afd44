// How every list of the API is searched, sorted and cut into pages.

import { z } from 'zod'
import { integer } from './query.ts'

const MAX_LIMIT = 1_000
const DEFAULT_LIMIT = 100
const MAX_SEARCH_CHARACTERS = 1_000

export interface Paging {
  /** What to look for in names; upper and lower case are the same. Empty lets everything through. */
  readonly q: string
  readonly order: 'asc' | 'desc'
  readonly offset: number
  readonly limit: number
}

/**
 * The query of a list that can be sorted by these, the first one unless it is said: members of a row as they are spelt there, with
 * a dot where one lies in another.
 */
export function pagingQuery<const S extends string>(sorts: readonly [S, ...S[]]) {
  return z.object({
    q: z.string().max(MAX_SEARCH_CHARACTERS).default('').meta({ description: 'Part of the name, in any case.' }),
    sort: z.enum(sorts).default(sorts[0] as never),
    order: z.enum(['asc', 'desc']).default('asc'),
    offset: integer(0).default(0),
    limit: integer(1, MAX_LIMIT).default(DEFAULT_LIMIT),
  })
}

/** Whether what is looked for is part of the name. */
export function searchFor(q: string): (name: string) => boolean {
  const wanted = q.toLowerCase()
  return wanted === '' ? () => true : name => name.toLowerCase().includes(wanted)
}

/** One page of the rows, which are sorted by what `by` says of them; null comes last in either order. */
export function pageOf<T>(
  rows: readonly T[],
  { order, offset, limit }: Pick<Paging, 'order' | 'offset' | 'limit'>,
  ...by: readonly ((row: T) => string | number | null)[]
): T[] {
  const sign = order === 'asc' ? 1 : -1
  const compare = (one: T, other: T) => {
    for (const of of by) {
      const [a, b] = [of(one), of(other)]
      if (a === b) continue
      if (a === null || b === null) return a === null ? 1 : -1
      return a < b ? -sign : sign
    }
    return 0
  }
  return [...rows].sort(compare).slice(offset, offset + limit)
}
