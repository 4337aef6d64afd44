// Reads the whole of a list that the API answers in pages.

import type { Call } from './command.ts'
import { withProgressSignedIn } from './progress.ts'

/** The members of every page beside its rows. */
interface Page {
  /** The number of rows in all pages together. */
  readonly total: number
}

const PAGE_ROWS = 1_000

/**
 * Reads every page, of `pageRows` rows or 1,000. Returns the rows under this name, at most `most` of them, and the last
 * page for its other members.
 */
export async function everyRow<Row, P extends Page>(
  call: Call,
  path: string,
  name: keyof P & string,
  {
    most = Number.POSITIVE_INFINITY,
    pageRows = PAGE_ROWS,
    ...query
  }: Readonly<Record<string, string | number | undefined>> & { most?: number; pageRows?: number } = {},
): Promise<{ readonly rows: readonly Row[]; readonly last: P }> {
  const rows: Row[] = []
  let last: P | null = null
  const read = async (): Promise<P> => {
    for (;;) {
      const limit = Math.min(pageRows, most - rows.length)
      last = await call.api.get<P>(path, { ...query, offset: rows.length, limit })
      const more = last[name] as readonly Row[]
      rows.push(...more)
      if (more.length === 0 || rows.length >= Math.min(last.total, most)) return last
    }
  }
  const said = () => `${rows.length} of ${last?.total ?? '?'} ${name}`
  return { last: await withProgressSignedIn(call, said, read), rows }
}
