// Searches and sorts lists of the admin API and cuts them into pages. The query is in api/paging.ts.

export interface Paging {
  /** The text to look for in names, in any case. Empty lets every name through. */
  readonly q: string
  readonly order: 'asc' | 'desc'
  readonly offset: number
  readonly limit: number
}

/** Returns a test whether a name contains the text `q`, in any case. */
export function searchFor(q: string): (name: string) => boolean {
  const wanted = q.toLowerCase()
  return wanted === '' ? () => true : name => name.toLowerCase().includes(wanted)
}

/** Returns one page of the rows, sorted by the values that `by` returns for them; null comes last in either order. */
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
