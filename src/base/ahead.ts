// Lets the source of items work while its reader uses the item before, and a worker begin an item before it has
// answered the last one.

/**
 * Yields the items, and asks for each one as soon as the reader has got the one before it. If the reader ends early,
 * the source ends when it has finished the item that it works on, and an error in that item is dropped.
 */
export async function* ahead<T>(items: AsyncGenerator<T, void>): AsyncGenerator<T, void> {
  let next = items.next()
  try {
    for (;;) {
      const item = await next
      if (item.done) return
      next = items.next()
      // The reader gets an error in its turn.
      next.catch(() => {})
      yield item.value
    }
  } finally {
    await next.catch(() => {})
    await items.return()
  }
}

/**
 * Does work on each item and yields the results in order. The work on an item begins before that on the item before it
 * has ended, so that a thread with a queue never waits. If the reader ends early, resolves when all work that has begun
 * has ended; an error in it is dropped.
 */
export async function* twoAtOnce<T, R>(
  items: AsyncGenerator<T, void>,
  work: (item: T) => Promise<R>,
): AsyncGenerator<R, void> {
  let before: Promise<R> | null = null
  try {
    for await (const item of items) {
      const next = work(item)
      // The reader gets an error in its turn.
      next.catch(() => {})
      const done = before
      before = next
      if (done !== null) yield await done
    }
    const last = before
    before = null
    if (last !== null) yield await last
  } finally {
    await before?.catch(() => {})
  }
}
