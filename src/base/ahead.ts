// Lets the source of items work while its reader uses the item before.

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
