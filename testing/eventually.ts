// Waiting for a condition that only looking can show, such as a counter of the broker. A promise that the condition itself
// settles is better wherever there is one.

/** Looks again after each turn of the event loop until the condition holds; fails after withinMs, saying what did not come. */
export async function eventually(
  what: string,
  condition: () => boolean | Promise<boolean>,
  withinMs = 5000,
): Promise<void> {
  const startedAtMs = performance.now()
  while (!(await condition())) {
    if (performance.now() - startedAtMs > withinMs) throw new Error(`this did not come about: ${what}`)
    await new Promise(resolve => setImmediate(resolve))
  }
}
