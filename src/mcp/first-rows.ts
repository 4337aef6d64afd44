// Lists in previews and in answers of changes. A list that has no end would push out the rest of the answer, and a
// change has no second page: its confirmation is used up. So the first rows are shown, with the number of all.

const MOST_SHOWN = 50

export interface FirstRows<T> {
  readonly total: number
  /** At most the first fifty. */
  readonly rows: readonly T[]
}

export function firstRows<T>(all: readonly T[]): FirstRows<T> {
  return { total: all.length, rows: all.slice(0, MOST_SHOWN) }
}
