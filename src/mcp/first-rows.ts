// Lists in previews and in answers of changes. A list without an end would push out the rest of the answer, and a
// change has no second page: its confirmation is used up. So the first rows are shown, with the number of all.

const MOST_ROWS = 50
/** Of the rows as JSON, so that two lists fit into an answer. */
const MOST_BYTES = 6 * 1024

export interface FirstRows<T> {
  readonly total: number
  /** At most the first fifty. */
  readonly rows: readonly T[]
}

export function firstRows<T>(all: readonly T[]): FirstRows<T> {
  const rows: T[] = []
  let bytes = 0
  for (const row of all.slice(0, MOST_ROWS)) {
    bytes += Buffer.byteLength(JSON.stringify(row))
    if (bytes > MOST_BYTES && rows.length > 0) break
    rows.push(row)
  }
  return { total: all.length, rows }
}
