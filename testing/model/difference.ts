// An answer of a broker that the model does not allow. It ends the run of the seed.

import { isDeepStrictEqual } from 'node:util'

export class Difference extends Error {
  override readonly name = 'Difference'
}

/** Throws a Difference unless both values are deeply equal. */
export function expectSame(what: string, answered: unknown, allowed: unknown): void {
  if (isDeepStrictEqual(answered, allowed)) return
  throw new Difference(`${what}: the broker says ${shown(answered)}, the model ${shown(allowed)}`)
}

/** Throws a Difference with this text unless the condition holds. */
export function expect(condition: boolean, what: () => string): asserts condition {
  if (!condition) throw new Difference(what())
}

export function shown(value: unknown): string {
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value)
  return text.length > 400 ? `${text.slice(0, 400)}…` : text
}
