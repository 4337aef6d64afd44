// Waiting for a condition that only looking can show, such as a counter of the broker. A promise that the condition
// itself settles is better wherever there is one.

/**
 * For this long each turn of the event loop is a look; after it, a look every few milliseconds leaves others the core.
 */
const EAGER_MS = 20
const PAUSE_MS = 5

/**
 * Looks again until the condition holds; fails after withinMs, saying what did not come.
 */
export async function eventually(
  what: string,
  condition: () => boolean | Promise<boolean>,
  withinMs = 5000,
): Promise<void> {
  const startedAtMs = performance.now()
  while (!(await condition())) {
    const waitedMs = performance.now() - startedAtMs
    if (waitedMs > withinMs) throw new Error(`this did not come about: ${what}`)
    await new Promise(resolve => (waitedMs < EAGER_MS ? setImmediate(resolve) : setTimeout(resolve, PAUSE_MS)))
  }
}
