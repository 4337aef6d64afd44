// Work that goes one after the other.

/** What the returned function is given begins when all before it has ended, well or not; what it came to, each caller hears alone. */
export function workInTurn(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  return work => {
    const turn = last.then(work)
    last = turn.catch(() => {})
    return turn
  }
}
