// The places for reading records through the admin API at the same time. A page may hold tens of megabytes while it is
// made, an export holds as much for as long as it takes, and a tail looks at its topic for as long as it is open. A
// request that finds no place is refused at once.

const TAILS = 16
const EXPORTS = 4
const LARGE_RECORDS = 2
const PAGES_AT_ONCE = 4
const PAGES_WAITING = 64

/** One per broker. */
export class RecordReaders {
  #pages = 0
  readonly #waiting: (() => void)[] = []

  /** A place for a live tail: a function that gives it back, once; null when there are enough. */
  readonly enterTail = places(TAILS)
  /** The same for an export. */
  readonly enterExport = places(EXPORTS)
  /** The same for a large record: it stays in memory until a slow client has taken it. */
  readonly enterLarge = places(LARGE_RECORDS)

  /** Does the work when its turn comes; null when too many callers wait already. */
  async page<T>(work: () => Promise<T>): Promise<T | null> {
    if (this.#pages < PAGES_AT_ONCE) this.#pages++
    else if (this.#waiting.length >= PAGES_WAITING) return null
    // A reader that leaves passes its place on.
    else await new Promise<void>(resolve => this.#waiting.push(resolve))
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#pages--
      else next()
    }
  }
}

function places(most: number): () => (() => void) | null {
  let taken = 0
  return () => {
    if (taken >= most) return null
    taken++
    let isOpen = true
    return () => {
      if (isOpen) taken--
      isOpen = false
    }
  }
}
