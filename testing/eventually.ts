// Waits for a condition that a test can only poll, such as a counter of the broker. If there is a promise for the
// condition, await the promise instead.

/**
 * For this many milliseconds the condition is checked in each turn of the event loop. After that it is checked every
 * few milliseconds, which leaves the processor to other work.
 */
const EAGER_MS = 20
const PAUSE_MS = 5

/** Long enough for a machine on which several test files run at once, for what takes a moment on an idle one. */
const PATIENCE_MS = 15_000

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
    await new Promise(resolve => (waitedMs < EAGER_MS ? setImmediate(resolve) : setTimeout(resolve, PAUSE_MS)))
  }
}
