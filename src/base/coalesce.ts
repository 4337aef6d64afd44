// Work that brings something up to date and that many ask for at a time: who asks shares it, and nobody is given what was
// begun before the question.

/**
 * One run at a time. A run that is asked for while one is under way begins after it, once for all who ask meanwhile, and
 * they go on in the order in which they asked. A run that fails fails for those who asked for it.
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
