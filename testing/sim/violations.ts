// The result of a simulated seed, and the kinds of damage that the oracles of the simulations look for.

/** The columns of the table in the study's model, then those of segments and the cleaner, and `other` for the rest. */
export const COLUMNS = [
  ...(['divergence', 'overlap', 'duplicate', 'lost', 'skipped'] as const),
  ...(['reused', 'sealed', 'revived', 'touched', 'early', 'hidden', 'segments', 'lease', 'stuck'] as const),
  'other',
] as const

export type Column = (typeof COLUMNS)[number]

export interface Violation {
  readonly column: Column
  readonly kind: string
  readonly detail: string
}

export type Complain = (column: Column, kind: string, detail: string) => void

export interface Outcome {
  readonly seed: number
  readonly violations: readonly Violation[]
  /** The hash of all events in order; the same for the same seed and code. */
  readonly hash: number
  /** The lines of the trace, if the caller wants them; else null. */
  readonly lines: readonly string[] | null
  /** How much of each kind of work was done. A simulation without work would find nothing. */
  readonly done: Readonly<Record<string, number>>
}
