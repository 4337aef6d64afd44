// The outcome of work on a schema that cannot be used.

/**
 * The schema cannot be used, with the reason as a clause for people. `large`: it has too many bytes or references.
 * `costly`: it takes too much processor time or memory. `busy`: too many calls wait, and later it may be looked at.
 */
export interface Unusable {
  readonly kind: 'invalid' | 'large' | 'costly' | 'busy'
  readonly why: string
}

export function isUnusable(result: object | string | null): result is Unusable {
  return typeof result === 'object' && result !== null && 'why' in result
}
