// Waits for a condition that a test can only poll, such as a counter of the broker. If there is a promise for the
// condition, await the promise instead.

/**
 * For this many milliseconds the condition is checked in each turn of the event loop. After that it is checked every
 * few milliseconds, and more rarely the longer it takes, which leaves the processor to other work.
 */
const EAGER_MS = 20
const PAUSE_MS = 5
const LONGEST_PAUSE_MS = 25
/** A pause is this part of the time that has passed. */
const PAUSE_PART = 0.05

/**
 * Long enough for a slow machine on which several test files run at once, for what takes a moment on an idle one. It is
 * shorter than the time limit of a unit test.
 */
const PATIENCE_MS = 45_000

/** Checks the condition until it holds. Throws after `withinMs` milliseconds, with the name of the condition. */
export async function eventually(
  what: string,
  condition: () => boolean | Promise<boolean>,
  withinMs = PATIENCE_MS,
): Promise<void> {
  const startedAtMs = performance.now()
  while (!(await condition())) {
    const waitedMs = performance.now() - startedAtMs
    if (waitedMs > withinMs) throw new Error(`this did not happen in time: ${what}`)
    const pauseMs = Math.min(LONGEST_PAUSE_MS, Math.max(PAUSE_MS, waitedMs * PAUSE_PART))
    await new Promise(resolve => (waitedMs < EAGER_MS ? setImmediate(resolve) : setTimeout(resolve, pauseMs)))
  }
}
