// Runs work one after the other.

/**
 * The returned function queues the work that it is given. The work begins when all earlier work has ended, well or not.
 * Each caller gets the result or the error of its own work alone.
 */
export function workInTurn(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  return work => {
    const turn = last.then(work)
    last = turn.catch(() => {})
    return turn
  }
}
