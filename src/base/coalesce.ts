// Combines refreshes that many callers request at once. Callers share a run, but no caller gets a run that began before
// its call.

/**
 * Returns a function that runs the work, one run at a time. Calls during a run share the next run, which begins after
 * it, with its result. They resolve in the order of the calls. If a run fails, all of its callers get the error.
 */
export function coalesce<T>(work: () => Promise<T>): () => Promise<T> {
  let running: Promise<unknown> = Promise.resolve()
  let queued: Promise<T> | null = null
  return () => {
    queued ??= running.then(() => {
      queued = null
      const run = work()
      running = run.catch(() => {})
      return run
    })
    return queued
  }
}

/**
 * Like coalesce, with a run of its own for each key. The work is that of the caller; callers with one key ask for the
 * same work.
 */
export function coalesceEach<Key, T>(): (key: Key, work: () => Promise<T>) => Promise<T> {
  const lines = new Map<Key, { readonly ask: () => Promise<T>; callers: number }>()
  return async (key, work) => {
    const line = lines.get(key) ?? { ask: coalesce(work), callers: 0 }
    lines.set(key, line)
    line.callers++
    try {
      return await line.ask()
    } finally {
      if (--line.callers === 0) lines.delete(key)
    }
  }
}
