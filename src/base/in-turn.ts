// Runs work one after the other.

/**
 * Returns a function that queues work. The work begins when all earlier work has succeeded or failed. Each caller gets
 * the result or the error of its own work.
 */
export function workInTurn(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  return work => {
    const turn = last.then(work)
    last = turn.catch(() => {})
    return turn
  }
}
