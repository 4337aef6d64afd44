// Assertions for our own mistakes. They stay on in production: a broken invariant must stop the work that met it
// instead of spreading into the log. Bad input and outside failures are not assertions.

export class AssertionFailed extends Error {
  override readonly name = 'AssertionFailed'
}

/** Throws AssertionFailed with the message when the condition is false. */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new AssertionFailed(message)
}
