// The orders of a test to a broker: to stop at a step of its work, and to move its clock. A step is a place in the
// text of the broker's modules (compaction/steps.ts, remote/steps.ts); stop-at.ts changes the modules as Node loads
// them. The product has no such switch.

export type Signal = 'SIGKILL' | 'SIGSTOP'

/** A broker stops itself when it comes to the step for the `nth` time. */
export interface Stop {
  readonly step: string
  readonly nth: number
  readonly signal: Signal
}

/** An order to a broker, as JSON in a file. */
export interface Order {
  readonly stop: Stop | null
  /** How far the system clock of the broker is ahead. */
  readonly clockMs: number
}

export interface Place {
  readonly step: string
  readonly file: string
  readonly text: string
  /** Replaces the text; `STOP` becomes the call that stops the broker. */
  readonly instead: string
}

/** A module of steps exports PLACES, and LIMITS: changes of the text that no step needs. */
export interface Steps {
  readonly PLACES: readonly Place[]
  readonly LIMITS: readonly Omit<Place, 'step'>[]
}

export const before = (file: string, text: string, step: string): Place => ({
  step,
  file,
  text,
  instead: `STOP; ${text}`,
})
export const after = (file: string, text: string, step: string): Place => ({
  step,
  file,
  text,
  instead: `${text}; STOP`,
})
