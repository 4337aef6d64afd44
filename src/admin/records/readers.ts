// Limits how many requests of the admin API read records at the same time. A page may need tens of megabytes until it
// is sent, and an export as much until it ends. A tail reads its topic until it is closed. A request that gets no
// place is refused at once.

const TAILS = 16
const EXPORTS = 4
const LARGE_RECORDS = 2
const PAGES_AT_ONCE = 4
const PAGES_WAITING = 64

/** Each broker has one. */
export class RecordReaders {
  #pages = 0
  readonly #waiting: (() => void)[] = []

  /** Takes a place for a live tail. Returns a function that gives the place back; null if all places are taken. */
  readonly enterTail = places(TAILS)
  /** Takes a place for an export in the same way. */
  readonly enterExport = places(EXPORTS)
  /**
   * Takes a place for a large record in the same way. The record stays in memory until a slow client has received it.
   */
  readonly enterLarge = places(LARGE_RECORDS)

  /** Does the work when its turn comes. Resolves to null if too many callers wait already. */
  async page<T>(work: () => Promise<T>): Promise<T | null> {
    if (this.#pages < PAGES_AT_ONCE) this.#pages++
    else if (this.#waiting.length >= PAGES_WAITING) return null
    // A caller that has finished passes its place on.
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
