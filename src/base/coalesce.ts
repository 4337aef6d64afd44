// Refreshes that many callers ask for at once. Callers share a run, but no caller gets a run that began before it
// asked.

/**
 * One run at a time. Calls during a run share the next one, which begins after it, and they resolve in the order of the
 * calls. If a run fails, it fails for all of its callers.
 */
export function coalesce(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<unknown> = Promise.resolve()
  let queued: Promise<void> | null = null
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
